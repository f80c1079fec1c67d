"""A question that the learner answers before an experiment runs.

    q1 = predict("How often is it paid?", ["once", "twice"], mine=None)
    cluster.play(q1, surprise=..., answer=...)    # or, where no picture settles it: q1.settle(answer)

`notebooks/because.toml` has, for each option, the sentence that is true of it. The
learner hears that of his or her own option, and that of the right one, when the run has
decided; until then they are not in sight. What a kernel remembers is for which run a
number was written: one that was written before the first run says nothing about a
changed one.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from minikafka.course import cards, progress
from minikafka.course.judging.verdicts import Said
from minikafka.course.places import NOTEBOOKS
from minikafka.prediction import Prediction as Verdict

Options = Sequence[str] | Sequence[tuple[str, str]] | Mapping[str, str]

MARK_OF = {True: "right", False: "wrong", None: "open"}

_first_runs: dict[tuple[str, tuple[str, ...], int], str] = {}


@dataclass(frozen=True)
class Prediction:
    """A question with its options, numbered from 1. mine: the learner's choice, or None
    for not yet.

    because: for each option the sentence that is true of it; empty when the lesson
    gives none.
    """

    question: str
    options: tuple[str, ...]
    mine: int | None = None
    because: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Predict. {self.question}"]
        for number, option in enumerate(self.options, 1):
            lines.append(f"  {'>' if number == self.mine else ' '} {number}  {option}")
        if self.mine is None:
            lines.append("Write your number as mine=... in this cell and run it again.")
        else:
            lines.append(f"You say {self.mine}. Now run the next cell.")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, str]:
        first, *options, last = str(self).splitlines()
        body = "".join(map(cards.line, options)) + cards.small(last)
        return cards.bundle(str(self), cards.card("open", first, body))

    def settle(self, answer: int) -> Said:
        """What you said beside what it was, where no picture settles it. answer: the
        number of an option, computed.
        """
        another_run = self.mine is not None and not self.settled_by(str(answer))
        found = Verdict(
            self.question, self.options, self.mine, answer, self.because, another_run
        )
        headline, *lines = found.verdict.splitlines()
        return Said(
            found.verdict,
            cards.card(
                MARK_OF[found.is_right], headline, "".join(map(cards.line, lines))
            ),
        )

    def settled_by(self, run: str) -> bool:
        """Note that this run settles it. False when `mine` was written for another run,
        the first that it met.
        """
        if (
            self.mine is None
            or _first_runs.setdefault((self.question, self.options, self.mine), run)
            != run
        ):
            return False
        progress.predicted(self.question)
        return True


def predict(question: str, options: Options, mine: int | None = None) -> Prediction:
    """A question to settle by running something. Choose before you run: a wrong
    prediction teaches the most.

    options: texts, whose sentences are looked up; or text -> the sentence that is true
    of it, as a dictionary or pairs.
    """
    known = explained().get(question, {})
    given = options.items() if isinstance(options, Mapping) else options
    pairs = [
        (each, known.get(each, "")) if isinstance(each, str) else each for each in given
    ]
    texts = tuple(text for text, _ in pairs)
    because = tuple(sentence for _, sentence in pairs)
    if any(because) and not all(because):
        raise ValueError(
            "every option needs the sentence that is true of it:"
            f" {texts[because.index('')]!r} has none"
        )
    if mine is not None and (
        isinstance(mine, bool) or mine not in range(1, len(texts) + 1)
    ):
        raise ValueError(
            f"mine is {mine!r}, and the options have the numbers 1 to {len(texts)}"
        )
    return Prediction(question, texts, mine, because if any(because) else ())


@cache
def explained() -> dict[str, dict[str, str]]:
    """Question -> option -> the sentence that is true of it, of all lessons."""
    lessons = tomllib.loads((NOTEBOOKS / "because.toml").read_text(encoding="utf-8"))
    return {
        question: options
        for questions in lessons.values()
        for question, options in questions.items()
    }
