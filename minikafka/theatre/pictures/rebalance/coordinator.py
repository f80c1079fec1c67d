"""Above: the group coordinator as a bar. It says in which generation or epoch the group
is, and who assigns; and it has the partitions that nobody reads.
"""

from collections.abc import Mapping, Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import (
    Draws,
    Item,
    Places,
    column,
    framed,
    part,
    row,
    space,
    words,
)
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, widest
from minikafka.theatre.pictures.rebalance.cast import Actor
from minikafka.theatre.pictures.rebalance.snapshot import MOST_MEMBERS
from minikafka.theatre.pictures.rebalance.spans import (
    SHORTEST_MS,
    Span,
    lasted_ms,
    seconds,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import listed

LINE, BASE = 20, 14  # height of a line, and where its words are in it
CHIP, CHIP_PITCH = 20, 45  # of a partition: height, and width with the gap behind it
LEAST_PITCH = 36  # on a phone
MOST_OF_POOL = 320  # width of the partitions that nobody has, on a phone
BULB = 27  # width of the lamp behind its words
GAP = 10
Ways = list[str]  # what is said, the longest way first


class Coordinator:
    """The bar, with room for all that it says at any step."""

    def __init__(
        self, cast: Cast, actors: Mapping[str, Actor], scenes: Sequence[Scene]
    ) -> None:
        self.since_ms = cast["since_ms"]
        self.actors = actors
        self.scenes = scenes

    def box(self) -> Item:
        spaces = [scene["space"] for scene in self.scenes]
        states = [widest(_state(space), 12, bold=True) for space in spaces]
        pools = [_pool_width(space["free"]) for space in spaces]
        least = [LEAST_PITCH * len(space["free"]) for space in spaces]
        said = _ends([self._how_far(space) for space in spaces])
        lamp = [BULB + wide for wide in _ends(list(map(self._about_two, self.scenes)))]

        def line(name: str, draw: Draws, *sizes: float, grow: float = 0) -> Item:
            least, wanted = sizes[0], sizes[-1]
            return part(name, draw, high=LINE, least=least, wanted=wanted, grow=grow)

        name = words("coordinator/name", "group coordinator", high=LINE, bold=True)
        chip = line("state", self._chip, max(states, default=0) + GAP)
        does = line("words", self._words, *said, grow=1)
        most = max(pools, default=0)
        chips = min(max(least, default=0), MOST_OF_POOL)
        pool = line("pool", self._pool, chips, most, grow=1)
        first = row(name, space(), line("lamp", self._lamp, *lamp), gap=GAP)
        second = row(chip, does, pool, gap=GAP)
        return framed("coordinator", column(first, second, gap=2), self._frame, pad=7)

    def free(self) -> Item:
        """What nobody has, in the pool, in front of all boxes before it."""
        return part("free", self._free, high=0)

    # -- draw

    def _frame(self, d: Drawing, places: Places, scene: Scene) -> None:
        space = scene["space"]
        assigns = space["assigns"] == "coordinator"
        fill, line = ("said", "saidline") if assigns else ("wash", "rule")
        dash = "5 4" if space["down"] else None
        d.rect("coordinator", *places["coordinator"], fill, line, r=8, dash=dash)

    def _chip(self, d: Drawing, places: Places, scene: Scene) -> None:
        state = _state(scene["space"])
        if state:
            place = places["state"]
            fill = "good" if state == "Stable" else "chip"
            d.chip("coordinator/state", place.x, place.y, state, fill=fill)

    def _words(self, d: Drawing, places: Places, scene: Scene) -> None:
        """They have the pool's room, too, where that is empty, and come before the
        pool's own words.
        """
        space = scene["space"]
        if not space["state"]:
            return
        place, pool, chip = (
            places["words"],
            places["pool"],
            d.shapes["coordinator/state"],
        )
        x = chip["x"] + chip["w"] + GAP
        room = pool.right - x
        said = self._how_far(space)
        words = ""
        if pool.y == place.y and space["free"]:
            words = fitting(said, room - _pool_width(space["free"]) - GAP, 12.5)
            room -= min(CHIP_PITCH * len(space["free"]), pool.w) + GAP
        words = words or fitting(said, room, 12.5) or said[-1]
        ink = "ink" if d.ends else "quiet"
        d.text("coordinator/words", x, place.y + BASE, words, ink, size=12.5, room=room)

    def _lamp(self, d: Drawing, places: Places, scene: Scene) -> None:
        """It should never turn red; where it was, it says for how long, and at the end
        that it wasn't.
        """
        place = places["lamp"]
        said = self._about_two(scene)
        is_red, was_red = bool(scene["space"]["two_owners"]), bool(self._two_ms(scene))
        if not (was_red or d.ends):
            return
        words = fitting(said, place.w - BULB, 12.5, bold=was_red) or said[-1]
        x, y = place.right - BULB, place.y + BASE
        look: Look = {"size": 12.5, "bold": was_red, "anchor": "end"}
        d.text("lamp/words", x, y, words, "trouble" if is_red else "quiet", **look)
        fill = "trouble" if is_red else "good"
        line = "trouble" if was_red else "quiet"
        d.circle("lamp", x=place.right - 11, y=y - 4.5, r=7, fill=fill, line=line)

    def _pool(self, d: Drawing, places: Places, scene: Scene) -> None:
        """What nobody has. To wait for the first reader is no trouble."""
        free, had = scene["space"]["free"], scene["space"]["spans"]
        if not free:
            return
        place = places["pool"]
        _, x = _pool_of(free, place)
        left, beside = place.x, d.shapes.get("coordinator/words")
        if beside and beside["y"] == place.y + BASE:
            left = max(left, beside["x"] + widest(beside["text"], 12.5) + GAP)
        is_trouble = any(label in had for label in free)
        words = "nobody has" if is_trouble else "nobody yet"
        words = fitting([words], x - GAP - left, 12.5)
        ink = "trouble" if is_trouble else "quiet"
        d.text("pool", x - GAP, place.y + 15, words, ink, size=12.5, anchor="end")

    def _free(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The partitions themselves, which fly in front of the members."""
        free, had = scene["space"]["free"], scene["space"]["spans"]
        place = places["pool"]
        pitch, x = _pool_of(free, places["pool"])
        for label in free:
            ink = "trouble" if label in had else "quiet"
            look: Look = {"fill": "paper", "line": ink, "ink": ink, "dash": "2 2"}
            d.cell(f"part/{label}", x, place.y, pitch - 4, CHIP, label, **look)
            x += pitch

    # -- say

    def _how_far(self, space: Space) -> Ways:
        """In which generation or epoch the group is, and who assigns; in less words,
        too, which leave out what can be seen elsewhere.
        """
        state = space["state"]
        number = space["number"]
        if space["kind"] == "consumer":
            epoch = f"epoch {number}"
            itself = "the coordinator itself assigns"
            how = f" ({space['assignor']})" if space["assignor"] else ""
            return [f"{epoch} · {itself}{how}", f"{epoch} · {itself}", itself]
        generation = f"generation {number}"
        if state == "PreparingRebalance":
            joins = _who_joins(space["waits_for"])
            return [f"{generation} ends · {joins}", joins] if number else [joins]
        leader = self.actors.get(space["leader"])
        if leader is None:
            return [generation]
        if state == "CompletingRebalance":
            assigns = f"leader {leader.letter} assigns"
            return [f"{generation} · group {assigns}", assigns]
        decided = f"passed on what {leader.letter} decided"
        return [
            f"{generation} · passed on what group leader {leader.letter} decided",
            f"{generation} · {decided}",
            decided,
            f"{leader.letter} decided",
        ]

    def _about_two(self, scene: Scene) -> Ways:
        """Whether any partition has two owners, or had them."""
        two_ms = self._two_ms(scene)
        if not two_ms:
            return ["no partition has two owners", "no two owners"]
        longest_ms = max(two_ms.values())
        long = seconds(longest_ms) if longest_ms >= SHORTEST_MS else ""
        lasted, short = (f", for {long}", f", {long}") if long else ("", "")
        [which, *others] = two_ms
        if others:
            which = f"{len(two_ms)} partitions"
        said = f"{which} had two owners{lasted}"
        if scene["space"]["two_owners"]:
            said = f"two owners: {which}{lasted}"
        return [said, f"two owners{short}"]

    def _two_ms(self, scene: Scene) -> dict[str, int]:
        """For how long partitions had two owners; the others are left out."""
        return {
            label: lasted_ms("two", spans, since_ms=self.since_ms, at=scene["at"])
            for label, spans in scene["space"]["spans"].items()
            if any(Span(*each).what == "two" for each in spans)
        }


def _ends(said: Sequence[Ways]) -> list[float]:
    """Room for the shortest way at each step, and for the longest one."""
    return [
        max((widest(ways[end], 12.5, bold=True) for ways in said), default=0)
        for end in (-1, 0)
    ]


def _state(space: Space) -> str:
    return "down" if space["state"] and space["down"] else str(space["state"])


def _who_joins(waits_for: Sequence[str]) -> str:
    if not waits_for:
        return "everyone joins"
    if len(waits_for) <= MOST_MEMBERS:
        return f"waits for {listed(waits_for)}"
    return f"waits for {len(waits_for)} members"


def _pool_of(free: Sequence[str], pool: Box) -> tuple[float, float]:
    """From one of its partitions to the next, and the x of the first."""
    pitch = min(CHIP_PITCH, pool.w / max(len(free), 1))
    return pitch, pool.right - pitch * len(free) + 4


def _pool_width(free: Sequence[str]) -> float:
    """With the words before it."""
    return CHIP_PITCH * len(free) + GAP + widest("nobody has", 12.5) if free else 0
