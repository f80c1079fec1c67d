"""Space above: the coordinator as a bar, the members under it, requests as arrows
between them.

A partition is one small box. It sits with the member that reads it, and with "nobody
reads" in the coordinator's bar in between; so one sees it move.
"""

import re
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Drawing,
    fitting,
    has_room,
    text_width,
    wrap,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.rebalance_group import MOST_MEMBERS, Actor
from minikafka.theatre.pictures.rebalance_time import lasted_ms, seconds
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import key_part, listed

BAR, GAP, CHIP, CHIP_PITCH, BETWEEN = 46, 27, 20, 45, 14
# narrower cards have their words under the letter, and less of them
WIDE_CARD, WIDER_CARD = 200, 260
LINE = 15  # of words
LEVERS = ("freeze", "slow", "leave", "crash")
# cards that wide have their levers in one row
LEVER, LEVERS_IN_A_ROW, STRIP = 24, 215, 30


class Places:
    """Where the cards are: as many places as there will ever be members, and in a live
    picture one for one more.

    words: all that the cards will ever say, so that they have room for the longest from
    the start.
    """

    def __init__(
        self, d: Drawing, count: int, live: bool, words: Sequence[str], top: float
    ) -> None:
        self.live, self.top, self.full = live, top, count >= MOST_MEMBERS
        self.slots = min(count + live, MOST_MEMBERS)
        self.columns = 3 if d.narrow else max(self.slots, 3)
        room = d.width - (STRIP + BETWEEN) * (live and self.full)
        self.width = (room - BETWEEN * (self.columns - 1)) / self.columns
        wide = self.width >= WIDE_CARD
        self.lines = max((len(wrapped(each, self.width)) for each in words), default=1)
        self.levers = LEVER * (1 if self.width >= LEVERS_IN_A_ROW else 2) if live else 0
        self.height = (51 if wide else 66) + LINE * self.lines + self.levers

    def __getitem__(self, number: int) -> tuple[float, float, float, float]:
        row, column = divmod(number, self.columns)
        return (
            column * (self.width + BETWEEN),
            self.top + row * (self.height + GAP),
            self.width,
            self.height,
        )


def wrapped(words: str, width: float) -> list[str]:
    """What a card says, in lines, where it is narrowest."""
    indent = 44 if width >= WIDE_CARD else 18
    return wrap(words, (width - indent) * LEAST_STRETCH, 12.5)


