"""CRC-32C (Castagnoli), the checksum of record batches and producer snapshots: in C, or else byte by byte."""

from __future__ import annotations

from functools import cache

Buffer = bytes | bytearray | memoryview

_POLYNOMIAL = 0x82F63B78  # reflected


@cache
def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


def pure_crc32c(data: Buffer) -> int:
    """The checksum in plain Python: about 10 MB a second, for a machine without the package."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


try:
    from crc32c import crc32c
except ImportError:
    crc32c = pure_crc32c

__all__ = ["Buffer", "crc32c", "pure_crc32c"]
