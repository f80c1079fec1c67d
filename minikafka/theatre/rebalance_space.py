"""Space above: the coordinator as a bar, the members under it, requests as arrows between them.

A partition is one small box. It sits with the member that reads it, and with "nobody reads" in the coordinator's bar
in between; so one sees it move.
"""

from __future__ import annotations

from typing import Any

from minikafka.theatre.drawing import Drawing, fit, text_width, wrap
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Space
from minikafka.theatre.rebalance_cast import MOST_MEMBERS, Actor
from minikafka.theatre.text import key_part

BAR, GAP, CHIP, CHIP_PITCH = 46, 27, 20, 45
LEVERS = ("freeze", "slow", "leave", "crash")
LEVER_ROOM = 25
STATE_FILL = {"Stable": "good"}


def draw_space(d: Drawing, actors: dict[str, Actor], scene: Scene, live: bool) -> float:
    """Draws one step; returns where the lanes may begin. live: with levers on the cards, and a place for one more."""
    space = scene["space"]
    bar = _coordinator(d, space, actors)
    slots = min(len(actors) + live, MOST_MEMBERS)
    columns = 3 if d.narrow else max(slots, 3)
    width = (d.width - 14 * (columns - 1)) / columns
    height = (66 if width >= 200 else 82) + LEVER_ROOM * live
    boxes = []


    def place(number: int) -> tuple[float, float, float, float]:
        x, y = (number % columns) * (width + 14), bar + GAP + (number // columns) * (height + GAP)
        return x, y, width, height

    for number, member in enumerate(space["members"]):
        actor = actors[member["name"]]
        box_at = place(number if len(actors) > MOST_MEMBERS else list(actors).index(actor.name))
        boxes.append(Box(d, actor, member, box_at, scene["number"], space))
    for box in boxes:
        box.draw()
        if live:
            box.draw_levers()
    if live and len(actors) < MOST_MEMBERS:
        _room_for_one_more(d, *place(len(actors)))
    for box in boxes:  # partitions move between boxes, in front of all of them
        box.draw_parts()
    _pool(d, space["free"], bar)
    rows = -(-slots // columns) if slots else 1
    return bar + rows * (height + GAP) + 5


def _room_for_one_more(d: Drawing, x: float, y: float, w: float, h: float) -> None:
    d.rect("lever/add", x, y, w, h, "wash", "quiet", r=8, dash="4 4", act="add", tip="add one member now")
    d.text("lever/add/word", x + w / 2, y + h / 2 + 5, "+ member", "quiet", bold=True, anchor="middle")


def _coordinator(d: Drawing, space: Space, actors: dict[str, Actor]) -> float:
    height = BAR + (26 if d.narrow else 0)
    busy = space["assigns"] == "coordinator"
    down = space["down"]
    d.rect("coordinator", 0, 0, d.width, height, "said" if busy else "wash", "saidline" if busy else "rule", r=8,
           dash="5 4" if down else None)  # fmt: skip
    d.text("coordinator/name", 12, 19, "group coordinator", bold=True)
    if space["state"]:
        free = space["free"]
        room = d.width - 24 - (_pool_width(free) + 90 if free and not d.narrow else 0)
        state = "down" if down else space["state"]
        d.chip("coordinator/state", 160, 5, state, STATE_FILL.get(state, "chip"))
        words = fit(_who_assigns(space, actors), room, 12.5)
        d.text("coordinator/words", 12, 37, words, "quiet", size=12.5)
    _lamp(d, space)
    return height


def _who_assigns(space: Space, actors: dict[str, Actor]) -> str:
    if space["kind"] == "consumer":
        return f"epoch {space['number']} · the coordinator itself assigns" + (
            f" ({space['assignor']})" if space["assignor"] else ""
        )
    words = f"generation {space['number']}"
    if space["state"] == "PreparingRebalance":
        waits = space["waits_for"]
        if len(waits) > MOST_MEMBERS:
            return f"{words} ends · waits for {len(waits)} members to join"
        return f"{words} ends · waits for {', '.join(waits)} to join" if waits else f"{words} ends · everyone joins"
    if space["state"] == "CompletingRebalance" and space["leader"] in actors:
        return f"{words} · waits for the assignment of member {actors[space['leader']].letter}, the group leader"
    if space["leader"] in actors:
        words += f" · member {actors[space['leader']].letter} is group leader: it assigns"
    return words


def _lamp(d: Drawing, space: Space) -> None:
    two = space["two_owners"]
    words = f"two owners: {two[0]}" if two else "no partition has two owners"
    if d.narrow and not two:
        words = "no two owners"
    d.text("lamp/words", d.width - 12, 17, words, "trouble" if two else "quiet", size=12.5, bold=bool(two),
           anchor="end")  # fmt: skip
    x = d.width - 12 - text_width(words, 12.5, bold=bool(two)) - 14
    d.circle("lamp", x, 13, 6, "trouble" if two else "good", "trouble" if two else "quiet")


def _pool(d: Drawing, free: list[str], bar: float) -> None:
    """Partitions that nobody has."""
    if not free:
        return
    x, y = d.width - 12 - _pool_width(free), bar - CHIP - 3
    d.text("pool", x - 10, y + 15, "nobody has", "trouble", size=12.5, anchor="end")
    for label in free:
        width = _chip_width(label)
        d.cell(f"part/{label}", x, y, width, CHIP, label, "", "", "paper", "trouble", "trouble", dash="2 2")
        x += width + 4


def _chip_width(label: str) -> int:
    return max(text_width(label, 12.5, mono=True, bold=True) + 14, CHIP_PITCH - 4)


def _pool_width(free: list[str]) -> int:
    return sum(_chip_width(label) + 4 for label in free) - 4


class Box:
    """One member at a place (x, y, width, height)."""

    def __init__(self, d: Drawing, actor: Actor, member: dict[str, Any], place: tuple[float, float, float, float],
                 now: int, space: Space) -> None:  # fmt: skip
        self.d, self.actor, self.member, self.now = d, actor, member, now
        self.x, self.y, self.w, self.h = place
        self.key = f"member/{key_part(actor.name)}"
        self.leads = actor.name == space["leader"] and member["inside"]
        self.assigns = actor.name == space["assigns"]
        self.silent = bool(member["life"])

    def draw(self) -> None:
        d, actor, member, key = self.d, self.actor, self.member, self.key
        here = member["inside"] or member["owns"]
        dash = "5 4" if self.silent else None
        ground = "said" if self.assigns else "paper"
        d.rect(key, self.x, self.y, self.w, self.h, ground, actor.colour if here else "rule", r=8, width=2, dash=dash,
               fade=None if here or not self.silent else 0.6)  # fmt: skip
        d.circle(key + "/letter", self.x + 20, self.y + 20, 12, actor.colour, dash=dash)
        if actor.pattern:
            d.circle(key + "/ring", self.x + 20, self.y + 20, 9.5, "none", "paper", dash="2 3", width=2)
        d.text(key + "/letter/word", self.x + 20, self.y + 25, actor.letter, actor.ink, bold=True, size=14,
               anchor="middle")  # fmt: skip
        self._words()
        self._arrows()

    def _words(self) -> None:
        d, member, key, wide = self.d, self.member, self.key, self.w >= 200
        right = self.x + self.w - 6
        state = "frozen" if member["life"] == "frozen" else member["life"] or member["state"]
        room = self.w - 44
        if wide and state:
            width = text_width(state, 12, bold=True) + 18
            d.chip(key + "/state", right - width, self.y + 5, state, "good" if member["calm"] else "chip")
            room -= width + 4
        d.text(key + "/name", self.x + 38, self.y + 18, fit(self.actor.name, room, bold=True), bold=True)
        ink = "trouble" if member["trouble"] else "quiet"
        if wide:
            d.text(key + "/words", self.x + 38, self.y + 35, fit(member["words"], self.w - 44, 12.5), ink, size=12.5)
        else:
            for n, line in enumerate(wrap(member["words"], self.w - 42, 12)[:2]):
                d.text(f"{key}/words/{n}", self.x + 38, self.y + 34 + 15 * n, line, ink, size=12)

    def draw_levers(self) -> None:
        """What can be done to this member now."""
        words = {"": LEVERS, "frozen": ("crash",)}.get(self.member["life"], ()) if self.member["inside"] else ()
        self.h -= LEVER_ROOM
        pitch = (self.w - 14) / len(LEVERS)
        for number, word in enumerate(words):
            x, y, key = self.x + 7 + number * pitch, self.y + self.h - 1, f"{self.key}/lever/{word}"
            self.d.rect(key, x, y, pitch - 4, 20, "wash", "rule", r=10, act=f"{word} {self.actor.name}",
                        tip=f"{word} {self.actor.name} now")  # fmt: skip
            self.d.text(key + "/word", x + (pitch - 4) / 2, y + 14, word, "ink", size=12, anchor="middle")

    def draw_parts(self) -> None:
        d, member = self.d, self.member
        x, y = self.x + 9, self.y + self.h - 25
        labels = [(label, "gives" if label in member["gives"] else "owns") for label in member["owns"]]
        labels += [(label, "waits") for label in member["waits"]]
        room = self.w - 18 - (98 if self.leads and self.w >= 200 else 0)
        widest = max((text_width(label, 12.5, mono=True, bold=True) for label, _ in labels), default=0)
        slots = int(room // (widest + 8)) if labels else 1
        shown, pitch = labels, min(max(widest + 18.0, CHIP_PITCH), room / max(len(labels), 1))
        if len(labels) > slots:
            shown, pitch = labels[: slots - 1], widest + 8
        for label, how in shown:
            self._part(label, how, x, y, pitch - 4)
            x += pitch
        if len(shown) < len(labels):
            d.text(self.key + "/more", x + 2, y + 15, f"+{len(labels) - len(shown)}", "quiet", size=12)
        if self.leads and self.w >= 200:
            d.text(self.key + "/leads", self.x + self.w - 9, self.y + self.h - 11, "group leader", "quiet", size=12.5,
                   bold=True, anchor="end")  # fmt: skip

    def _part(self, label: str, how: str, x: float, y: float, w: float) -> None:
        colour, ink = self.actor.colour, self.actor.ink
        key = f"part/{label}" if how != "waits" else f"part/{label}/for/{key_part(self.actor.name)}"
        if key in self.d.shapes or not self.member["inside"]:
            key += f"/{key_part(self.actor.name)}"
        look = {
            "owns": (colour, colour, ink, None),
            "gives": ("paper", colour, "ink", "4 3"),
            "waits": ("none", "quiet", "quiet", "1 3"),
        }[how]
        inside = self.member["inside"]
        if (self.silent or not inside) and how == "owns":
            look = ("paper", "trouble", "trouble", None) if inside else ("none", "rule", "gone", "4 3")
        tips = {"owns": "reads", "gives": "must give up", "waits": "was given, may not read yet:"}
        self.d.cell(key, x, y, w, CHIP, label, "", "", look[0], look[1], look[2], dash=look[3],
                    tip=f"{self.actor.name} {tips[how]} {label}")  # fmt: skip

    def _arrows(self) -> None:
        d, member, x = self.d, self.member, self.x + 20
        top, foot = self.y - GAP + 3, self.y - 3
        if member["inside"] and not self.silent:
            d.line(self.key + "/link", x, top, x, foot, "rule")
        answer = member["answered"]
        room = self.w - 38
        if answer and answer[2] == self.now:
            d.arrow(self.key + "/answer", x, top, x, foot, "ink", width=1.6, of=answer[2])
            words, ink = answer[0], "trouble" if answer[1] else "ink"
            if text_width(words, 12.5, bold=True) > room:
                words = words.split(": ")[-1]
            d.text(self.key + "/answer/word", x + 11, foot - 8, fit(words, room, 12.5, bold=True), ink, size=12.5,
                   bold=True)  # fmt: skip
        elif member["asked"]:
            new = member["asked_at"] == self.now
            d.arrow(self.key + "/asks", x, foot, x, top, "ink" if new else "quiet", width=1.6, of=member["asked_at"])
            words = member["asked"] if new else f"{member['asked']}, waits"
            if text_width(words, 12.5) > room:
                words = fit(member["asked"], room, 12.5, bold=new)
            d.text(self.key + "/asks/word", x + 11, foot - 8, words, "ink" if new else "quiet", size=12.5, bold=new)
