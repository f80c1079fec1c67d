"""What the partitioner's machine tells: each record's way to a partition, and where
keys go when the divisor changes.

A way is one rule with one number of partitions. Two ways are compared: before and after
a topic grew, or the rules of two producers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.casting import OfTopic
from minikafka.theatre.play import Detail, Space, Told, picked
from minikafka.theatre.text import capital, counted, key_part
from minikafka.trace import Event

Key = str | None  # of a record

MOST_KEYS = 12
# a reason that is told in other words
KINDS = {"round_robin": "round-robin", "program": "the program said so"}
# the chapter of its first record, where it is not the rule's name
FIRSTS = {"murmur2": "the first key", "sticky": "no key"}
# what is kept of the record that is in the machine
AT_HAND = ("key", "value", "partition", "partitions", "why", "reason")
POSITIVE = 0x7FFFFFFF  # all but the sign bit
HASH = "hash"  # the rule of the default partitioner
# shapes in the light, where it is about places
LIT = ("in", "machine", "said", "caption", "move", "part", "row")


class Way:
    """One rule with one number of partitions: where it sends each key, and how many
    records went there.
    """

    def __init__(self, rule: str, count: int, who: str) -> None:
        self.rule = rule
        self.count = count
        self.who = who
        self.places: dict[Key, dict[int, int]] = {}

    def add(self, key: Key, partition: int) -> None:
        """A record takes this way."""
        places = self.places.setdefault(key, {})
        places[partition] = places.get(partition, 0) + 1

    def only(self, key: Key) -> int | None:
        """The one partition of a key; None where there are several."""
        places = list(self.places.get(key, ()))
        if len(places) == 1 and key is not None:
            return places[0]
        return None

    def to_json(self, number: int, shown: Sequence[Key]) -> Space:
        """hidden: for each partition the keys that are counted only."""
        hidden: Counter[int] = Counter()
        for key, places in self.places.items():
            if key not in shown:
                hidden.update(places.keys())

        keys = []
        for key in shown:
            if key in self.places:
                keys.append([key, _pairs(self.places[key])])
        return {
            "number": number,
            **picked(self, "rule", "count", "who"),
            "keys": keys,
            "hidden": [list(each) for each in sorted(hidden.items())],
        }


class PartitionerStory(OfTopic):
    """The story of a topic's records on their way to partitions."""

    name, title = "partitioner", "The partitioner"
    shows = ("keys", "others", "producers")

    def __init__(
        self, trace: Sequence[Event], *, topic: str | None = None, **options: Any
    ) -> None:
        super().__init__(trace, **options)
        chosen = [event for event in trace if event.kind == "PartitionChosen"]
        mine = self.choose(trace, topic, chosen)
        chosen = [event for event in mine if event.kind == "PartitionChosen"]
        if self.topic:
            self.title = f"The partitioner for {self.topic}"
        used = Counter(event.detail["key"] for event in chosen)
        # sorted() keeps the order of equal ones: of keys used alike, the earlier
        by_use = sorted(used, key=lambda key: -used[key])[:MOST_KEYS]
        self.keys = [key for key in used if key in by_use]
        self.others = len(used) - len(self.keys)
        self.producers = list(dict.fromkeys(event.node for event in chosen))
        self.last = chosen[-1].id if chosen else None
        self.count = 0
        self.bins: dict[int, dict[Key, int]] = {}
        # of the keys whose latest record went where murmur2 says
        self.hashes: dict[Key, int] = {}
        self.ways: list[Way] = []
        self.now: Space | None = None
        self.grown: tuple[str, int] | None = None
        self.grown_at = 0
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
        keys = [key for _, key, *_ in d.get("records", ())]
        count = d["last_offset"] - d["base_offset"] + 1
        if None not in keys or count == 1:
            return None
        where = f"partition {d['partition']}"
        many = f"{count} records have arrived in {where}"
        return Told(f"{many}, in one batch: one request for all of them.")

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        was = d["was"]
        count = d["partitions"]
        self.count = count
        self.grown = event.id
        self.grown_at = self.at
        self.now = None
        self.divisors = [was, count]
        chapter = f"{count} partitions"
        grows = f"Topic {self.topic} grows from {was} to {count} partitions."
        sentence = f"{grows} What is written stays."
        if not self.hashes or not was:
            return Told(sentence, chapter)
        before = self._way(HASH, was, "")
        after = self._way(HASH, count, "")
        for key, hashed in self.hashes.items():
            for way in before, after:
                partition = (hashed & POSITIVE) % way.count
                way.places.setdefault(key, {partition: 0})

        moved = [key for key in self.hashes if before.only(key) != after.only(key)]
        of_all = f"{len(moved)} of {len(self.hashes)} keys"
        sentence += f" Divided by {count}, {of_all} go elsewhere."
        told = Told(sentence, chapter)
        if moved:
            chips_before = self._chips(before, moved)
            chips_after = self._chips(after, moved)
            told.light = [*LIT, *chips_before, *chips_after]
        return told

    def _chips(self, way: Way, keys: Sequence[Key]) -> list[str]:
        """Keys of shapes: these keys in a way."""
        number = self.ways.index(way)
        return [chip(number, key) for key in keys]

    def _way(self, rule: str, count: int, who: str) -> Way:
        """The way of a rule with this number of partitions, which may be new."""
        for way in self.ways:
            if way.rule == rule and way.count == count:
                return way
        made = Way(rule, count, who)
        self.ways.append(made)
        return made

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told:
        key = d["key"]
        partition = d["partition"]
        reason = d["reason"]
        is_hashed = reason == "murmur2"
        kind = _kind(d)
        self.count = max(self.count, d["partitions"])
        rule = HASH if reason in ("murmur2", "sticky") else kind
        way = self._way(rule, d["partitions"], event.node)
        differed = len(_differ(self._pair()))
        way.add(key, partition)
        earlier = self._put(key, partition)
        self._remember_hash(key, d.get("hash"))
        self.now = {
            **{name: d[name] for name in AT_HAND},
            "kind": kind,
            "hash": d.get("hash"),
            "producer": event.node,
            "way": self.ways.index(way),
            "gauge": _gauge(d),
        }
        anew = not self.once(("sticks", event.node))
        told = Told(_sentence(d, anew), self._chapter(d["partitions"], kind, is_hashed))
        if is_hashed and self.grown and self.once(("notices", d["partitions"])):
            told.sentence = self._notices(event) + told.sentence

        if earlier and is_hashed:
            told.sentence += f" Its earlier records are in partition {earlier[-1]}."
            told.because = self.grown

        self._compare_rules(told, key, differed)
        if event.id == self.last and reason == "sticky":
            self._tell_sticky(told, way, partition)
        return told

    def _notices(self, event: Event) -> str:
        """What the time was for between the growth and the first key that moves."""
        minutes = round((self.at - self.grown_at) / 60_000)
        if not minutes:
            return ""
        return (
            f"{capital(counted(minutes, 'minute', 'a'))} later: {event.node} has asked"
            " for metadata again (metadata.max.age.ms at the latest)"
            f" and divides by {event.detail['partitions']}. "
        )

    def _put(self, key: Key, partition: int) -> list[int]:
        """A record in its partition; returns the others that have records of its
        key.
        """
        others = [number for number, keys in self.bins.items() if key in keys]
        bin_ = self.bins.setdefault(partition, {})
        bin_[key] = bin_.get(key, 0) + 1
        return [number for number in others if number != partition]

    def _remember_hash(self, key: Key, hashed: int | None) -> None:
        """Of the keys that went where their hash says."""
        if hashed is not None and key is not None:
            self.hashes[key] = hashed
        else:
            self.hashes.pop(key, None)

    def _chapter(self, count: int, kind: str, is_hashed: bool) -> str | None:
        """The first record of a kind; and the first of a new divisor."""
        chapter = None
        if is_hashed and self.grown and self.once(("divided by", count)):
            chapter = self.once(f"by {count}")
        if kind and self.once(kind):
            chapter = FIRSTS.get(kind, kind)
        return chapter

    def _compare_rules(self, told: Told, key: Key, differed: int) -> None:
        """Where two rules send a key to two partitions, if this record shows it."""
        pair = self._pair()
        if len(pair) < 2 or len(_differ(pair)) <= differed:
            return
        first, second = pair
        if first.rule == second.rule:
            return
        told.sentence += f" By {_rule(first)} it went to partition {first.only(key)}."
        if self.once("two rules"):
            chips = [chip(self.ways.index(way), key) for way in pair]
            told.light = [*LIT, *chips]

    def _tell_sticky(self, told: Told, way: Way, partition: int) -> None:
        """At the end, if all records are where the first one went."""
        count = self.bins[partition].get(None, 0)
        if len(self.bins) > 1 or count <= 2:
            return
        went = f"All {count} records went to partition {partition}"
        most = "batch.size bytes"
        if self.now and self.now["gauge"]:
            sent, limit = self.now["gauge"]
            went += f", {sent:,} bytes"
            most = f"{limit:,} bytes (batch.size)"
        told.sentence = (
            f"{went}: the producer stays with one partition until {most} went there."
        )
        told.light = [*LIT, *self._chips(way, [None])]

    def _pair(self) -> list[Way]:
        """What is compared: before and after, or two rules; with the way that the
        record at hand took.
        """
        now = self.ways[self.now["way"]] if self.now else None
        last = self.ways[-2:]
        if now is None or now in last:
            return last
        return [now, last[-1]]

    def space(self) -> Space:
        pair = self._pair()
        differ = _differ(pair)
        ways = [way.to_json(self.ways.index(way), self.keys) for way in pair]
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "now": self.now,
            "bins": [self._bin(partition) for partition in range(self.count)],
            "ways": ways,
            "differ": [len(differ), len(_alike(pair))],
            "divisors": self.divisors,
            "example": self._example(differ),
        }

    def _bin(self, partition: int) -> Space:
        """What a partition holds."""
        keys = self.bins.get(partition, {})
        return {"partition": partition, "keys": _pairs(keys)}

    def _example(self, differ: Sequence[Key]) -> list[Any] | None:
        """After the topic grew: a key that moves, and its hash."""
        if not self.divisors or self.now is not None or not differ:
            return None
        key = differ[0]
        if key in self.hashes:
            return [key, self.hashes[key] & POSITIVE]
        return None


