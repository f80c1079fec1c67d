"""A partition's copies as rows, for the pictures of the replica set and of the fork: a
broker's card, its copy of the log beside it, and what else belongs to the broker.
"""

from collections.abc import Callable, Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part, row
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.nodes import BESIDE, Card, Columns, DrawnLog, card_high
from minikafka.theatre.pictures.replica_set.names import Names
from minikafka.theatre.play import Cast, Detail, Space, draws_levers

CARD, LEAST_CARD, GUTTER = 220, 150, 22  # width of a card; from it to the log
# heights above, of, and below a record; width from one to the next
HEAD, CELL, FOOT = 17, 28, 24
LEAST, WIDEST = 34, 126
FEW = 5  # records that have room on any page

Says = Callable[[Card, Detail, Places, Scene], None]


class LogRows:
    """The rows of a play. lines: of words on a card, of which a narrow one has one.
    says: draws what a card says. sends: where the records of a leader come from.
    """

    def __init__(
        self,
        cast: Cast,
        scenes: Sequence[Scene],
        lines: int,
        says: Says,
        sends: Callable[[Places, int], Look],
    ) -> None:
        self.cast = cast
        self.lines = lines
        self.says = says
        self.sends = sends
        self.live = bool(cast.get("live"))
        copies = scenes[0]["space"]["copies"] if scenes else []
        self.brokers: list[int] = [copy["broker"] for copy in copies]

    def item(self, broker: int, *beside: Item) -> Item:
        """A broker's row."""
        number = self.brokers.index(broker)

        def card(d: Drawing, places: Places, scene: Scene) -> None:
            copy = scene["space"]["copies"][number]
            place = places[f"card {broker}"]
            self.says(Card(d, broker, place, self.live), copy, places, scene)

        def log(d: Drawing, places: Places, scene: Scene) -> None:
            self._log(d, places, scene, scene["space"]["copies"][number])

        def high(width: float) -> float:
            lines = self.lines if width >= BESIDE else 1
            return card_high(lines, draws_levers(self.cast))(width)

        of_card: Look = {"least": LEAST_CARD, "wanted": CARD}
        places = self.cast["most"] + 1
        of_log = {"least": LEAST * min(places, FEW), "wanted": WIDEST * places}
        return row(
            part(f"card {broker}", card, high=high, **of_card),
            part(f"log {broker}", log, high=HEAD + CELL + FOOT, grow=1, **of_log),
            *beside,
            gap=GUTTER,
            breaks=False,
        )

    def _log(self, d: Drawing, places: Places, scene: Scene, copy: Detail) -> None:
        """New records come from who sends them, and copies from their leader."""
        leader = places.get(f"log {copy['follows']}")
        flies: Look = {}
        if copy["leads"]:
            flies = self.sends(places, copy["broker"])
        elif leader:
            flies = {"from_y": leader.y + HEAD}
        y = places[f"log {copy['broker']}"].y + HEAD
        columns = self.columns(places, scene["space"])
        called = Names(columns, self.cast).of_log(copy)
        log = DrawnLog(d, columns, called, self.cast["leaders"], y, CELL)
        log.draw(scene["number"], **flies)

    def columns(self, places: Places, space: Space) -> Columns:
        """The same in every row."""
        place = next(places[name] for name in places if name.startswith("log "))
        return Columns(place, self.cast["most"], space["end"], LEAST, WIDEST)

    def names(self, places: Places, space: Space) -> Names:
        """How records are called in these places."""
        return Names(self.columns(places, space), self.cast)

    def legend(self, a_row: Item) -> Item:
        """Which letter is whose, where names have no room. a_row: any of the rows."""

        def high(width: float) -> float:
            placed = a_row.places(Box(0, 0, width, 0))
            places = {each.name: each.place for each in placed}
            return self.names(places, {"end": 0}).height(width)

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            space = scene["space"]
            self.names(places, space).legend(d, places["legend"], space)

        return part("legend", draw, high=high)
