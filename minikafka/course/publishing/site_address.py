"""Where the site is: `site` in pyproject.toml's [tool.minikafka], a web address or a
folder of the project. The README and lesson 00 link to it.

    python -m minikafka.course.publishing.site_address https://example.org/kafka/    sets all three
"""

import sys
import tomllib
from pathlib import Path

from minikafka.course.places import NOTEBOOKS

PROJECT = NOTEBOOKS.parent
PAGE = "index.html"


def address(project: Path = PROJECT) -> str:
    """The base address, with a slash at the end."""
    with (project / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["tool"]["minikafka"]["site"])


def links(base: str) -> dict[str, str]:
    """Of each file that says where the site is, how it does."""
    up = "" if "://" in base else "../"
    return {
        "pyproject.toml": f'site = "{base}"',
        "README.md": f"]({base}{PAGE})",
        "notebooks/00_start_here.ipynb": f"]({up}{base}{PAGE})",
    }


def move(base: str, project: Path = PROJECT) -> None:
    """The site is somewhere else now."""
    base = base.rstrip("/") + "/"
    for (name, old), new in zip(
        links(address(project)).items(), links(base).values(), strict=True
    ):
        path = project / name
        path.write_text(
            path.read_text(encoding="utf-8").replace(old, new),
            encoding="utf-8",
            newline="\n",
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    move(sys.argv[1])
