"""Two rebalances beside each other, on one seed eager beside cooperative, say: the
lanes of both below each other on one time axis.
"""

import re
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, part, row, space
from minikafka.theatre.drawing import Drawing, Look, has_room, widest
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of
from minikafka.theatre.pictures.rebalance.lanes import (
    BASE,
    BESIDE_SUM,
    LINE,
    Band,
    Group,
    begun,
    headings,
)
from minikafka.theatre.pictures.rebalance.lengths import Wait, in_tenths
from minikafka.theatre.pictures.rebalance.record_events import Row
from minikafka.theatre.pictures.rebalance.rows import Rows
from minikafka.theatre.pictures.rebalance.snapshot import MOST_MEMBERS
from minikafka.theatre.pictures.rebalance.spans import lasted_ms, seconds, spans_of
from minikafka.theatre.pictures.rebalance.story import RebalanceStory, add_to_last
from minikafka.theatre.play import Cast, Play, Space, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event

# prefix of the names of the second trace's nodes, whose ids are also in the first one
OTHER = "beside "
GAP = 9  # between the two runs
LEAST_COLUMNS = 3  # of members
# what a member does, by its first word: where that alone says nothing
IN_A_WORD = {
    "must": "gives up",
    "not": "is out",
    "owns": "has none",
    "too": "too slow",
    "was": "was told",
}


class OfOther(Event):
    """An event of the second trace."""


def both(trace: Sequence[Event], beside: Sequence[Event]) -> list[Event]:
    """The events of two traces in order of time, ids and causes of the second marked as
    its own.
    """
    events = list(trace)
    events += map(_marked, beside)
    return sorted(events, key=lambda event: event.at)


def _marked(event: Event) -> Event:
    node, number = event.id
    cause = event.cause
    if cause is not None:
        cause = (f"{OTHER}{cause[0]}", cause[1])
    detail = event.detail
    if "connection" in detail:
        detail = detail | {"connection": f"{OTHER}{detail['connection']}"}
    marked = (OTHER + node, number)
    return OfOther(marked, event.at, event.node, event.kind, cause, detail)


class BesideStory(Story):
    name = "rebalance"

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        beside: Sequence[Event],
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace)
        traces = (trace, beside)
        self.stories = [RebalanceStory(each, **options) for each in traces]
        row = Row(max(story.records.row.every_ms for story in self.stories))
        for story in self.stories:
            story.records.row = row
        self.names = list(names or _protocols(trace, beside))
        group = self.stories[0].who.group
        first, second = self.names
        self.title = f"{first} beside {second}: group {group}"

    def see(self, event: Event) -> Told | None:
        second = isinstance(event, OfOther)
        story = self.stories[second]
        story.number = self.number
        told = story.see(event)
        if told is not None and told.sentence:
            told.sentence = f"{self.names[second]}: {told.sentence}"
            told.light = ()  # what both lead to is what this picture is about
        return told

    def ends(self, last: Scene) -> None:
        """How long a newcomer waits in each; where none comes, for how long partitions
        were not read.
        """
        waits = [story.lengths.wait for story in self.stories]
        first, second = waits
        if first and second and first.who == second.who:
            self._end_with_waits(last, waits)
        else:
            self._end_with_sums(last)

    def _end_with_waits(self, last: Scene, waits: Sequence[Wait | None]) -> None:
        said: list[str] = []
        light: list[str] = []
        for n, wait in enumerate(waits):
            assert wait is not None
            name = self.names[n]
            waited = wait.lasts_ms(last["at"])
            how = "after" if wait.until_ms is not None else "not yet, after"
            why = self.stories[n].why_waited()
            said.append(f"{how} {in_tenths(waited)} with {name}: {why}.")
            lane = f"time/{n}/{wait.part}"
            light += [f"time/{n}/wait", f"group/{n}/title", lane]
        who = waits[0].who if waits[0] else ""
        first, second = said
        add_to_last(last, f"{capital(who)} has its partition {first} {capital(second)}")
        last["light"] = light

    def _end_with_sums(self, last: Scene) -> None:
        """The two, and the stretches that they are made of."""
        sums: list[str] = []
        light: list[str] = []
        for n, story in enumerate(self.stories):
            group = last["space"]["groups"][n]
            total_ms = 0
            spans_of_all: list[str] = []
            for label in group["waiting"]:
                spans = group["spans"].get(label, [])
                total_ms += lasted_ms(
                    "nobody", spans=spans, since_ms=story.since_ms, at=last["at"]
                )
                spans_of_all += spans_of("nobody", f"{n}/", label, spans)
            sums.append(f"{seconds(total_ms)} with {self.names[n]}")
            light += [
                f"time/{n}/sum",
                f"group/{n}/title",
                f"group/{n}/unread",
                *spans_of_all,
            ]
        add_to_last(last, f"Not read, all partitions together: {', '.join(sums)}.")
        last["light"] = light

    def cast(self) -> Cast:
        told = super().cast()
        told["names"] = self.names
        told["groups"] = [story.cast() for story in self.stories]
        newcomers = {group["newcomer"] for group in told["groups"]}
        told["newcomer"] = newcomers.pop() if len(newcomers) == 1 else ""
        return told

    def space(self) -> Space:
        spaces = []
        for story in self.stories:
            story.number = self.number
            spaces.append(story.space())
        return {"groups": spaces}


