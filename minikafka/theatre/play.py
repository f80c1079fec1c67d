"""A story folds a trace into scenes; a play draws them. One picture is one subclass of
each.

Story: `see(event)` keeps its state up to date and returns a Told where the learner
should stop and look (None: nothing to show; QUIETLY: the change belongs to the scene
told last, as a high watermark does that follows an append at once). `space()` is then
stored as plain JSON, and `cast()` says once who is shown.

Play: it knows the cast and the scenes, as they come back from JSON, and nothing of the
story or the trace. `draw(drawing, scenes)` gets the scenes up to the cursor and no
later one, so it can't show the future.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.clock import times
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Lanes, Mark
from minikafka.theatre.ruler import Ruler
from minikafka.trace import Event

# What a page can hold and a person can follow. Longer traces keep their chapters and
# troubles, and skip evenly among the rest.
MOST_STEPS = 160
APART = "apart"  # of a cast's live: the page around shows the levers

Detail = dict[str, Any]
EventId = tuple[str, int]
# a lane, words in it, and whether they tell of trouble
Marking = tuple[str, str] | tuple[str, str, bool]
Cast = dict[str, Any]
Space = dict[str, Any]
Handler = Callable[[Event, Detail], "Told | None"]


@dataclass
class Told:
    """What one event does to the picture.

    because: the id of an event, where the story knows better than the event's own
    cause. light: keys of shapes that this step is about, each with all beneath it
    ("member/a"), or what shapes share as `same`: they are outlined, the rest is dimmed,
    and it is held. replaces: it goes on with what the step before it shows, and takes
    its place.
    """

    sentence: str
    chapter: str | None = None
    trouble: bool = False
    because: EventId | None = None
    marks: list[Mark] = field(default_factory=list)
    light: Sequence[str] = ()
    replaces: bool = False


# What is told quietly so soon after a scene is seen in it; later, in the next one only.
AT_ONCE_MS = 1000
QUIETLY = Told("")


@dataclass(frozen=True)
class Says:
    """How events of one kind are told, as data. In braces: the event's details, its
    node, what Story.details adds.

    first: a chapter for the first such event only. mark: lane, text, and whether it is
    trouble.
    """

    sentence: str
    chapter: str | None = None
    trouble: bool = False
    first: str | None = None
    mark: Marking | None = None


# The states of a node: kinds of events that most pictures show, and the state that each
# leads to.
LIVES = {
    "ClientClosed": "closed",
    "NodeCrashed": "crashed",
    "NodeStopped": "stopped",
    "NodeShutDown": "stopped",
    "NodeFrozen": "frozen",
    "NodeRestarted": "",
    "NodeThawed": "",
}


class Story:
    """The base of all folds.

    A story may look at the whole trace when it is made, to choose who is shown and how
    much room they need; the picture's options are its keyword arguments. live: what the
    levers of a live run need to know (course/levers/).
    """

    name = ""  # of the picture
    title = ""
    shows: ClassVar[Sequence[str]] = ()  # what the story keeps for its cast
    says: ClassVar[Mapping[str, Says]] = {}  # by kind of event
    most_steps = MOST_STEPS

    def __init__(
        self, trace: Sequence[Event], *, live: Any = None, **options: Any
    ) -> None:
        self.live = live
        # what brokers may be serving, by connection and correlation id
        self.requests: dict[Any, Event] = {}
        self.number = 0  # of the event that is being seen, among those that are told
        self.at = 0  # when it happened, in ms
        self.said: set[Any] = set()
        # node -> what is wrong with it, "" where it is back
        self.down: dict[str, str] = {}

        if options:
            raise TypeError(
                f"the picture {self.name!r} has no option {sorted(options)[0]!r}"
            )

    def see(self, event: Event) -> Told | None:
        """The change of one event."""
        handler = self.handler(event)
        return handler(event, event.detail) if handler else None

    def clock(self, ms: Sequence[int]) -> list[str]:
        """The words for the scenes' times."""
        return times(ms)

    def handler(self, event: Event) -> Handler | None:
        """`_see_<kind>(event, detail)`, if the event is of this story; `_see_life` for
        what becomes of a node; else `_do_<kind>(event, detail)` changes the state, and
        the table has the words: none, and it is told QUIETLY.
        """
        found: Handler | None = getattr(self, f"_see_{event.kind}", None)
        is_told = event.kind in self.says or hasattr(self, f"_do_{event.kind}")
        if found is None and is_told:
            found = self._see_plainly
        if found is not None and self.is_mine(event):
            return found
        return None

    def _see_plainly(self, event: Event, d: Detail) -> Told | None:
        if event.kind in LIVES:
            return self._see_life(event, LIVES[event.kind])
        change = getattr(self, f"_do_{event.kind}", None)
        if change is not None:
            change(event, d)
        if event.kind in self.says:
            return self.tell(event)
        return QUIETLY

    def _see_life(self, event: Event, life: str) -> Told | None:
        """A node changes its state to this one of LIVES."""
        return self.tell(event)

    def tell(
        self,
        event: Event,
        *,
        mark: Marking | None = None,
        because: EventId | None = None,
        light: Sequence[str] = (),
        **names: Any,
    ) -> Told:
        """The event in the words that this story has for its kind. mark: where the
        table can't know it.
        """
        says = self.says[event.kind]
        names = self.details(event) | names
        if says.first:
            chapter = self.once(says.first.format_map(names))
        else:
            chapter = says.chapter and says.chapter.format_map(names)
        if says.mark and not mark:
            lane, words, *trouble = says.mark
            mark = (lane.format_map(names), words.format_map(names), bool(trouble))
        return Told(
            sentence=says.sentence.format_map(names),
            chapter=chapter,
            trouble=says.trouble,
            because=because,
            marks=self.mark(*mark) if mark else [],
            light=light,
        )

    def details(self, event: Event) -> Detail:
        """The names that the words of a table may use in braces."""
        return event.detail | {"node": event.node}

    def is_mine(self, event: Event) -> bool:
        """Whether the story is about this event."""
        return True

    def space(self) -> Space:
        """The current state: plain JSON, new at each call."""
        raise NotImplementedError

    def cast(self) -> Cast:
        """The cast after the last event: plain JSON."""
        cast: Cast = {"title": self.title}
        if self.live:
            cast["live"] = self.live
        return cast | picked(self, *self.shows)

    @property
    def away(self) -> dict[str, str]:
        """The nodes that are away now, and why."""
        return {node: state for node, state in sorted(self.down.items()) if state}

    def asker(self, event: Event) -> str | None:
        """The sender of the request that a broker was serving, or None."""
        request = self.requests.get(event.cause) if event.cause else None
        return request.node if request else None

    def ends(self, last: Scene) -> None:
        """All is told: the last scene may say what came of it (sentence) and have
        light.
        """

    def once(self, what: Any) -> Any:
        """The value (a chapter, say) the first time, then None."""
        if what in self.said:
            return None
        self.said.add(what)
        return what

    def first(self, what: str, *light: str) -> list[str]:
        """The light that falls on these shapes the first time, and never again."""
        return list(light) if self.once(what) else []

    def mark(
        self, lane: str, text: str, trouble: bool = False, fewer: str | None = None
    ) -> list[Mark]:
        """One mark in a lane, for the event that is being seen. fewer: its words where
        there is little room.
        """
        mark: Mark = {"lane": lane, "text": text, "of": self.number}
        if fewer is not None:
            mark["fewer"] = fewer
        if trouble:
            mark["trouble"] = True
        return [mark]