def draw_space(
    d: Drawing, cast: Cast, actors: dict[str, Actor], scene: Scene, words: Sequence[str]
) -> float:
    """Draws one step; returns where the lanes may begin. In a live picture, with levers
    on the cards.
    """
    space, live = scene["space"], cast.get("live", False)
    bar = _coordinator(d, space, actors)
    _lamp(d, space, cast["since_ms"], scene["at"])
    places = Places(d, len(actors), live, words, bar + GAP)
    boxes = []
    for number, member in enumerate(space["members"]):
        actor = actors[member["name"]]
        place = places[
            number if len(actors) > MOST_MEMBERS else list(actors).index(actor.name)
        ]
        boxes.append(Box(d, actor, member, place, scene["number"], space))
    for box in boxes:
        box.draw()
        if live:
            box.draw_levers(places.levers)
    if live:
        strip = (d.width - STRIP, places.top, STRIP, places.height)
        x, y, w, h = strip if places.full else places[places.slots - 1]
        d.rect(
            "lever/add",
            x,
            y,
            w,
            h,
            "wash",
            "quiet",
            r=8,
            dash="4 4",
            act="add",
            tip="add one member now",
        )
        word = "+ member" if w > STRIP else "+"
        d.text(
            "lever/add/word",
            x + w / 2,
            y + h / 2 + 5,
            word,
            "quiet",
            bold=True,
            anchor="middle",
        )
    for box in boxes:  # partitions move between boxes, in front of all of them
        box.draw_parts()
    _pool(d, space["free"], bar)
    return (
        places.top
        + -(-places.slots // places.columns) * (places.height + GAP)
        - GAP
        + 3
    )


def _coordinator(d: Drawing, space: Space, actors: dict[str, Actor]) -> float:
    height = BAR + (26 if d.narrow else 0)
    down, dash = space["down"], "5 4" if space["down"] else None
    fill, line = (
        ("said", "saidline") if space["assigns"] == "coordinator" else ("wash", "rule")
    )
    d.rect("coordinator", 0, 0, d.width, height, fill, line, r=8, dash=dash)
    d.text("coordinator/name", 12, 19, "group coordinator", bold=True)
    if space["state"]:
        state = "down" if down else space["state"]
        x, y = (12.0, 24) if d.narrow else (190.0, 5)
        width = d.chip(
            "coordinator/state", x, y, state, "good" if state == "Stable" else "chip"
        )
        x = x + width + 10 if d.narrow else 12
        room = (
            d.width
            - 12
            - x
            - (
                _pool_width(space["free"]) + 110
                if space["free"] and not d.narrow
                else 0
            )
        )
        d.note("coordinator/words", x, 38, _who_assigns(space, actors), room=room)
    return height


def _who_assigns(space: Space, actors: dict[str, Actor]) -> str:
    if space["kind"] == "consumer":
        how = f" ({space['assignor']})" if space["assignor"] else ""
        return f"epoch {space['number']} · the coordinator itself assigns{how}"
    words, waits, leader = (
        f"generation {space['number']}",
        space["waits_for"],
        actors.get(space["leader"]),
    )
    if space["state"] == "PreparingRebalance":
        whom = listed(waits) if len(waits) <= MOST_MEMBERS else f"{len(waits)} members"
        return (
            f"{words} ends · waits for {whom}"
            if waits
            else f"{words} ends · everyone joins"
        )
    if space["state"] == "CompletingRebalance" and leader:
        return f"{words} · group leader {leader.letter} assigns"
    return words + (
        f" · member {leader.letter} is group leader: it assigns" if leader else ""
    )


def _lamp(d: Drawing, space: Space, since_ms: int, now: int) -> None:
    """It should never turn red; where it was, it says for how long."""
    lanes = {
        label: spans
        for label, spans in space["spans"].items()
        if any(span[2] == "two" for span in spans)
    }
    red = bool(space["two_owners"])
    two = {
        label: lasted_ms("two", spans, since_ms, now) for label, spans in lanes.items()
    }
    words = "no two owners" if d.narrow else "no partition has two owners"
    if two:
        lasted = f", for {seconds(max(two.values()))}" if any(two.values()) else ""
        which = next(iter(two)) if len(two) == 1 else f"{len(two)} partitions"
        words = (
            f"two owners: {which}{lasted}" if red else f"{which} had two owners{lasted}"
        )
    ink = "trouble" if red else "quiet"
    d.text(
        "lamp/words",
        d.width - 34,
        18,
        words,
        ink,
        size=12.5,
        bold=bool(two),
        anchor="end",
    )
    d.circle(
        "lamp",
        d.width - 20,
        13.5,
        7,
        "trouble" if red else "good",
        "trouble" if two else "quiet",
    )


def _pool(d: Drawing, free: list[str], bar: float) -> None:
    """Partitions that nobody has."""
    if not free:
        return
    x, y = d.width - 12 - _pool_width(free), bar - CHIP - 3
    d.text("pool", x - 10, y + 15, "nobody has", "trouble", size=12.5, anchor="end")
    for label in free:
        width = _chip_width(label)
        d.cell(
            f"part/{label}",
            x,
            y,
            width,
            CHIP,
            label,
            "",
            "",
            "paper",
            "trouble",
            "trouble",
            dash="2 2",
        )
        x += width + 4


def _chip_width(label: str) -> int:
    return max(text_width(label, 12.5, mono=True, bold=True) + 14, CHIP_PITCH - 4)


def _pool_width(free: list[str]) -> int:
    return sum(_chip_width(label) + 4 for label in free) - 4


class Box:
    """One member at a place (x, y, width, height)."""

    def __init__(
        self,
        d: Drawing,
        actor: Actor,
        member: dict[str, Any],
        place: tuple[float, float, float, float],
        now: int,
        space: Space,
    ) -> None:
        self.d, self.actor, self.member, self.now = d, actor, member, now
        self.x, self.y, self.w, self.h = place
        self.key = f"member/{key_part(actor.name)}"
        self.leads = actor.name == space["leader"] and member["inside"]
        self.assigns = actor.name == space["assigns"]
        self.two_owners = space["two_owners"]
        self.silent = bool(member["life"])
        self.gone = self.silent and not (member["inside"] or member["owns"])

    def draw(self) -> None:
        d, actor, key = self.d, self.actor, self.key
        dash, fade = "5 4" if self.silent else None, 0.6 if self.gone else None
        ground = "said" if self.assigns else "wash" if self.gone else "paper"
        here = self.member["inside"] or self.member["owns"]
        d.rect(
            key,
            self.x,
            self.y,
            self.w,
            self.h,
            ground,
            actor.colour if here else "rule",
            r=8,
            width=2,
            dash=dash,
        )
        d.disc(
            key + "/letter",
            self.x + 20,
            self.y + 20,
            12,
            actor.letter,
            actor.number,
            14,
            dash=dash,
            fade=fade,
        )
        if actor.pattern:
            d.circle(
                key + "/ring",
                self.x + 20,
                self.y + 20,
                9.5,
                "none",
                "paper",
                dash="2 3",
                width=2,
            )
        self._words()
        self._arrows()

    def _words(self) -> None:
        d, member, key, wide = self.d, self.member, self.key, self.w >= WIDE_CARD
        room, y = self.w - 46, self.y + (18 if wide or self.leads else 25)
        if self.leads and wide:
            words = "group leader" if self.w >= WIDER_CARD else "leader"
            d.note(key + "/leads", self.x + self.w - 9, y, words, "end", size=12)
            room -= text_width(words, 12) / LEAST_STRETCH + 8
        elif self.leads:
            d.note(key + "/leads", self.x + 38, y + 15, "leader", size=12)
        name = self.actor.name
        if not has_room(name, room, 13, bold=True):
            # the end of a long name tells it from others
            name = "…" + re.split("[- _.]", name)[-1]
        d.text(
            key + "/name",
            self.x + 38,
            y,
            name,
            bold=True,
            room=room,
            tip=self.actor.name,
        )
        ink = "trouble" if member["trouble"] else "quiet"
        x, y = (self.x + 38, self.y + 35) if wide else (self.x + 9, self.y + 48)
        for n, line in enumerate(wrapped(member["words"], self.w)):
            d.text(
                f"{key}/words/{n}",
                x,
                y + LINE * n,
                line,
                ink,
                size=12.5,
                room=self.x + self.w - x - 6,
            )

    def draw_levers(self, room: float) -> None:
        """What can be done to this member now."""
        words = {"": LEVERS, "cut off": LEVERS, "frozen": ("crash",)}.get(
            self.member["life"], ()
        )
        words = words if self.member["inside"] else ()
        if "freeze" in words:
            self.d.wire(
                f"{self.key}/wire",
                self.x + 20,
                self.y - GAP / 2,
                self.actor.name,
                "cut" in self.member,
            )
        self.h, in_a_row = self.h - room, len(LEVERS) if room == LEVER else 2
        for first in range(0, len(words), in_a_row):
            row = words[first : first + in_a_row]
            x, y = self.x + 6.0, self.y + self.h + first // in_a_row * LEVER - 1
            # around each word
            more = (self.w - 9 - sum(text_width(word, 12) for word in row)) / len(
                row
            ) - 3
            for word in row:
                key, w = f"{self.key}/lever/{word}", text_width(word, 12) + more
                act = f"{word} {self.actor.name}"
                self.d.boxed(
                    key,
                    x,
                    y,
                    w,
                    20,
                    word,
                    "wash",
                    line="rule",
                    r=10,
                    bold=False,
                    act=act,
                    tip=f"{act} now",
                )
                x += w + 3

    def draw_parts(self) -> None:
        d, member = self.d, self.member
        x, y = self.x + 9, self.y + self.h - 25
        labels = [
            (label, "gives" if label in member["gives"] else "owns")
            for label in member["owns"]
        ]
        labels += [(label, "waits") for label in member["waits"]]
        room = self.w - 18
        widest = max(
            (text_width(label, 12.5, mono=True, bold=True) for label, _ in labels),
            default=0,
        )
        slots = int(room // (widest + 8)) if labels else 1
        shown, pitch = (
            labels,
            min(max(widest + 18.0, CHIP_PITCH), room / max(len(labels), 1)),
        )
        if len(labels) > slots:
            shown, pitch = labels[: slots - 1], widest + 8
        for label, how in shown:
            self._part(label, how, x, y, pitch - 4)
            x += pitch
        if len(shown) < len(labels):
            d.text(
                self.key + "/more",
                x + 2,
                y + 15,
                f"+{len(labels) - len(shown)}",
                "quiet",
                size=12,
            )

    def _part(self, label: str, how: str, x: float, y: float, w: float) -> None:
        colour, ink = self.actor.colour, self.actor.ink
        key = (
            f"part/{label}"
            if how != "waits"
            else f"part/{label}/for/{key_part(self.actor.name)}"
        )
        if key in self.d.shapes or not self.member["inside"]:
            key += f"/{key_part(self.actor.name)}"
        does, fill, line, ink, dash = {
            "owns": ("reads", colour, colour, ink, None),
            "gives": ("must give up", "paper", colour, "ink", "4 3"),
            "waits": ("was given, may not read yet:", "none", "quiet", "quiet", "1 3"),
        }[how]
        two = label in self.two_owners and how != "waits"
        if two:
            fill, line, ink, dash = colour, "trouble", self.actor.ink, None
        elif how == "owns" and not self.member["inside"]:
            fill, line, ink, dash = "none", "rule", "gone", "4 3"
        elif how == "owns" and self.silent:
            fill, line, ink = "paper", "trouble", "trouble"
        self.d.cell(
            key,
            x,
            y,
            w,
            CHIP,
            label,
            fill=fill,
            line=line,
            ink=ink,
            dash=dash,
            width=3 if two else None,
            tip=f"{self.actor.name} {does} {label}",
        )

    def _arrows(self) -> None:
        d, member, x = self.d, self.member, self.x + 20
        top, foot = self.y - GAP + 3, self.y - 3
        if member["inside"] and not self.silent:
            d.line(self.key + "/link", x, top, x, foot, "rule")
        elif member["life"] == "cut off":
            d.line(
                self.key + "/link",
                x,
                top,
                x,
                foot,
                "trouble",
                width=2,
                dash="3 5",
                tip="nothing passes",
            )
        answer = member["answered"]
        if answer and answer[2] == self.now:
            part, begin, end, of, new = "answer", top, foot, answer[2], True
            words, ink = (
                [answer[0], answer[0].split(": ")[-1]],
                ("trouble" if answer[1] else "ink"),
            )
        elif member["asked"]:
            part, begin, end, of, new = (
                "asks",
                foot,
                top,
                member["asked_at"],
                member["asked_at"] == self.now,
            )
            asks = member["asked"] if new else f"{member['asked']}, waits"
            words, ink = (
                [asks, member["asked"].removeprefix("ConsumerGroup")],
                ("ink" if new else "quiet"),
            )
        else:
            return
        d.arrow(
            f"{self.key}/{part}",
            x,
            begin,
            x,
            end,
            "ink" if new else "quiet",
            width=1.6,
            of=of,
        )
        said = (
            fitting(
                words,
                self.w - 24,
                13.5 if part == "answer" else 12.5,
                bold=part == "answer",
            )
            or words[-1]
        )
        d.text(
            f"{self.key}/{part}/word",
            x + 11,
            foot - 8,
            said,
            ink,
            size=12.5,
            bold=new,
            room=self.w - 24,
        )
