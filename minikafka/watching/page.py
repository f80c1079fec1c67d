"""The page, and the news that it asks for."""

import base64
import hashlib
import re
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from minikafka.theatre import page as theatre
from minikafka.theatre import svg
from minikafka.theatre.palette import ICON
from minikafka.theatre.text import escape
from minikafka.watching.drawing import drawn, rows, summary
from minikafka.watching.following import MOST_TOLD, Following
from minikafka.watching.problems import all_is_well, problems
from minikafka.watching.watched import Watched

COLUMNS = ("group", "partition", "lag", "reader", "leader", "in sync", "end")
FIRST_LOOK = "The first look is on its way."
LEAST, MOST = 300, 1400  # the widths that are drawn


def html(watched: Watched, scenario: str) -> str:
    """The page before its first news."""
    parts = {
        "title": f"Kafka at {escape(watched.name)}",
        "scenario": escape(scenario),
        "icon": ICON,
        "css": theatre.colours() + theatre.style() + svg.colours() + own("watch.css"),
        "first_look": FIRST_LOOK,
        "columns": "".join(f'<th scope="col">{each}</th>' for each in COLUMNS),
        "hatch": svg.HATCH,
        "js": script(),
    }
    # one pass: what a part holds is text, and never replaced again
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], own("page.html"))


def own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    return f"'use strict';\n(() => {{\n{own('watch.js')}}})();\n"


def policy() -> str:
    """What the page may do: run its script, and ask the server that it came from."""
    digest = hashlib.sha256(f"\n{script()}".encode()).digest()
    hashed = base64.b64encode(digest).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}';"
        " img-src data:; connect-src 'self'; frame-ancestors 'none'"
    )


def news(
    watched: Watched, following: Following | None, width: int, last: int
) -> Mapping[str, Any]:
    """What the page shows now. last: the number of the last event that it has."""
    width = min(max(width, LEAST), MOST)
    seen = watched.seen
    said = problems(watched, time.monotonic())
    told = [] if following is None else [*following.told]
    latest = told[-1].number if told else 0
    after = last if last <= latest else 0
    return {
        "problems": said or [FIRST_LOOK if seen is None else all_is_well(seen)],
        "bad": bool(said),
        "away": watched.missed is not None,
        "looked": time.strftime("%H:%M:%S") if watched.missed is None else "",
        "svg": svg.bare(drawn(watched, width), summary(seen)),
        "rows": [[each[name] for name in COLUMNS] for each in rows(watched)],
        "tells": following is not None,
        "told": [
            [each.number, each.at, f"{each.node}: {each.words}", each.is_trouble]
            for each in told
            if each.number > after
        ],
        "latest": latest,
        "most": MOST_TOLD,
    }
