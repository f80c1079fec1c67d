"""Chooses the brokers that get a new partition's replicas.

Placement follows the spirit of Apache Kafka's striped placer: leaders go round the live
brokers, beginning with a random one, so that load spreads, and racks take turns. If
there aren't enough live brokers, brokers that are down get replicas too, and join when
they come back. A client may also choose the brokers; then its choice is checked.
"""

import itertools
from collections.abc import Mapping, Sequence

from minikafka.cluster.metadata import Image
from minikafka.wire.errors import Error, KafkaError

Placement = Sequence[Sequence[int]]


def place(
    image: Image, partitions: int, replication_factor: int, first: int
) -> Placement:
    """The replicas of each new partition; the first replica leads. Racks take turns, so
    that a partition's replicas are spread over as many racks as possible. first: where
    the round begins, not negative.
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
        # it may have been the turn of brokers that are up but shutting down
        if may_lead.isdisjoint(replicas):
            why = "All brokers are currently fenced or in controlled shutdown."
            raise _cannot_be_reached(replication_factor, why)
        placement.append(replicas)
    return placement


def _in_turns(image: Image, fenced: bool) -> list[int]:
    """The live brokers, or the fenced ones: one from each rack, then another from each
    rack, and so on.
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
    """Check a placement chosen by the client: consecutive partition numbers, known and
    distinct brokers, equally many for each partition.
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
    """Check that each new partition has a broker that may lead it. first: the number of
    the first new partition.
    """
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
