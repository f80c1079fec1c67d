"""Live pictures: change something, and the same calls run again with what was changed.

Re-runs, and the lines of code that do the same, come in as functions. ipywidgets is
imported only when controls are made.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.picture import Picture, text_only
from minikafka.theatre.text import escape

Flag = tuple[float, str]  # virtual ms, and what was done then
OnAct = Callable[[str, float, str], None]  # what, at which virtual ms, dropped on what


def placed(
    picture: Picture, flags: Sequence[Flag], *, movable: bool = False
) -> list[dict[str, Any]]:
    """Flags with their steps, for the player. movable: a learner can pull them to
    another moment (Reruns.press).
    """
    times = [scene["at"] for scene in picture.scenes]
    found = []
    for number, (ms, words) in enumerate(flags):
        step = max(bisect_right(times, ms) - 1, 0)
        flag = {"step": step, "words": words}
        found.append(flag | {"act": f"move {number}"} if movable else flag)
    return found


class Stage:
    """Where a live picture stands: a frame that stays, and hidden widgets beside it in
    its cell.

    The page (theatre/hands.js) writes what was clicked into one, as JSON (act, onto:
    the thing that it was dropped on, at: the virtual ms that it shows), and finds in
    the other what it is to play from then on. So nothing blinks, and a notebook that is
    opened again still shows the first picture, which needs no kernel. on_act does what
    was clicked; its third argument is "" where nothing was dragged.

    The page says in a third one for which width it shows its layout, so that a re-run
    is drawn in that one only; when the page becomes so wide or narrow that it needs the
    other layout, it gets that.

    With on_point, the page also says, in a fourth widget, which lever somebody points
    at. show_ahead() puts its effect into a fifth, so a click finds it on the page.
    """

    def __init__(
        self, on_act: OnAct | None = None, on_point: OnAct | None = None
    ) -> None:
        import ipywidgets

        self.hidden: list[Any] = []
        self.clicked = self._widget(ipywidgets.Text, "act", on_act)
        self.data = self._widget(ipywidgets.HTML, "data")
        self.width = self._widget(ipywidgets.Text, "width")
        self.width.observe(lambda change: self._redraw(), names="value")
        if on_point is not None:
            self._widget(ipywidgets.Text, "point", on_point)
            self.ahead = self._widget(ipywidgets.HTML, "ahead")
        self.first: Picture | None = None
        self._shown: Picture | None = None  # replaces the first picture
        self._turn = 0
        self._of = ""  # the page's name for the act that is being done

    def _widget(self, kind: Any, name: str, hears: OnAct | None = None) -> Any:
        """A hidden widget. hears: gets every act that the page writes into it."""
        import ipywidgets

        widget = kind(layout=ipywidgets.Layout(display="none"))
        widget.add_class(f"minikafka-{name}")
        self.hidden.append(widget)
        if hears is not None:
            widget.observe(lambda change: self._act(hears, change["new"]), "value")
        return widget

    def show(
        self,
        picture: Picture,
        *,
        at_end: bool = False,
        at_ms: float | None = None,
        flags: Sequence[Flag] = (),
    ) -> None:
        """The first picture, or one in its place: it plays on from at_ms. flags: what
        was changed, and when.
        """
        if self.first is None:
            self.first, self.first_at_end = picture, at_end
            return
        self._shown = picture
        self.send(self._played(picture, at_end, at_ms, flags))

    def show_ahead(
        self, picture: Picture, *, at_ms: float | None, flags: Sequence[Flag]
    ) -> None:
        """What show() will be asked for if the lever that is pointed at is clicked."""
        self.ahead.value = self._html(self._played(picture, False, at_ms, flags))

    def _played(
        self,
        picture: Picture,
        at_end: bool,
        at_ms: float | None,
        flags: Sequence[Flag],
    ) -> dict[str, Any]:
        data = picture.data(at_end, at_ms, self.widths)
        return {**data, "flags": placed(picture, flags, movable=True)}

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the layouts to draw: all of them until the page has said which
        one it shows.
        """
        return (int(self.width.value),) if self.width.value else LAYOUTS

    def _redraw(self) -> None:
        """The page needs the other layout: the first picture has both."""
        if self._shown is not None:
            data = self._shown.data(widths=self.widths)
            redrawn = {name: data[name] for name in ("layouts", "texts")}
            self.send({**redrawn, "redrawn": True})

    def say(self, words: str) -> None:
        """Why nothing has changed."""
        self.send({"error": words})

    def send(self, data: dict[str, Any]) -> None:
        """Send what the page is to play or to know, as notebook.js takes it."""
        self._turn += 1
        if not text_only():
            self.data.value = self._html({**data, "turn": self._turn})

    def _html(self, data: dict[str, Any]) -> str:
        text = json.dumps({**data, "of": self._of}, separators=(",", ":"))
        return f'<i data-of="{escape(self._of)}" data-play="{escape(text)}"></i>'

    def _act(self, hears: OnAct, clicked: str) -> None:
        if clicked:
            found = json.loads(clicked)
            self._of = found.get("of", "")
            hears(found["act"], found["at"], found.get("onto", ""))
            self._of = ""

    def display(self, controls: Any, text: str, before: str = "") -> None:
        """The value of a cell: the frame first, then controls and hidden widgets.
        before: HTML above the frame.
        """
        import ipywidgets
        from IPython.display import display

        if text_only() or self.first is None:
            display({"text/plain": text}, raw=True)
            return
        html = before + self.first.frame(self.first_at_end)
        display({"text/plain": text, "text/html": html}, raw=True)
        display(ipywidgets.VBox([controls, *self.hidden]))


