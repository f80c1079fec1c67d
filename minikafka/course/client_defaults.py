"""The clients' defaults, from `notebooks/client_defaults.toml`: one table per lesson.

`python -m minikafka.course.client_defaults 03` prints lesson 03's table in Markdown, to
paste into a cell of the lesson. A test compares the file with the installed clients,
and each lesson's table with the file.
"""

import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from minikafka.course.places import NOTEBOOKS

CLIENTS = ("Java 4.3", "librdkafka", "kafka-python", "minikafka")


@dataclass(frozen=True)
class Setting:
    """name: as in Java. of: "producer" or "consumer". defaults: one for each of
    CLIENTS, as the table shows them.
    """

    name: str
    of: str
    lessons: tuple[str, ...]
    librdkafka_name: str
    defaults: tuple[str, ...]

    @property
    def row(self) -> str:
        """The setting's row in the Markdown table."""
        other = (
            f", named `{self.librdkafka_name}` there"
            if self.librdkafka_name != self.name
            else ""
        )
        java, librdkafka, *others = self.defaults
        return (
            f"| `{self.name}` | "
            + " | ".join([java, librdkafka + other, *others])
            + " |"
        )


@cache
def settings() -> tuple[Setting, ...]:
    """All of them, in the file's order."""
    found = tomllib.loads(
        (NOTEBOOKS / "client_defaults.toml").read_text(encoding="utf-8")
    )["setting"]
    return tuple(
        Setting(
            each["name"],
            each["of"],
            tuple(each["lessons"]),
            each.get("librdkafka_name", each["name"]),
            tuple(
                each[name]
                for name in ("java", "librdkafka", "kafka-python", "minikafka")
            ),
        )
        for each in found
    )


def of_lesson(number: str) -> list[Setting]:
    """The settings that this lesson's table shows."""
    return [setting for setting in settings() if number in setting.lessons]


def table(chosen: Iterable[Setting]) -> str:
    """A Markdown table with a column per client and a row per setting."""
    head = [
        "| " + " | ".join(["default of", *CLIENTS]) + " |",
        "|--" * (len(CLIENTS) + 1) + "|",
    ]
    return "\n".join(head + [setting.row for setting in chosen])


if __name__ == "__main__":
    print(table(of_lesson(sys.argv[1])))
