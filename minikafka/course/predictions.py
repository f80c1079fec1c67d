"""A question that the learner answers before an experiment runs.

    q1 = predict("How many times is it paid?", ["once", "twice"], mine=None)
    cluster.play(q1, surprise=..., answer=...)    # or, where no picture settles it: q1.settle(answer)

`notebooks/because.toml` has, for each option, the sentence that is true of it. The
learner hears that of his or her own option, and that of the right one, when the run has
decided; until then they are not in sight. What a kernel remembers is for which run a
number was written: one that was written before the first run says nothing about a
changed one.

What is clicked or dragged in a picture is the learner's choice, too: the page writes its
number into a hidden widget beside it (theatre/asking.js).
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.course import cards, progress
from minikafka.course.judging.verdicts import Said
from minikafka.course.places import NOTEBOOKS
from minikafka.prediction import Prediction as Verdict

Options = Sequence[str] | Sequence[tuple[str, str]] | Mapping[str, str]

NOT_PREDICTED = (
    "You haven't predicted yet. Write the number of your option as mine=... and run the"
    " question's cell and this one again."
)
TITLE = "title"
MARK_OF = {True: "right", False: "wrong", None: "open"}

_first_runs: dict[tuple[str, tuple[str, ...], int | str], str] = {}
_first_answers: dict[tuple[str, tuple[str, ...]], int] = {}


@dataclass
class Prediction:
    """A question with its options, numbered from 1. mine: the learner's choice; in
    words, what was dragged and is no option; or None for not yet.

    because: for each option the sentence that is true of it; empty when the lesson
    gives none. title: its story in a few words, for the picture that asks it.
    """

    question: str
    options: tuple[str, ...]
    mine: int | str | None = None
    because: tuple[str, ...] = ()
    title: str = ""

    def __str__(self) -> str:
        lines = [f"Predict. {self.question}"]
        for number, option in enumerate(self.options, 1):
            mark = ">" if number == self.mine else " "
            lines.append(f"  {mark} {number}  {option}")
        if self.mine is None:
            lines.append(
                "Write the number of your option as mine=... in this cell and run it"
                " again."
            )
        else:
            lines.append(f"You say {self.mine}. Now run the next cell.")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        first, *options, last = str(self).splitlines()
        body = "".join(map(cards.line, options)) + cards.small(last)
        card = cards.card("open", first, body)
        return cards.bundle(str(self), card)

    def settle(self, answer: int) -> Said:
        """Show your answer beside the right one, where no picture settles it. answer:
        the number of an option, computed.

        Without an answer of your own the right one stays folded, and the text, which
        stored outputs keep, doesn't tell it.
        """
        another_run = self.mine is not None and not self.settled_by(str(answer))
        found = Verdict(
            question=self.question,
            options=self.options,
            mine=self.mine,
            answer=answer,
            because=self.because if self.is_explained(answer) else (),
            another_run=another_run,
        )
        headline, *lines = found.verdict.splitlines()
        if self.mine is None:
            body = cards.folded("I'd rather see the answer.", headline)
            return Said(NOT_PREDICTED, cards.card("open", NOT_PREDICTED, body))
        body = "".join(map(cards.line, lines))
        card = cards.card(MARK_OF[found.is_right], headline, body)
        return Said(found.verdict, card)

    def settled_by(self, run: str) -> bool:
        """Note that this run settles it. False when `mine` was written for another run,
        the first that it met.
        """
        if self.mine is None:
            return False
        said = self.question, self.options, self.mine
        if _first_runs.setdefault(said, run) != run:
            return False
        chosen = self.mine if isinstance(self.mine, int) else progress.NO_OPTION
        progress.predicted(self.question, chosen)
        return True

    def is_explained(self, answer: int) -> bool:
        """Whether the sentences on the options fit a run with this answer: they are
        about the first run, and a changed one may have another answer.
        """
        said = self.question, self.options
        return _first_answers.setdefault(said, answer) == answer

    def listen(self, run: str) -> None:
        """In a notebook: listen for a choice in the picture of this run, which is about
        to be shown.
        """
        try:
            import ipywidgets
        except ImportError:
            return  # the picture asks and tells all the same
        from IPython.display import display

        heard = ipywidgets.Text(layout=ipywidgets.Layout(display="none"))
        heard.add_class("minikafka-said")

        def hear(change: Any) -> None:
            self.say(json.loads(change["new"])["option"], run)

        heard.observe(hear, names="value")
        bundle = heard._repr_mimebundle_()
        # a page that knows no widgets has nothing to show for it
        display({**bundle, "text/plain": ""}, raw=True)

    def say(self, option: int | str, run: str) -> None:
        """The learner chooses an option in the picture of this run, or drags there what
        is none, and says it in words.
        """
        self.mine = option
        self.settled_by(run)


def predict(question: str, options: Options, mine: int | None = None) -> Prediction:
    """A question to settle by running something. Choose before you run: a wrong
    prediction teaches the most.

    options: texts, whose sentences are looked up; or text -> the sentence that is true
    of it, as a dictionary or pairs.
    """
    known = explained().get(question, {})
    texts: list[str] = []
    sentences: list[str] = []
    for option in options.items() if isinstance(options, Mapping) else options:
        if isinstance(option, str):
            option = option, known.get(option, "")
        text, sentence = option
        texts.append(text)
        sentences.append(sentence)
    if not any(sentences):
        sentences = []
    elif "" in sentences:
        without = texts[sentences.index("")]
        raise ValueError(
            f"every option needs the sentence that is true of it: {without!r} has none"
        )
    numbers = range(1, len(texts) + 1)
    if isinstance(mine, bool) or (mine is not None and mine not in numbers):
        raise ValueError(
            f"mine is {mine!r}, and the options have the numbers 1 to {len(texts)}"
        )
    progress.opened(question)
    title = known.get(TITLE, "")
    return Prediction(question, tuple(texts), mine, tuple(sentences), title)


@cache
def explained() -> dict[str, dict[str, str]]:
    """Question -> option -> the sentence that is true of it, of all lessons; and
    "title" -> the story in a few words, where a picture asks.
    """
    text = (NOTEBOOKS / "because.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    for questions in tomllib.loads(text).values():
        found.update(questions)
    return found
