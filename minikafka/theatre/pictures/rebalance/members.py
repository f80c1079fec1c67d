"""Above, under the coordinator: the members, as cards beside each other where they have
room, else as lines. Who each is, what it does, the partitions that it reads or waits
for, and what it and the coordinator say to each other. In a live picture, its levers.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import (
    Draws,
    Item,
    Places,
    column,
    either,
    framed,
    part,
    row,
    space,
)
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fitting,
    has_room,
    text_width,
    widest,
    wrap,
)
from minikafka.theatre.pictures.rebalance.cast import Actor
from minikafka.theatre.pictures.rebalance.coordinator import CHIP, CHIP_PITCH
from minikafka.theatre.pictures.rebalance.member import Answer
from minikafka.theatre.pictures.rebalance.snapshot import MOST_MEMBERS
from minikafka.theatre.play import Cast, draws_levers
from minikafka.theatre.text import key_part

CARD = 220  # least width: two of them have no room on a phone
COLUMNS = 3  # places for cards, where there are fewer
LINK, BUS = 22, 24  # height above a card; width before a line
DISC = 30  # width, with the gap behind it
HEAD, LINE = 24, 15  # height of a card's first line, and of one of words
LEAST_OF_WORDS, LEAST_BESIDE_NAME = 200, 110  # width of what it does
MOST_CHIPS = 3  # partitions that have room from the start
LEADS = ["group leader", "leader"]
LEVER, LEAST_OF_LEVERS = 28, 200  # height, and width of all
LEVERS = ("freeze", "slow", "leave", "crash")
# by what has become of a member
LEVERS_OF = {"": LEVERS, "cut off": LEVERS, "frozen": ("crash",)}
DOES = {
    "owns": "reads",
    "gives": "must give up",
    "waits": "was given, may not read yet:",
}


class Said(NamedTuple):
    """A request ("asks"), or its answer. words: the longest first. begun: at which
    step.
    """

    name: str
    words: list[str]
    ink: str
    begun: int
    is_new: bool

    @property
    def is_answer(self) -> bool:
        return self.name == "answer"

    @property
    def look(self) -> Look:
        """Its arrow's."""
        line = "ink" if self.is_new else "quiet"
        return {"line": line, "width": 1.6, "of": self.begun}


