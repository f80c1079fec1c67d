"""Record batches: good ones, and those that almost are."""

import struct

from minikafka.wire.compression import CODECS, crc32c
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    assemble,
    encode_batch,
    encode_records,
    read_header,
)

WALL_MS = 1_767_225_600_000  # 2026-01-01, where the virtual clock begins
CRC_AT, AFTER_CRC, BATCH_LENGTH_AT = 17, 21, 8
FAR = [-1, 0, 1, 2**31 - 1, 2**31, 2**62, -(2**62)]
HEADER_VALUES = {
    "base_offset": [0, 1, -1, 2**63 - 1],
    "magic": [0, 1, 3, -1],
    "attributes": [0x05, 0x07, 0x08, 0x10, 0x20, 0x30, 0x40, 0x78, -(2**15)],
    "last_offset_delta": [-1, 0, 1, 7, 2**31 - 1, -(2**31)],
    "base_timestamp": [-1, 0, 2**63 - 1, -(2**63)],
    "max_timestamp": [-1, 0, 2**63 - 1, -(2**63)],
    "producer_id": [0, 1, 2**63 - 1, -2],
    "producer_epoch": [0, 1, 2**15 - 1, -(2**15)],
    "base_sequence": [0, 1, 2**31 - 1, -2],
    "records_count": [0, -1, 1, 7, 2**31 - 1, -(2**31)],
}


class Batches:
    """Makes batches for a World (values.py)."""

    def __init__(self, world) -> None:
        self.world = world
        self.random = world.random

    def any(self) -> bytes:
        """A batch, or something like one."""
        make = self.random.choice(
            [
                self.good,
                self.good,
                self.wrong_header,
                self.wrong_records,
                self.broken,
                self.none,
            ]
        )
        return make()

    def records(self) -> list:
        random = self.random
        keys = [b"a", b"b", b"c", b"", bytes(1000)] + [None] * (random.random() < 0.2)
        values = [b"", b"value", None, bytes(3000)]
        headers = [("h", b"1"), ("h", None)] if random.random() < 0.2 else []
        times = [WALL_MS, WALL_MS, WALL_MS + 5, WALL_MS - 10**9]
        return [
            (random.choice(times), random.choice(keys), random.choice(values), headers)
            for _ in range(random.randint(1, 5))
        ]

    def good(self, **of_producer) -> bytes:
        return encode_batch(
            self.records(), compression=self.random.choice(CODECS), **of_producer
        )

    def wrong_header(self) -> bytes:
        """One or two fields changed, under a CRC that says it must be so."""
        header = read_header(self.good())
        for name in self.random.sample(
            sorted(HEADER_VALUES), self.random.randint(1, 2)
        ):
            header = header._replace(**{name: self.random.choice(HEADER_VALUES[name])})
        if header.attributes & 7 >= len(CODECS):
            batch = bytearray(self.good())
            struct.pack_into(">h", batch, AFTER_CRC, header.attributes)
            return sealed(batch)
        return assemble(header, encode_records(header, enumerate(self.records())))

    def wrong_records(self) -> bytes:
        """Offsets and timestamps that lie far off, or bytes that are no records, under
        a good header and CRC.
        """
        records, random = self.records(), self.random
        if random.random() < 0.5:
            header = read_header(
                encode_batch(records, compression=random.choice(CODECS))
            )
            base = header.base_timestamp
            moved = [(base + random.choice(FAR), *record[1:]) for record in records]
            numbered = [
                (random.choice([*FAR, at, at]), record)
                for at, record in enumerate(moved)
            ]
            return assemble(header, encode_records(header, numbered))
        batch = bytearray(self.good())
        for _ in range(random.randint(1, 3)):
            batch[random.randrange(BATCH_OVERHEAD, len(batch))] = random.randrange(256)
        return sealed(batch)

    def broken(self) -> bytes:
        """A wrong CRC or length, a part of a batch, two in one, bytes of nothing."""
        batch, random = bytearray(self.good()), self.random
        choice = random.randrange(5)
        if choice == 0:
            batch[random.randrange(len(batch))] ^= 1 << random.randrange(8)
        elif choice == 1:
            struct.pack_into(
                ">i",
                batch,
                BATCH_LENGTH_AT,
                random.choice([-1, 0, 48, 49, len(batch), 2**31 - 1]),
            )
        elif choice == 2:
            del batch[random.randrange(len(batch)) :]
        elif choice == 3:
            batch += self.good()
        else:
            batch[:] = random.randbytes(random.randint(0, 200))
        return bytes(batch)

    def none(self) -> bytes:
        return b""


def sealed(batch: bytearray) -> bytes:
    """The batch under a CRC that fits."""
    struct.pack_into(">I", batch, CRC_AT, crc32c(memoryview(batch)[AFTER_CRC:]))
    return bytes(batch)
