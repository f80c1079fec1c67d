"""Shares out the limit on open files: a connection that took the last one would stop
the node at its next append.
"""

from typing import NamedTuple

from minikafka.server.addresses import CannotServe
from minikafka.server.folder_disk import MAX_OPEN_FILES

# systems give 256 (macOS) or 1,024 by default; macOS never gives more than this
WANTED = 10_240
# standard streams, the listener, the event loop's own files, the lock, the trace, a
# checkpoint that is being written
SPARE = 50
LEAST = 100


class Share(NamedTuple):
    """How many files the disk may keep open, and how many connections there may be."""

    disk: int
    connections: int


def share(limit: int) -> Share:
    """The disk gets as many as it wants, but never more than the connections get."""
    if limit < LEAST:
        raise CannotServe(
            f"the limit of open files is {limit}: raise it to at least {LEAST} (ulimit"
            f" -n {LEAST})."
        )
    disk = min(MAX_OPEN_FILES, (limit - SPARE) // 2)
    return Share(disk, limit - SPARE - disk)


def raised_limit() -> int:
    """Ask the system for as many open files as we want. Returns how many we got."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return WANTED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft
