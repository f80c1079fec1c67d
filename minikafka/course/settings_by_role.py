"""Which settings on Monday, from `notebooks/settings.toml`: one table a role, each
setting with the defaults of those whose setting it is.

Defaults are looked up where a test compares them: of clients in
`notebooks/client_defaults.toml`, of brokers and topics in the broker's own table.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from minikafka.broker.config_table import BROKER_CONFIGS, TOPIC_CONFIGS, Config, show
from minikafka.course import client_defaults
from minikafka.course.contents import Contents, contents, extras
from minikafka.course.places import NOTEBOOKS

FILE = NOTEBOOKS / "settings.toml"
SECOND_MS, MINUTE_MS, DAY_MS = 1000, 60_000, 86_400_000
UNITS_MS = {"ms": 1, "minutes": MINUTE_MS}
HEAD = ("setting", "set it to", "because", "default", "lesson")
OF_BROKERS = {"broker": BROKER_CONFIGS, "topic": TOPIC_CONFIGS}
CLIENTS = ("Java", "librdkafka", "kafka-python")


@dataclass(frozen=True)
class Advice:
    """of: producer, consumer, broker, topic or spark. set: what to set it to."""

    role: str
    of: str
    name: str
    set: str
    why: str
    lesson: str

    @property
    def default(self) -> str:
        """The default, and whose it is; "" for Spark's."""
        if self.of in OF_BROKERS:
            return self._of_brokers(OF_BROKERS[self.of])
        for setting in client_defaults.settings():
            is_this = setting.of == self.of and setting.name == self.name
            if is_this:
                return _of_clients(setting)
        return ""

    def _of_brokers(self, table: Mapping[str, Config]) -> str:
        """Apache Kafka: 604800000 (7 days)"""
        default = show(table[self.name].default) or "none"
        duration = _duration(self.name, default)
        return f"Apache Kafka: {default}{duration}"

    @property
    def notebook(self) -> Contents:
        """The lesson, or the extra beside one, that shows what the setting does."""
        return (contents() | extras())[self.lesson]

    @property
    def cells(self) -> list[str]:
        """The cells of its row: as many as HEAD has."""
        notebook = self.notebook
        return [
            f"`{self.name}`",
            self.set,
            self.why,
            self.default,
            f"[{notebook.number}]({notebook.path.name})",
        ]


def _duration(name: str, value: str) -> str:
    """A setting's duration in words: for 604800000 ms " (7 days)"; "" if it isn't a
    duration.
    """
    _, _, unit = name.rpartition(".")
    if unit not in UNITS_MS:
        return ""
    ms = int(value) * UNITS_MS[unit]
    for words, length_ms in {"days": DAY_MS, "min": MINUTE_MS}.items():
        if ms >= length_ms:
            return f" ({ms // length_ms} {words})"
    return f" ({ms // SECOND_MS} s)"


def _of_clients(setting: client_defaults.Setting) -> str:
    """A single value if all clients have the same, otherwise each client's own."""
    values = [_in_plain(value) for value in setting.defaults]
    named = list(zip(CLIENTS, values, strict=False))
    first = values[0]
    if all(value == first for _, value in named):
        everybody = ", ".join(CLIENTS)
        return f"{everybody}: {first}"
    told = [f"{client}: {value}" for client, value in named]
    return "; ".join(told)


def _in_plain(value: str) -> str:
    """-1 (all) -> all, null (none) -> none: the word for the reader."""
    return re.sub(r"^(?:-1?|null|largest) \((.*)\)$", r"\1", value)


@cache
def advice() -> tuple[Advice, ...]:
    """All of it, in the file's order."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))["setting"]
    return tuple(Advice(**each) for each in found)


def roles() -> list[str]:
    """The roles, in the file's order."""
    return list(dict.fromkeys(each.role for each in advice()))


def in_words() -> str:
    """In Markdown: a heading and a table for each role."""
    parts = []
    for role in roles():
        mine = [each.cells for each in advice() if each.role == role]
        parts.append(f"## {role}\n\n{_table(mine)}")
    return "\n\n".join(parts)


def _table(rows: list[list[str]]) -> str:
    """A Markdown table, without columns that are empty."""
    full = [at for at in range(len(HEAD)) if any(row[at] for row in rows)]
    rule = ["--"] * len(HEAD)
    lines = []
    for row in (HEAD, rule, *rows):
        cells = " | ".join(row[at] for at in full)
        lines.append(f"| {cells} |")
    return "\n".join(lines)
