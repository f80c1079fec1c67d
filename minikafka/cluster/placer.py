"""Which brokers get a new partition's replicas.

Placement follows Apache Kafka's striped placer in spirit: leaders go round the live
brokers from a random first one, so that load spreads, and racks take turns. Where there
are too few of them, brokers that are down get replicas too, and join when they come
back. A client may choose by itself; then the choice is checked.
"""

import itertools
from collections.abc import Mapping, Sequence

from minikafka.cluster.metadata import Image
from minikafka.wire.errors import Error, KafkaError

Placement = Sequence[Sequence[int]]


def place(
    image: Image, partitions: int, replication_factor: int, first: int
) -> Placement:
    """Replicas for each new partition; the first one leads. Racks take turns, so that
    those of a partition are in as many as there are. first: where the round begins, not
    negative.
    """
    _check_counts(partitions, replication_factor, len(image.brokers))
    live = _in_turns(image, fenced=False)
    down = _in_turns(image, fenced=True)
    may_lead = image.may_lead()
    placement = []
    for number in range(first, first + partitions):
        of_live = min(replication_factor, len(live))
        turns = range(number, number + replication_factor)
        replicas = [live[turn % len(live)] for turn in turns[:of_live]]
        replicas += [down[turn % len(down)] for turn in turns[of_live:]]
        # its turn may have come to brokers that are up and about to go
        if may_lead.isdisjoint(replicas):
            why = "All brokers are currently fenced or in controlled shutdown."
            raise _cannot_be_reached(replication_factor, why)
        placement.append(replicas)
    return placement


def _in_turns(image: Image, fenced: bool) -> list[int]:
    """The brokers that are down, or up: one of each rack, another one of each rack, and
    so on.
    """
    racks: dict[str, list[int]] = {}
    for broker_id in sorted(image.brokers):
        broker = image.brokers[broker_id]
        if broker.fenced == fenced:
            racks.setdefault(broker.rack or "", []).append(broker_id)
    turns = itertools.zip_longest(*[racks[rack] for rack in sorted(racks)])
    return [broker_id for turn in turns for broker_id in turn if broker_id is not None]


def _check_counts(partitions: int, replication_factor: int, registered: int) -> None:
    if replication_factor < 1:
        why = (
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
        raise KafkaError(Error.INVALID_REPLICATION_FACTOR, why)
    if partitions < 1:
        why = "Number of partitions was set to an invalid non-positive value."
        raise KafkaError(Error.INVALID_PARTITIONS, why)
    if replication_factor > registered:
        why = (
            f"The target replication factor of {replication_factor} cannot be reached"
            f" because only {registered} broker(s) are registered or some brokers have"
            " all their log directories cordoned."
        )
        raise _cannot_be_reached(replication_factor, why)


def _cannot_be_reached(replication_factor: int, why: str) -> KafkaError:
    what = f"Unable to replicate the partition {replication_factor} time(s): {why}"
    return KafkaError(Error.INVALID_REPLICATION_FACTOR, what)


def check(
    image: Image, assignments: Mapping[int, Sequence[int]], first_partition: int = 0
) -> Placement:
    """A placement chosen by the client: dense partition numbers, known and distinct
    brokers, equally many each.
    """
    numbers = sorted(assignments)
    wanted = range(first_partition, first_partition + len(numbers))
    if numbers != list(wanted):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    placement = [assignments[number] for number in numbers]
    for brokers in placement:
        _check_replicas(image, brokers)
    counts = {len(brokers) for brokers in placement}
    if len(counts) > 1:
        raise _refused("partitions with different numbers of replicas.")
    return placement


def check_somebody_leads(image: Image, placement: Placement, first: int = 0) -> None:
    """Of a new partition. first: the number of the first one."""
    may_lead = image.may_lead()
    for number, brokers in enumerate(placement, first):
        if may_lead.isdisjoint(brokers):
            why = (
                "All brokers specified in the manual partition assignment for partition"
                f" {number} are fenced or in controlled shutdown."
            )
            raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)


def _check_replicas(image: Image, brokers: Sequence[int]) -> None:
    if not brokers:
        raise _refused("an empty replica list.")
    if len(set(brokers)) != len(brokers):
        raise _refused(f"the broker {brokers[0]} more than once.")
    unknown = [broker for broker in brokers if broker not in image.brokers]
    if unknown:
        raise _refused(f"broker {unknown[0]}, but no such broker is registered.")


def _refused(what: str) -> KafkaError:
    why = f"The manual partition assignment includes {what}"
    return KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
