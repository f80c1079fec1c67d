"""One member's card: who it is, what it does, the partitions that it reads or waits
for, and the arrow between it and the coordinator. In a live picture, its levers.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    fitting,
    has_room,
    text_width,
    wrap,
)
from minikafka.theatre.pictures.rebalance.cast import Actor
from minikafka.theatre.pictures.rebalance.member import Answer
from minikafka.theatre.play import Space
from minikafka.theatre.text import key_part

GAP = 27  # above a card
BESIDE = 7  # from a card's left side to what runs down there to a row below
CHIP, CHIP_PITCH = 20, 45  # of a partition: height, and width with the gap behind it
# narrower cards have their words under the letter, and less of them
WIDE_CARD, WIDER_CARD = 200, 260
LINE = 15  # of words
LEVER = 24  # height of a row of levers
LEVERS = ("freeze", "slow", "leave", "crash")
# by what has become of a member
LEVERS_OF = {"": LEVERS, "cut off": LEVERS, "frozen": ("crash",)}


def wrapped(words: str, width: float) -> list[str]:
    """The words of a card, wrapped to its narrowest width."""
    indent = 44 if width >= WIDE_CARD else 18
    return wrap(words, (width - indent) * LEAST_STRETCH, 12.5)


class Arrow(NamedTuple):
    """A request or its answer. name: of its key. words: the longest first. begun: at
    which step.
    """

    name: str
    begin: float
    end: float
    words: list[str]
    ink: str
    begun: int
    is_new: bool


class Look(NamedTuple):
    """The look of a partition's box."""

    fill: str
    line: str
    ink: str
    dash: str | None
    width: int | None = None


DOES = {
    "owns": "reads",
    "gives": "must give up",
    "waits": "was given, may not read yet:",
}


