"""Live controls beside a picture: change one, and the same calls run again with the new values.

The theatre doesn't know the simulation: a re-run comes in as a function from the controls' values to a trace.
ipywidgets is imported only when controls are made. Each control prints the line of code that does the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event

Rerun = Callable[[Sequence[str | None], Sequence[int], str], Sequence[Event]]


class Live:
    """Controls above a picture.

    show(**values) makes the picture, code(name, **values) the line that does what the control called name has just
    done. controls: name -> ipywidgets control whose value is passed under that name.
    """

    def __init__(self, show: Callable[..., Picture], controls: Mapping[str, Any], code: Callable[..., str]) -> None:
        import ipywidgets

        self.show, self.controls, self.code = show, dict(controls), code
        self.line = ipywidgets.HTML()
        self.stage = ipywidgets.HTML(layout=ipywidgets.Layout(width="100%"))
        rows = ipywidgets.HBox(list(self.controls.values()), layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.box = ipywidgets.VBox([rows, self.line, self.stage])
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
        self.stage.value = "" if text_only() else self.picture.frame(at_end=True)

    def __repr__(self) -> str:
        """Stable text: the values and what they lead to, no widget's address."""
        values = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"live, {values}\n{self.picture!r}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if not text_only():
            bundle |= self.box._repr_mimebundle_(include=include, exclude=exclude) | bundle
        return bundle


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
