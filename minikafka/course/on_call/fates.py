"""The fate of the orders: which are in the log, and which nobody will handle."""

from typing import TYPE_CHECKING, NamedTuple

from minikafka.clients.errors import IllegalStateError
from minikafka.course.on_call.programs import Payouts, Reader
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

ALL_PARTITIONS = set(range(100))
REWRITES = {"LogTruncated", "TopicDeleted"}


class Found(NamedTuple):
    """Where an order is in the log."""

    partition: int
    offset: int


class InTheLog(NamedTuple):
    """Where each order is now, by number; and the partitions of which nobody can
    tell.
    """

    places: dict[int, Found]
    unknown: set[int]


def false_payouts(world: "World") -> set[str]:
    """Orders that were booked, but never committed."""
    committed: set[str] = set()
    for app in world.apps.values():
        if isinstance(app, Payouts):
            committed |= app.committed
    if not committed:
        return set()
    booked: set[str] = set()
    for names in world.orders.false.values():
        booked |= names
    return booked - committed


def lost(world: "World", app: Reader) -> set[int]:
    """Accepted orders that this app will never handle: they are not in the log any
    more, or the group has passed them. Where nobody has the log, nobody knows.
    """
    log = _in_the_log(world, app.topic)
    committed = _committed(world, app.name)
    in_hand = app.in_hand()
    gone = set()
    for number, accepted in world.orders.not_done(app.name).items():
        if number in in_hand:
            continue
        place = log.places.get(number)
        if place is None:
            is_gone = accepted.partition not in log.unknown
        else:
            passed = committed.get(place.partition, 0)
            is_gone = place.offset < passed
        if is_gone:
            gone.add(number)
    return gone


def cut_off(world: "World", app: Reader) -> set[int]:
    """Accepted orders that a leader has truncated, even if somebody had read them
    before.
    """
    mine = [event for event in world.events if event.detail.get("topic") == app.topic]
    kinds = {event.kind for event in mine}
    if "LogTruncated" not in kinds or "TopicDeleted" in kinds:
        return set()
    log = _in_the_log(world, app.topic)
    gone = set()
    for number, place in world.orders.accepted.items():
        is_known = place.partition not in log.unknown
        if is_known and number not in log.places:
            gone.add(number)
    return gone


def _in_the_log(world: "World", topic: str) -> InTheLog:
    """The orders that are in the topic's log, read from the leaders, and the partitions
    that have no leader to ask.
    """
    places: dict[int, Found] = {}
    unknown: set[int] = set()
    try:
        count = world.cluster.partition_count(topic)
    except KafkaError:
        return InTheLog(places, unknown)
    except IllegalStateError:
        return InTheLog(places, ALL_PARTITIONS)
    for partition in range(count):
        try:
            places |= _orders_in(world, topic, partition)
        except IllegalStateError:
            unknown.add(partition)
    return InTheLog(places, unknown)


def _orders_in(world: "World", topic: str, partition: int) -> dict[int, Found]:
    """Unless a log was cut, an order is where it was put, or it is too old."""
    was_rewritten = any(event.kind in REWRITES for event in world.events)
    if was_rewritten:
        return _read(world, topic, partition)
    start, _ = world.cluster.log_offsets(topic, partition)
    found = {}
    for number, place in world.orders.accepted.items():
        if place.partition == partition and place.offset >= start:
            found[number] = Found(partition, place.offset)
    return found


def _read(world: "World", topic: str, partition: int) -> dict[int, Found]:
    """The orders that the log holds, record by record."""
    found = {}
    for record in world.cluster.records(topic, partition):
        what, _, rest = bytes(record.value or b"").decode().partition(" ")
        if what == "order":
            found[int(rest.split()[0])] = Found(partition, record.offset)
    return found


def _committed(world: "World", group: str) -> dict[int, int]:
    """Partition -> what the group has committed."""
    try:
        offsets = world.cluster.committed_offsets(group)
    except (KafkaError, IllegalStateError):
        return {}
    return {place.partition: offset for place, offset in offsets.items()}
