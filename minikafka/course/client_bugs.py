"""Bugs of real clients, each with a small program that shows it on any Kafka:
`tests/client_bugs/bugs.toml`, the programs and what they print beside it.

Tests run each program with the version that has the bug and with one in which it is
mended; the site shows the same files (publishing/site_bugs.py).
"""

import tomllib
from dataclasses import dataclass
from functools import cache

from minikafka.course.places import ROOT

FOLDER = ROOT / "tests" / "client_bugs"
FILE = FOLDER / "bugs.toml"


@dataclass(frozen=True)
class Report:
    """Where it was told in public, or mended. date: of its first words, as in ISO 8601,
    where it is known.
    """

    name: str
    url: str
    date: str = ""


@dataclass(frozen=True)
class Bug:
    """since: the version that brought it; until: those that ended it. old: a version
    that is run, with the bug; mended: one without it. package: what a registry calls
    the client, `pypi:name`, `npm:name` or `maven:group:name`. program: the file that
    shows it. notices: what one notices at work. why: what happens in the client.
    setup: the broker, and what is between it and the client, where that is not plain.
    properties: what the broker is started with. mend: what to do.
    """

    id: str
    title: str
    client: str
    since: str
    until: str
    old: str
    mended: str
    package: str
    program: str
    notices: str
    why: str
    mend: str
    reports: tuple[Report, ...]
    setup: str = ""
    properties: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The program's text."""
        path = FOLDER / "programs" / self.program
        return path.read_text(encoding="utf-8")

    def printed(self, version: str) -> str:
        """What the program has printed with this version."""
        path = FOLDER / "printed" / f"{self.id}-{version}.txt"
        return path.read_text(encoding="utf-8")


@cache
def bugs() -> tuple[Bug, ...]:
    """All of them, in the file's order."""
    found = []
    for entry in tomllib.loads(FILE.read_text(encoding="utf-8"))["bug"]:
        reports = tuple(Report(**each) for each in entry.pop("reports"))
        properties = tuple(entry.pop("properties", ()))
        found.append(Bug(**entry, reports=reports, properties=properties))
    return tuple(found)
