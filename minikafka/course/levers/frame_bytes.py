"""Bytes beside fields with their levers: a byte is clicked, two hexadecimal digits are
typed, and the frame is read again.

It knows no frame: what is shown comes in as a function.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from minikafka.course.levers.controls import Stage
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape

Changes = Sequence[tuple[int, int]]  # which byte becomes what, one after the other


class Shown(Protocol):
    """A frame to choose. code: what hands it over."""

    @property
    def name(self) -> str: ...

    @property
    def code(self) -> str: ...


class BytesLive:
    """frames: those to choose from. show(frame, changes): its picture with these
    changes, a step each. play(frame): the one for a page without a kernel.
    """

    def __init__(
        self,
        frames: Sequence[Any],
        show: Callable[[Any, Changes], Picture],
        play: Callable[[Any], Picture],
    ) -> None:
        import ipywidgets

        self._show_frame = show
        self._play = play
        self.changes: list[tuple[int, int]] = []
        wide = ipywidgets.Layout(width="260px")
        names = [(frame.name, number) for number, frame in enumerate(frames)]
        self._frames = frames
        self.chosen = ipywidgets.Dropdown(
            options=names, value=0, description="frame", layout=wide
        )
        self.chosen.observe(lambda _: self.reset(), names="value")
        narrow = ipywidgets.Layout(width="auto")
        button = ipywidgets.Button(description="as it was", layout=narrow)
        button.on_click(lambda _: self.reset())
        self.line = ipywidgets.HTML()
        self.stage = Stage(self._clicked)
        row = ipywidgets.HBox([self.chosen, button])
        self.box = ipywidgets.VBox([row, self.line])
        self.reset()

    @property
    def frame(self) -> Shown:
        """The one that is looked at."""
        chosen: Shown = self._frames[self.chosen.value]
        return chosen

    def press(self, at: int, byte: int, step: int | None = None) -> None:
        """Change a byte that was typed. step: the one on the screen; later changes are
        undone.
        """
        self._show([*self.changes[:step], (at, byte)])

    def reset(self) -> None:
        """All bytes are as they were sent."""
        self._show([])

    def _clicked(self, act: str, at_ms: float, onto: str) -> None:
        byte = int(act.removeprefix("byte "))
        self.press(byte, int(onto, 16), round(at_ms / 1000))

    def _show(self, changes: list[tuple[int, int]]) -> None:
        self.changes = changes
        self.picture = self._show_frame(self.frame, changes)
        lines = [f"<code>{escape(line)}</code>" for line in self.code]
        self.line.value = "<br>".join(lines)
        self.stage.show(self.picture, at_end=True)

    def alone(self) -> Picture:
        """The picture for a page without a kernel."""
        return self._play(self.frame)

    @property
    def code(self) -> list[str]:
        """The lines that do the same."""
        lines = [f"frame[{at}] = 0x{byte:02x}" for at, byte in self.changes]
        return [*lines, self.frame.code]

    def __repr__(self) -> str:
        return "\n".join(["live", *self.code, repr(self.picture)])

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))
