"""How much of the closed segments is dirty, and how much is enough for a pass."""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Box, Drawing, Look, widest
from minikafka.theatre.pictures.cleaner.story import percent_of
from minikafka.theatre.play import Cast, Space

WORDS, BAR = 20, 14  # heights
WIDEST = 330  # of words that are never cut


def gauge_box(cast: Cast, scenes: Sequence[Scene]) -> Item:
    """A bar under its words; a line on it where it is enough."""
    ratio = cast["min_ratio"]

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        space = scene["space"]
        if not (space["dirty_bytes"] or space["half"]):
            return  # nothing to clean
        clean, dirty = space["clean_bytes"], space["dirty_bytes"]
        place = places["gauge"]
        gauge = d.part("gauge", place.x, place.y)
        gauge.text("words", 0, 15, _words(space, ratio), room=place.w)
        bar = Box(0, WORDS + 5, place.w - 2, BAR)
        tip = f"{clean} bytes clean, {dirty} bytes dirty in closed segments"
        look: Look = {"r": 3, "tip": tip}
        gauge.rect("all", *bar, fill="good", line="rule", **look)
        filled = bar._replace(w=bar.w * dirty / max(clean + dirty, 1))
        gauge.rect("dirty", *filled, fill="quiet", **look)
        if ratio is not None:
            x, top, bottom = bar.w * ratio, bar.y - 5, bar.bottom + 5
            tip = f"min.cleanable.dirty.ratio {ratio}"
            gauge.upright("enough", x, top, bottom, "ink", width=2, tip=tip)

    said = [_words(scene["space"], ratio) for scene in scenes]
    wide = min(max(map(widest, said), default=0), WIDEST)
    return part("gauge", draw, high=WORDS + BAR + 10, least=wide, grow=2)


def _words(space: Space, ratio: float | None) -> str:
    dirty = space["dirty_bytes"]
    words = f"dirty: {dirty} of {space['clean_bytes'] + dirty} bytes"
    return words if ratio is None else f"{words}, enough: over {percent_of(ratio)}%"