def draws_levers(cast: Cast) -> bool:
    """Whether a live picture has room for its levers."""
    return "live" in cast and cast["live"] != APART


def picked(source: object, *names: str) -> Detail:
    """The attributes with these names, as JSON."""
    return {name: getattr(source, name) for name in names}


class Play:
    """The base of all pictures: draws what a story has told."""

    story: ClassVar[type[Story]]
    # under the picture: what its marks mean, and the rule that it shows
    legend = ""
    rule = ""
    # where time itself is the story: seconds in which all of it plays, or how many ms a
    # second takes while only the axis moves
    whole_s: ClassVar[float | None] = None
    ms_a_second: ClassVar[float] = 0

    def __init__(self, cast: Cast, scenes: Sequence[Scene]) -> None:
        self.cast = cast
        self.lanes = Lanes(scenes)
        self.time = Time.of(scenes)
        self.rehearse(scenes)

    @classmethod
    def stage(
        cls, trace: Sequence[Event], **options: Any
    ) -> "tuple[type[Play], Story, Sequence[Event]]":
        """The play, the story and the trace, unless an option brings another trace."""
        return cls, cls.story(trace, **options), trace

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """Measure how much room the whole play needs, so that nothing jumps later."""

    def scenario(self, scene: Scene) -> str:
        """The line under the title."""
        raise NotImplementedError

    def summary(self, space: Space) -> str:
        """One scene in one line: the text of the picture for those who don't see it."""
        raise NotImplementedError

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """Draw the last of these scenes."""
        raise NotImplementedError

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Where an answer is dragged in the drawing of this scene, which asks. on: of
        what in the picture. None: nothing can be dragged here.
        """
        return None


def fold(story: Story, trace: Sequence[Event]) -> list[Scene]:
    """All scenes of a trace, in order, numbered by step."""
    scenes: list[Scene] = []
    # a server's trace counts from the epoch
    origin = trace[0].at if trace and trace[0].at > 10**11 else 0
    told_at: dict[tuple[Any, Any], int] = {}
    causes: dict[tuple[Any, Any], tuple[Any, Any] | None] = {}

    for position, event in enumerate(trace):
        causes[event.id] = event.cause
        if event.kind == "RequestSent":
            key = (event.detail["connection"], event.detail["correlation_id"])
            story.requests[key] = event
            causes[key] = event.id
        story.number = len(scenes) + 1
        story.at = event.at - origin
        told = story.see(event)
        if told is QUIETLY and scenes and story.at - scenes[-1]["at"] <= AT_ONCE_MS:
            scenes[-1]["space"] = story.space()
        if told is None or told is QUIETLY:
            continue
        if told.replaces:
            scenes.pop()
        step = len(scenes)
        told_at[event.id] = step
        because = _find(
            told.because or event.cause, told_at=told_at, causes=causes, before=step
        )
        scene = _scene(event, told, step, position, story)
        scene["because"] = because
        scenes.append(scene)
    if scenes:
        story.ends(scenes[-1])
    moments = story.clock([scene["at"] for scene in scenes])
    for scene, time in zip(scenes, moments, strict=True):
        scene["of"] = len(scenes)
        scene["time"] = time
    return _thin(scenes, story.most_steps)


def _scene(event: Event, told: Told, step: int, position: int, story: Story) -> Scene:
    """The change of an event, as JSON."""
    scene: Scene = {
        "step": step,
        "number": step + 1,
        "position": position,
        "at": story.at,
        "event": list(event.id),
        **picked(event, "kind", "node"),
        **picked(told, "sentence", "chapter", "trouble"),
        "because": None,
        "marks": told.marks,
        "space": story.space(),
    }
    if told.light:
        scene["light"] = list(told.light)
    return scene


def _find(
    cause: Any, told_at: dict[Any, int], causes: dict[Any, Any], before: int
) -> int | None:
    """The step of the nearest told event on the chain of causes."""
    for _ in range(20):
        if cause is None:
            return None
        cause = tuple(cause)
        if told_at.get(cause, before) < before:
            return told_at[cause]
        cause = causes.get(cause)
    return None


def _thin(scenes: list[Scene], most: int) -> list[Scene]:
    """Keeps what matters, and evenly of the rest, so that a page can hold it."""
    if len(scenes) <= most:
        return scenes
    must = [scene["step"] for scene in scenes if scene["chapter"] or scene["trouble"]]
    others = [scene["step"] for scene in scenes if scene["step"] not in must]
    room = max(most - len(must), 2)

    evenly: list[int] = []
    if others:
        last = len(others) - 1
        evenly = [others[number * last // (room - 1)] for number in range(room)]

    chosen = {*must[:most], *evenly}
    kept: list[Scene] = []
    marks: list[Mark] = []

    renumbered: list[int] = []
    # a skipped scene leaves its marks to the next one that is shown
    for scene in scenes:
        step = len(kept)
        renumbered.append(step)
        marks += scene["marks"]
        if scene["step"] not in chosen:
            continue
        because = scene["because"]
        if because is not None:
            because = renumbered[because]
        is_shown = because is not None and because < step
        scene["marks"] = marks
        scene["step"] = step
        scene["because"] = because if is_shown else None
        kept.append(scene)
        marks = []
    return kept
