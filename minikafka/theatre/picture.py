"""A picture: a cast and its scenes, to be shown as a page that plays, a static SVG, or
a table.
"""

import hashlib
import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.prediction import Prediction
from minikafka.theatre import pace, page, svg
from minikafka.theatre.drawing import (
    IN_NOTEBOOKS,
    LAYOUTS,
    PHONE,
    SMALLEST,
    WIDE,
    Drawing,
    smallest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.page import Data, Step
from minikafka.theatre.play import APART, Cast, Play
from minikafka.theatre.ruler import Ruler, draggable
from minikafka.theatre.text import escape, spoken

# what the page says of a step as the story told it
AS_TOLD = (
    "number",
    "of",
    "at",
    "time",
    "node",
    "chapter",
    "because",
    "trouble",
)


class TableRow(NamedTuple):
    """One event as a row of the text table."""

    time: str
    node: str
    sentence: str


class Table(list[TableRow]):
    """The same events as text: time, node and sentence of each."""

    def __repr__(self) -> str:
        time = max((len(row.time) for row in self), default=0)
        node = max((len(row.node) for row in self), default=0)
        lines = []
        for row in self:
            begins = f"{row.time:>{time}}  {row.node:<{node}}"
            lines.append(f"{begins}  {row.sentence}")
        return "\n".join(lines)


class Picture:
    """Shown in a notebook by being a cell's value.

    cast, scenes: JSON values, and all that the play sees of the trace: they are written
    as JSON and drawn from what is read back. digest: that text in twelve hexadecimal
    digits, so equal digests are equal pictures. seed: shown in the corner. prediction:
    already placed among these scenes.
    """

    def __init__(
        self,
        play: type[Play],
        cast: Cast,
        scenes: Sequence[Scene],
        *,
        seed: int | None = None,
        prediction: Prediction | None = None,
    ) -> None:
        text = json.dumps([cast, scenes], separators=(",", ":"))
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.cast: Cast
        self.scenes: list[Scene]
        self.cast, self.scenes = json.loads(text)
        self.play = play(self.cast, self.scenes)
        self.seed = seed
        self.corner = "" if seed is None else f"seed {seed}"
        self.prediction = prediction
        self.strip: Data | None = None  # where this is one run of a map (strip.py)
        self.levers_apart = False  # on a phone the page around shows them
        self._numbers = [scene["number"] for scene in self.scenes]
        self._drawings: dict[int, list[Drawing]] = {}

    @property
    def title(self) -> str:
        """The story in a few words; what is on the stage, if nobody asks about it."""
        asked = self.prediction
        return asked.title if asked and asked.title else self.stage

    @property
    def stage(self) -> str:
        """What is shown, in a few words."""
        return str(self.cast["title"])

    def scenario(self, scene: Scene) -> str:
        """The line under the title."""
        scenario = self.play.scenario(scene)
        if self.title == self.stage:
            return scenario
        return f"{self.stage} · {scenario}" if scenario else self.stage

    def sentence(self, scene: Scene) -> str:
        """The sentence of a scene, as the page, the file and the table show it."""
        return spoken(scene["sentence"])

    def summary(self, scene: Scene) -> str:
        """A scene in one line of text."""
        return self.play.summary(scene["space"])

    def drawings(self, width: int) -> list[Drawing]:
        """The shapes of every step, in one layout."""
        if width not in self._drawings:
            steps = range(len(self.scenes))
            self._drawings[width] = [self.drawing(step, width) for step in steps]
        return self._drawings[width]

    def drawing(self, step: int, width: int) -> Drawing:
        """The shapes of one step. width: that of a layout, or SMALLEST."""
        if width == SMALLEST:
            return smallest(self.drawing(step, PHONE))
        drawing = Drawing(width)
        drawing.asks = self._asks(step)
        drawing.ends = step == len(self.scenes) - 1
        are_apart = self.levers_apart and drawing.phone
        play = self._without_levers if are_apart else self.play
        play.draw(drawing, self.scenes[: step + 1])
        if are_apart:
            drawing.put_levers_apart()
        asked = self.prediction
        is_open = asked is not None and step == asked.stop
        drawing.light(self._light(step), asked.question if asked and is_open else "")
        for shape in drawing.shapes.values():
            if "of" in shape:
                shape["of"] = self._step_of(shape["of"])
        return drawing

    @cached_property
    def _without_levers(self) -> Play:
        """The play, with no room for its levers."""
        return type(self.play)(self.cast | {"live": APART}, self.scenes)

    def _light(self, step: int) -> Sequence[str]:
        """What a step is about. The last one after a question closes in the light of
        the answer, if it has none of its own: of what decided it, and not of what came
        later.
        """
        light: Sequence[str] = self.scenes[step].get("light", ())
        asked = self.prediction
        if light or asked is None or step < len(self.scenes) - 1:
            return light
        stop, decided = asked.stop or 0, asked.decided or 0
        lit = [scene for scene in self.scenes if "light" in scene]
        before = [scene for scene in lit if scene["step"] <= stop]
        until = [scene for scene in lit if stop < scene["step"] <= decided]
        after = [scene for scene in lit if decided < scene["step"]]
        nearest = [*until[-1:], *after[:1], *before[-1:]]
        return nearest[0]["light"] if nearest else ()

    def _step_of(self, number: int) -> int:
        """The step that shows an event, which plays know by its number; if the page
        skips the event, its effect appears a step later.
        """
        step = bisect_left(self._numbers, number)
        return min(step, len(self.scenes) - 1)

    @property
    def crisis_ms(self) -> float | None:
        """The time of the crisis: the first step that is about something in particular,
        or else the last trouble.
        """
        for scene in self.scenes[:-1]:  # the last may be a summary
            if "light" in scene:
                return float(scene["at"])
        for scene in reversed(self.scenes):
            if scene["trouble"]:
                return float(scene["at"])
        return None

    def svg(self, step: int | None = None, width: int = WIDE) -> str:
        """One step as a static SVG file's text; the last one if none is given, and
        steps count from 0. width: that of a layout, or SMALLEST.
        """
        if not self.scenes:
            return self._empty_svg()
        scene = self._scene(step)
        sentence = self.sentence(scene)
        return svg.svg(
            self.drawing(scene["step"], width),
            title=self.title,
            scenario=self.scenario(scene),
            sentence=sentence,
            corner=self.corner,
            time=scene["time"],
            alt=f"{sentence} {self.summary(scene)}.",
        )

    def _empty_svg(self) -> str:
        """The SVG for a trace in which nothing happened."""
        return svg.svg(
            Drawing(WIDE),
            title=self.title,
            scenario="",
            sentence=EMPTY,
            corner="",
            time="",
            alt=EMPTY,
        )

    def _scene(self, step: int | None) -> Scene:
        """The scene of a step, which may count from the end."""
        count = len(self.scenes)
        if step is None:
            return self.scenes[-1]
        is_a_number = type(step) is int
        if is_a_number and -count <= step < count:
            return self.scenes[step]
        error = ValueError if is_a_number else TypeError
        raise error(
            f"step={step!r}: give a step from 0 to {count - 1}, or None"
            " for the last one"
        )

    def page(
        self,
        at_end: bool = False,
        at_ms: float | None = None,
        widths: Sequence[int] = IN_NOTEBOOKS,
    ) -> str:
        """One self-contained HTML page: it plays without a kernel and without the
        internet.

        It opens shortly before its question, at the start if it has none, at the end,
        or at a moment. widths: of its layouts.
        """
        data = self.data(at_end, at_ms, widths)
        return page.page(data, self.title, self.corner)

    def data(
        self,
        at_end: bool = False,
        at_ms: float | None = None,
        widths: Sequence[int] = LAYOUTS,
    ) -> Data:
        """The data for the page's player. at_end, at_ms: where it opens. widths: of the
        layouts that it needs.
        """
        stays = self.stays()
        begin = self._begin(stays, at_end, at_ms)
        layouts = [self.drawings(width) for width in widths]
        data = page.packed(self._steps(stays), layouts)
        if self.strip:
            data["strip"] = self.strip
        return {
            **data,
            "title": self.title,
            "corner": self.corner,
            "prediction": self._questioned(data["layouts"], widths),
            "begin": begin,
            "flows": self._flows(),
        }

    def _begin(
        self, stays: Sequence[pace.Stay], at_end: bool, at_ms: float | None
    ) -> int:
        """The step at which a page opens."""
        if at_ms is None and at_end:
            return len(self.scenes) - 1
        if at_ms is None:
            asked = self.prediction
            return pace.arrival(stays, asked.stop or 0) if asked else 0
        if not isinstance(at_ms, (int, float)):
            raise TypeError(f"at_ms={at_ms!r}: give a number of virtual ms")
        moments = [scene["at"] for scene in self.scenes]
        return max(bisect_right(moments, at_ms) - 1, 0)

    def _questioned(
        self, layouts: Sequence[Data], widths: Sequence[int]
    ) -> Data | None:
        """The page's question. If its answer is dragged, each layout gets a ruler."""
        if self.prediction is None:
            return None
        asked = self.prediction.to_json()
        rulers = self._rulers(widths)
        if rulers:
            asked["drag"] = self._drag(rulers[0])
            for layout, ruler in zip(layouts, rulers, strict=True):
                layout["ruler"] = ruler.place()
        return asked

    def _rulers(self, widths: Sequence[int]) -> list[Ruler]:
        """Where an answer is dragged, in each layout; none where there is nothing to
        drag.
        """
        asked = self.prediction
        if asked is None or asked.dragged is None or asked.mine_words:
            return []
        stop = asked.stop or 0
        found = []
        for width in widths:
            drawing = self.drawings(width)[stop]
            ruler = self.play.ruler(drawing, self.scenes[stop], asked.dragged.on)
            if ruler is not None:
                found.append(ruler)
        return found

    def _drag(self, ruler: Ruler) -> Data:
        """How the learner drags the answer, and what is near enough."""
        assert self.prediction is not None
        return draggable(self.prediction, ruler)

    def save(self, path: str | Path) -> None:
        """Write the page as one HTML file, to open in any browser, on a phone too."""
        text = self.page(widths=LAYOUTS)
        Path(path).write_text(text, encoding="utf-8", newline="\n")

    def table(self) -> Table:
        """All steps of the picture as a text table."""
        return Table(
            TableRow(scene["time"], scene["node"], self.sentence(scene))
            for scene in self.scenes
        )

    def _steps(self, stays: Sequence[pace.Stay]) -> list[Step]:
        """The page's data for all steps, and how long each stays, in ms."""
        steps = []
        for scene, stay in zip(self.scenes, stays, strict=True):
            told = self._step(scene)
            told["rests"] = round(stay.rests)
            told["passes"] = round(stay.passes)
            steps.append(told)
        return steps

    def _step(self, scene: Scene) -> Step:
        """The page's data for a step, apart from its drawing."""
        told = {name: scene[name] for name in AS_TOLD}
        told["sentence"] = self.sentence(scene)
        told["scenario"] = self.scenario(scene)
        told["summary"] = self.summary(scene)
        told["foot"] = self.play.legend
        # it would give a prediction's answer away before that is decided
        if not self._asks(scene["step"]):
            told["foot"] = " ".join(filter(None, (self.play.legend, self.play.rule)))
        return told

    def _flows(self) -> str:
        """What moves while time passes: everything, the axis with its cursor, or
        nothing.
        """
        if self.play.whole_s:
            return "all"
        return "axis" if self.play.ms_a_second else ""

    def stays(self) -> list[pace.Stay]:
        """How long each step stays while it plays, at speed 1."""
        asked = self.prediction
        times = [scene["at"] for scene in self.scenes]
        ends = [*times[1:], *times[-1:]]  # the last one takes no time
        steps: list[pace.Step] = []
        for begins_ms, ends_ms in zip(times, ends, strict=True):
            steps.append(self._paced(len(steps), ends_ms - begins_ms))
        return pace.stays(
            steps,
            ms_a_second=self._ms_a_second(),
            stop=asked.stop if asked else None,
            decided=asked.decided if asked else None,
        )

    def _ms_a_second(self) -> float:
        """How long a second of the trace takes while it plays, in ms; 0 where its time
        is not shown.
        """
        if not self.play.whole_s:
            return self.play.ms_a_second
        whole_ms = 0
        if self.scenes:
            whole_ms = self.scenes[-1]["at"] - self.scenes[0]["at"]
        return 1_000_000 * self.play.whole_s / (whole_ms or 1)

    def _paced(self, step: int, gap_ms: float) -> pace.Step:
        """The time that a step asks for while the picture plays."""
        scene = self.scenes[step]
        is_decided = self.prediction is not None and self.prediction.decided == step
        is_held = is_decided or "light" in scene
        reading_ms: float = pace.READING + pace.A_LETTER * len(scene["sentence"])
        if self.play.whole_s:
            reading_ms = 0
        elif self._is_more_of_the_same(step):
            reading_ms = pace.MORE_OF_THE_SAME
        if is_held:
            reading_ms += pace.HOLD
        is_caption = is_held or bool(scene["chapter"])
        return pace.Step(reading_ms, gap_ms, is_caption)

    def _is_more_of_the_same(self, step: int) -> bool:
        """Whether it is the third event or a later one of one kind in a row, and
        nothing to stop at.
        """
        scene = self.scenes[step]
        if scene["chapter"] or scene["trouble"] or "light" in scene:
            return False
        if step < 2:
            return False
        kinds = {each["kind"] for each in self.scenes[step - 2 : step + 1]}
        return len(kinds) == 1

    def _asks(self, step: int) -> bool:
        """Whether a prediction is open at this step: its answer is not decided yet."""
        decided = self.prediction.decided if self.prediction else None
        return decided is not None and step < decided

    # -- in a notebook

    def __repr__(self) -> str:
        if not self.scenes:
            return f"{self.stage}: {EMPTY}"
        last = self.scenes[-1]
        head = f"{self.stage}: {len(self.scenes)} steps, {last['time']}"
        lines = [f"{head}, scenes {self.digest}"]
        asked = self.prediction
        if asked and not asked.mine_words:
            lines += self._question(asked)
        else:
            lines.append(f"at the end: {self.summary(last)}")
        if asked and asked.mine_words:
            lines += asked.verdict.splitlines()
        return "\n  ".join(lines)

    def _question(self, asked: Prediction) -> list[str]:
        """Where the picture stops, what it asks there, and the options."""
        stop = self.scenes[asked.stop or 0]
        options = []
        for number, option in enumerate(asked.options, 1):
            options.append(f"({number}) {option}")
        return [f"stops at {stop['time']}: {asked.question}", "  ".join(options)]

    def frame(self, at_end: bool = False, at_ms: float | None = None) -> str:
        """The page inside an iframe: its keys stay its own, and it plays again when a
        saved notebook is opened.
        """
        inside = self.page(at_end, at_ms).replace("&", "&amp;").replace("'", "&#39;")
        tallest = max((drawing.bottom for drawing in self.drawings(WIDE)), default=0)
        asking = page.ASKING if self.prediction else 0
        height = tallest + page.ABOVE + asking  # before the player measures it
        return (
            f"<iframe title='{escape(self.title)}'"
            f" style='width:100%;height:{height}px;border:0;display:block'"
            f" srcdoc='{inside}'></iframe>"
        )

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        """The output in a notebook: text, and the page if pictures are wanted."""
        bundle = {"text/plain": repr(self)}
        if self.scenes and not text_only():
            bundle["text/html"] = self.frame()
            asked = self.prediction
            if asked and asked.listen and not asked.mine_words:
                asked.listen(asked.run)
        return bundle


def text_only() -> bool:
    """Whether outputs hold no pictures and widgets."""
    return os.environ.get("MINIKAFKA_PICTURES") == "text"


EMPTY = "nothing has happened yet that this picture shows"