class Live:
    """Controls under a picture.

    show(**values) makes the picture, code(name, **values) the line that does what the
    control called name has just done. controls: name -> its label, its value, which is
    passed under that name, and what can be chosen: a range of numbers, a list, or
    nothing, where one types.
    """

    def __init__(
        self,
        show: Callable[..., Picture],
        controls: Mapping[str, Sequence[Any]],
        code: Callable[..., str],
    ) -> None:
        import ipywidgets

        self.show, self.code = show, code
        self.controls = {name: _control(*each) for name, each in controls.items()}
        self.line = ipywidgets.HTML()
        self.stage = Stage()
        wrapped = ipywidgets.Layout(flex_flow="row wrap")
        rows = ipywidgets.HBox(list(self.controls.values()), layout=wrapped)
        self.box = ipywidgets.VBox([rows, self.line])
        for name, control in self.controls.items():

            def changed(change: Any, name: str = name) -> None:
                self._changed(name)

            control.observe(changed, names="value")
        self._changed(next(iter(self.controls)))

    @property
    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def _changed(self, name: str) -> None:
        try:
            self.picture = self.show(**self.values)
        except ValueError as error:
            # what somebody typed makes no sense (yet): say so and keep the picture
            self.line.value = f"<b>{escape(str(error))}</b>"
            return
        code = self.code(name, **self.values)
        self.line.value = f"<code>{escape(code)}</code>"
        self.stage.show(self.picture, at_end=True)

    def __repr__(self) -> str:
        """Stable text: the values and what they lead to, no widget's address."""
        values = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"live, {values}\n{self.picture!r}"

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))


def _control(label: str, value: Any, options: Any = None) -> Any:
    """Where somebody types, or, with options, chooses: a number of a range, or one of a
    list.
    """
    import ipywidgets

    wide = ipywidgets.Layout(width="300px")
    look = {"description": label, "value": value, "layout": wide}
    if isinstance(options, range):
        least, most = options[0], options[-1]
        return ipywidgets.IntSlider(
            min=least, max=most, continuous_update=False, **look
        )
    if options:
        return ipywidgets.Dropdown(options=options, **look)
    return ipywidgets.Text(continuous_update=False, **look)
