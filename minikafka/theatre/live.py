"""Live pictures: change something, and the same calls run again with what was changed.

The theatre doesn't know the simulation: a re-run comes in as a function to a trace. ipywidgets is imported only when
controls are made. Each change prints the line of code that does the same.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event

Rerun = Callable[[Sequence[str | None], Sequence[int], str], Sequence[Event]]
Flag = tuple[float, str]  # virtual ms, and what was done then


class Stage:
    """Where a live picture stands: a frame that stays, and two hidden widgets beside it in its cell.

    The page (player.js) writes what was clicked into one, as JSON (act, and at: the virtual ms that it shows), and
    finds in the other what it is to play from then on. So nothing blinks, and a notebook that is opened again still
    shows the first picture, which needs no kernel. on_act(act, at_ms) does what was clicked.
    """

    def __init__(self, on_act: Callable[[str, float], None] | None = None) -> None:
        import ipywidgets

        hidden = ipywidgets.Layout(display="none")
        self.clicked, self.data = ipywidgets.Text(layout=hidden), ipywidgets.HTML(layout=hidden)
        for widget, name in ((self.clicked, "act"), (self.data, "data")):
            widget.add_class(f"minikafka-{name}")
        self.first: Picture | None = None
        self._turn = 0
        if on_act is not None:
            self.clicked.observe(lambda change: self._act(on_act, change["new"]), names="value")

    def show(
        self, picture: Picture, *, at_end: bool = False, at_ms: float | None = None, flags: Sequence[Flag] = ()
    ) -> None:
        """The first picture, or one in its place: it plays on from at_ms. flags: what was changed, and when."""
        if self.first is None:
            self.first, self.first_at_end = picture, at_end
            return
        times = [scene["at"] for scene in picture.scenes]
        steps = [{"step": max(bisect_right(times, ms) - 1, 0), "words": words} for ms, words in flags]
        self._send(picture.data(at_end, at_ms) | {"flags": steps})

    def say(self, words: str) -> None:
        """Why nothing has changed."""
        self._send({"error": words})

    def _send(self, data: dict[str, Any]) -> None:
        self._turn += 1
        if not text_only():
            text = json.dumps(data | {"turn": self._turn}, separators=(",", ":"))
            self.data.value = f'<i data-play="{escape(text)}"></i>'

    def _act(self, on_act: Callable[[str, float], None], clicked: str) -> None:
        if clicked:
            found = json.loads(clicked)
            on_act(found["act"], found["at"])

    def display(self, controls: Any, text: str) -> None:
        """As a cell's value: the frame first, then the controls with the two hidden ones."""
        import ipywidgets
        from IPython.display import display

        if text_only() or self.first is None:
            display({"text/plain": text}, raw=True)
            return
        display({"text/plain": text, "text/html": self.first.frame(self.first_at_end)}, raw=True)
        display(ipywidgets.VBox([controls, self.clicked, self.data]))


class Live:
    """Controls under a picture.

    show(**values) makes the picture, code(name, **values) the line that does what the control called name has just
    done. controls: name -> ipywidgets control whose value is passed under that name.
    """

    def __init__(self, show: Callable[..., Picture], controls: Mapping[str, Any], code: Callable[..., str]) -> None:
        import ipywidgets

        self.show, self.controls, self.code = show, dict(controls), code
        self.line, self.stage = ipywidgets.HTML(), Stage()
        rows = ipywidgets.HBox(list(self.controls.values()), layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.box = ipywidgets.VBox([rows, self.line])
        for name, control in self.controls.items():
            control.observe(lambda change, name=name: self._changed(name), names="value")
        self._changed(next(iter(self.controls)))

    @property
    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def _changed(self, name: str) -> None:
        try:
            self.picture = self.show(**self.values)
        except ValueError as error:  # what somebody typed makes no sense (yet): say so and keep the picture
            self.line.value = f"<b>{escape(str(error))}</b>"
            return
        self.line.value = f"<code>{escape(self.code(name, **self.values))}</code>"
        self.stage.show(self.picture, at_end=True)

    def __repr__(self) -> str:
        """Stable text: the values and what they lead to, no widget's address."""
        values = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"live, {values}\n{self.picture!r}"

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))


def partitioner(
    rerun: Rerun, *, keys: str = "alice bob carol dave", partitions: int = 3, then: int = 4, seed: int | None = None
) -> Live:
    """The partitioner's machine with its levers: type keys, change the count, choose a rule, see what moves.

    rerun(keys, counts, rule) sends every key once to a topic with counts[0] partitions, lets it grow to counts[1] and
    sends every key again (a key None is a record without key); rule is "default" or "round_robin". It returns the
    trace.
    """
    import ipywidgets

    from minikafka.theatre import picture

    def show(keys: str, partitions: int, then: int, rule: str) -> Picture:
        given = [None if key == "-" else key for key in keys.split()]
        if not given:
            raise ValueError("type at least one key; - is a record without key")
        if then < partitions:
            raise ValueError(f"{partitions} partitions can't become {then}: a topic never loses partitions")
        return picture("partitioner", rerun(given, (partitions, then), rule), seed=seed)

    def code(name: str, keys: str, partitions: int, then: int, rule: str) -> str:
        return {
            "keys": f'for key in "{keys}".split(): producer.send("orders", key=key)',
            "partitions": f'cluster.create_topic("orders", partitions={partitions})',
            "then": f'cluster.create_partitions("orders", {then})',
            "rule": "producer = cluster.producer()"
            if rule == "default"
            else f'producer = cluster.producer(partitioner="{rule}")',
        }[name]

    wide = ipywidgets.Layout(width="340px")
    count: dict[str, Any] = {"min": 1, "max": 8, "continuous_update": False, "layout": ipywidgets.Layout(width="260px")}
    controls = {
        "keys": ipywidgets.Text(value=keys, description="keys", continuous_update=False, layout=wide),
        "partitions": ipywidgets.IntSlider(value=partitions, description="partitions", **count),
        "then": ipywidgets.IntSlider(value=then, description="grows to", **count),
        "rule": ipywidgets.Dropdown(options=["default", "round_robin"], description="partitioner"),
    }
    return Live(show, controls, code)


def text_only() -> bool:
    """Whether outputs hold no pictures and widgets."""
    return os.environ.get("MINIKAFKA_PICTURES") == "text"
