"""A whole cluster in one process, on a virtual clock: the real broker and clients, a
network that obeys a seed.

Same seed and same calls: the same trace, on every platform. So: time in integers, only
random.Random.random(), no order out of sets, no hash().
"""
