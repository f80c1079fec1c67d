"""Many nodes, one cluster: what all know (metadata), who decides (controller), agrees (quorum), has data (replica)."""
