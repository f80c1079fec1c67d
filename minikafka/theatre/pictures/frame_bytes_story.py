"""What a frame says, as it was sent and with bytes that were changed (frame_bytes.py
draws it). It is told by course/experiments/lesson_12_frames.py, one event a change.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.play import Cast, Detail, Space, Story, Told
from minikafka.theatre.text import capital, counted
from minikafka.trace import Event

NOBODY = "nobody"


class Part(NamedTuple):
    """One field: bytes from first on, up to end. section: "request header", say; depth:
    how deep it is nested there.
    """

    section: str
    depth: int
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


class BytesStory(Story):
    """The story of one frame and its changes."""

    name = "bytes"
    title = "Bytes beside their fields"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.read: Detail | None = None  # what was told last
        # as it was sent: its bytes, and the value of the field at each byte
        self.sent = b""
        self.values: dict[tuple[int, str], str] = {}

    def cast(self) -> Cast:
        return super().cast() | {"sent": self.sent.hex()}

    def space(self) -> Space:
        read = self.read or {"bytes": [], "parts": [], "end": 0, "at": None, "by": ""}
        parts = [Part(*part) for part in read["parts"]]
        data = bytes(read["bytes"])
        pairs = zip(data, self.sent, strict=True)
        return {
            **{name: read[name] for name in ("parts", "end", "at", "by")},
            "data": data.hex(),
            "changed": [at for at, (now, was) in enumerate(pairs) if now != was],
            "other": [
                number
                for number, part in enumerate(parts)
                if self.values.get((part.first, part.name)) != part.value
            ],
        }

    def clock(self, ms: Sequence[int]) -> list[str]:
        """No time passes: changes are counted."""
        changes = [f"change {number}" for number in range(1, len(ms))]
        return ["as sent", *changes][: len(ms)]

    def _see_FrameRead(self, event: Event, d: Detail) -> Told:
        before = self.read
        self.read = d
        data = bytes(d["bytes"])
        parts = [Part(*part) for part in d["parts"]]
        if before is None:
            self.title = capital(d["frame"])
            self.sent = data
            self.values = {(part.first, part.name): part.value for part in parts}
            fields = counted(len(parts), "field")
            return Told(f"The frame has {len(data)} bytes, {fields}.")
        at = d["at"]
        was = before["bytes"][at]
        sentence = f"Byte {at} was {was:02x} and is {data[at]:02x}"
        part = part_at(parts, at)
        if part is not None:
            old = part_at([Part(*each) for each in before["parts"]], at)
            told = f": {part.name} is {part.value}"
            if old is not None and old.value == part.value:
                told = f", in {part.name}"
            sentence += told
        is_as_sent = data == self.sent
        said = "All is as it was sent." if is_as_sent else d["message"]
        who = d["by"]
        if who == NOBODY and not is_as_sent:
            said = f"Nobody notices. {said}"
        return Told(
            f"{sentence}. {said}",
            chapter=None if is_as_sent else f"byte {at}",
            trouble=who != NOBODY,
        )


def part_at(parts: Sequence[Part], at: int) -> Part | None:
    """The field that a byte belongs to; None where nothing was read."""
    for part in parts:
        if part.first <= at < part.end:
            return part
    return None
