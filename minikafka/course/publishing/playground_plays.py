"""The playground's plays that are made with the site: each is there at once, while Python
is still on its way, and begins just before its story.

A play is a page of its own that the playground shows in its frame; what the playground
itself shows beside it stands in the playground's page.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.course.publishing.playground import answer

FOLDER = "plays"


class Ready(NamedTuple):
    """name: as a link has it. title, more: what a learner chooses by. settings, changes
    and ms: a question to the playground.
    """

    name: str
    title: str
    more: str
    settings: dict[str, Any]
    changes: tuple[tuple[int, str, str], ...] = ()
    ms: int = 6000

    @property
    def question(self) -> str:
        """The question that is answered with its page, too."""
        asked = {
            "settings": self.settings,
            "changes": self.changes,
            "ms": self.ms,
            "first": True,
        }
        return json.dumps(asked)


KILLED_MS = 7000
OF_BROKERS = {"brokers": 3, "partitions": 3, "per_second": 10, "seconds": 25}
ALL = (
    Ready(
        "two-readers",
        "two readers",
        "A group shares six partitions. Break it yourself.",
        {},
    ),
    Ready(
        "a-third-joins",
        "a third one joins",
        "Eager: everybody stops, whoever moves or not.",
        {},
        ((KILLED_MS, "add", "consumer C"),),
    ),
    Ready(
        "cooperative",
        "the same, cooperative",
        "Only what moves stops.",
        {"protocol": "cooperative-sticky"},
        ((KILLED_MS, "add", "consumer C"),),
    ),
    Ready(
        "a-reader-dies",
        "a reader is killed",
        "It says nothing. For how long does nobody read?",
        {"protocol": "kip-848", "seconds": 60},
        ((KILLED_MS, "crash", "consumer A"),),
    ),
    Ready(
        "a-broker-dies",
        "a broker is killed",
        "Three replicas, one gone. Who leads, what counts?",
        {"shows": "the replicas", **OF_BROKERS},
        ((KILLED_MS, "kill", "broker 1"),),
    ),
    Ready(
        "the-controller-dies",
        "the controller is killed",
        "Who decides who decides?",
        {"shows": "the controllers", **OF_BROKERS},
        ((KILLED_MS, "kill", "broker 2"),),
    ),
)

# pages of the gallery: what no lever of the playground does
OF_LESSONS = {
    "10-alone-run.html": (
        "two leaders, one log",
        "A leader is cut off, and goes on writing. What falls off when they meet?",
    ),
    "13-held-run.html": (
        "a transaction hangs",
        "It stands like a gate on the log. Who waits behind it?",
    ),
}


def write(folder: Path) -> dict[str, Any]:
    """The pages of all plays, in a folder of that name; returns what the playground
    shows beside each.
    """
    (folder / FOLDER).mkdir()
    beside = {}
    for ready in ALL:
        found = json.loads(answer(ready.question))
        page = found.pop("page")
        (folder / FOLDER / f"{ready.name}.html").write_text(
            page, encoding="utf-8", newline="\n"
        )
        found.pop("play")
        beside[ready.name] = found
    return beside
