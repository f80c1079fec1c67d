"""The members' effects outside Kafka: rows that their programs write to a table, for
records that they were given. Kafka refuses no effect, so one record may have two.
"""

from typing import Any, NamedTuple

from minikafka.theatre.pictures.rebalance.cast import Part
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.lengths import Lengths, in_tenths
from minikafka.theatre.pictures.rebalance.teller import Teller
from minikafka.theatre.play import Detail, Story, Told
from minikafka.theatre.text import listed
from minikafka.trace import Event


class Record(NamedTuple):
    part: Part
    offset: int


class Effect(NamedTuple):
    """who: the member for whose record it was written."""

    at_ms: int
    who: str
    key: str


class Effects(Teller):
    """handed: to whom records were handed, by their polls. writers: program -> the
    member that it reads with.
    """

    def __init__(self, story: Story, group: Group, lengths: Lengths) -> None:
        super().__init__(story, group)
        self.lengths = lengths
        self.handed: dict[Record, list[str]] = {}
        self.writers: dict[str, str] = {}
        self.table = ""
        self.written: list[Effect] = []

    def polled(self, event: Event) -> None:
        """A member has these records now."""
        d = event.detail
        name = self.group.about(event).actor.name
        part = Part(d["topic"], d["partition"])
        for offset, *_ in d["records"]:
            self.handed.setdefault(Record(part, offset), []).append(name)

    def see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        who = self._writer(event, d)
        key = d["key"]
        if not who or key is None:
            return None
        before = [each.who for each in self.written if each.key == key]
        self.table = d["table"]
        self.written.append(Effect(event.at, who, key))
        if not before:
            return None
        return Told(
            f"{who} writes {key} to {self.table}, as {before[0]} did before: now"
            f" {key} is there twice.",
            f"{key} is there twice",
            trouble=True,
            light=self.light(key),
        )

    def _writer(self, event: Event, d: Detail) -> str:
        """A program's name is not its consumer's. It is found out with the first record
        that only one member was handed.
        """
        program = event.node
        offset = d.get("offset")
        if program not in self.writers and offset is not None:
            record = Record(Part(d["topic"], d["partition"]), offset)
            names = dict.fromkeys(self.handed.get(record, []))
            if len(names) == 1:
                [self.writers[program]] = names
        return self.writers.get(program, "")

    # -- what is there twice

    def twice(self) -> str:
        """The key of the first effect that is there twice; "" if there is none."""
        seen = set[str]()
        for each in self.written:
            if each.key in seen:
                return each.key
            seen.add(each.key)
        return ""

    def in_all(self, key: str) -> str:
        actors = {actor.name: actor.letter for actor in self.cast.actors}
        alike = [each for each in self.written if each.key == key]
        by = [actors[each.who] for each in alike]
        if len(by) > 2:
            return f"{key} is in {self.table} {len(by)} times: by {listed(by)}."
        first, second = alike
        later = in_tenths(second.at_ms - first.at_ms)
        words = (
            f"{key} is in {self.table} twice: by {by[0]}, and {later} later by {by[1]}"
        )
        return f"{words}{self._was_out(second)}."

    def _was_out(self, effect: Effect) -> str:
        """Tell that a member wrote although the group had evicted it before."""
        silence = self.lengths.silence
        if silence is None or silence.out_ms is None or silence.who != effect.who:
            return ""
        if silence.out_ms > effect.at_ms:
            return ""
        return ", which had already been evicted"

    def light(self, key: str) -> list[str]:
        """Its marks, and the moment where a partition had two owners."""
        marks = [
            f"time/effects/{number}"
            for number, each in enumerate(self.written)
            if each.key == key
        ]
        return [*marks, "time/effects/what", "time/close", "lamp"]

    def space(self) -> dict[str, Any]:
        return {"effects": list(self.written)}
