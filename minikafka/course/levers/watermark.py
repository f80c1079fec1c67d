"""Event time and watermark with its levers: a click on an order lets it come a
micro-batch later; beside the picture are the watermark's delay and the output mode.

It knows no Spark: a run comes in as a function to a trace.
"""

from collections.abc import Callable, Sequence

from minikafka.course.levers.controls import Stage
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event

Order = tuple[str, int]
Rerun = Callable[[Sequence[Order], str, int], Sequence[Event]]
BUSY = "Spark runs again with this change: that takes some seconds."
DELAYS = (0, 5, 10, 15, 20, 30)  # minutes


class WatermarkLive:
    """rerun(orders, mode, delay): the trace of a run with the orders arriving in this
    order.

    later(orders, name): the same orders, with one of them a micro-batch later. orders:
    (name, minute of the event). RuntimeErrors of rerun are shown.
    """

    def __init__(
        self,
        rerun: Rerun,
        later: Callable[[Sequence[Order], str], Sequence[Order]],
        orders: Sequence[Order],
        modes: Sequence[str],
        *,
        delay: int = 10,
    ) -> None:
        import ipywidgets

        self.rerun = rerun
        self.later = later
        self.first = tuple(orders)
        self.orders: Sequence[Order] = self.first
        wide = ipywidgets.Layout(width="220px")
        self.mode = ipywidgets.Dropdown(
            options=list(modes), description="mode", layout=wide
        )
        delays = [(f"{minutes} minutes", minutes) for minutes in DELAYS]
        self.delay = ipywidgets.Dropdown(
            options=delays, value=delay, description="delay", layout=wide
        )
        narrow = ipywidgets.Layout(width="auto")
        reset = ipywidgets.Button(description="as it was", layout=narrow)
        reset.on_click(lambda _: self.reset())
        for control in (self.mode, self.delay):
            control.observe(lambda change: self._show(self.orders), names="value")
        self.line = ipywidgets.HTML()
        self.stage = Stage(self._clicked)
        row = ipywidgets.HBox([self.mode, self.delay, reset])
        self.box = ipywidgets.VBox([row, self.line])
        self._show(self.first)

    def press(self, name: str) -> None:
        """Carry out a click on an order."""
        self._show(self.later(self.orders, name))

    def reset(self) -> None:
        """All orders come as they came at first."""
        self._show(self.first)

    def _clicked(self, act: str, at_ms: float, onto: str) -> None:
        self.press(act.removeprefix("later "))

    def _show(self, orders: Sequence[Order]) -> None:
        """The picture of this run, which plays from where it differs from the one that
        was shown.
        """
        from minikafka.theatre import picture

        before = self.picture.scenes if self.stage.first is not None else []
        if before:
            self.stage.say(BUSY)
        try:
            trace = self.rerun(orders, self.mode.value, self.delay.value)
        except RuntimeError as error:  # it can't run now: say so and keep the picture
            self.line.value = f"<b>{escape(str(error))}</b>"
            self.stage.say(str(error))
            return
        self.orders = orders
        self.picture: Picture = picture("watermark", trace, live=True)
        lines = [f"<code>{escape(line)}</code>" for line in self.code]
        self.line.value = "<br>".join(lines)
        for was, now in zip(before, self.picture.scenes, strict=False):
            if was["sentence"] != now["sentence"]:
                self.stage.show(self.picture, at_ms=now["at"] - 1)
                return
        self.stage.show(self.picture, at_end=True)

    @property
    def code(self) -> list[str]:
        """The lines that do the same."""
        arrive = " ".join(name for name, _ in self.orders)
        return [
            f"# orders arrive as {arrive}",
            f'.withWatermark("event_time", "{self.delay.value} minutes")',
            f'.outputMode("{self.mode.value}")',
        ]

    def __repr__(self) -> str:
        return "\n".join(["live", *self.code, repr(self.picture)])

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))
