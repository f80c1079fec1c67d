"""What the C library does with memory that is free again.

glibc hands a large piece back to the system at once, and gets it anew, page by page,
for the next request: with batches of 1 MB a third of a broker's time. A broker keeps
some instead.
"""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEPT_BYTES = 32 << 20  # at the end of the heap; more goes back
LARGE_BYTES = 16 << 20  # a piece this large is always handed back


def keep_freed_memory() -> None:
    """For the whole process. Where there is no glibc, nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # TypeError: Windows
        return
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
