"""The content of a frame, as it was sent and with bytes that were changed
(play.py draws it). course/experiments/lesson_12_frames.py emits one event per
change.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.play import Cast, Detail, Space, Story, Told
from minikafka.theatre.text import capital, counted
from minikafka.trace import Event

NOBODY = "nobody"


class Part(NamedTuple):
    """One field: bytes from first on, up to end."""

    section: str  # "request header", say
    depth: int  # how deep it is nested there
    name: str
    type: str
    value: str
    first: int
    end: int

    @property
    def bytes(self) -> str:
        """Which bytes it has, in words."""
        if self.end - self.first == 1:
            return f"byte {self.first}"
        return f"bytes {self.first} to {self.end - 1}"

    def among(self, bytes: Iterable[int]) -> bool:
        """Whether one of these is in it."""
        return any(self.first <= at < self.end for at in bytes)


class BytesStory(Story):
    """The story of one frame and its changes."""

    name = "bytes"
    title = "Bytes beside their fields"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.read: Detail | None = None  # what was told last
        self.original: Detail | None = None  # and first, before any change
        self.flips = False  # each change takes back the one before
        self.tried: dict[int, str] = {}  # byte -> who noticed that it was changed
        # as it was sent: its bytes, and the value of the field at each byte
        self.sent = b""
        self.values: dict[tuple[int, str], str] = {}

    def cast(self) -> Cast:
        return super().cast() | {"sent": self.sent.hex(), "flips": self.flips}

    def space(self) -> Space:
        read = self.read or {"bytes": [], "parts": [], "end": 0, "at": None, "by": ""}
        data = bytes(read["bytes"])
        pairs = zip(data, self.sent, strict=True)
        changed = [at for at, (now, was) in enumerate(pairs) if now != was]
        other = []  # fields that don't say what was sent
        for number, part in enumerate(parts_of(read)):
            sent = self.values.get((part.first, part.name))
            if sent != part.value:
                other.append(number)
        return {
            "parts": read["parts"],
            "end": read["end"],
            "at": read["at"],
            "by": read["by"],
            "data": data.hex(),
            "changed": changed,
            "other": other,
            "tried": list(self.tried.items()),
        }

    def clock(self, ms: Sequence[int]) -> list[str]:
        """No time passes: changes are counted, or bytes, where each is changed once."""
        changes = [f"change {number}" for number in range(1, len(ms))]
        if self.flips:
            changes = [f"byte {at}" for at in range(len(ms))]
        if self._is_whole():
            changes[len(ms) - 2] = "every byte"
        return ["as sent", *changes][: len(ms)]

    def _is_whole(self) -> bool:
        """Whether each byte was changed once."""
        return self.flips and len(self.tried) == len(self.sent)

    def ends(self, last: Scene) -> None:
        """How many changes nobody notices, and which."""
        if not self._is_whole():
            return
        missed = [at for at, who in self.tried.items() if who == NOBODY]
        last["sentence"] = (
            f"Of {len(self.sent)} flips {len(missed)} go unnoticed: these bytes mean"
            " something else now, and nobody can tell."
        )
        light = ["found", "covered", *(f"byte/{at}" for at in missed)]
        for number, part in enumerate(parts_of(self.read or {})):
            if part.among(missed):
                light.append(f"field/{number}")
        last["light"] = light

    def _see_FrameRead(self, event: Event, d: Detail) -> Told:
        before = self._before(d)
        self.flips = self.flips or before is not self.read
        self.read = d
        if before is None:
            return self._sent(d)
        is_as_sent = bytes(d["bytes"]) == self.sent
        if not is_as_sent:
            self.tried[d["at"]] = d["by"]
        is_noticed = d["by"] != NOBODY
        said = d["message"]
        if is_as_sent:
            said = "All bytes are as they were sent."
        elif not is_noticed:
            said = f"Nobody notices. {said}"
        return Told(
            f"{_change(before, d)}. {said}",
            chapter=None if is_as_sent or self.flips else f"byte {d['at']}",
            trouble=not is_as_sent and not is_noticed,
        )

    def _before(self, d: Detail) -> Detail | None:
        """What differs in one byte: what was told last, or, where that change is taken
        back, what was sent.
        """
        if self.read is None:
            return None
        pairs = zip(self.read["bytes"], d["bytes"], strict=True)
        others = [at for at, (was, now) in enumerate(pairs) if was != now]
        return self.original if others not in ([], [d["at"]]) else self.read

    def _sent(self, d: Detail) -> Told:
        """The frame before any change."""
        self.original = d
        parts = parts_of(d)
        self.title = capital(d["frame"])
        self.sent = bytes(d["bytes"])
        for part in parts:
            self.values[part.first, part.name] = part.value
        fields = counted(len(parts), "field")
        return Told(f"The frame has {len(self.sent)} bytes and {fields}.")


def _change(before: Detail, now: Detail) -> str:
    """Which byte is another one, and what its field says."""
    at = now["at"]
    was = before["bytes"][at]
    found = now["bytes"][at]
    sentence = f"Byte {at} changes from {was:02x} to {found:02x}"
    part = part_at(parts_of(now), at)
    if part is None:
        return sentence
    old = part_at(parts_of(before), at)
    if old is not None and old.value == part.value:
        return f"{sentence}, in {part.name}"
    return f"{sentence}, so {part.name} is {part.value}"


def parts_of(read: Detail) -> list[Part]:
    """The fields in what was read."""
    return [Part(*part) for part in read["parts"]]


def part_at(parts: Sequence[Part], at: int) -> Part | None:
    """The field that a byte belongs to; None where nothing was read."""
    for part in parts:
        if part.first <= at < part.end:
            return part
    return None
