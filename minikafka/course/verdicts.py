"""What a learner reads back: a verdict on an answer, and other short texts.

A verdict says in one line what holds or what broke, then the smallest counterexample as data and as a picture to play,
and last the learner's own lines of a traceback.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from typing import Any


class Said(str):
    """A text that a notebook shows as it is, without quotes."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Verdict:
    """right: it holds. attempted: false for a stub. lines: what follows the headline, each indented by two.

    case: the smallest counterexample as the check made it, or None. picture: the counterexample to play, or None.
    """

    headline: str
    right: bool
    attempted: bool = True
    lines: tuple[str, ...] = ()
    case: Any = None
    picture: Any = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {line}" for line in self.lines)])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = {"text/plain": str(self)}
        if self.picture is not None and os.environ.get("MINIKAFKA_PICTURES") != "text":
            page = self.picture._repr_mimebundle_().get("text/html", "")
            if page:
                bundle["text/html"] = f"<pre>{html.escape(str(self))}</pre>{page}"
        return bundle
