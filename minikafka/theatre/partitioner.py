"""The partitioner's machine: a record's key goes in, the number of a partition comes out.

With a key: murmur2(key), without its sign bit, modulo the number of partitions (the Java client's
rule). Without a key: sticky, round-robin, or somebody's own function. When the number of partitions
changes, the divisor changes, and keys move. Options: topic. Without it: the topic that was used most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.casting import busiest_topic
from minikafka.theatre.drawing import Drawing, fit, text_width
from minikafka.theatre.keys import NO_KEY, letters
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.play import Cast, Detail, Play, Space, Story, Told
from minikafka.theatre.text import counted, key_part
from minikafka.trace import Event

Place = tuple[float, float, float, float]  # x, y, width, height
MOST_KEYS, MOST_BINS = 6, 8
SPACE = 158  # height of machine and bins, before the lanes
KINDS = {"round_robin": "round-robin", "program": "the program said so"}  # a reason that is told in other words


class PartitionerStory(Story):
    name = "partitioner"

    def __init__(self, trace: Sequence[Event], *, topic: str | None = None, **options: Any) -> None:
        super().__init__(trace, **options)
        chosen = [event for event in trace if event.kind == "PartitionChosen"]
        self.topic = topic or busiest_topic(chosen) or busiest_topic(trace)
        chosen = [event for event in chosen if event.detail["topic"] == self.topic]
        self.title = f"The partitioner for {self.topic}" if self.topic else "The partitioner"
        used = Counter(event.detail["key"] for event in chosen)
        self.letters = letters(used)
        order = list(used)
        self.keys = sorted(sorted(used, key=lambda key: (-used[key], order.index(key)))[:MOST_KEYS], key=order.index)
        self.others = len(used) - len(self.keys)
        self.count = 0
        self.bins: dict[int, dict[str | None, int]] = {}
        self.hashes: dict[str | None, int] = {}  # of the keys whose latest record went where murmur2 says
        self.went: dict[str | None, list[list[int]]] = {}  # key -> [partition count, partition] in the order of events
        self.now: dict[str, Any] | None = None
        self.grown: tuple[str, int] | None = None

    def cast(self) -> Cast:
        letters = [[key, letter] for key, letter in self.letters.items()]  # None is no key of a JSON object
        return super().cast() | {"letters": letters, "keys": self.keys, "others": self.others}

    # -- fold

    def is_mine(self, event: Event) -> bool:
        return bool(self.topic) and event.detail.get("topic") == self.topic

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        return Told(f"Topic {self.topic} is created with {_partitions(self.count)}.")

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        """What stayed with one partition can leave in one batch: this is what sticking is for."""
        if all(record[1] is not None for record in d.get("records", ())):
            return None
        self.now = None
        count = d["last_offset"] - d["base_offset"] + 1
        records = "a record" if count == 1 else f"{count} records"
        sentence = f"A batch of {records} has arrived in partition {d['partition']}: one request for all of them."
        return Told(sentence, marks=self.mark(_lane(None), "batch"))

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        was, self.count = d["was"], d["partitions"]
        self.grown, self.now = event.id, None
        known = [key for key in self.hashes if self._place(key, was) is not None]
        moved = [key for key in known if self._place(key, self.count) != self._place(key, was)]
        sentence = f"{self.topic} grows from {was} to {self.count} partitions. What is written stays."
        if known:
            sentence += f" Divided by {self.count}, {len(moved)} of {len(known)} keys go elsewhere."
        marks = [mark for key in self.keys if key in moved for mark in self.mark(_lane(key), "moves")]
        return Told(sentence, f"{self.count} partitions", marks=marks)

    def _place(self, key: str | None, count: int) -> int | None:
        return (self.hashes[key] & 0x7FFFFFFF) % count if key in self.hashes and count else None

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told:
        key, partition, count = d["key"], d["partition"], d["partitions"]
        self.count = max(self.count, count)
        before = self.went.setdefault(key, [])
        moved_from = before[-1][1] if before and before[-1][1] != partition else None
        first_with = not any(count == other for places in self.went.values() for other, _ in places)
        before.append([count, partition])
        if d.get("hash") is not None and key is not None:
            self.hashes[key] = d["hash"]
        else:
            self.hashes.pop(key, None)
        bin_ = self.bins.setdefault(partition, {})
        bin_[key] = bin_.get(key, 0) + 1
        kind = _kind(d)
        self.now = {
            "key": key,
            "value": d["value"],
            "partition": partition,
            "partitions": count,
            "why": d["why"],
            "reason": d["reason"],
            "kind": kind,
            "hash": d.get("hash"),
            "producer": event.node,
        }
        hashed = d["reason"] == "murmur2"
        chapter = None
        for name in (f"by {count}" if first_with and self.grown and hashed else "", kind):
            if name and self.once(name):
                chapter = {"murmur2": "the first key", "sticky": "no key"}.get(name, name)
        moved = hashed and moved_from is not None
        sentence = _sentence(d)
        if moved:
            sentence += f" Its earlier records are in partition {moved_from}."
        because = self.grown if moved else None
        return Told(sentence, chapter, because=because, marks=self.mark(_lane(key), f"P{partition}"))

    def space(self) -> Space:
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "now": self.now,
            "bins": [
                {"partition": p, "keys": [[key, n] for key, n in self.bins.get(p, {}).items()]}
                for p in range(self.count)
            ],
            "keys": [
                {"key": key, "places": _distinct(places), "next": self._next(key, places)}
                for key, places in self.went.items()
            ],
        }

    def _next(self, key: str | None, places: list[list[int]]) -> int | None:
        """Where the key's next record goes, as far as a hash tells; None without one."""
        return self._place(key, max(self.count, places[-1][0]))


