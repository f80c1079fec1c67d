"""The texts that a learner reads: a verdict on an answer, and other short ones.

A verdict says in one line what holds or what broke. Then come the smallest
counterexample, as data and as a picture to play, and last the learner's own lines of a
traceback.
"""

from dataclasses import dataclass, field
from typing import Any

from minikafka.course import cards

LONG = 200  # letters: two lines of a card, and a bit


class Said(str):
    """A text that a notebook shows as it is, without quotes; or as cards, where it has
    some.
    """

    cards: str

    def __new__(cls, text: str, cards: str = "") -> "Said":
        made = super().__new__(cls, text)
        made.cards = cards
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        if not self.cards:
            return {"text/plain": str(self)}
        return cards.bundle(str(self), self.cards)


@dataclass(frozen=True)
class Verdict:
    """right: it holds. attempted: false for a stub. partly: some of it holds, and the
    headline says so. lines: what follows the headline, each indented by two. marks: of
    each line, where every line is a verdict of its own ("right", "wrong" or "open").

    case: the smallest counterexample as the check made it, or None. picture: the
    counterexample to play, or None. rungs: how many held, and how many there are, the
    stretch not counted; (0, 0) where none was tried.
    """

    headline: str
    right: bool
    attempted: bool = True
    partly: bool = field(default=False, kw_only=True)
    lines: tuple[str, ...] = ()
    marks: tuple[str, ...] = field(default=(), kw_only=True)
    case: Any = None
    picture: Any = field(default=None, compare=False)
    rungs: tuple[int, int] = (0, 0)

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {line}" for line in self.lines)])

    __repr__ = __str__

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        marks = self.marks or ("",) * len(self.lines)
        pairs = zip(self.lines, marks, strict=True)
        headline, stop, rest = self.headline, "", ""
        if len(headline) > LONG:  # a whole paragraph in bold is hard to read
            headline, stop, rest = headline.partition(". ")
        body = cards.line(rest) if rest else ""
        body += "".join(cards.line(line, mark) for line, mark in pairs)
        mark = "open"
        if self.attempted:
            mark = "half" if self.partly else "wrong"
        if self.right:
            mark = "right"
        card = cards.card(mark, headline + stop.rstrip(), body)
        return cards.bundle(str(self), card + self._counterexample())

    def _counterexample(self) -> str:
        """The picture, open where it breaks."""
        if self.picture is None or not self.picture.scenes:
            return ""
        return str(self.picture.frame(at_ms=self.picture.crisis_ms, at_end=True))
