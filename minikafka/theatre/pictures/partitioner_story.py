"""What the partitioner's machine tells: each record's way to a partition, and where
keys go when the divisor changes.

A way is one rule with one number of partitions. Two ways are compared: before and after
a topic grew, or the rules of two producers.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import OfTopic
from minikafka.theatre.pictures.partitioner_records import (
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
from minikafka.theatre.pictures.partitioner_says import (
    compared,
    notices,
    partitions,
    sentence,
    spread,
    stuck,
)
from minikafka.theatre.play import QUIETLY, Detail, Space, Told
from minikafka.trace import Event

MOST_KEYS = 12
A_FEW = 3  # records: of fewer there is nothing to say in the end
# the chapter of its first record, where it is not the rule's name
FIRSTS = {"murmur2": "the first key", "sticky": "no key"}
# shapes in the light, where it is about places
LIT = ("in", "machine", "said", "caption", "move", "part", "row", "record")


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
        choices = [
            Choice.of(event) for event in mine if event.kind == "PartitionChosen"
        ]
        if self.topic:
            self.title = f"The partitioner for {self.topic}"
        self.used = Counter(choice.key for choice in choices)
        self.keys = busiest(self.used, MOST_KEYS)
        self.others = len(self.used) - len(self.keys)
        producers = [choice.producer for choice in choices]
        self.producers = list(dict.fromkeys(producers))
        self.count = 0
        # in batches: of each producer, for each partition
        self.waiting: dict[tuple[str, int], list[Sent]] = {}
        self.bins = Bins()
        self.ways = Ways()
        self.now: Choice | None = None
        self.grown: tuple[str, int] | None = None
        self.grown_at = 0
        self.divisors: list[int] | None = None

    # -- fold

    def is_mine(self, event: Event) -> bool:
        topic = event.detail.get("topic")
        return bool(topic) and topic == self.topic

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        many = partitions(self.count)
        return Told(f"Topic {self.topic} is created with {many}.")

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        """What stayed with one partition can leave in one batch: this is what sticking
        is for.
        """
        partition = d["partition"]
        base = d["base_offset"]
        count = d["last_offset"] - base + 1
        producer = self.asker(event) or ""
        batch = self.waiting.get((producer, partition), [])
        for offset, sent in enumerate(batch[:count], base):
            sent.offset = offset
        del batch[:count]

        keys = [key for _, key, *_ in d.get("records", ())]
        if None not in keys or count == 1:
            return QUIETLY
        many = f"{count} records have arrived in partition {partition}"
        return Told(f"{many}, in one batch: one request for all of them.")

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        was = d["was"]
        count = d["partitions"]
        self.count = count
        self.grown = event.id
        self.grown_at = self.at
        self.now = self.ways.taken = None
        self.divisors = [was, count]
        grows = f"Topic {self.topic} grows from {was} to {count} partitions."
        told = Told(
            f"{grows} What is written stays.",
            chapter=f"{count} partitions",
        )
        if self.bins.hashes and was:
            self._divide_anew(told, was, count)
        return told

    def _divide_anew(self, told: Told, was: int, count: int) -> None:
        """Where keys go from now on, of those whose hash is known."""
        before = self.ways.of(HASH, was, "")
        after = self.ways.of(HASH, count, "")
        keys = self.bins.hashes
        moved = []
        for key in keys:
            for way in before, after:
                partition = self.bins.remainder(key, way.count)
                way.places.setdefault(key, {partition: 0})
            if before.only(key) != after.only(key):
                moved.append(key)

        of_all = f"{len(moved)} of {len(keys)} keys"
        told.sentence += f" Divided by {count}, {of_all} go elsewhere."
        if moved:
            told.light = [
                *LIT,
                *self.ways.chips(before, moved),
                *self.ways.chips(after, moved),
            ]

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told:
        choice = Choice.of(event)
        self.count = max(self.count, choice.partitions)
        way = self.ways.of(
            choice.rule,
            choice.partitions,
            choice.producer,
        )
        differed = len(differing(self.ways.pair()))
        self._send(choice, way)
        earlier = self.bins.put(choice)
        self.now = choice
        self.ways.taken = way

        anew = not self.once(("sticks", choice.producer))
        told = Told(
            sentence(choice, anew),
            chapter=self._chapter(choice),
        )
        if choice.is_hashed and self.grown:
            self._tell_grown(told, choice)
        if choice.is_hashed and earlier:
            told.sentence += f" Its earlier records are in partition {earlier[-1]}."
            told.because = self.grown
        self._compare_rules(told, choice.key, differed)
        return told

    def _send(self, choice: Choice, way: Way) -> None:
        """A record waits in its producer's batch for its partition."""
        sent = Sent(self.number)
        partition = choice.partition
        way.add(choice.key, partition, sent)
        its_batch = choice.producer, partition
        self.waiting.setdefault(its_batch, []).append(sent)

    def _tell_grown(self, told: Told, choice: Choice) -> None:
        """When a producer has heard of new partitions."""
        if not self.once(("notices", choice.partitions)):
            return
        after_ms = self.at - self.grown_at
        first = notices(choice, after_ms)
        told.sentence = first + told.sentence

    def _chapter(self, choice: Choice) -> str | None:
        """The first record of a kind; and the first of a new divisor."""
        count = choice.partitions
        kind = choice.kind
        chapter = None
        if choice.is_hashed and self.grown and self.once(("divided by", count)):
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
        told.sentence += f" By {first.name} it went to partition {first.only(key)}."
        if self.once("two rules"):
            told.light = [
                *LIT,
                *self.ways.chips(first, [key]),
                *self.ways.chips(second, [key]),
            ]

    def ends(self, last: Scene) -> None:
        """All in one sentence: how many records or keys went where, and why."""
        pair = self.ways.pair()
        if sum(self.used.values()) < A_FEW:
            return
        if alike(pair):
            last["sentence"] = compared(*pair)
        elif len(pair) == 1:
            [way] = pair
            self._ends_with(way, last)

    def _ends_with(self, way: Way, last: Scene) -> None:
        """There is one rule only."""
        is_sticky = way.rule == HASH and list(way.places) == [None]
        if not is_sticky:
            last["sentence"] = spread(way, self.bins)
            return
        gauge = self.now.gauge if self.now else None
        last["sentence"] = stuck(self.bins, gauge)
        if len(self.bins.used) == 1:
            last["light"] = [*LIT, *self.ways.chips(way, [None])]

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
        }

    def _at_hand(self) -> Space | None:
        """The record that is in the machine."""
        taken = self.ways.taken
        if self.now is None or taken is None:
            return None
        number = self.ways.number(taken)
        return self.now.to_json(number)

    def _example(self, differ: Sequence[Key]) -> list[Any] | None:
        """After the topic grew: a key that moves, and its hash."""
        if not self.divisors or self.now is not None or not differ:
            return None
        key = differ[0]
        hashed = self.bins.hashes.get(key)
        if hashed is None:
            return None
        return [key, hashed & POSITIVE]
