"""Space above: the coordinator as a bar, the members under it, requests as arrows
between them.

A partition is one small box. It sits with the member that reads it, and with "nobody
reads" in the coordinator's bar in between; so one sees it move.
"""

from collections.abc import Collection, Mapping, Sequence

from minikafka.theatre.drawing import Box, Drawing, fitting, text_width
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.rebalance.cast import Actor
from minikafka.theatre.pictures.rebalance.draw_member import (
    CHIP,
    CHIP_PITCH,
    GAP,
    LEVER,
    LINE,
    WIDE_CARD,
    Card,
    wrapped,
)
from minikafka.theatre.pictures.rebalance.snapshot import MOST_MEMBERS
from minikafka.theatre.pictures.rebalance.spans import (
    SHORTEST_MS,
    Span,
    lasted_ms,
    seconds,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import listed

BAR, BETWEEN = 46, 14  # height of the coordinator's bar; between two cards
# cards that wide have their levers in one row; width of the lever that adds a member
LEVERS_IN_A_ROW, STRIP = 215, 30
CORRIDOR = 14  # on the left of the cards, where there are two rows of them


class Places:
    """Where the cards are: as many places as there will ever be members, and in a live
    picture one for one more.

    words: all that the cards will ever say, so that they have room for the longest from
    the start.
    """

    def __init__(
        self, d: Drawing, count: int, live: bool, words: Sequence[str], top: float
    ) -> None:
        self.top = top
        self.is_full = count >= MOST_MEMBERS
        self.slots = min(count + live, MOST_MEMBERS)
        self.columns = 3 if d.narrow else max(self.slots, 3)
        # rows below the first are reached on the left of their cards
        self.left = CORRIDOR if self.slots > self.columns else 0
        room: float = d.width - self.left
        if live and self.is_full:
            room -= STRIP + BETWEEN
        room -= BETWEEN * (self.columns - 1)
        self.width = room / self.columns
        needed = [len(wrapped(each, self.width)) for each in words]
        lines = max(needed, default=1)
        self.levers = 0
        if live:
            self.levers = LEVER if self.width >= LEVERS_IN_A_ROW else 2 * LEVER
        head = 51 if self.width >= WIDE_CARD else 66
        self.height = head + LINE * lines + self.levers

    def __getitem__(self, number: int) -> Box:
        row, column = divmod(number, self.columns)
        x = self.left + column * (self.width + BETWEEN)
        y = self.top + row * (self.height + GAP)
        return Box(x=x, y=y, w=self.width, h=self.height)

    def one_more(self, d: Drawing) -> Box:
        """Where one adds a member: a card, or where all are taken a strip beside
        them.
        """
        if self.is_full:
            return Box(x=d.width - STRIP, y=self.top, w=STRIP, h=self.height)
        return self[self.slots - 1]

    @property
    def foot(self) -> float:
        rows = -(-self.slots // self.columns)
        return self.top + rows * (self.height + GAP) - GAP


def draw_space(
    d: Drawing, cast: Cast, actors: dict[str, Actor], scene: Scene, words: Sequence[str]
) -> float:
    """Draws one step; returns where the lanes may begin. In a live picture, with levers
    on the cards.
    """
    space = scene["space"]
    live = cast.get("live", False)
    foot = _coordinator(d, space, actors)
    _lamp(d, space, cast["since_ms"], scene["at"])
    places = Places(d, count=len(actors), live=live, words=words, top=foot + GAP)
    names = list(actors)

    cards = []
    for number, member in enumerate(space["members"]):
        actor = actors[member["name"]]
        has_own_place = len(actors) <= MOST_MEMBERS
        place = names.index(actor.name) if has_own_place else number
        box = places[place]
        cards.append(
            Card(
                d,
                actor=actor,
                member=member,
                box=box,
                foot=foot,
                levers=places.levers,
                now=scene["number"],
                space=space,
            )
        )

    for card in cards:
        card.draw()
        if live:
            card.draw_levers()

    if live:
        _add_lever(d, places.one_more(d))
    for card in cards:  # partitions move between cards, in front of all of them
        card.draw_parts()
    if space["free"]:
        _pool(d, space["free"], foot, had=space["spans"])
    return places.foot + 3


def _add_lever(d: Drawing, box: Box) -> None:
    d.rect(
        "lever/add",
        *box,
        fill="wash",
        line="quiet",
        r=8,
        dash="4 4",
        act="add",
        tip="add one member now",
    )
    word = "+ member" if box.w > STRIP else "+"
    x = box.x + box.w / 2
    y = box.y + box.h / 2 + 5
    d.text("lever/add/word", x, y, word, fill="quiet", bold=True, anchor="middle")


# -- the coordinator


def _coordinator(d: Drawing, space: Space, actors: dict[str, Actor]) -> float:
    """The bar; returns where it ends."""
    height = BAR + (26 if d.narrow else 0)
    dash = "5 4" if space["down"] else None
    fill = "wash"
    line = "rule"
    if space["assigns"] == "coordinator":
        fill = "said"
        line = "saidline"
    d.rect(
        "coordinator",
        x=0,
        y=0,
        w=d.width,
        h=height,
        fill=fill,
        line=line,
        r=8,
        dash=dash,
    )
    d.text("coordinator/name", 12, 19, "group coordinator", bold=True)
    state = space["state"]
    if not state:
        return height
    x, y = (12.0, 24) if d.narrow else (190.0, 5)
    shown = "down" if space["down"] else state
    fill = "good" if shown == "Stable" else "chip"
    width = d.chip("coordinator/state", x, y, shown, fill=fill)
    x = x + width + 10 if d.narrow else 12
    room: float = d.width - 12 - x
    if space["free"] and not d.narrow:
        room -= _pool_width(space["free"]) + 110
    said = _how_far(space, actors)
    words = fitting(said, room, 12.5) or said[-1]
    d.note("coordinator/words", x, 38, words, room=room)
    return height


def _how_far(space: Space, actors: dict[str, Actor]) -> list[str]:
    """In which generation or epoch the group is, and who assigns; in less words, too,
    which leave out what can be seen elsewhere.
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
    leader = actors.get(space["leader"])
    if leader is None:
        return [generation]
    short = f"leader {leader.letter} assigns"
    if state == "CompletingRebalance":
        return [f"{generation} · group {short}", short]
    return [
        f"{generation} · member {leader.letter} is group leader: it assigns",
        f"{generation} · {short}",
        short,
    ]


def _who_joins(waits_for: Sequence[str]) -> str:
    if not waits_for:
        return "everyone joins"
    if len(waits_for) <= MOST_MEMBERS:
        return f"waits for {listed(waits_for)}"
    return f"waits for {len(waits_for)} members"


def _lamp(d: Drawing, space: Space, since_ms: int, now: int) -> None:
    """It should never turn red; where it was, it says for how long."""
    two_ms = {}
    for label, spans in space["spans"].items():
        if any(Span(*each).what == "two" for each in spans):
            two_ms[label] = lasted_ms("two", spans=spans, since_ms=since_ms, at=now)

    is_red = bool(space["two_owners"])
    words = "no two owners" if d.narrow else "no partition has two owners"
    if two_ms:
        words = _two_owners(two_ms, is_red)
    longest_ms = max(two_ms.values(), default=0)
    if two_ms and d.phone:
        words = "two owners"
        words += f", {seconds(longest_ms)}" if longest_ms >= SHORTEST_MS else ""
    d.text(
        "lamp/words",
        d.width - 34,
        18,
        words,
        fill="trouble" if is_red else "quiet",
        size=12.5,
        bold=bool(two_ms),
        anchor="end",
    )
    fill = "trouble" if is_red else "good"
    line = "trouble" if two_ms else "quiet"
    d.circle("lamp", x=d.width - 20, y=13.5, r=7, fill=fill, line=line)


def _two_owners(two_ms: Mapping[str, int], is_red: bool) -> str:
    """two_ms: for how long partitions had two owners; is_red: some have them now."""
    longest_ms = max(two_ms.values())
    lasted = f", for {seconds(longest_ms)}" if longest_ms >= SHORTEST_MS else ""
    which = next(iter(two_ms))
    if len(two_ms) > 1:
        which = f"{len(two_ms)} partitions"
    if is_red:
        return f"two owners: {which}{lasted}"
    return f"{which} had two owners{lasted}"


def _pool(d: Drawing, free: Sequence[str], foot: float, had: Collection[str]) -> None:
    """Partitions that nobody has. foot: of the coordinator's bar. had: those that
    somebody has had; to wait for the first reader is no trouble.
    """
    x: float = d.width - 12 - _pool_width(free)
    y = foot - CHIP - 3
    is_trouble = any(label in had for label in free)
    words = fitting(["nobody has", "nobody"], x - 10, 12.5)
    if not is_trouble:
        words = fitting(["nobody yet has", "not yet"], x - 10, 12.5)
    ink = "trouble" if is_trouble else "quiet"
    d.text("pool", x - 10, y + 15, words, fill=ink, size=12.5, anchor="end")

    for label in free:
        ink = "trouble" if label in had else "quiet"
        box = Box(x=x, y=y, w=_chip_width(label), h=CHIP)
        d.cell(
            f"part/{label}",
            *box,
            label,
            fill="paper",
            line=ink,
            ink=ink,
            dash="2 2",
        )
        x = box.right + 4


def _chip_width(label: str) -> int:
    wide = text_width(label, 12.5, mono=True, bold=True)
    return max(wide + 14, CHIP_PITCH - 4)


def _pool_width(free: Sequence[str]) -> int:
    return sum(_chip_width(label) + 4 for label in free) - 4
