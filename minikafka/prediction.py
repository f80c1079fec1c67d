"""A prediction: watching without predicting first teaches little.

While `mine` is None the picture stops just before the surprise and asks. Once there is
an answer of the learner's own, and the run has come to the event that decides, the
picture gives the verdict: what the learner said, what it was, and the sentence that is
true of each of the two. Options are numbered from 1.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from minikafka.trace import Event


class Stretch(NamedTuple):
    """A length in its place on an axis."""

    begin: float
    end: float


Found = float | Stretch | None
NEAR = 0.25  # what is dragged is right if it is so near, as a part of the truth


class Dragged:
    """An answer that is a place or a length in the picture: there the learner drags it,
    and sees the truth beside it.

    measure(trace): the place, on the picture's own axis (ms, an offset, a minute); or
    the Stretch, of which the length counts; None: there is none yet. options: for each
    option its place or its length on that axis. What is dragged is right only within a
    quarter of the truth, whatever the options are. on: of what in the picture, where
    that has more than one of it ("P0"). A call gives the right option's number, as any
    answer does.
    """

    def __init__(
        self,
        measure: Callable[[Sequence[Event]], Found],
        options: Sequence[float],
        on: str = "",
    ) -> None:
        self.measure = measure
        self.options = list(options)
        self.on = on

    def __call__(self, trace: Sequence[Event]) -> int | None:
        value = size(self.measure(trace))
        if value is None:
            return None
        far = [abs(option - value) for option in self.options]
        return far.index(min(far)) + 1


def size(found: Found) -> float | None:
    """A place itself, or the length of a stretch."""
    if isinstance(found, Stretch):
        return found.end - found.begin
    return found


class Prediction:
    """question, options (texts), mine: an option's number from 1, or its text, or None;
    answer: likewise, computed from the trace. because: for each option the sentence
    that is true of it, or nothing at all. title: the story in a few words.

    another_run: `mine` was said of an earlier run, and this trace is another
    experiment.
    """

    def __init__(
        self,
        question: str,
        options: Sequence[object],
        mine: object = None,
        answer: object = None,
        because: Sequence[str] = (),
        another_run: bool = False,
        title: str = "",
    ) -> None:
        self.title = title
        self.question = _plain(question)
        self.options = [_plain(option) for option in options]
        self.because = [_plain(sentence) for sentence in because]
        self.mine = self._number(mine)
        self.answer = self._number(answer)
        self.mine_words = self._words(mine, self.mine)
        self.answer_words = self._words(answer, self.answer)
        self.another_run = another_run
        self.compute: Callable[[Sequence[Event]], object] | None = None
        self.dragged: Dragged | None = None
        self.truth: Found = None  # of what is dragged
        self.run = ""  # the digest of its trace
        # called with a run's name, to listen for a choice in its picture
        # (course/predictions.py)
        self.listen: Callable[[str], None] | None = None
        self.stop: int | None = None  # the last step before the surprise
        self.decided: int | None = None  # the step from which on the verdict is known

    @staticmethod
    def of(
        given: Any, answer: object, trace: Sequence[Event] = ()
    ) -> "Prediction | None":
        """From anything with question, options and mine: a dictionary, or a lesson's
        own prediction.

        answer: an option, or a function of the trace that computes it.
        """
        if given is None:
            return None

        def get(name: str) -> Any:
            if isinstance(given, dict):
                return given.get(name)
            return getattr(given, name, None)

        own = get("answer")
        if answer is None and not callable(own):
            answer = own
        found, compute = answer, None
        dragged = answer if isinstance(answer, Dragged) else None
        if callable(answer):
            found = answer(trace)
            # what is dragged is decided when its place is, and not just its option
            decides = dragged.measure if dragged else answer
            compute = _of_its_own(decides, trace)
        mine, settled_by = get("mine"), get("settled_by")
        another_run = False
        run = digest(trace)
        if mine is not None and settled_by is not None:
            another_run = not settled_by(run)
        made = Prediction(
            question=get("question") or "",
            options=get("options") or (),
            mine=mine,
            answer=found,
            because=get("because") or (),
            another_run=another_run,
            title=get("title") or "",
        )
        is_explained = get("is_explained")
        if is_explained and made.answer and not is_explained(made.answer):
            made.because = []
        made.compute = compute
        made.run = run
        made.listen = get("listen")
        if dragged is not None:
            if len(dragged.options) != len(made.options):
                raise ValueError(
                    f"there are {len(made.options)} options, and"
                    f" {len(dragged.options)} places: give one for each"
                )
            made.dragged = dragged
            made.truth = dragged.measure(trace)
        return made

    def place(
        self,
        surprise: Callable[[Event], bool] | None,
        trace: Sequence[Event],
        scenes: Sequence[dict[str, Any]],
    ) -> None:
        """Find where to stop: the last step before the first event that surprises;
        without one, the start. And find where the answer is decided: the first step
        from which on the trace so far gives the same answer as the whole.
        """
        surprises: Iterator[int] = iter(())
        if surprise:
            surprises = (i for i, event in enumerate(trace) if surprise(event))
        position = next(surprises, 0)
        before = [scene["step"] for scene in scenes if scene["position"] < position]
        self.stop = before[-1] if before else 0
        ends = [scene["position"] for scene in scenes[1:]] + [len(trace)]
        earliest, decided = self.stop + 1, len(scenes) - 1
        # an answer that was handed in, or made from another trace
        if not self._gives_the_answer(trace):
            decided = min(earliest, decided)
        while decided > earliest:
            so_far = trace[: ends[decided - 1]]
            if not self._gives_the_answer(so_far):
                break
            decided -= 1
        self.decided = decided

    def _gives_the_answer(self, so_far: Sequence[Event]) -> bool:
        if self.compute is None:
            return False
        try:
            found = self.compute(so_far)
        except Exception:
            # it was written for the whole trace: what it looks for isn't there yet
            return False
        if self.dragged is not None:
            return found == self.truth
        return self._words(found, self._number(found)) == self.answer_words

    @property
    def is_right(self) -> bool | None:
        """Whether the prediction about this run is right; None if there was none, or
        there is no answer.
        """
        if not self.mine_words or not self.answer_words or self.another_run:
            return None
        return self.mine_words == self.answer_words

    @property
    def verdict(self) -> str:
        """The verdict, when the answer is known."""
        return self._verdict(self.mine_words, self.mine)

    @property
    def why(self) -> str:
        """The sentence that is true of the answer, if there is one."""
        if not self.answer or not self.because:
            return ""
        return self.because[self.answer - 1]

    def _verdict(self, words: str, number: int | None) -> str:
        said, was = f"You said {words}.", f"It was {self.answer_words}."
        if not self.answer_words:
            return said if words else ""
        if not words:
            return self._with_why(was, self.answer)
        if self.another_run:
            first = (
                f"You predicted {words} for the first run. This run is another"
                " experiment"
            )
            return f"{first}: here it was {self.answer_words}."
        if words == self.answer_words:
            return self._with_why(f"You said {words}, and so it was.", self.answer)
        between = "\n" if self.because else " "
        verdicts = self._with_why(said, number), self._with_why(was, self.answer)
        return between.join(verdicts)

    def _with_why(self, sentence: str, number: int | None) -> str:
        if not number or not self.because:
            return sentence
        return f"{sentence} {self.because[number - 1]}"

    def to_json(self) -> dict[str, Any]:
        """verdict: on what is said already. verdicts: on each option, for a learner who
        clicks one.
        """
        verdicts = []
        for number, option in enumerate(self.options, 1):
            verdicts.append(self._verdict(f"({number}) {option}", number))
        return {
            "question": self.question,
            "options": self.options,
            "asks": not self.mine_words,
            "said": "" if self.another_run else self.mine_words,
            "verdict": self.verdict,
            "right": self.is_right,
            "answer": self.answer,
            "verdicts": verdicts,
            "stop": self.stop,
            "decided": self.decided,
        }

    def _number(self, given: object) -> int | None:
        """An option's number: the given number if it is one, otherwise by its text."""
        numbers = range(1, len(self.options) + 1)
        is_true = given is True  # and equal to 1
        if isinstance(given, int) and given in numbers and not is_true:
            return given
        text = _plain(given)
        if text not in self.options:
            return None
        return self.options.index(text) + 1

    def _words(self, given: object, number: int | None) -> str:
        if given is None:
            return ""
        if not number:
            return _plain(given)
        return f"({number}) {self.options[number - 1]}"


def _of_its_own(
    answer: Callable[[Sequence[Event]], object], trace: Sequence[Event]
) -> Callable[..., object]:
    """The answer, computed from this trace's events alone: in the picture a second
    trace may be beside it.
    """
    own = {event.id for event in trace}

    def answer_of_its_own(so_far: Sequence[Event]) -> object:
        return answer([event for event in so_far if event.id in own])

    return answer_of_its_own


def digest(trace: Sequence[Event]) -> str:
    """Which run it was: equal for equal traces."""
    lines = [f"{event.at} {event.node} {event.kind} {event.detail}" for event in trace]
    events = "\n".join(lines)
    return hashlib.sha256(events.encode(errors="replace")).hexdigest()


def _plain(text: object) -> str:
    """Without Markdown's marks for code: the page is no Markdown."""
    return str(text).replace("`", "")
