"""What the partitioner's machine tells: each record's way to a partition, and where
keys go when the divisor changes.

A way is one rule with one number of partitions. Two ways are compared: before and after
a topic grew, or the rules of two producers.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from minikafka.theatre.casting import OfTopic
from minikafka.theatre.play import Detail, Space, Told, picked
from minikafka.theatre.text import counted, key_part
from minikafka.trace import Event

MOST_KEYS = 12
# a reason that is told in other words
KINDS = {"round_robin": "round-robin", "program": "the program said so"}
POSITIVE = 0x7FFFFFFF  # all but the sign bit
HASH = "hash"  # the rule of the default partitioner
# shapes in the light, where it is about places
LIT = ("in", "machine", "said", "caption", "move", "part", "row")


class Way:
    """One rule with one number of partitions: where it sends each key, and how many
    records went there.
    """

    def __init__(self, rule: str, count: int, who: str) -> None:
        self.rule, self.count, self.who = rule, count, who
        self.places: dict[str | None, dict[int, int]] = {}

    def only(self, key: str | None) -> int | None:
        """The one partition of a key; None where there are several."""
        places = list(self.places.get(key, ()))
        return places[0] if len(places) == 1 and key is not None else None

    def to_json(self, number: int, shown: Sequence[str | None]) -> dict[str, Any]:
        """hidden: for each partition the keys that are counted only."""
        hidden = Counter(
            chain.from_iterable(
                places for key, places in self.places.items() if key not in shown
            )
        )
        return (
            {"number": number}
            | picked(self, "rule", "count", "who")
            | {
                "keys": [
                    [key, list(map(list, self.places[key].items()))]
                    for key in shown
                    if key in self.places
                ],
                "hidden": [list(each) for each in sorted(hidden.items())],
            }
        )


class PartitionerStory(OfTopic):
    name, title = "partitioner", "The partitioner"
    shows = ("keys", "others", "producers")

    def __init__(
        self, trace: Sequence[Event], *, topic: str | None = None, **options: Any
    ) -> None:
        super().__init__(trace, **options)
        chosen = [event for event in trace if event.kind == "PartitionChosen"]
        mine = self.choose(trace, topic, chosen)
        chosen = [event for event in mine if event.kind == "PartitionChosen"]
        self.title = f"The partitioner for {self.topic}" if self.topic else self.title
        used = Counter(event.detail["key"] for event in chosen)
        order = list(used)
        self.keys = sorted(
            sorted(used, key=lambda key: (-used[key], order.index(key)))[:MOST_KEYS],
            key=order.index,
        )
        self.others = len(used) - len(self.keys)
        self.producers = list(dict.fromkeys(event.node for event in chosen))
        self.last = chosen[-1].id if chosen else None
        self.count = 0
        self.bins: dict[int, dict[str | None, int]] = {}
        # of the keys whose latest record went where murmur2 says
        self.hashes: dict[str | None, int] = {}
        self.ways: list[Way] = []
        self.now: dict[str, Any] | None = None
        self.grown: tuple[str, int] | None = None
        self.divisors: list[int] | None = None

    # -- fold

    def is_mine(self, event: Event) -> bool:
        return bool(self.topic) and event.detail.get("topic") == self.topic

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        return Told(f"Topic {self.topic} is created with {partitions(self.count)}.")

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        """What stayed with one partition can leave in one batch: this is what sticking
        is for.
        """
        if all(record[1] is not None for record in d.get("records", ())):
            return None
        count, where = (
            d["last_offset"] - d["base_offset"] + 1,
            f"partition {d['partition']}",
        )
        many = (
            f"{count} records have arrived in {where}, in one batch: one request for"
            " all of them."
        )
        return Told(f"The record has arrived in {where}." if count == 1 else many)

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        was, self.count = d["was"], d["partitions"]
        self.grown, self.now, self.divisors = event.id, None, [was, self.count]
        sentence = (
            f"{self.topic} grows from {was} to {self.count} partitions. What is written"
            " stays."
        )
        if not self.hashes or not was:
            return Told(sentence, f"{self.count} partitions")
        before, after = self._way(HASH, was, ""), self._way(HASH, self.count, "")
        for key in self.hashes:
            for way in before, after:
                way.places.setdefault(
                    key, {(self.hashes[key] & POSITIVE) % way.count: 0}
                )
        moved = [key for key in self.hashes if before.only(key) != after.only(key)]
        sentence += (
            f" Divided by {self.count}, {len(moved)} of {len(self.hashes)} keys go"
            " elsewhere."
        )
        light = [
            chip(self.ways.index(way), key) for way in (before, after) for key in moved
        ]
        return Told(
            sentence, f"{self.count} partitions", light=[*LIT, *light] if moved else ()
        )

    def _way(self, rule: str, count: int, who: str) -> Way:
        found = next(
            (way for way in self.ways if (way.rule, way.count) == (rule, count)), None
        )
        if found is None:
            self.ways.append(found := Way(rule, count, who))
        return found

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told:
        key, partition, count, kind = (
            d["key"],
            d["partition"],
            d["partitions"],
            _kind(d),
        )
        self.count = max(self.count, count)
        way = self._way(
            HASH if d["reason"] in ("murmur2", "sticky") else kind, count, event.node
        )
        differed = len(_differ(self._pair()))
        places = way.places.setdefault(key, {})
        places[partition] = places.get(partition, 0) + 1
        elsewhere = [
            each for each in self.bins if each != partition and key in self.bins[each]
        ]
        bin_ = self.bins.setdefault(partition, {})
        bin_[key] = bin_.get(key, 0) + 1
        hashed = d["reason"] == "murmur2"
        if d.get("hash") is not None and key is not None:
            self.hashes[key] = d["hash"]
        else:
            self.hashes.pop(key, None)
        self.now = {
            name: d[name]
            for name in ("key", "value", "partition", "partitions", "why", "reason")
        }
        self.now |= {
            "kind": kind,
            "hash": d.get("hash"),
            "producer": event.node,
            "way": self.ways.index(way),
        }
        chapter = None
        first_with = hashed and self.grown and self.once(("divided by", count))
        for name in (f"by {count}" if first_with else "", kind):
            if name and self.once(name):
                chapter = {"murmur2": "the first key", "sticky": "no key"}.get(
                    name, name
                )
        sentence, light = _sentence(d), list[str]()
        if elsewhere and hashed:
            sentence += f" Its earlier records are in partition {elsewhere[-1]}."
        pair = self._pair()
        if (
            len(pair) == 2
            and pair[0].rule != pair[1].rule
            and len(_differ(pair)) > differed
        ):
            sentence += (
                f" By {_rule(pair[0])} it went to partition {pair[0].only(key)}."
            )
            if self.once("two rules"):
                light = [*LIT, *(chip(self.ways.index(each), key) for each in pair)]
        if (
            event.id == self.last
            and d["reason"] == "sticky"
            and len(self.bins) == 1
            and bin_.get(None, 0) > 2
        ):
            sentence = (
                f"All {bin_[None]} records went to partition {partition}: the producer"
                " stays with one partition "
            )
            sentence += "until batch.size bytes went there."
            light = [*LIT, chip(self.now["way"], None)]
        because = self.grown if hashed and elsewhere else None
        return Told(sentence, chapter, because=because, light=light)

    def _pair(self) -> list[Way]:
        """What is compared: before and after, or two rules; with the way that the
        record at hand took.
        """
        now = self.ways[self.now["way"]] if self.now else None
        last = self.ways[-2:]
        return last if now is None or now in last else [now, last[-1]]

    def space(self) -> Space:
        pair = self._pair()
        alike = (
            [key for key in pair[0].places if pair[1].only(key) is not None]
            if len(pair) == 2
            else []
        )
        example = (
            next(iter(_differ(pair)), None)
            if self.divisors and self.now is None
            else None
        )
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "now": self.now,
            "bins": [
                {
                    "partition": p,
                    "keys": [list(each) for each in self.bins.get(p, {}).items()],
                }
                for p in range(self.count)
            ],
            "ways": [way.to_json(self.ways.index(way), self.keys) for way in pair],
            "differ": [
                len(_differ(pair)),
                sum(pair[0].only(key) is not None for key in alike),
            ],
            "divisors": self.divisors,
            "example": (
                [example, self.hashes[example] & POSITIVE]
                if example in self.hashes
                else None
            ),
        }


def _differ(pair: Sequence[Way]) -> list[str | None]:
    """The keys that two ways send to two partitions."""
    if len(pair) < 2:
        return []
    ways = [(key, [way.only(key) for way in pair]) for key in pair[0].places]
    return [
        key for key, (one, other) in ways if None not in (one, other) and one != other
    ]


def _rule(way: Way) -> str:
    return "murmur2" if way.rule == HASH else way.rule


def _kind(d: Detail) -> str:
    """The rule that chose, in a word or two: somebody's own by its name."""
    return str(d["rule"] or KINDS.get(d["reason"], d["reason"]))


def _sentence(d: Detail) -> str:
    if d["reason"] == "murmur2":
        positive = d["hash"] & POSITIVE
        return (
            f"Key {d['key']}: {positive} % {d['partitions']} = {d['partition']}, so to"
            f" partition {d['partition']}."
        )
    who = (
        "A record without key" if d["key"] is None else f"A record with key {d['key']}"
    )
    return (
        f"{who} goes to partition {d['partition']}:"
        f" {d['why'].removeprefix('no key: ')}."
    )


# -- keys of shapes, which a story names where it puts light on them


def part(key: str | None) -> str:
    return "-" if key is None else "=" + key_part(key)


def chip(way: int, key: str | None) -> str:
    return f"key/{way}/{part(key)}"


def partitions(count: int) -> str:
    return counted(count, "partition", "one")
