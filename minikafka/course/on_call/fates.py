"""The fate of the orders: which are in the log, and which nobody will handle."""

from collections.abc import Iterable
from typing import NamedTuple

from minikafka.clients.errors import IllegalStateError
from minikafka.course.on_call.apps import App
from minikafka.course.on_call.brokers import Brokers
from minikafka.course.on_call.orders import Orders
from minikafka.course.on_call.programs import Payouts, Reader
from minikafka.wire.errors import KafkaError

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


def false_payouts(apps: Iterable[App], orders: Orders) -> set[str]:
    """Orders that were booked, but never committed."""
    committed: set[str] = set()
    for app in apps:
        if isinstance(app, Payouts):
            committed |= app.committed
    if not committed:
        return set()
    booked: set[str] = set()
    for names in orders.false.values():
        booked |= names
    return booked - committed


def lost(app: Reader, brokers: Brokers) -> set[int]:
    """Accepted orders that this app will never handle: they are not in the log any
    more, or the group has passed them. While a partition has no leader, its orders
    don't count as lost.
    """
    log = _in_the_log(app, brokers)
    committed = _committed(app, brokers)
    in_hand = app.in_hand()
    gone = set()
    for number, accepted in app.orders.not_done(app.name).items():
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


def cut_off(app: Reader, brokers: Brokers) -> set[int]:
    """Accepted orders that a leader has truncated, even if somebody had read them
    before.
    """
    mine = [event for event in brokers.events if event.detail.get("topic") == app.topic]
    kinds = {event.kind for event in mine}
    if "LogTruncated" not in kinds or "TopicDeleted" in kinds:
        return set()
    log = _in_the_log(app, brokers)
    gone = set()
    for number, place in app.orders.accepted.items():
        is_known = place.partition not in log.unknown
        if is_known and number not in log.places:
            gone.add(number)
    return gone


def _in_the_log(app: Reader, brokers: Brokers) -> InTheLog:
    """The orders that are in the topic's log, read from the leaders, and the partitions
    that have no leader to ask.
    """
    places: dict[int, Found] = {}
    unknown: set[int] = set()
    try:
        count = brokers.cluster.partition_count(app.topic)
    except KafkaError:
        return InTheLog(places, unknown)
    except IllegalStateError:
        return InTheLog(places, ALL_PARTITIONS)
    for partition in range(count):
        try:
            places |= _orders_in(app, brokers, partition)
        except IllegalStateError:
            unknown.add(partition)
    return InTheLog(places, unknown)


def _orders_in(app: Reader, brokers: Brokers, partition: int) -> dict[int, Found]:
    """Unless a log was truncated, an order is at its first offset, or deleted."""
    was_rewritten = any(event.kind in REWRITES for event in brokers.events)
    if was_rewritten:
        return _read(app, brokers, partition)
    start, _ = brokers.cluster.log_offsets(app.topic, partition)
    found = {}
    for number, place in app.orders.accepted.items():
        if place.partition == partition and place.offset >= start:
            found[number] = Found(partition, place.offset)
    return found


def _read(app: Reader, brokers: Brokers, partition: int) -> dict[int, Found]:
    """The orders that the log holds, record by record."""
    found = {}
    for record in brokers.cluster.records(app.topic, partition):
        what, _, rest = bytes(record.value or b"").decode().partition(" ")
        if what == "order":
            found[int(rest.split()[0])] = Found(partition, record.offset)
    return found


def _committed(app: Reader, brokers: Brokers) -> dict[int, int]:
    """Partition -> what the group has committed."""
    try:
        offsets = brokers.cluster.committed_offsets(app.name)
    except (KafkaError, IllegalStateError):
        return {}
    return {place.partition: offset for place, offset in offsets.items()}