class Card:
    """One member in a box. foot: of the coordinator's bar. levers: height of the part
    below it that has the levers.
    """

    def __init__(
        self,
        d: Drawing,
        actor: Actor,
        member: dict[str, Any],
        box: Box,
        foot: float,
        levers: int,
        now: int,
        space: Space,
    ) -> None:
        self.d = d
        self.actor = actor
        self.member = member
        self.now = now
        self.whole = box
        self.coordinator_foot = foot
        self.is_first_row = box.y <= foot + GAP
        self.box = box._replace(h=box.h - levers)
        self.levers_in_a_row = len(LEVERS) if levers == LEVER else 2
        self.key = f"member/{key_part(actor.name)}"
        self.is_wide = box.w >= WIDE_CARD
        self.leads = actor.name == space["leader"] and member["inside"]
        self.assigns = actor.name == space["assigns"]
        self.two_owners = space["two_owners"]
        self.is_away = bool(member["life"])
        self.is_here = member["inside"] or member["owns"]
        self.gone = self.is_away and not self.is_here

    def draw(self) -> None:
        d = self.d
        actor = self.actor
        key = self.key
        dash = "5 4" if self.is_away else None
        ground = "wash" if self.gone else "paper"
        if self.assigns:
            ground = "said"
        line = actor.colour if self.is_here else "rule"
        d.rect(key, *self.whole, fill=ground, line=line, r=8, width=2, dash=dash)
        x = self.box.x + 20
        y = self.box.y + 20
        d.disc(
            key + "/letter",
            x=x,
            y=y,
            r=12,
            letter=actor.letter,
            number=actor.number,
            size=14,
            dash=dash,
            fade=0.6 if self.gone else None,
        )
        if actor.pattern:
            d.circle(
                key + "/ring",
                x=x,
                y=y,
                r=9.5,
                fill="none",
                line="paper",
                dash="2 3",
                width=2,
            )
        self._name()
        self._words()
        self._link()
        arrow = self._arrow()
        if arrow:
            self._draw_arrow(arrow)

    def _name(self) -> None:
        """And whether it is the group's leader: beside it, or on a narrow card under
        it.
        """
        d = self.d
        key = self.key
        box = self.box
        room = box.w - 46
        y = box.y + (18 if self.is_wide or self.leads else 25)
        if self.leads and self.is_wide:
            words = "group leader" if box.w >= WIDER_CARD else "leader"
            d.note(key + "/leads", box.right - 9, y, words, anchor="end", size=12)
            room -= text_width(words, 12) / LEAST_STRETCH + 8
        elif self.leads:
            d.note(key + "/leads", box.x + 38, y + 15, "leader", size=12)
        name = self.actor.name
        if not has_room(name, room, 13, bold=True):
            # the end of a long name tells it from others
            name = re.split("[- _.]", name)[-1]
            if not d.phone:
                name = f"…{name}"
        d.text(
            key + "/name",
            box.x + 38,
            y,
            name,
            bold=True,
            room=room,
            tip=self.actor.name,
        )

    def _words(self) -> None:
        box = self.box
        x = box.x + 9
        y = box.y + 48
        if self.is_wide:
            x = box.x + 38
            y = box.y + 35
        ink = "trouble" if self.member["trouble"] else "quiet"
        room = box.right - x - 6
        lines = wrapped(self.member["words"], box.w)
        for n, line in enumerate(lines):
            key = f"{self.key}/words/{n}"
            self.d.text(key, x, y, line, fill=ink, size=12.5, room=room)
            y += LINE

    # -- levers

    def draw_levers(self) -> None:
        """Draw the levers that this member's state allows."""
        member = self.member
        box = self.box
        words = LEVERS_OF.get(member["life"], ()) if member["inside"] else ()
        if "freeze" in words:
            x = box.x + 20
            y = box.y - GAP / 2
            is_cut = "cut" in member
            self.d.wire(f"{self.key}/wire", x, y, self.actor.name, is_cut)
        y = box.bottom - 1
        for first in range(0, len(words), self.levers_in_a_row):
            self._row_of_levers(words[first : first + self.levers_in_a_row], y)
            y += LEVER

    def _row_of_levers(self, words: Sequence[str], y: float) -> None:
        box = self.box
        wide = sum(text_width(word, 12) for word in words)
        rest = box.w - 9 - wide
        around = rest / len(words) - 3  # each word

        x = box.x + 6.0
        for word in words:
            act = f"{word} {self.actor.name}"
            w = text_width(word, 12) + around
            self.d.boxed(
                f"{self.key}/lever/{word}",
                x=x,
                y=y,
                w=w,
                h=20,
                word=word,
                fill="wash",
                line="rule",
                r=10,
                bold=False,
                act=act,
                tip=f"{act} now",
            )
            x += w + 3

    # -- partitions

    def draw_parts(self) -> None:
        member = self.member
        box = self.box

        parts = []
        for label in member["owns"]:
            how = "gives" if label in member["gives"] else "owns"
            parts.append((label, how))

        parts += [(label, "waits") for label in member["waits"]]
        if not parts:
            return
        widths = [text_width(label, 12.5, mono=True, bold=True) for label, _ in parts]
        widest = max(widths)
        room = box.w - 18
        slots = int(room // (widest + 8))
        shown = parts
        wanted = max(widest + 18.0, CHIP_PITCH)
        pitch = min(wanted, room / len(parts))
        if len(parts) > slots:
            shown = parts[: slots - 1]
            pitch = widest + 8
        x = box.x + 9
        y = box.bottom - 25

        for label, how in shown:
            part = Box(x=x, y=y, w=pitch - 4, h=CHIP)
            self._part(label, how, part)
            x += pitch

        if len(shown) < len(parts):
            more = f"+{len(parts) - len(shown)}"
            self.d.text(self.key + "/more", x + 2, y + 15, more, fill="quiet", size=12)

    def _part(self, label: str, how: str, box: Box) -> None:
        """how: it owns it, must give it up, or waits for it."""
        name = key_part(self.actor.name)
        key = f"part/{label}"
        if how == "waits":
            key += f"/for/{name}"
        if key in self.d.shapes or not self.member["inside"]:
            key += f"/{name}"
        look = self._look(label, how)
        tip = f"{self.actor.name} {DOES[how]} {label}"
        self.d.cell(key, *box, label, **look._asdict(), tip=tip)

    def _look(self, label: str, how: str) -> Look:
        colour = self.actor.colour
        ink = self.actor.ink
        if how == "waits":
            return Look(fill="none", line="quiet", ink="quiet", dash="1 3")
        if label in self.two_owners:
            return Look(fill=colour, line="trouble", ink=ink, dash=None, width=3)
        if how == "gives":
            return Look(fill="paper", line=colour, ink="ink", dash="4 3")
        if not self.member["inside"]:
            return Look(fill="none", line="rule", ink="gone", dash="4 3")
        if self.is_away:
            return Look(fill="paper", line="trouble", ink="trouble", dash=None)
        return Look(fill=colour, line=colour, ink=ink, dash=None)

    # -- between it and the coordinator

    @property
    def _ends(self) -> tuple[float, float]:
        """Top and foot of what runs between the two."""
        y = self.box.y
        return y - GAP + 3, y - 3

    def _link(self) -> None:
        d = self.d
        key = self.key + "/link"
        x = self.box.x + 20
        top, foot = self._ends
        look: dict[str, Any] = {}
        if self.member["inside"] and not self.is_away:
            look = {"line": "rule"}
        elif self.member["life"] == "cut off":
            look = {"line": "trouble", "width": 2, "dash": "3 5"}
            look["tip"] = "nothing passes"
        if look:
            d.line(key, x=x, y=top, x2=x, y2=foot, **look)
            self._corridor(key, **look)

    def _corridor(self, key: str, **look: Any) -> None:
        """From the coordinator down beside the cards of the first row: what runs to a
        card below has nothing to do with them.
        """
        if self.is_first_row:
            return
        d = self.d
        turn, _ = self._ends
        x = self.box.x - BESIDE
        top = self.coordinator_foot + 3
        d.upright(f"{key}/down", x=x, top=top, bottom=turn, **look)
        d.level(f"{key}/over", left=x, right=self.box.x + 20, y=turn, **look)

    def _upwards(self, key: str, **look: Any) -> None:
        """A request of a card below: its head is at the coordinator."""
        d = self.d
        turn, foot = self._ends
        x = self.box.x + 20
        d.upright(f"{key}/up", x=x, top=turn, bottom=foot, **look)
        x = self.box.x - BESIDE
        top = self.coordinator_foot + 3
        d.arrow(key, x, top + GAP, x, top, **look)

    def _arrow(self) -> Arrow | None:
        """The answer that has just come; else the request that it waits for."""
        member = self.member
        top, foot = self._ends
        if member["answered"]:
            answer = Answer(*member["answered"])
            if answer.step == self.now:
                words = [answer.words, answer.words.split(": ")[-1]]
                ink = "trouble" if answer.trouble else "ink"
                return Arrow(
                    name="answer",
                    begin=top,
                    end=foot,
                    words=words,
                    ink=ink,
                    begun=self.now,
                    is_new=True,
                )
        asked = member["asked"]
        begun = member["asked_at"]
        if not asked:
            return None
        is_new = begun == self.now
        words = [asked, asked.removeprefix("ConsumerGroup")]
        if not is_new:
            words[0] += ", waits"
        ink = "ink" if is_new else "quiet"
        return Arrow(
            name="asks",
            begin=foot,
            end=top,
            words=words,
            ink=ink,
            begun=begun,
            is_new=is_new,
        )

    def _draw_arrow(self, arrow: Arrow) -> None:
        d = self.d
        x = self.box.x + 20
        key = f"{self.key}/{arrow.name}"
        line = "ink" if arrow.is_new else "quiet"
        ends = (x, arrow.begin, x, arrow.end)
        look: dict[str, Any] = {"line": line, "width": 1.6, "of": arrow.begun}
        self._corridor(key, **look)
        if arrow.name == "asks" and not self.is_first_row:
            self._upwards(key, **look)
        else:
            d.arrow(key, *ends, **look)
        room = self.box.w - 24
        is_answer = arrow.name == "answer"
        size = 13.5 if is_answer else 12.5
        said = fitting(arrow.words, room, size, bold=is_answer)
        said = said or arrow.words[-1]
        y = self._ends[1] - 8
        d.text(
            key + "/word",
            x + 11,
            y,
            said,
            fill=arrow.ink,
            size=12.5,
            bold=arrow.is_new,
            room=room,
        )
