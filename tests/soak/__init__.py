"""Hostile days for a node, as long as one likes: `make soak`, or one of them with
`python -m tests.soak.NAME --help`.

fuzz: requests of every kind from clients that are wrong, broken or mean. kill: kill -9
under honest ones. Each prints a line a group and exits with 1 on failure.
"""
