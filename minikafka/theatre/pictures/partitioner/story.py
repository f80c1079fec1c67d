"""The story of the partitioner's machine: each record's way to a partition, and where
keys go when the divisor changes.

A way is one rule with one number of partitions. Two ways are compared: before and after
a topic grew, or the rules of two producers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import OfTopic
from minikafka.theatre.pictures.partitioner.records import (
    HASH,
    POSITIVE,
    Bins,
    Choice,
    Key,
    Sent,
    Way,
    Ways,
    alike,
    busiest,
    differing,
)
from minikafka.theatre.pictures.partitioner.says import (
    compared,
    notices,
    partitions,
    sentence,
    spread,
    stuck,
)
from minikafka.theatre.play import QUIETLY, Detail, EventId, Says, Space, Told
from minikafka.trace import Event

MOST_KEYS = 12
A_FEW = 3  # records: of fewer there is nothing to say in the end
# the chapter of its first record, where it is not the rule's name
FIRSTS = {"murmur2": "the first key", "sticky": "no key"}
# shapes in the light, where it is about places
LIT = ("in", "machine", "apart", "said", "caption", "move", "part", "row", "record")


class Batch(NamedTuple):
    """The records that a producer has chosen one partition for."""

    producer: str
    partition: int


class PartitionerStory(OfTopic):
    """The story of a topic's records on their way to partitions.

    used: how many records each key has in the whole trace. keys: those that are shown;
    others: how many are only counted. waiting: what is in a batch and not in the log
    yet. now: the choice at hand, if a record is in the machine. grown: the event with
    which the topic grew last. divisors: before and after it.
    """

    name = "partitioner"
    title = "The partitioner"
    says: ClassVar[Mapping[str, Says]] = {
        "TopicCreated": Says("Topic {topic} is created with {many}."),
        "RecordsAppended": Says(
            "{count} records have arrived in partition {partition}, in one batch: one"
            " request for all of them."
        ),
        "PartitionsCreated": Says(
            "Topic {topic} grows from {was} to {partitions} partitions. Records"
            " already written stay where they are.",
            chapter="{partitions} partitions",
        ),
    }
    shows = ("keys", "others", "producers")

    def __init__(
        self, trace: Sequence[Event], *, topic: str | None = None, **options: Any
    ) -> None:
        super().__init__(trace, **options)
        choices = self._choices(trace, topic)
        if self.topic:
            self.title = f"The partitioner for {self.topic}"
        self.used = Counter(choice.key for choice in choices)
        self.keys = busiest(self.used, MOST_KEYS)
        self.others = len(self.used) - len(self.keys)
        self.producers = _producers(choices)
        self.first_choice = choices[0] if choices else None

        self.count = 0
        self.waiting: dict[Batch, list[Sent]] = {}
        self.bins = Bins()
        self.ways = Ways()
        self.now: Choice | None = None
        self.grown: EventId | None = None
        self.grown_at = 0
        # a key with records in several partitions
        self.parted: Key = None
        self.divisors: list[int] | None = None

    def _choices(self, trace: Sequence[Event], topic: str | None) -> list[Choice]:
        """Those for the topic: the one that is named, or that is chosen most."""
        chosen = [event for event in trace if event.kind == "PartitionChosen"]
        self.choose(trace, topic, chosen)
        return [Choice.of(event) for event in chosen if self.is_mine(event)]

    # -- fold

    def is_mine(self, event: Event) -> bool:
        topic = event.detail.get("topic")
        return bool(topic) and topic == self.topic

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        return self.tell(event, many=partitions(self.count))

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        """Records that stay with one partition can be sent in one batch: that is the
        purpose of sticking.
        """
        base = d["base_offset"]
        count = d["last_offset"] - base + 1
        batch = Batch(producer=self.asker(event) or "", partition=d["partition"])
        self._leave(batch, base, count)
        is_alone = count == 1
        if is_alone or not _has_no_key(d):
            return QUIETLY
        return self.tell(event, count=count)

    def _leave(self, batch: Batch, base: int, count: int) -> None:
        """So many records of a batch are in the log, from this offset on."""
        waiting = self.waiting.get(batch, [])
        for offset, sent in enumerate(waiting[:count], base):
            sent.offset = offset
        del waiting[:count]

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        was = d["was"]
        count = d["partitions"]
        self.count = count
        self.grown = event.id
        self.grown_at = self.at
        self.now = None
        self.ways.taken = None
        self.divisors = [was, count]
        told = self.tell(event)
        if self.bins.hashes and was:
            self._divide_anew(told, was, count)
        return told

    def _divide_anew(self, told: Told, was: int, count: int) -> None:
        """Where keys go from now on, of those whose hash is known."""
        before = self._divided_by(was)
        after = self._divided_by(count)
        keys = self.bins.hashes
        moved = [key for key in keys if before.only(key) != after.only(key)]
        of_all = f"{len(moved)} of {len(keys)} keys"
        told.sentence += f" With % {count}, {of_all} go elsewhere."
        if moved:
            told.light = self._light_on(before, after, keys=moved)

    def _divided_by(self, count: int) -> Way:
        """The way of the hash, with a place for each key that may take it."""
        way = self.ways.of(HASH, count, "")
        for key in self.bins.hashes:
            partition = self.bins.remainder(key, count)
            way.places.setdefault(key, {partition: 0})
        return way

    def _light_on(self, *ways: Way, keys: Sequence[Key]) -> list[str]:
        """The places of keys in these ways."""
        light = [*LIT]
        for way in ways:
            light += self.ways.chips(way, keys)
        return light

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told:
        """How many keys differ between two rules is counted before, too: more of them
        after, and this record shows one.
        """
        choice = Choice.of(event)
        self.count = max(self.count, choice.partitions)
        way = self.ways.of(choice.rule, choice.partitions, choice.producer)
        pair = self.ways.pair()
        differed = len(differing(pair))
        self._send(choice, way)
        earlier = self.bins.put(choice)
        if earlier:
            self.parted = choice.key
        self.now = choice
        self.ways.taken = way

        anew = not self.once(("sticks", choice.producer))
        told = Told(sentence(choice, anew), chapter=self._chapter(choice))
        if choice.is_hashed:
            self._tell_grown(told, choice)
            self._tell_parted(told, earlier)
        self._compare_rules(told, choice.key, differed)
        return told

    def _send(self, choice: Choice, way: Way) -> None:
        """A record waits in its producer's batch for its partition."""
        sent = Sent(self.number, choice.value)
        partition = choice.partition
        way.add(choice.key, partition, sent)
        batch = Batch(choice.producer, partition)
        self.waiting.setdefault(batch, []).append(sent)

    def _tell_grown(self, told: Told, choice: Choice) -> None:
        """When a producer has heard of new partitions."""
        if self.grown is None:
            return
        if not self.once(("notices", choice.partitions)):
            return
        after_ms = self.at - self.grown_at
        told.sentence = notices(choice, after_ms) + told.sentence

    def _tell_parted(self, told: Told, earlier: Sequence[int]) -> None:
        """Where a key has records in another partition, too."""
        if not earlier:
            return
        latest = earlier[-1]
        told.sentence += f" Its earlier records are in partition {latest}."
        told.because = self.grown

    def _chapter(self, choice: Choice) -> str | None:
        """The first record of a kind; and the first of a new divisor."""
        count = choice.partitions
        kind = choice.kind
        chapter = None
        if choice.is_hashed and self.grown:
            chapter = self.once(f"by {count}")
        if kind and self.once(kind):
            chapter = FIRSTS.get(kind, kind)
        return chapter

    def _compare_rules(self, told: Told, key: Key, differed: int) -> None:
        """Where two rules send a key to two partitions, if this record shows it."""
        pair = self.ways.pair()
        if len(differing(pair)) <= differed:
            return
        first, second = pair
        if first.rule == second.rule:
            return
        partition = first.only(key)
        told.sentence += f" With {first.name} it went to partition {partition}."
        if self.once("two rules"):
            told.light = self._light_on(first, second, keys=[key])

    def ends(self, last: Scene) -> None:
        """All in one sentence: how many records or keys went where, and why."""
        pair = self.ways.pair()
        if sum(self.used.values()) < A_FEW:
            return
        if alike(pair):
            last["sentence"] = compared(*pair)
            if pair[0].rule != pair[1].rule and differing(pair):
                last["light"] = self._light_on(*pair, keys=differing(pair))
        elif len(pair) == 1:
            [way] = pair
            self._ends_with(way, last)

    def _ends_with(self, way: Way, last: Scene) -> None:
        """There is one rule only."""
        if not way.is_sticky:
            last["sentence"] = spread(way, self.bins)
            return
        gauge = self.now.gauge if self.now else None
        last["sentence"] = stuck(self.bins, gauge)
        if len(self.bins.used) == 1:
            last["light"] = self._light_on(way, keys=[None])

    def space(self) -> Space:
        pair = self.ways.pair()
        differ = differing(pair)
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "now": self._at_hand(),
            "bins": self.bins.to_json(self.count),
            "ways": self.ways.to_json(self.keys),
            "differ": [len(differ), len(alike(pair))],
            "divisors": self.divisors,
            "example": self._example(differ),
            "apart": self._apart(),
        }

    def _apart(self) -> list[Any] | None:
        """A key with records in two partitions, and the two latest of them."""
        if self.parted is None:
            return None
        return [self.parted, self.ways.of_key(self.parted)[-2:]]

    def _at_hand(self) -> Space | None:
        """The record that is in the machine; the first one waits for it in the hand."""
        first = self.first_choice
        if first and not self.ways.every and first.partitions == self.count:
            return first.to_json(way=None)
        taken = self.ways.taken
        if self.now is None or taken is None:
            return None
        return self.now.to_json(way=self.ways.number(taken))

    def _example(self, differ: Sequence[Key]) -> list[Any] | None:
        """After the topic grew: a key that moves, and its hash."""
        if not self.divisors or self.now is not None or not differ:
            return None
        key = differ[0]
        hashed = self.bins.hashes.get(key)
        if hashed is None:
            return None
        return [key, hashed & POSITIVE]


def _producers(choices: Sequence[Choice]) -> list[str]:
    """In the order of their first records."""
    found = []
    for choice in choices:
        if choice.producer not in found:
            found.append(choice.producer)
    return found


def _has_no_key(d: Detail) -> bool:
    """Whether a batch has a record without a key."""
    keys = [key for _, key, *_ in d.get("records", ())]
    return None in keys
