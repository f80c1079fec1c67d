"""Several pictures in one page, chosen by buttons above: what a kernel would compute anew is in the page already."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

from minikafka.theatre import page
from minikafka.theatre.picture import Picture


class Choices:
    """groups: (name, options) of each row of buttons. pictures: one for every combination, the last group fastest.

    code: the lines that do what a combination shows. first: which combination is open at first. name: of the page;
    about: what stands under the picture.
    """

    def __init__(self, groups: Sequence[tuple[str, Sequence[str]]], pictures: Sequence[Picture], code: Sequence[str],
                 first: int = 0, name: str = "", about: str = "") -> None:  # fmt: skip
        if not len(pictures) == len(code) == prod(len(options) for _, options in groups):
            raise ValueError("every combination of choices needs its picture and its code")
        self.groups, self.pictures, self.code, self.first = list(groups), list(pictures), list(code), first
        self.name, self.about = name, about

    def page(self) -> str:
        """One self-contained HTML page."""
        data = {
            "choices": [{"name": name, "options": list(options)} for name, options in self.groups],
            "plays": [picture.data() for picture in self.pictures],
            "code": self.code,
            "first": self.first,
            "name": self.name,
            "about": self.about,
        }
        return page.page(data, self.pictures[self.first].title, "")

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.page(), encoding="utf-8", newline="\n")
