"""A prediction: watching without predicting first teaches little.

While `mine` is None the picture stops just before the surprise and asks. Once there is an answer of the learner's
own, the picture says "you said 2, it was 5". Options are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minikafka.trace import Event


class Prediction:
    """question, options (texts), mine: an option's number from 1, or its text, or None; answer: likewise, computed
    from the trace.
    """

    def __init__(self, question: str, options: Sequence[object], mine: object = None, answer: object = None) -> None:
        self.question = _plain(question)
        self.options = [_plain(option) for option in options]
        self.mine = self._number(mine)
        self.answer = self._number(answer)
        self.mine_words, self.answer_words = self._words(mine, self.mine), self._words(answer, self.answer)
        self.stop: int | None = None  # the last step before the surprise

    @staticmethod
    def of(given: Any, answer: object) -> Prediction | None:
        """From anything with question, options and mine: a dictionary, or a lesson's own prediction."""
        if given is None:
            return None
        get = given.get if isinstance(given, dict) else lambda name: getattr(given, name, None)
        own = get("answer")
        return Prediction(
            get("question") or "",
            get("options") or (),
            get("mine"),
            own if answer is None and not callable(own) else answer,
        )

    def stop_before(
        self, surprise: Callable[[Event], bool] | None, trace: Sequence[Event], scenes: Sequence[dict[str, Any]]
    ) -> None:
        """Find the last step before the first event that surprises. Without one: the start."""
        position = next((i for i, event in enumerate(trace) if surprise(event)), 0) if surprise else 0
        before = [scene["step"] for scene in scenes if scene["position"] < position]
        self.stop = before[-1] if before else 0

    @property
    def verdict(self) -> str:
        """What the picture says once the surprise was seen."""
        if not self.answer_words:
            return f"You said {self.mine_words}." if self.mine_words else ""
        if not self.mine_words:
            return f"It was {self.answer_words}."
        right = self.mine_words == self.answer_words
        return (
            f"You said {self.mine_words}, and so it was."
            if right
            else f"You said {self.mine_words}. It was {self.answer_words}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "options": self.options,
            "mine": self.mine_words,
            "answer": self.answer_words,
            "stop": self.stop,
        }

    def _number(self, given: object) -> int | None:
        """An option's number: from a number that is one, else from the text."""
        if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= len(self.options):
            return given
        return self.options.index(_plain(given)) + 1 if _plain(given) in self.options else None

    def _words(self, given: object, number: int | None) -> str:
        if given is None:
            return ""
        return f"({number}) {self.options[number - 1]}" if number else _plain(given)


def _plain(text: object) -> str:
    """Without Markdown's marks for code: the page is no Markdown."""
    return str(text).replace("`", "")
