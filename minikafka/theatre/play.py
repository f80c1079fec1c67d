"""A play turns a trace into scenes, and a scene into shapes. One picture is one file with one subclass of Play.

Fold: `see(event)` keeps the play's state up to date and returns a Told where the learner should stop and look (None:
nothing to show; QUIETLY: the change belongs to the scene told last, as a high watermark does that follows an append
at once). `space()` is then stored as plain JSON. Draw: `draw(drawing, scenes)` gets the scenes up to the cursor and
no later one, so it can't show the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Lanes, Scene, times
from minikafka.trace import Event

# What a page can hold and a person can follow. Longer traces keep their chapters and troubles, and skip evenly among
# the rest.
MOST_STEPS = 160


@dataclass
class Told:
    """What one event does to the picture.

    because: the id of an event, where the play knows better than the event's own cause.
    """

    sentence: str
    chapter: str | None = None
    trouble: bool = False
    because: tuple[str, int] | None = None
    marks: list[dict[str, Any]] = field(default_factory=list)


QUIETLY = Told("")


class Play:
    """The base of all pictures.

    A play may look at the whole trace when it is made, to choose who is shown and how much room they need; options are
    its own keyword arguments.
    """

    name = ""
    title = ""
    foot = ""  # the rule that the picture shows, one line under it

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        self.requests: dict[
            tuple[Any, Any], Event
        ] = {}  # what brokers may be serving, by connection and correlation id
        self.number = 0  # of the event that is being seen, among those that are told
        self.lanes = Lanes([])
        if options:
            raise TypeError(f"the picture {self.name!r} has no option {sorted(options)[0]!r}")

    @classmethod
    def stage(cls, trace: Sequence[Event], **options: Any) -> tuple[Play, Sequence[Event]]:
        """The play for these options, and the events that it folds: the trace, unless an option brings another one."""
        return cls(trace, **options), trace

    def see(self, event: Event) -> Told | None:
        raise NotImplementedError

    def space(self) -> dict[str, Any]:
        """What is where now: plain JSON, made anew at each call."""
        raise NotImplementedError

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """Once, after the fold: measure how much room the whole play needs, so that nothing jumps later."""

    def scenario(self, scene: Scene) -> str:
        """The line under the title."""
        raise NotImplementedError

    def summary(self, space: dict[str, Any]) -> str:
        """One scene in one line: the text of the picture for those who don't see it."""
        raise NotImplementedError

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """Draw the last of these scenes."""
        raise NotImplementedError

    def asker(self, event: Event) -> str | None:
        """Who sent the request that a broker was serving, or None."""
        request = self.requests.get(event.cause) if event.cause else None
        return request.node if request else None


def fold(play: Play, trace: Sequence[Event]) -> list[Scene]:
    """All scenes of a trace, in order, numbered by step. Depends on nothing but the trace and the play's options."""
    scenes: list[Scene] = []
    origin = trace[0].at if trace and trace[0].at > 10**11 else 0  # a server's trace counts from the epoch
    told_at: dict[tuple[Any, Any], int] = {}
    causes: dict[tuple[Any, Any], tuple[Any, Any] | None] = {}
    for position, event in enumerate(trace):
        causes[event.id] = event.cause
        if event.kind == "RequestSent":
            key = (event.detail["connection"], event.detail["correlation_id"])
            play.requests[key] = event
            causes[key] = event.id
        play.number = len(scenes) + 1
        told = play.see(event)
        if told is None:
            continue
        if told is QUIETLY:
            if scenes:
                scenes[-1]["space"] = play.space()
            continue
        told_at[event.id] = len(scenes)
        scenes.append(_scene(len(scenes), position, event, told, event.at - origin, play.space()))
        scenes[-1]["because"] = _find(told.because or event.cause, told_at, causes, len(scenes) - 1)
    for scene, time in zip(scenes, times([scene["at"] for scene in scenes]), strict=True):
        scene["of"] = len(scenes)
        scene["time"] = time
        scene["summary"] = play.summary(scene["space"])
    scenes = _thin(scenes)
    play.lanes = Lanes(scenes)
    play.rehearse(scenes)
    return scenes


def _scene(step: int, position: int, event: Event, told: Told, at: int, space: dict[str, Any]) -> Scene:
    return {
        "step": step,
        "number": step + 1,
        "position": position,
        "at": at,
        "event": list(event.id),
        "kind": event.kind,
        "node": event.node,
        "sentence": told.sentence,
        "chapter": told.chapter,
        "trouble": told.trouble,
        "because": None,
        "marks": told.marks,
        "space": space,
    }


def _find(cause: Any, told_at: dict[Any, int], causes: dict[Any, Any], before: int) -> int | None:
    """The step of the nearest told event on the chain of causes."""
    for _ in range(20):
        if cause is None:
            return None
        cause = tuple(cause)
        if told_at.get(cause, before) < before:
            return told_at[cause]
        cause = causes.get(cause)
    return None


def _thin(scenes: list[Scene]) -> list[Scene]:
    if len(scenes) <= MOST_STEPS:
        return scenes
    must = [scene for scene in scenes if scene["chapter"] or scene["trouble"]][:MOST_STEPS]
    others = [scene for scene in scenes if not (scene["chapter"] or scene["trouble"])]
    room = max(MOST_STEPS - len(must), 2)
    chosen = {scene["step"] for scene in must} | {
        others[i * (len(others) - 1) // (room - 1)]["step"] for i in range(room) if others
    }
    kept = [scene for scene in scenes if scene["step"] in chosen]
    marks: list[dict[str, Any]] = []
    renumbered: dict[int, int] = {}
    passed = 0
    for scene in scenes:  # a skipped scene leaves its marks to the next one that is shown
        marks += scene["marks"]
        renumbered[scene["step"]] = min(passed, len(kept) - 1)
        if scene["step"] in chosen:
            scene["marks"], marks = marks, []
            passed += 1
    for scene in kept:
        because = scene["because"]
        scene["because"] = (
            None if because is None or renumbered[because] >= renumbered[scene["step"]] else renumbered[because]
        )
    for step, scene in enumerate(kept):
        scene["step"] = step
    return kept
