"""Many nodes, one cluster: what everybody knows (metadata), who decides (controller), who agrees (quorum), who holds
the data (replica).
"""
