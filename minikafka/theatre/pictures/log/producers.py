"""Who writes into the log's partitions, and how a key's number becomes a partition."""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part, row
from minikafka.theatre.drawing import Drawing, Look, Point, widest
from minikafka.theatre.pictures.log.journey import Chosen
from minikafka.theatre.play import Space
from minikafka.theatre.row import Record
from minikafka.theatre.text import key_part

MOST = 4  # cards
HIGH, WRITES = 26, 58  # height of a card, width of what it does
LEAST = 110  # width of a card
LINE = 18  # height of a line of arithmetic


def producers_box(spaces: Sequence[Space], several: bool) -> Item:
    """A card for each producer. A single one that writes to several partitions has its
    arithmetic beside it: how it chooses one.
    """
    names = spaces[-1]["producers"] if spaces else []
    cards = row(*map(_card, range(len(names[:MOST])), names), gap=8, line_gap=6)
    grows = any(len(space["by_hash"]) > 1 for space in spaces)
    if several and len(names) == 1 and grows:
        return row(cards, _arithmetic(spaces), gap=8, breaks=False)
    return cards


def home(places: Places, number: int) -> Point:
    """Where the records of a producer come from."""
    card = places[f"producer {min(number, MOST - 1)}"]
    return Point(card.x, card.y)


def writer(scene: Scene) -> int | None:
    """The number of the producer that writes now."""
    for log in scene["space"]["partitions"]:
        for record in map(Record._make, log["records"]):
            if record.number == scene["number"]:
                return record.producer
    return None


def _card(number: int, name: str) -> Item:
    key = f"producer/{key_part(name)}"

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        if number >= len(scene["space"]["producers"]):
            return
        place = places[f"producer {number}"]
        look: Look = {"fill": "wash", "line": "rule", "r": 8, "tip": name}
        if writer(scene) == number:
            look |= {"line": "ink", "width": 2}
        d.rect(key, *place, **look)
        card = d.part(key, place.x, place.y)
        card.text("name", 8, 18, name, bold=True, room=place.w - WRITES - 8, tip=name)
        card.note("does", place.w - 8, 18, "writes", "end", size=12)

    wide = 20 + widest(name, 13, bold=True) + WRITES
    least = min(wide, LEAST)
    return part(f"producer {number}", draw, high=HIGH, least=least, wanted=wide)


def _arithmetic(spaces: Sequence[Space]) -> Item:
    """Before the topic grew and since. Until it has grown, nothing: it would give away
    where the key's next record goes.
    """

    def words(space: Space) -> list[str]:
        latest = map(Chosen._make, space["by_hash"][-2:])
        return [f"number % {each.partitions} = {each.partition}" for each in latest]

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["hash"]
        said = words(scene["space"])
        for number, text in enumerate(said) if len(said) > 1 else ():
            ink = "ink" if number else "quiet"
            y = place.y + 13 + LINE * number
            look: Look = {"mono": True, "bold": number > 0}
            d.text(f"hash/{number}", place.x, y, text, ink, size=12, **look)

    said = [text for space in spaces for text in words(space)]
    wide = max(widest(text, 12, mono=True) for text in said)
    return part("hash", draw, high=2 * LINE, least=wide)
