"""The rebalance: who assigns, what each member does, which partitions nobody reads, and
how many records wait there.

Options: group, topic, partitions; since_ms: where the picture begins; beside: a second
trace, on one seed eager beside cooperative, say: the lanes of both below each other on
one time axis; names: what the two are called (their assignors, if not given). live:
with levers (course/levers/on_stage.py).
"""

import re
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import LEAST_STRETCH, Drawing, has_room, text_width
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.rebalance_group import MOST_MEMBERS, actors_of
from minikafka.theatre.pictures.rebalance_members import RECORDS
from minikafka.theatre.pictures.rebalance_space import draw_space
from minikafka.theatre.pictures.rebalance_story import RebalanceStory
from minikafka.theatre.pictures.rebalance_time import (
    Axis,
    Band,
    Block,
    draw_lanes,
    lasted_ms,
    seconds,
    unread_spans,
)
from minikafka.theatre.play import Cast, Play, Space, Story, Told
from minikafka.theatre.text import counted, dotted
from minikafka.trace import Event

# before the names of the second trace's nodes: its ids are the first one's too
OTHER = "beside "
HEADER, GAP = 46, 9


class RebalancePlay(Play):
    story = RebalanceStory
    foot = (
        "Hatched: nobody reads, records wait. Waiting: end offset minus read position."
        " Not read for: so far; sum: of all partitions."
    )

    @classmethod
    def stage(
        cls, trace: Sequence[Event], **options: Any
    ) -> tuple[type[Play], Story, Sequence[Event]]:
        beside = options.pop("beside", None)
        if beside is None:
            return super().stage(trace, **options)
        beside = list(beside)
        return (
            BesidePlay,
            BesideStory(trace, beside=beside, **options),
            both(trace, beside),
        )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.actors = actors_of(self.cast)
        self.words = sorted(
            {each["words"] for scene in scenes for each in scene["space"]["members"]}
        )
        self.axis = Axis(scenes, {"": [scene["space"] for scene in scenes]})

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        inside, shown = space["inside"], len(space["members"])
        how = (
            "cooperative"
            if self.cast["keeps"] or "cooperative" in space["assignor"]
            else "eager"
        )
        how = "KIP-848" if space["kind"] == "consumer" else how
        partitions, left_out = len(self.cast["partitions"]), self.cast["left_out"]
        return dotted(
            f"{space['assignor']}, {how}" if space["assignor"] else "no assignment yet",
            counted(inside, "member")
            + (f", {shown} of them shown" if shown < inside else ""),
            f"{partitions + left_out} partitions of {self.cast['topics']}",
            f"{partitions} of them shown" if left_out else "",
            self.cast["legend"],
        )

    def summary(self, space: dict[str, Any]) -> str:
        owned = [
            f"{m['name']} {' '.join(m['owns'])}" for m in space["members"] if m["owns"]
        ]
        return f"{space['state']}, {space['number']}: " + (
            "; ".join(owned) or "nobody owns anything"
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        bottom = draw_space(drawing, self.cast, self.actors, scene, self.words)
        draw_lanes(drawing, bottom, self.cast, self.axis, scene)


class OfOther(Event):
    """An event of the second trace."""


def both(trace: Sequence[Event], beside: Sequence[Event]) -> list[Event]:
    """The events of two traces in order of time, ids and causes of the second marked as
    its own.
    """
    return sorted([*trace, *map(_marked, beside)], key=lambda event: event.at)


def _marked(event: Event) -> Event:
    cause = (
        None if event.cause is None else (f"{OTHER}{event.cause[0]}", event.cause[1])
    )
    detail = event.detail
    if "connection" in detail:
        detail = detail | {"connection": f"{OTHER}{detail['connection']}"}
    return OfOther(
        (OTHER + event.id[0], event.id[1]),
        event.at,
        event.node,
        event.kind,
        cause,
        detail,
    )


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
        self.stories = [RebalanceStory(each, **options) for each in (trace, beside)]
        for story in self.stories:
            story.every_ms = max(each.every_ms for each in self.stories)
        used = [_protocol(each) for each in (trace, beside)]
        used = (
            used
            if used[0] != used[1]
            else [f"{name} ({n})" for n, name in enumerate(used, 1)]
        )
        self.names = list(names or used)
        self.title = (
            f"{self.names[0]} beside {self.names[1]}: group {self.stories[0].who.group}"
        )

    def see(self, event: Event) -> Told | None:
        second = isinstance(event, OfOther)
        self.stories[second].number = self.number
        told = self.stories[second].see(event)
        if told is not None and told.sentence:
            told.sentence = f"{self.names[second]}: {told.sentence}"
            told.light = ()  # what both lead to is what this picture is about
        return told

    def ends(self, last: Scene) -> None:
        """The two sums, and the stretches that they are made of."""
        sums, light = [], []
        for n, (story, group) in enumerate(
            zip(self.stories, last["space"]["groups"], strict=True)
        ):
            lanes = {label: group["spans"].get(label, []) for label in group["waiting"]}
            ms = sum(
                lasted_ms("nobody", spans, story.since_ms, last["at"])
                for spans in lanes.values()
            )
            sums.append(f"{seconds(ms)} with {self.names[n]}")
            light += [f"time/{n}/sum", f"group/{n}/title", f"group/{n}/unread"]
            light += [
                key
                for label, spans in lanes.items()
                for key in unread_spans(f"{n}/", label, spans)
            ]
        words = f"Not read, all partitions together: {', '.join(sums)}."
        last["sentence"] = (
            words if last["kind"] in RECORDS else f"{last['sentence']} {words}"
        )
        last["light"] = light

    def cast(self) -> Cast:
        return super().cast() | {
            "names": self.names,
            "groups": [story.cast() for story in self.stories],
        }

    def space(self) -> Space:
        return {"groups": [story.group.space(self.number) for story in self.stories]}


class BesidePlay(Play):
    story = BesideStory
    foot = (
        "Hatched: nobody reads the partition. Not read for: so far; sum: of all"
        " partitions."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.names, self.groups = self.cast["names"], self.cast["groups"]
        self.axis = Axis(
            scenes,
            {
                f"{n}/": [scene["space"]["groups"][n] for scene in scenes]
                for n in range(2)
            },
        )

    def scenario(self, scene: Scene) -> str:
        who = self.groups[0]
        count = len(who["partitions"]) + who["left_out"]
        return (
            f"the same calls twice, one time axis · {count} partitions of"
            f" {who['topics']}"
        )

    def summary(self, space: dict[str, Any]) -> str:
        each = zip(self.names, space["groups"], strict=True)
        return "; ".join(
            f"{name}: {group['state'] or 'not begun'} {group['number']}"
            for name, group in each
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        band, y = Band(drawing, self.axis, scene), 0.0
        for number, group in enumerate(self.groups):
            space = scene["space"]["groups"][number]
            self._header(drawing, y, number, space, band)
            top = y + HEADER
            y = Block(band, group, space, f"{number}/", 14).draw(top, 2) + GAP
            drawing.cursor(band.cursor, top - 2, y - GAP + 2, f"time/cursor/{number}")
        band.times(y - GAP + 15)

    def _header(
        self, d: Drawing, y: float, number: int, space: Space, band: Band
    ) -> None:
        """What it is called, the group's state in Kafka's word, and below it each
        member's in plain ones.
        """
        key, name = f"group/{number}", self.names[number]
        room = (band.waiting_x - 70 - 190) if d.narrow else 300.0
        d.text(key + "/title/name", 0, y + 15, name, bold=True, size=14, room=room)
        x = (
            min(
                max(text_width(each, 14, bold=True) for each in self.names)
                / LEAST_STRETCH,
                room,
            )
            + 12
        )
        if space["state"]:
            d.chip(
                key + "/state",
                x,
                y + 1,
                space["state"],
                "good" if space["state"] == "Stable" else "chip",
            )
        band.columns(key, y + 15)
        actors = actors_of(self.groups[number])
        most = max(len(group["actors"]) for group in self.groups)
        pitch = (d.width if d.narrow else band.right) / min(max(most, 3), MOST_MEMBERS)
        for n, member in enumerate(space["members"]):
            # under each other in both groups
            actor, left = actors[member["name"]], n * pitch
            away = bool(member["life"]) or not member["inside"]
            d.disc(
                f"{key}/member/{n}",
                left + 9,
                y + 32,
                9,
                actor.letter,
                actor.number,
                12.5,
                fade=0.5 if away else None,
                tip=f"{actor.name}: {member['words']}",
            )
            words, room = re.split("[:,]", member["words"])[0], pitch - 27
            if not has_room(words, room, 12.5):  # which partitions, is seen below
                words = (
                    "decides"
                    if space["assigns"] == actor.name
                    else re.split(" gives| [A-Za-z][0-9]", words)[0]
                )
            d.note(f"{key}/member/{n}/words", left + 23, y + 37, words, room=room)


def _protocol(trace: Sequence[Event]) -> str:
    made = next(
        (event.detail for event in trace if event.kind == "AssignmentMade"),
        {"assignor": "no group", "by": ""},
    )
    return str(made["assignor"]) + ", KIP-848" * (made["by"] == "coordinator")
