"""The clients' defaults, from `notebooks/client_defaults.toml`, as tables for the page
`notebooks/client_defaults.md`. A test compares the file with the installed clients.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from minikafka.course.places import NOTEBOOKS

CLIENTS = ("Java 4.4", "librdkafka", "kafka-python", "minikafka")


@dataclass(frozen=True)
class Setting:
    """name: as in Java. of: "producer" or "consumer". defaults: one for each of
    CLIENTS, as the table shows them.
    """

    name: str
    of: str
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
            each.get("librdkafka_name", each["name"]),
            tuple(
                each[name]
                for name in ("java", "librdkafka", "kafka-python", "minikafka")
            ),
        )
        for each in found
    )


def of_producers() -> str:
    """The table of producers' settings."""
    return table(setting for setting in settings() if setting.of == "producer")


def of_consumers() -> str:
    """The table of consumers' settings."""
    return table(setting for setting in settings() if setting.of == "consumer")


def table(chosen: Iterable[Setting]) -> str:
    """A Markdown table with a column per client and a row per setting."""
    head = [
        "| " + " | ".join(["default of", *CLIENTS]) + " |",
        "|--" * (len(CLIENTS) + 1) + "|",
    ]
    return "\n".join(head + [setting.row for setting in chosen])
