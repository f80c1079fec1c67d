"""Two rebalances beside each other, on one seed eager beside cooperative, say: the
lanes of both below each other on one time axis.
"""

import re
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import Drawing, has_room, widest
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of
from minikafka.theatre.pictures.rebalance.draw_lanes import Band, Begun, Block
from minikafka.theatre.pictures.rebalance.draw_lengths import Rows
from minikafka.theatre.pictures.rebalance.lengths import Wait, in_tenths
from minikafka.theatre.pictures.rebalance.record_events import Row
from minikafka.theatre.pictures.rebalance.snapshot import MOST_MEMBERS
from minikafka.theatre.pictures.rebalance.spans import lasted_ms, seconds, spans_of
from minikafka.theatre.pictures.rebalance.story import RebalanceStory, add_to_last
from minikafka.theatre.play import Cast, Play, Space, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event

# prefix of the names of the second trace's nodes, whose ids are also in the first one
OTHER = "beside "
HEADER, GAP = 46, 9
COLUMNS = 20  # on a phone: a line for what the numbers at the end are
LANE = 14
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
        spaces: dict[str, list[Space]] = {"0/": [], "1/": []}
        for scene in scenes:
            first, second = scene["space"]["groups"]
            spaces["0/"].append(first)
            spaces["1/"].append(second)
        self.begun = Begun()
        for tag, each in spaces.items():
            self.begun.note(tag, scenes, each)

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

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        band = Band(drawing, self.time, self.begun, scene)
        y = 0.0
        for number, group in enumerate(self.groups):
            space = scene["space"]["groups"][number]
            self._header(drawing, y, number, space, band)
            self._members(drawing, y, number, space, band)
            top = y + HEADER + (COLUMNS if drawing.phone else 0)
            block = Block(
                band=band, cast=group, space=space, tag=f"{number}/", height=LANE
            )
            foot = block.draw(top, 2)
            key = f"time/cursor/{number}"
            band.axis.cursor(drawing, top - 2, foot + 2, key)
            if self.cast["newcomer"]:
                foot += GAP / 2
                rows = Rows(band=band, cast=group, space=space, height=LANE)
                rows.wait(f"time/{number}/wait", foot)
                foot += LANE
            y = foot + GAP
        band.axis.foot(drawing, y - GAP)

    def _header(
        self, d: Drawing, y: float, number: int, space: Space, band: Band
    ) -> None:
        """Draw a group's name, and its state in Kafka's word."""
        key = f"group/{number}"
        state = space["state"]
        room = 300.0
        if d.narrow:
            room = band.waiting_x - 70 - 190
        if d.phone:
            room = d.width - 210
        name = self.names[number]
        line = y + 15
        d.text(
            key + "/title/name",
            0,
            line,
            name,
            bold=True,
            size=14,
            room=room,
        )
        if state:
            widths = [widest(each, 14, bold=True) for each in self.names]
            x = min(max(widths), room) + 12
            fill = "good" if state == "Stable" else "chip"
            d.chip(key + "/state", x, y + 1, state, fill=fill)
        band.columns(key, y + HEADER + 11 if d.phone else line)

    def _members(
        self, d: Drawing, y: float, number: int, space: Space, band: Band
    ) -> None:
        """Each member in plain words; under each other in both groups."""
        actors = actors_of(self.groups[number])
        most = max(len(group["actors"]) for group in self.groups)
        columns = min(max(most, LEAST_COLUMNS), MOST_MEMBERS)
        pitch = (d.width if d.narrow else band.axis.right) / columns

        for n, member in enumerate(space["members"]):
            actor = actors[member["name"]]
            key = f"group/{number}/member/{n}"
            left = n * pitch
            is_away = bool(member["life"]) or not member["inside"]
            d.disc(
                key,
                x=left + 9,
                y=y + 32,
                r=9,
                letter=actor.letter,
                number=actor.number,
                size=12.5,
                fade=0.5 if is_away else None,
                tip=f"{actor.name}: {member['words']}",
            )
            room = pitch - 27
            assigns = space["assigns"]
            words = _in_short(member["words"], actor, assigns, room, is_phone=d.phone)
            d.note(
                key + "/words",
                left + 23,
                y + 37,
                words,
                room=room,
            )


def _in_short(
    words: str, actor: Actor, assigns: str, room: float, *, is_phone: bool
) -> str:
    """A member's activity in words that fit; its partitions are shown below."""
    first = re.split("[:,]", words)[0]
    if has_room(first, room, 12.5):
        return first
    if assigns == actor.name:
        return "decides"
    shorter = re.split(" gives| [A-Za-z][0-9]", first)[0]
    if not is_phone or has_room(shorter, room, 12.5):
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
