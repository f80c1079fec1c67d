"""A sentence whose numbers are settings of a run: the learner turns one, and the run
plays again below.

Without a kernel the sentence has its numbers as plain text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from minikafka.course.levers.controls import Stage
from minikafka.theatre.picture import Picture, text_only
from minikafka.theatre.text import escape

Dial = tuple[int, range]  # the number at first, and those that it may be
IN_BRACES = re.compile(r"\{(\w+)\}")


class Dials:
    """A sentence with its dials, and the picture of the run that it tells.

    sentence: with each dial's name in braces. run(**numbers): the picture of such a
    run. Its ValueErrors are shown, and the picture stays.
    """

    def __init__(
        self, sentence: str, run: Callable[..., Picture], dials: Mapping[str, Dial]
    ) -> None:
        import ipywidgets

        self.sentence = sentence
        self.run = run
        named = IN_BRACES.findall(sentence)
        if sorted(named) != sorted(dials):
            raise ValueError(
                f"the sentence names {', '.join(named) or 'nothing'}, and the dials are"
                f" {', '.join(dials) or 'none'}"
            )
        self.dials = {name: _dial(name, *dials[name]) for name in named}
        self.line = ipywidgets.HTML()
        self.stage = Stage()
        self.words = self._words()
        for dial in self.dials.values():
            dial.observe(lambda change: self._show(), names="value")
        self._show()

    @property
    def values(self) -> dict[str, int]:
        """The dials' current values."""
        return {name: dial.value for name, dial in self.dials.items()}

    @property
    def code(self) -> str:
        """The line that does the same."""
        given = [f"{name}={value}" for name, value in self.values.items()]
        return f"{self.run.__name__}({', '.join(given)})"

    def _words(self) -> Any:
        """The sentence: words, a dial, words. Each word may begin a line."""
        import ipywidgets

        parts = []
        for number, text in enumerate(IN_BRACES.split(self.sentence)):
            if number % 2:
                parts.append(self.dials[text])
            else:
                words = map(escape, text.split())
                parts += [ipywidgets.HTML(f"<span>{word}</span>") for word in words]
        wrapped = ipywidgets.Layout(flex_flow="row wrap", grid_gap="0 1px")
        box = ipywidgets.HBox(parts, layout=wrapped)
        box.add_class("minikafka-dials")
        return box

    def _show(self) -> None:
        if self.stage.first is not None:
            self.stage.send({"busy": True})
        try:
            self.picture = self.run(**self.values)
        except ValueError as error:  # say so, and keep the picture
            self.line.value = f"<b>{escape(str(error))}</b>"
            self.stage.say(str(error))
            return
        self.line.value = f"<code>{escape(self.code)}</code>"
        self.stage.show(self.picture)

    def __str__(self) -> str:
        """The sentence with its numbers."""
        return self.sentence.format(**self.values)

    def __repr__(self) -> str:
        return f"live, {self}\n{self.picture!r}"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if not text_only():
            display({**self.words._repr_mimebundle_(), "text/plain": ""}, raw=True)
        self.stage.display(self.line, repr(self), before=self._plainly())

    def _plainly(self) -> str:
        """The sentence for where no dials are; the page hides it where they are."""
        return f"<p class='minikafka-plain'>{escape(str(self))}</p>"


def _dial(name: str, value: int, numbers: range) -> Any:
    """A small field in a line of text. Its name is for screen readers, and takes no
    room.
    """
    import ipywidgets

    return ipywidgets.BoundedIntText(
        value=value,
        min=numbers[0],
        max=numbers[-1],
        step=numbers.step,
        description=name.replace("_", " "),
        style={"description_width": "0px"},
        continuous_update=False,  # when it is left, or by its arrows
        layout=ipywidgets.Layout(width="70px", margin="0"),
    )