def _pairs(counts: Mapping[Any, int]) -> list[list[Any]]:
    """As JSON has it, where keys may be numbers or None."""
    return [list(pair) for pair in counts.items()]


def _alike(pair: Sequence[Way]) -> list[Key]:
    """The keys that both of two ways send to one partition each."""
    if len(pair) < 2:
        return []
    first, second = pair
    found = []
    for key in first.places:
        partitions_of_key = first.only(key), second.only(key)
        if None not in partitions_of_key:
            found.append(key)
    return found


def _differ(pair: Sequence[Way]) -> list[Key]:
    """The keys that two ways send to two partitions."""
    if len(pair) < 2:
        return []
    first, second = pair
    return [key for key in _alike(pair) if first.only(key) != second.only(key)]


def _rule(way: Way) -> str:
    """The name of a way's rule in a sentence."""
    return "murmur2" if way.rule == HASH else way.rule


def _kind(d: Detail) -> str:
    """The rule that chose, in a word or two: somebody's own by its name."""
    return str(d["rule"] or KINDS.get(d["reason"], d["reason"]))


def _gauge(d: Detail) -> list[int] | None:
    """While a producer sticks: the bytes that went to the partition, with this record,
    and how many keep it there.
    """
    sent = d.get("sent_bytes")
    if sent is None:
        return None
    sent += d["size_bytes"]
    return [sent, d["batch_size"]]


