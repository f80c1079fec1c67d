"""What the partitioner's picture says: at each step why a record went to its partition,
and at the end what all of them add up to.
"""

from collections.abc import Sequence

from minikafka.theatre.pictures.partitioner.records import (
    HASH,
    POSITIVE,
    Bins,
    Choice,
    Gauge,
    Way,
    alike,
    differing,
)
from minikafka.theatre.text import capital, counted, listed


def sentence(choice: Choice, anew: bool) -> str:
    """Why a record went to its partition. anew: its producer had another one before."""
    key = choice.key
    partition = choice.partition
    if choice.is_hashed and choice.hash is not None:
        positive = choice.hash & POSITIVE
        remainder = f"{positive} % {choice.partitions} = {partition}"
        return f"Key {key}: {remainder}, so it goes to partition {partition}."

    record = "A record without a key"
    if key is not None:
        record = f"A record with key {key}"
    goes = f"{record} goes to partition {partition}"

    gauge = choice.gauge
    if gauge and gauge.before:
        return f"{goes}, too: {_stays(gauge)}."
    why = choice.why.removeprefix("no key: ")
    if gauge and anew:
        why = "batch.size bytes went to the one before, so it picks at random again"
    return f"{goes}: {why}."


def _stays(gauge: Gauge) -> str:
    """Why a producer keeps its partition."""
    if gauge.before >= gauge.most:
        return f"{gauge.sent:,} bytes have gone there, but a batch is still filling"
    return f"{gauge.sent:,} of {gauge.most:,} bytes (batch.size) have gone there"


def notices(choice: Choice, after_ms: int) -> str:
    """What the producer did between the topic's growth and the first key that moved."""
    minutes = round(after_ms / 60_000)
    if not minutes:
        return ""
    return (
        f"{capital(counted(minutes, 'minute', 'a'))} later, {choice.producer} has"
        " fetched the metadata again (metadata.max.age.ms says how often) and now uses"
        f" % {choice.partitions}. "
    )


# -- in the end


def compared(first: Way, second: Way) -> str:
    """How many keys two ways send to different partitions, and why that matters."""
    pair = [first, second]
    of_all = f"{len(differing(pair))} of {len(alike(pair))} keys"
    if first.rule == second.rule:
        return (
            f"From {first.count} to {second.count} partitions, {of_all} go elsewhere:"
            f" for them, hash % {second.count} is not hash % {first.count}. Records"
            " already written stay where they are, so such a key has records in two"
            " partitions."
        )
    return (
        f"{capital(first.who)} uses {first.name}, and {second.who} uses {second.name}:"
        f" they send {of_all} to different partitions, so the records of such a key may"
        " be read out of order."
    )


def stuck(bins: Bins, gauge: Gauge | None) -> str:
    """Where the default rule sent records without a key."""
    went = f"All {sum(bins.shares)} records went to {_named(bins.used)}"
    most = "batch.size bytes"
    if gauge is not None:
        most = f"{gauge.most:,} bytes (batch.size)"
        if len(bins.used) == 1:
            went += f", {gauge.sent:,} bytes"
    return (
        f"{went}: the producer stays with one partition until {most} have gone there."
    )


def spread(way: Way, bins: Bins) -> str:
    """How many records each partition got by one rule."""
    went = f"{sum(bins.shares)} records went to {_named(bins.used)}"
    if len(bins.used) > 1:
        went += f": {listed(bins.shares)}"
    if way.rule == HASH:
        return (
            f"{went}. A key's hash % {way.count} decides, so each key has one"
            " partition."
        )
    return f"{went}. {capital(way.rule)} chose for each record."


def _named(numbers: Sequence[int]) -> str:
    """partition 2 · partitions 0 and 1"""
    noun = "partitions" if len(numbers) > 1 else "partition"
    return f"{noun} {listed(numbers)}"


def partitions(count: int) -> str:
    """How many there are, in words."""
    return counted(count, "partition", "one")
