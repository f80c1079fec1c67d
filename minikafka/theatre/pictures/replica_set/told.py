"""Above the logs, over each offset: what the record's producer was told. A record that
was acknowledged and is lost is one line higher, with its name: nobody should overlook
that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Box, Drawing, Look, fitting, has_room
from minikafka.theatre.nodes import Columns
from minikafka.theatre.pictures.replica_set.names import BETWEEN, Names

LINE = 22  # height of a row
SIGNS = {
    "acknowledged": "✓",
    "failed": "✗",
    "": "…",
}


class WasTold(NamedTuple):
    """What the producer of a record was told: "", "acknowledged" or "failed". number:
    of the event with which it was told. lost: the leader doesn't have it; cut: a broker
    has truncated it.
    """

    offset: int
    epoch: int
    told: str
    letter: str
    name: str
    producer: str
    number: int
    lost: bool
    cut: bool

    @property
    def record(self) -> str:
        """The name that it shares with the record in the logs."""
        return f"{self.offset}/{self.epoch}"


class ToldRows:
    """y: of the row of what is still true. leads_y: of the leader's records, from which
    an answer comes.
    """

    def __init__(
        self,
        d: Drawing,
        columns: Columns,
        names: Names,
        y: float,
        leads_y: float | None,
    ) -> None:
        self.d = d
        self.columns = columns
        self.names = names
        self.y = y
        self.leads_y = leads_y

    def draw(self, told: Sequence[Sequence[Any]], producers: Sequence[str]) -> None:
        who = "producers were told"
        if len(producers) == 1:
            who = f"{producers[0]} was told"
        self._name("name", self.y, who)

        every = [WasTold(*each) for each in told]
        lost = [each for each in every if each.lost]
        if lost:
            then = "then cut" if all(each.cut for each in lost) else "then lost"
            words = [f"acknowledged, {then}", f"✓, {then}"]
            fits = fitting(words, self.columns.left - 8, 13, bold=True)
            self._name("lost", self.y - LINE, fits, "trouble")

        latest = {each.offset: each.epoch for each in every if not each.lost}
        for each in every:
            if each.offset < self.columns.first:
                continue
            if each.lost:
                self._lost(each)
            elif latest[each.offset] == each.epoch:
                self._one(each)

    def _name(self, key: str, y: float, words: str, ink: str = "ink") -> None:
        x = self.columns.left - 8
        look: Look = {
            "anchor": "end",
            "room": x,
            "bold": ink == "trouble",
        }
        self.d.text(f"told/{key}", x, y + 15, words, ink, **look)

    def _box(self, told: WasTold, y: float) -> Box:
        x = self.columns(told.offset)
        return Box(
            x=x,
            y=y,
            w=self.columns.pitch - BETWEEN,
            h=LINE - 3,
        )

    def _one(self, told: WasTold) -> None:
        key = f"told/{told.record}"
        look: dict[str, Any] = {"fill": "paper", "line": "rule"}
        if told.told == "acknowledged":
            # the answer is another thing than what was sent: it comes from the leader
            key += "/answer"
            look |= {"fill": "good", "from_y": self.leads_y}
        elif told.told == "failed":
            look |= {
                "line": "trouble",
                "ink": "trouble",
                "width": 2,
            }
        else:
            look["dash"] = "3 3"
        self._cell(key, told, self.y, SIGNS[told.told], look)

    def _lost(self, told: WasTold) -> None:
        y = self.y - LINE
        sign, name = self._named(told, self._box(told, y).w - 6)
        look: Mapping[str, Any] = {
            "more": name,
            "fill": "good",
            "line": "trouble",
            "ink": "trouble",
            "width": 2,
            "dash": "3 3" if told.cut else None,
        }
        key = f"told/{told.record}/answer"
        self._cell(key, told, y, sign, look)

    def _named(self, told: WasTold, room: float) -> tuple[str, str]:
        """A sign and a name beside it, if there is room; else it has its letter."""
        if self.names.are_whole and has_room(f"✓ {told.name}", room, 13.5):
            return "✓", told.name
        signs = [f"✓ {told.letter}", f"✓{told.letter}"]
        return fitting(signs, room, 13.5, mono=True, bold=True) or "✓", ""

    def _cell(
        self, key: str, told: WasTold, y: float, words: str, look: Mapping[str, Any]
    ) -> None:
        who = told.producer or "the producer"
        heard = told.told or "not answered yet"
        self.d.cell(
            key,
            *self._box(told, y),
            text=words,
            of=told.number,
            tip=f"{who}: offset {told.offset}, {told.name}: {heard}",
            same=told.record,
            **look,
        )
