"""A request on its way to bytes, where it may be twisted (a field), or its bytes
changed.
"""

import struct
from random import Random
from typing import NamedTuple

from minikafka.broker.handlers import HANDLERS
from minikafka.cluster.controller import MAX_PARTITIONS_PER_REQUEST
from minikafka.coordinators.share_persister import FIRST_BACKOFF_MS, MOST_ATTEMPTS
from minikafka.coordinators.transaction_requests import RETRY_MS
from minikafka.wire import messages
from minikafka.wire.primitives import DecodeError, unsigned_varint
from minikafka.wire.schema import Struct
from tests.soak.clients import Ask
from tests.soak.values import BEYOND, Values

COMPACT_BEYOND = unsigned_varint(len(BEYOND) + 1) + BEYOND.encode()
EXTREMES = [
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\0\0\0\0",
    b"\x80\0\0\0",
    b"\0\0\1\0",
]


def fitted(shape: Struct, version: int, body: dict) -> dict:
    """The body without the fields that the version does not have."""
    fields = {
        name: value
        for name, value in body.items()
        if version in shape.by_attribute[name].versions
    }
    for name, value in fields.items():
        f = shape.by_attribute[name]
        if f.struct and value is not None:
            whole = [
                fitted(f.struct, version, each)
                for each in (value if f.array else [value])
            ]
            fields[name] = whole if f.array else whole[0]
    return fields


def twisted(shape: Struct, version: int, body: dict, values: Values) -> dict:
    """The body with one field changed, wherever in it; or with an item of an array
    twice.
    """
    present = [f for f in shape.fields if version in f.versions]
    if not present:
        return body
    f = values.random.choice(present)
    value = body.get(f.attribute)
    if f.struct and value and values.random.random() < 0.8:
        if not f.array:
            return body | {f.attribute: twisted(f.struct, version, value, values)}
        at = values.random.randrange(len(value))
        changed = [*value, value[at]] if values.random.random() < 0.3 else list(value)
        if len(changed) == len(value) or values.random.random() < 0.5:
            changed[at] = twisted(f.struct, version, value[at], values)
        return body | {f.attribute: changed}
    return body | {f.attribute: values.of(shape, f, version)}


def encoded(ask: Ask, correlation_id: int) -> bytes:
    """The frame of a request, without its size."""
    frame = b"".join(
        messages.encode_request(
            ask.api, ask.version, correlation_id, ask.client_id, ask.body
        )
    )
    if messages.API[ask.api].flexible(ask.version) and COMPACT_BEYOND in frame:
        longer = unsigned_varint(40_001) + bytes(40_000)
        frame = frame.replace(COMPACT_BEYOND, longer)
    return frame


def mutated(frame: bytes, random: Random) -> bytes:
    """Flip, overwrite, cut or double some bytes behind the header's API key, version
    and correlation id.
    """
    data = bytearray(frame)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(8, len(data))
        choice = random.randrange(4)
        if choice == 0:
            data[at] ^= 1 << random.randrange(8)
        elif choice == 1:
            data[at : at + 4] = random.choice(EXTREMES)
        elif choice == 2 and len(data) > 12:
            del data[max(12, at) :]
        else:
            data[at:at] = data[at : at + random.randint(1, 20)]
    if random.random() < 0.1:
        struct.pack_into(">h", data, 2, random.choice([-1, 0, 14, 2**15 - 1]))
    return bytes(data)


def makes_much(frame: bytes) -> bool:
    """Whether it would make hundreds of partitions: allowed, and all that a day's other
    requests would be about.
    """
    try:
        request = messages.decode_request(frame)
    except (messages.UnsupportedVersion, DecodeError):
        return False
    attribute = {"CreateTopics": "num_partitions", "CreatePartitions": "count"}.get(
        request.api.name
    )
    counts = (
        [getattr(topic, attribute) for topic in request.body.topics]
        if attribute
        else []
    )
    return any(100 < count <= MAX_PARTITIONS_PER_REQUEST for count in counts)


# They ask share coordinators, again and again until one is there.
OF_SHARE_STATES = {
    "AlterShareGroupOffsets",
    "DeleteGroups",
    "DeleteShareGroupOffsets",
    "DescribeShareGroupOffsets",
    "ShareAcknowledge",
    "ShareFetch",
}
# A partition joins a transaction by them (KIP-890), which is asked for again while the
# markers of the one before are being written.
JOINING = {"Produce", "TxnOffsetCommit"}
ALL_PAUSES_MS = FIRST_BACKOFF_MS * (2 ** (MOST_ATTEMPTS - 1) - 1)


class Meaning(NamedTuple):
    """What the broker makes of a frame. version: of its answer. wait_ms: so long it may
    wait with it. of_a_group: it waits for a group's other members. silent: it has no
    answer (acks=0).
    """

    version: int
    wait_ms: int
    of_a_group: bool
    silent: bool


def meaning(ask: Ask, frame: bytes, intact: bool) -> Meaning:
    """Read off the request, or off the frame if its bytes were changed."""
    version, body = ask.version, ask.body
    if not intact:
        try:
            request = messages.decode_request(frame)
            version, body = request.version, request.body.to_dict()
        except messages.UnsupportedVersion as error:
            version = error.version
        except DecodeError:
            pass  # it will be closed
    lowest, highest = HANDLERS[messages.API[ask.api].key].versions
    if ask.api == "ApiVersions" and not lowest <= version <= highest:
        version = 0  # answered in 0 (KIP-511)
    wait_ms = 0
    if ask.api in ("Fetch", "ShareFetch"):
        wait_ms = max(0, body.get("max_wait_ms", 0))
    if ask.api in OF_SHARE_STATES:
        wait_ms += ALL_PAUSES_MS
    if ask.api in JOINING:
        wait_ms += RETRY_MS
    return Meaning(
        version, wait_ms, ask.api in ("JoinGroup", "SyncGroup"), body.get("acks") == 0
    )