@dataclass(frozen=True)
class Shown:
    """A member at one step. place: which one is its. now: the number of the step."""

    place: int
    actor: Actor
    told: dict[str, Any]
    now: int
    leads: bool
    assigns: bool

    @property
    def key(self) -> str:
        return f"member/{key_part(self.actor.name)}"

    @property
    def is_away(self) -> bool:
        return bool(self.told["life"])

    @property
    def is_here(self) -> bool:
        return bool(self.told["inside"] or self.told["owns"])

    @property
    def is_gone(self) -> bool:
        return self.is_away and not self.is_here

    @property
    def dash(self) -> str | None:
        return "5 4" if self.is_away else None

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The partitions in its card, and how: it owns it, must give it up, or waits
        for it.
        """
        told = self.told
        owned = [
            (label, "gives" if label in told["gives"] else "owns")
            for label in told["owns"]
        ]
        return owned + [(label, "waits") for label in told["waits"]]

    @property
    def link(self) -> Look:
        """The line between it and the coordinator; nothing where there is none."""
        if self.told["inside"] and not self.is_away:
            return {"line": "rule"}
        if self.told["life"] == "cut off":
            tip = "nothing passes"
            return {"line": "trouble", "width": 2, "dash": "3 5", "tip": tip}
        return {}

    @property
    def said(self) -> Said | None:
        """The answer that has just come; else the request that it waits for."""
        told = self.told
        if told["answered"]:
            answer = Answer(*told["answered"])
            if answer.step == self.now:
                words = [answer.words, answer.words.split(": ")[-1]]
                ink = "trouble" if answer.trouble else "ink"
                return Said("answer", words, ink, self.now, is_new=True)
        asked = told["asked"]
        if not asked:
            return None
        begun = told["asked_at"]
        words = [asked, asked.removeprefix("ConsumerGroup")]
        if begun == self.now:
            return Said("asks", words, "ink", begun, is_new=True)
        words[0] += ", waits"
        return Said("asks", words, "quiet", begun, is_new=False)


Tells = Callable[[Drawing, Places, Shown, Box], None]


class Members:
    """As many places as there will ever be members, and in a live picture a lever that
    adds one.
    """

    def __init__(
        self, cast: Cast, actors: Mapping[str, Actor], scenes: Sequence[Scene]
    ) -> None:
        self.actors = actors
        self.is_live = bool(cast.get("live"))
        self.draws_levers = draws_levers(cast)
        self.count = min(len(actors), MOST_MEMBERS)
        self.is_crowded = self.count < len(actors)  # members share the places
        told = [each for scene in scenes for each in scene["space"]["members"]]
        self.has_leader = any(scene["space"]["leader"] for scene in scenes)
        self.words = {each["words"] for each in told}
        labels = [
            widest(label, 12.5, mono=True, bold=True) for label in cast["partitions"]
        ]
        self.chip = max(labels, default=0) + 12  # at least
        owned = [len(each["owns"]) + len(each["waits"]) for each in told]
        self.chips = max(owned, default=0)

    def box(self) -> Item:
        numbers = range(self.count)
        add = self._add() if self.is_live else []
        spare = [space() for _ in range(COLUMNS - self.count)]
        cards = row(*map(self._card, numbers), *add, *spare, gap=12, breaks=False)
        lines = column(*map(self._line, numbers), *add, gap=4)
        return column(either(cards, lines), part("chips", self._chips, high=0))

    # -- boxes

    def _card(self, number: int) -> Item:
        """Its link to the coordinator is above it."""
        link = row(
            self._part(number, "link", _down, LINK, 32),
            self._part(number, "said", _said, LINK, grow=1),
            breaks=False,
        )
        card = column(
            self._head(number),
            self._does(number),
            self._place(number),
            *self._levers(number),
        )
        return replace(column(link, self._framed(number, card, pad=6)), least=CARD)

    def _line(self, number: int) -> Item:
        """Its link to the coordinator is before it."""
        levers = self._levers(number)
        line = self._in_line(number)
        if self.draws_levers:
            line = row(line, *levers, gap=8)
        else:
            line = column(line, *levers)
        link = self._part(number, "link", _across, HEAD, BUS)
        return row(link, self._framed(number, line, pad=4), breaks=False)

    def _in_line(self, number: int) -> Item:
        """With its whole name, if there is room for the words about it."""
        said = self._part(number, "said", _said, HEAD, grow=1)
        does = self._does(number)
        place = self._place(number)
        whole = self._head(number, is_whole=True)
        close = replace(does, least=min(does.least, LEAST_BESIDE_NAME))
        return either(
            row(whole, close, said, place, gap=8, breaks=False),
            row(self._head(number), does, said, place, gap=8),
        )

    def _framed(self, number: int, inside: Item, pad: float) -> Item:
        frame = self._told(number, "card", _frame)
        return framed(f"card {number}", inside, frame, pad=pad, grow=1)

    def _head(self, number: int, is_whole: bool = False) -> Item:
        """is_whole: no name is shortened."""
        leads = LEADS if self.has_leader else ["", ""]
        long, short = (DISC + 8 + widest(words, 12) for words in leads)
        actors = list(self.actors.values())
        least, wanted = (
            max(
                (widest(_name(each, room), 13, bold=True) for each in actors), default=0
            )
            for room in (0, math.inf)
        )
        least = wanted if is_whole else least
        return self._part(number, "head", _head, HEAD, short + least, long + wanted)

    def _does(self, number: int) -> Item:
        """All members are as high as the longest words need."""

        def high(width: float) -> int:
            lines = [len(_wrapped(each, width)) for each in self.words]
            return LINE * max(lines, default=1) + 3

        wanted = max((widest(words, 12.5) for words in self.words), default=0)
        least = min(wanted, LEAST_OF_WORDS)
        return self._part(number, "does", _does, high, least, wanted)

    def _place(self, number: int) -> Item:
        """For its partitions."""
        least = self.chip * min(self.chips, MOST_CHIPS)
        wanted = CHIP_PITCH * self.chips
        return self._part(number, "place", _nothing, CHIP + 2, least, wanted)

    def _levers(self, number: int) -> list[Item]:
        if not self.is_live:
            return []
        if not self.draws_levers:
            return [self._part(number, "levers", _levers, 0)]
        return [self._part(number, "levers", _levers, LEVER + 4, LEAST_OF_LEVERS)]

    def _part(
        self,
        number: int,
        what: str,
        tells: Tells,
        high: float | Callable[[float], float],
        least: float = 0,
        wanted: float = 0,
        grow: float = 0,
    ) -> Item:
        draw = self._told(number, what, tells)
        sizes: Look = {"high": high, "least": least, "wanted": wanted, "grow": grow}
        return part(f"{what} {number}", draw, **sizes)

    def _told(self, number: int, what: str, tells: Tells) -> Draws:
        """Draws a part of the member at a place, if there is one at this step."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            shown = self._shown(number, scene)
            if shown:
                tells(d, places, shown, places[f"{what} {number}"])

        return draw

    def _shown(self, place: int, scene: Scene) -> Shown | None:
        space = scene["space"]
        told = dict(enumerate(space["members"]))
        if not self.is_crowded:
            names = list(self.actors)
            told = {names.index(each["name"]): each for each in space["members"]}
        if place not in told:
            return None
        name = told[place]["name"]
        return Shown(
            place=place,
            actor=self.actors[name],
            told=told[place],
            now=scene["number"],
            leads=name == space["leader"] and told[place]["inside"],
            assigns=name == space["assigns"],
        )

    # -- what is drawn over all of them

    def _chips(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Partitions move between members, in front of all of them."""
        for number in range(self.count):
            shown = self._shown(number, scene)
            if shown and shown.parts:
                two_owners = scene["space"]["two_owners"]
                self._chips_of(d, places[f"place {number}"], shown, two_owners)

    def _chips_of(
        self, d: Drawing, place: Box, shown: Shown, two_owners: Collection[str]
    ) -> None:
        """As many as have room; the others are counted."""
        parts = shown.parts
        pitch = min(CHIP_PITCH, max(place.w / len(parts), self.chip))
        has_room_for = int((place.w + 4) // pitch)
        if len(parts) > has_room_for:
            parts = parts[: has_room_for - 1]
        x = place.x
        for label, how in parts:
            box = Box(x, place.y + 2, pitch - 4, CHIP)
            _chip(d, box, label, how, shown, label in two_owners)
            x += pitch
        more = len(shown.parts) - len(parts)
        if more:
            look: Look = {"fill": "quiet", "size": 12}
            d.text(f"{shown.key}/more", x + 2, place.y + 17, f"+{more}", **look)

    def _add(self) -> list[Item]:
        """The lever that adds a member."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places["add"]
            look: Look = {"fill": "wash", "line": "quiet", "r": 8, "dash": "4 4"}
            look |= {"act": "add", "tip": "add one member now"}
            word = fitting(["+ member", "+"], place.w, 13, bold=True)
            d.boxed("lever/add", *place, word, ink="quiet", **look)

        high = 28 if self.draws_levers else 0
        return [part("add", draw, high=high, least=30, wanted=90)]


# -- one member: each draws a part of it, or its frame


def _nothing(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """What is there is drawn later."""


def _frame(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    fill = "wash" if shown.is_gone else "paper"
    if shown.assigns:
        fill = "said"
    line = shown.actor.colour if shown.is_here else "rule"
    d.rect(shown.key, *place, fill, line, r=8, width=2, dash=shown.dash)


def _head(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """Its letter, its name, and whether it is the group's leader."""
    actor = shown.actor
    key = shown.key
    x, y = place.x + 12, place.y + HEAD / 2
    fade = 0.6 if shown.is_gone else None
    disc: Look = {"number": actor.number, "dash": shown.dash, "fade": fade}
    d.disc(f"{key}/letter", x, y, r=12, letter=actor.letter, size=14, **disc)
    if actor.pattern:
        ring: Look = {"line": "paper", "dash": "2 3", "width": 2}
        d.circle(f"{key}/ring", x, y, r=9.5, **ring)

    x, base = place.x + DISC, y + 5
    room = place.right - x
    leads = ""
    if shown.leads:
        beside = room - widest(actor.name, 13, bold=True) - 8
        leads = fitting(LEADS, beside, 12) or LEADS[-1]
        room -= widest(leads, 12) + 8
    name = _name(actor, room)
    look: Look = {"bold": True, "room": max(room, 0), "tip": actor.name}
    d.text(f"{key}/name", x, base, name, **look)
    if leads:
        x += min(widest(name, 13, bold=True), max(room, 0)) + 8 if name else 0
        d.note(f"{key}/leads", x, base, leads, size=12)


def _name(actor: Actor, room: float) -> str:
    """Its name, or the end of a long one, which tells it from others; unless that is
    its letter.
    """
    if has_room(actor.name, room, 13, bold=True):
        return actor.name
    end = re.split("[- _.]", actor.name)[-1]
    return "" if end.upper() == actor.letter else f"…{end}"


def _wrapped(words: str, width: float) -> list[str]:
    """Words in lines that have room on the narrowest page."""
    return wrap(words, width * LEAST_STRETCH, 12.5)


def _does(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    ink = "trouble" if shown.told["trouble"] else "quiet"
    lines = _wrapped(shown.told["words"], place.w)
    top = place.y + 12
    if places[f"head {shown.place}"].x < place.x:  # beside its name, in the middle
        top += (place.h - LINE * len(lines)) / 2
    for number, line in enumerate(lines):
        y = top + LINE * number
        key = f"{shown.key}/words/{number}"
        d.text(key, place.x, y, line, ink, size=12.5, room=place.w)


def _levers(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """The levers that this member's state allows."""
    told = shown.told
    name = shown.actor.name
    words = LEVERS_OF.get(told["life"], ()) if told["inside"] else ()
    if "freeze" in words:
        link = places[f"link {shown.place}"]
        d.wire(
            f"{shown.key}/wire", link.x + 12, link.y + link.h / 2, name, "cut" in told
        )
    rest = place.w - sum(text_width(word, 12) for word in words)
    x = place.x
    for word in words:
        wide = text_width(word, 12) + rest / len(words) - 3
        box = Box(x, place.y + 4, wide, LEVER)
        act = f"{word} {name}"
        look: Look = {"fill": "wash", "line": "rule", "r": 14, "bold": False}
        look |= {"act": act, "tip": f"{act} now"}
        d.boxed(f"{shown.key}/lever/{word}", *box, word, **look)
        x = box.right + 3


def _chip(
    d: Drawing, box: Box, label: str, how: str, shown: Shown, has_two: bool
) -> None:
    """A partition. how: it owns it, must give it up, or waits for it."""
    name = key_part(shown.actor.name)
    key = f"part/{label}"
    if how == "waits":
        key += f"/for/{name}"
    if key in d.shapes or not shown.told["inside"]:
        key += f"/{name}"
    look = _look(how, shown, has_two)
    d.cell(key, *box, label, **look, tip=f"{shown.actor.name} {DOES[how]} {label}")


def _look(how: str, shown: Shown, has_two: bool) -> Look:
    """A partition's box."""
    colour, ink = shown.actor.colour, shown.actor.ink
    if how == "waits":
        return {"fill": "none", "line": "quiet", "ink": "quiet", "dash": "1 3"}
    if has_two:
        return {"fill": colour, "line": "trouble", "ink": ink, "width": 3}
    if how == "gives":
        return {"fill": "paper", "line": colour, "ink": "ink", "dash": "4 3"}
    if not shown.told["inside"]:
        return {"fill": "none", "line": "rule", "ink": "gone", "dash": "4 3"}
    if shown.is_away:
        return {"fill": "paper", "line": "trouble", "ink": "trouble"}
    return {"fill": colour, "line": colour, "ink": ink}


# -- between it and the coordinator


def _down(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """To a card, straight down from the coordinator."""
    x, top, foot = place.x + 14, place.y + 3, place.bottom - 3
    link = shown.link
    if link:
        d.upright(f"{shown.key}/link", x=x, top=top, bottom=foot, **link)
    said = shown.said
    if said:
        ends = (top, foot) if said.is_answer else (foot, top)
        d.arrow(f"{shown.key}/{said.name}", x, ends[0], x, ends[1], **said.look)


def _across(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """To a line, from the coordinator down beside the lines above it; a request has its
    own way up.
    """
    up, x, end, y = place.x + 3, place.x + 11, place.right - 3, place.y + place.h / 2
    top = places["coordinator"].bottom + 3
    key = f"{shown.key}/link"
    link = shown.link
    if link:
        d.upright(f"{key}/down", x=x, top=top, bottom=y, **link)
        d.level(key, left=x, right=end, y=y, **link)
    said = shown.said
    if said:
        key = f"{shown.key}/{said.name}"
        if said.is_answer:
            d.upright(f"{key}/down", x=x, top=top, bottom=y, **said.look)
            d.arrow(key, x, y, end, y, **said.look)
        else:
            d.level(f"{key}/over", left=up, right=end, y=y, **said.look)
            d.arrow(key, up, y, up, top, **said.look)


def _said(d: Drawing, places: Places, shown: Shown, place: Box) -> None:
    """Words beside an arrow, or none where they have no room."""
    said = shown.said
    if not said:
        return
    size = 13.5 if said.is_answer else 12.5
    words = fitting(said.words, place.w, size, bold=said.is_new)
    look: Look = {"size": 12.5, "bold": said.is_new, "room": place.w}
    y = place.y + place.h / 2 + 5
    if words:
        d.text(f"{shown.key}/{said.name}/word", place.x, y, words, said.ink, **look)
