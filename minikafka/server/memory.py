"""Tells the C library what to do with freed memory.

glibc returns a large piece to the system at once, and gets it again, page by page, for
the next request: with batches of 1 MB that took a third of a broker's time. So a broker
keeps some.
"""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEPT_BYTES = 32 << 20  # at the end of the heap; memory beyond this is returned
LARGE_BYTES = 16 << 20  # a piece this large is always returned


def keep_freed_memory() -> None:
    """Set this for the whole process. Without glibc it does nothing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # TypeError: Windows
        return
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