def _sentence(d: Detail, anew: bool) -> str:
    """Why a record went where it went. anew: its producer had another one before."""
    partition = d["partition"]
    if d["reason"] == "murmur2":
        remainder = f"{d['hash'] & POSITIVE} % {d['partitions']} = {partition}"
        return f"Key {d['key']}: {remainder}, so to partition {partition}."

    record = "A record without key"
    if d["key"] is not None:
        record = f"A record with key {d['key']}"

    goes = f"{record} goes to partition {partition}"
    gauge = _gauge(d)
    if gauge and d["sent_bytes"]:
        sent, most = gauge
        went = f"{sent:,} of {most:,} bytes (batch.size) have gone there"
        if d["sent_bytes"] >= most:
            went = f"{sent:,} bytes have gone there, but a batch is still filling"
        return f"{goes}, too: {went}."
    why = d["why"].removeprefix("no key: ")
    if gauge and anew:
        why = "batch.size bytes went to the one before, so one at random again"
    return f"{goes}: {why}."


# -- keys of shapes, which a story names where it puts light on them


def part(key: Key) -> str:
    """A key in the key of a shape, which has to differ from no key."""
    return "-" if key is None else "=" + key_part(key)


def chip(way: int, key: Key) -> str:
    """The shape of a key in a way."""
    return f"key/{way}/{part(key)}"


def partitions(count: int) -> str:
    """How many there are, in words."""
    return counted(count, "partition", "one")
