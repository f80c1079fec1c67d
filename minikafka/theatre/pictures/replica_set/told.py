"""Above the logs, over each offset: what the record's producer was told. A record that
was acknowledged and is lost is one line higher, with its name: nobody should overlook
that.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Drawing, Look, fitting, has_room
from minikafka.theatre.nodes import Columns
from minikafka.theatre.pictures.log_rows import HEAD, LogRows
from minikafka.theatre.pictures.replica_set.names import BETWEEN, Names
from minikafka.theatre.play import Cast
from minikafka.theatre.text import listed

LINE = 22  # height of a row
SIGNS = {"acknowledged": "✓", "failed": "✗", "": "…"}


class WasTold(NamedTuple):
    """What the producer of a record was told: "", "acknowledged" or "failed". number:
    of the event with which it was told. lost: the leader doesn't have it; cut_by: the
    broker that has truncated it last, or "".
    """

    offset: int
    epoch: int
    told: str
    letter: str
    name: str
    producer: str
    number: int
    lost: bool
    cut_by: str

    @property
    def record(self) -> str:
        """The name that it shares with the record in the logs."""
        return f"{self.offset}/{self.epoch}"


def told_box(cast: Cast, rows: LogRows) -> Item:
    """Over the columns of these rows."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        columns = rows.columns(places, scene["space"])
        leads = places.get(f"log {scene['space']['leader']}")
        answers_y = leads.y + HEAD if leads else None
        told = _Told(d, columns, Names(columns, cast), told_y(places), answers_y)
        told.draw(scene["space"]["told"], cast["producers"])

    return part("told", draw, high=LINE * (1 + bool(cast["ever_lost"])))


def told_y(places: Places) -> float:
    """Of the row of what is still true."""
    return places["told"].bottom - LINE


class _Told(NamedTuple):
    """y: of the row of what is still true. leads_y: of the leader's records, from which
    an answer comes.
    """

    d: Drawing
    columns: Columns
    names: Names
    y: float
    leads_y: float | None

    def draw(self, told: Sequence[Sequence[Any]], producers: Sequence[str]) -> None:
        who = "producers were told"
        if len(producers) == 1:
            who = f"{producers[0]} was told"
        self._name("name", self.y, who)

        every = [WasTold(*each) for each in told]
        lost = [each for each in every if each.lost]
        if lost:
            cutters = sorted({each.cut_by for each in lost})
            words = ["told ✓, then lost", "✓, then lost"]
            if all(cutters):
                by = f"told ✓, cut by {listed(cutters)}"
                words = [by, "told ✓, then cut", "✓, then cut"]
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
        look: Look = {"anchor": "end", "room": x, "bold": ink == "trouble"}
        self.d.text(f"told/{key}", x, y + 15, words, ink, **look)

    def _one(self, told: WasTold) -> None:
        """An answer is another thing than what was sent: it comes from the leader."""
        answered = told.told == "acknowledged"
        look: Look = {"text": SIGNS[told.told], "fill": "paper"}
        if answered:
            look |= {"fill": "good", "from_y": self.leads_y}
        elif told.told == "failed":
            look |= {"line": "trouble", "ink": "trouble", "width": 2}
        else:
            look["dash"] = "3 3"
        self._cell(told, self.y, look, answered)

    def _lost(self, told: WasTold) -> None:
        """With its name, or its letter."""
        room = self.columns.pitch - BETWEEN - 6
        look: Look = {"fill": "good", "line": "trouble", "ink": "trouble", "width": 2}
        look["dash"] = "3 3" if told.cut_by else None
        if self.names.are_whole and has_room(f"✓ {told.name}", room, 13.5):
            look |= {"text": "✓", "more": told.name}
        else:
            signs = [f"✓ {told.letter}", f"✓{told.letter}"]
            look["text"] = fitting(signs, room, 13.5, mono=True, bold=True) or "✓"
        self._cell(told, self.y - LINE, look, True)

    def _cell(self, told: WasTold, y: float, look: Look, answered: bool) -> None:
        x, wide = self.columns(told.offset), self.columns.pitch - BETWEEN
        who = told.producer or "the producer"
        heard = told.told or "not answered yet"
        tip = f"{who}: offset {told.offset}, {told.name}: {heard}"
        key = f"told/{told.record}{'/answer' if answered else ''}"
        look |= {"of": told.number, "tip": tip, "same": told.record}
        self.d.cell(key, x, y, wide, LINE - 3, **look)
