"""The levers of a live run in the picture of the lag: for each member a scale of how
many records it can do, along which it is dragged.
"""

from collections.abc import Mapping, Sequence

from minikafka.theatre.actors import actor_colour
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part, row
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.pictures.lag.words import Unit, in_figures
from minikafka.theatre.text import key_part

# of the time for a record: what a rate can be dragged to, slow to fast
FACTORS = (8, 4, 2, 1, 0.5, 0.25, 0.125)
UNHURRIED_MS = 80  # where a record took no time: the middle of that scale
LEFT, RIGHT = 92, 20  # what a scale leaves free
HIGH = 42  # from one scale to the one below it


def scales_box(began_ms: Mapping[str, int], unit: Unit) -> Item:
    """began_ms: what each member needed for a record when the run began."""

    def draw_unit(d: Drawing, places: Places, scene: Scene) -> None:
        words = f"records a {unit.name} that each can do"
        d.note("rate/unit", 0, places["rates"].y + 12, words, size=12)

    def scale(number: int, name: str) -> Item:
        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            now_ms = scene["space"]["processing_ms"][name]
            began = began_ms[name] or UNHURRIED_MS
            notches = [max(round(began * factor), 1) for factor in FACTORS]
            _scale(d, places[f"rate {name}"], name, number, notches, now_ms, unit)

        return part(f"rate {name}", draw, high=HIGH, least=300, wanted=450)

    scales = [scale(number, name) for number, name in enumerate(began_ms)]
    words = part("rates", draw_unit, high=18)
    return column(words, row(*scales, gap=20)) if scales else column()


def _scale(
    d: Drawing,
    place: Box,
    name: str,
    actor: int,
    notches: Sequence[int],
    now_ms: int,
    unit: Unit,
) -> None:
    key = f"rate/{key_part(name)}"
    scale = d.part(key, place.x, place.y + 10)
    scale.note("name", 0, 4, f"{name} does", size=12, room=LEFT - 16)
    pitch = (place.w - LEFT - RIGHT) / (len(notches) - 1)
    begin = place.x + LEFT
    d.level(key, begin, place.right - RIGHT, place.y + 10, "rule", width=3)
    for number, ms in enumerate(notches):
        x, rate = LEFT + number * pitch, in_figures(unit.ms / ms)
        look: Look = {"same": f"{name}/{ms}", "tip": f"{rate} a {unit.name}"}
        scale.circle(f"{ms}", x, 0, 4, "paper", "quiet", **look)
        scale.note(f"{ms}/words", x, 20, rate, "middle", size=12, mono=True)
    x = LEFT + _nearest(notches, now_ms) * pitch
    grip: Look = {"fill": actor_colour(actor), "line": "paper"}
    grip |= {"act": f"rate {name}", "onto": name, "tip": f"drag how fast {name} works"}
    scale.circle("grip", x, 0, 8, **grip)


def _nearest(notches: Sequence[int], ms: int) -> int:
    """The place of the notch for this many ms per record. If a record takes no time,
    that is the fastest.
    """
    wanted_ms = ms or notches[-1]
    far = [abs(notch_ms - wanted_ms) for notch_ms in notches]
    return far.index(min(far))