class PartitionerPlay(Play):
    story = PartitionerStory
    foot = "Kafka keeps order within a partition. A key keeps its partition only while the number of partitions stays."

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.letters: dict[str | None, str] = dict(self.cast["letters"])
        self.most = min(max((scene["space"]["partition_count"] for scene in scenes), default=1), MOST_BINS)

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        parts = [_partitions(space["partition_count"])]
        now = space["now"]
        if now and now["partitions"] != space["partition_count"]:
            parts.append(f"{now['producer']} still knows {now['partitions']} of them")
        keys, others = len(self.cast["keys"]), self.cast["others"]
        if others:
            parts.append(f"{keys} of {keys + others} keys have a lane")
        return " · ".join(parts)

    def summary(self, space: dict[str, Any]) -> str:
        parts = []
        for bin_ in space["bins"]:
            held = ", ".join(f"{key or 'no key'} ×{count}" for key, count in bin_["keys"])
            parts.append(f"partition {bin_['partition']}: {held or 'empty'}")
        return "; ".join(parts) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene = drawing, scenes[-1]
        space = scene["space"]
        if d.narrow:
            door = self._machine(d, space["now"], (0, 2, d.width, 96))
            bottom = 114 + self.most * 30
            self._bins(d, scene, (0, 114, d.width), 30, door)
        else:
            door = self._machine(d, space["now"], (0, 4, 470, 130))
            height = max(SPACE // self.most, 21) if self.most > 4 else 39
            bottom = max(SPACE, height * self.most + 4)
            self._bins(d, scene, (512, 4, d.width - 512), height, door)
        seen = {entry["key"]: entry for entry in space["keys"]}
        rows = [self._row(key, seen.get(key)) for key in self.cast["keys"]]
        self.lanes.draw(d, bottom + 4, rows, scene["step"])

    def _machine(self, d: Drawing, now: dict[str, Any] | None, place: tuple[int, int, int, int]) -> tuple[float, float]:
        """Draws what goes in and what is computed; returns the point where the record leaves."""
        x, y, w, h = place
        entry = 112
        d.text("in/caption", x, y + 13, "a record goes in", "quiet", size=12.5)
        if now:
            words = fit("no key" if now["key"] is None else now["key"], entry - 14, 13.5, mono=True, bold=True)
            d.cell(
                "in/key", x, y + 22, entry, 44, words, now["value"] or "", line="ink", width=2, tip=f"key {now['key']}"
            )
            d.arrow("in/arrow", x + entry + 2, y + 44, x + entry + 24, y + 44)
        left = x + entry + 28
        d.rect("machine", left, y, w - entry - 28, h, "wash", "actor1", r=8, width=2)
        name = f"{now['producer']}'s partitioner" if now else "the producer's partitioner"
        d.text("machine/name", left + 12, y + 20, fit(name, w - entry - 150, bold=True), bold=True)
        lines = _computation(now) if now else [("waits for the next record", "")]
        if now:
            chip = fit(now["kind"], 110, 12, bold=True)
            d.chip("machine/kind", left + w - entry - 28 - 12 - text_width(chip, 12, bold=True) - 18, y + 7, chip)
        step = 26 if h > 110 else 21
        for number, (words, result) in enumerate(lines):
            line = y + 46 + number * step
            room = w - entry - 52 - (text_width(result, 13, mono=True) if result else 0)
            d.text(
                f"machine/{number}",
                left + 12,
                line,
                fit(words, room, 12.5, mono=bool(result)),
                "quiet",
                size=12.5,
                mono=bool(result),
            )
            if result:
                d.text(
                    f"machine/{number}/result",
                    x + w - 12,
                    line,
                    result,
                    mono=True,
                    bold=number == len(lines) - 1,
                    anchor="end",
                )
        return (x + w, y + 44) if not d.narrow else (x + w - 40, y + h)

    def _bins(
        self, d: Drawing, scene: Scene, place: tuple[float, float, float], pitch: float, door: tuple[float, float]
    ) -> None:
        x, y, width = place
        space, now = scene["space"], scene["space"]["now"]
        for row, bin_ in enumerate(space["bins"][:MOST_BINS]):
            top, h = y + row * pitch, pitch - 5
            key, partition = f"bin/{bin_['partition']}", bin_["partition"]
            hit = bool(now) and now["partition"] == partition
            d.text(key + "/name", x, top + h / 2 + 5, f"P{partition}", mono=True, bold=True)
            d.rect(key, x + 28, top, width - 28, h, "wash", "ink" if hit else "rule", r=6)
            total = sum(count for _, count in bin_["keys"])
            words = counted(total, "record")
            d.text(key + "/count", x + width - 8, top + h / 2 + 5, words, "quiet", size=12.5, mono=True, anchor="end")
            room = width - 28 - text_width(words, 12.5, mono=True) - 26
            self._chips(d, bin_, (x + 34, top + 3, room, h - 6), now if hit else None, door)
            if hit and not d.narrow:
                d.arrow("out/arrow", door[0] + 2, door[1], x - 5, top + h / 2, "ink", width=1.5)

    def _chips(
        self, d: Drawing, bin_: dict[str, Any], place: Place, now: dict[str, Any] | None, door: tuple[float, float]
    ) -> None:
        x, y, room, h = place
        entries = bin_["keys"]
        fits = max(int(room // 52), 1)
        shown = entries if len(entries) <= fits else entries[-(fits - 1) :]
        if len(shown) < len(entries):
            d.text(
                f"more/{bin_['partition']}", x + 2, y + h / 2 + 5, f"+{len(entries) - len(shown)}", "quiet", size=12.5
            )
            x += 40
        for number, (key, count) in enumerate(shown):
            new = now is not None and now["key"] == key
            name = f"held/{bin_['partition']}/{'-' if key is None else '=' + key_part(key)}"
            tip = f"{counted(count, 'record')} with {'no key' if key is None else 'key ' + key}"
            d.cell(name, x + number * 52, y, 48, h, self.letters[key], f"×{count}", line="ink" if new else "rule",
                   width=2 if new else None, tip=tip, from_x=door[0] - 48, from_y=door[1])  # fmt: skip

    def _row(self, key: str | None, entry: dict[str, Any] | None) -> Lane:
        if entry is None:
            return Lane(_lane(key), "")
        name = "no key" if key is None else key
        letter = self.letters[key]
        name = name if letter in (NO_KEY, name) else f"{letter} {name}"
        way = [partition for _, partition in entry["places"]] + [entry["next"]] * (entry["next"] is not None)
        turns = [partition for partition, before in zip(way, [None, *way], strict=False) if partition != before]
        latest = turns[-1:] if key is None else turns[-2:]
        return Lane(_lane(key), name, "quiet", " → ".join(f"P{partition}" for partition in latest))


def _kind(d: Detail) -> str:
    """The rule that chose, in a word or two: somebody's own by its name."""
    return str(d["rule"] or KINDS.get(d["reason"], d["reason"]))


def _computation(now: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines in the machine: what is computed, and what comes out."""
    if now["reason"] != "murmur2":
        rule = now["why"].split(": ", 1)
        return [(rule[-1], ""), ("partition", str(now["partition"]))]
    positive = now["hash"] & 0x7FFFFFFF
    return [
        ("murmur2(key)", str(now["hash"])),
        ("without sign bit", str(positive)),
        (f"% {now['partitions']} partitions", str(now["partition"])),
    ]


def _sentence(d: Detail) -> str:
    if d["reason"] == "murmur2":
        positive = d["hash"] & 0x7FFFFFFF
        return f"Key {d['key']}: {positive} % {d['partitions']} = {d['partition']}, so to partition {d['partition']}."
    who = "A record without key" if d["key"] is None else f"A record with key {d['key']}"
    return f"{who} goes to partition {d['partition']}: {d['why'].removeprefix('no key: ')}."


def _distinct(places: list[list[int]]) -> list[list[int]]:
    """Each change of place once."""
    return [list(place) for number, place in enumerate(places) if number == 0 or places[number - 1] != place]


def _lane(key: str | None) -> str:
    return "no key" if key is None else f"key {key}"


def _partitions(count: int) -> str:
    return "one partition" if count == 1 else f"{count} partitions"