class BesidePlay(Play):
    story = BesideStory
    ms_a_second = 1000
    legend = (
        "Hatched: nobody reads it any more. Not read for: so far, since its first"
        " reader; bold: all partitions together."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.names = self.cast["names"]
        self.groups = self.cast["groups"]
        self.boxes = Stage(
            column(self._run(0, scenes), self._run(1, scenes), self._foot(), gap=GAP)
        )

    def scenario(self, scene: Scene) -> str:
        first = self.groups[0]
        count = len(first["partitions"]) + first["left_out"]
        partitions = f"{count} partitions of {first['topics']}"
        return f"the same calls twice, one time axis · {partitions}"

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for name, group in zip(self.names, space["groups"], strict=True):
            state = group["state"] or "not begun"
            said.append(f"{name}: {state} {group['number']}")
        return "; ".join(said)

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _run(self, number: int, scenes: Sequence[Scene]) -> Item:
        """A group's name and state, its members, and its lanes."""
        key = f"group/{number}"
        states = [scene["space"]["groups"][number]["state"] for scene in scenes]
        chip = max((widest(state, 12, bold=True) for state in states), default=0) + 10
        name = max(widest(each, 14, bold=True) for each in self.names)

        def title(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[f"{key}/title"]
            words = self.names[number]
            look: Look = {"size": 14, "bold": True, "room": place.w}
            d.text(f"{key}/title/name", place.x, place.y + BASE, words, **look)

        def state(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[f"{key}/state"]
            words = scene["space"]["groups"][number]["state"]
            if words:
                fill = "good" if words == "Stable" else "chip"
                d.chip(f"{key}/state", place.x, place.y - 1, words, fill=fill)

        most = max(len(group["actors"]) for group in self.groups)
        places = range(min(max(most, LEAST_COLUMNS), MOST_MEMBERS))
        first = row(
            part(f"{key}/title", title, high=LINE, least=min(name, 150), wanted=name),
            part(f"{key}/state", state, high=LINE, least=chip),
            space(),
            headings(key),
            gap=12,
        )
        members = row(*(self._member(number, each) for each in places), breaks=False)
        return column(first, members, self._lanes(number, scenes), gap=3)

    def _member(self, number: int, place: int) -> Item:
        """A member in plain words; in the same place in both groups."""
        actors = actors_of(self.groups[number])

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            space = scene["space"]["groups"][number]
            if place >= len(space["members"]):
                return
            member = space["members"][place]
            actor = actors[member["name"]]
            key = f"group/{number}/member/{place}"
            x, y, wide, _ = places[key]
            fade = 0.5 if member["life"] or not member["inside"] else None
            tip = f"{actor.name}: {member['words']}"
            look: Look = {"letter": actor.letter, "number": actor.number, "size": 12.5}
            d.disc(key, x + 9, y + 9, 9, **look, fade=fade, tip=tip)
            room = wide - 27
            words = _in_short(member["words"], actor, space["assigns"], room)
            d.note(f"{key}/words", x + 23, y + 14, words, room=room)

        return part(f"group/{number}/member/{place}", draw, high=LINE, grow=1)

    def _lanes(self, number: int, scenes: Sequence[Scene]) -> Item:
        """And under them how long a newcomer waits."""
        spaces = [scene["space"]["groups"][number] for scene in scenes]
        group = Group(self.groups[number], begun(scenes, spaces), f"{number}/")
        newcomer = self.cast["newcomer"]

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[f"lanes {number}"]
            space = scene["space"]["groups"][number]
            band = Band(d, place, self.time, scene["at"], BESIDE_SUM)
            group.draw(band, place.y, space)
            foot = place.y + group.high
            band.axis.cursor(d, place.y - 2, foot + 2, f"time/cursor/{number}")
            if newcomer:
                Rows(band, group, space).wait(f"time/{number}/wait", foot + GAP / 2)

        below = GAP / 2 + group.height if newcomer else 0
        return part(f"lanes {number}", draw, high=group.high + below)

    def _foot(self) -> Item:
        """The axis of both."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places["foot"]
            Band(d, place, self.time, scene["at"], BESIDE_SUM).axis.foot(
                d, place.y - GAP
            )

        return part("foot", draw, high=LINE)


def _in_short(words: str, actor: Actor, assigns: str, room: float) -> str:
    """A member's activity in words that fit; its partitions are shown below."""
    first = re.split("[:,]", words)[0]
    if has_room(first, room, 12.5):
        return first
    if assigns == actor.name:
        return "decides"
    shorter = re.split(" gives| [A-Za-z][0-9]", first)[0]
    if has_room(shorter, room, 12.5):
        return shorter
    word, *_ = shorter.split(" ")
    return IN_A_WORD.get(word, word)


def _protocols(trace: Sequence[Event], beside: Sequence[Event]) -> list[str]:
    """The protocols of the two groups; numbered if they are the same."""
    first = _protocol(trace)
    second = _protocol(beside)
    if first == second:
        return [f"{first} (1)", f"{second} (2)"]
    return [first, second]


def _protocol(trace: Sequence[Event]) -> str:
    """The assignor, and whether it is the coordinator's."""
    for event in trace:
        if event.kind == "AssignmentMade":
            name = str(event.detail["assignor"])
            return f"{name}, KIP-848" if event.detail["by"] == "coordinator" else name
    return "no group"
