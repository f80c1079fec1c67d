"""The pages that bring lessons together: Markdown beside the notebooks, in which the
tables are computed.

`python -m minikafka.course.publishing.syntheses` writes the tables anew; a test
compares them. What stands around them is written by hand.
"""

import re
from collections.abc import Callable
from pathlib import Path

from minikafka.course import claims, client_defaults, settings_by_role
from minikafka.course.experiments import fences, promises
from minikafka.course.places import NOTEBOOKS

PAGES = (
    "the_larger_number",
    "what_is_promised",
    "settings_on_monday",
    "client_defaults",
    "claims",
)
# the name in `<!-- NAME -->` -> the function that computes its table
TABLES: dict[str, Callable[[], str]] = {
    "fences": fences.in_words,
    "writing": promises.writing,
    "reading": promises.reading,
    "settings": settings_by_role.in_words,
    "producer_defaults": client_defaults.of_producers,
    "consumer_defaults": client_defaults.of_consumers,
    "claims": claims.in_words,
}
_TABLE = re.compile(r"<!-- (\w+) -->\n(.*?)\n?<!-- end -->", re.DOTALL)


def path(name: str) -> Path:
    """The file of a page."""
    return NOTEBOOKS / f"{name}.md"


def tables(text: str) -> dict[str, str]:
    """Name -> table, as a page has them."""
    return {name: table for name, table in _TABLE.findall(text)}


def computed(text: str) -> str:
    """The same page with its tables computed again."""
    return _TABLE.sub(lambda found: _block(found[1]), text)


def _block(name: str) -> str:
    return f"<!-- {name} -->\n{TABLES[name]()}\n<!-- end -->"


if __name__ == "__main__":
    for page in PAGES:
        text = path(page).read_text(encoding="utf-8")
        path(page).write_text(computed(text), encoding="utf-8")
