"""Where the site is: `site` in pyproject.toml's [tool.minikafka], a web address or a
folder of the project. The README and lesson 00 link to an address; to a folder that
nobody may have built yet they do not.

    python -m minikafka.course.publishing.site_address https://example.org/kafka/    sets all three
"""

import sys
import tomllib
from pathlib import Path

from minikafka.course.places import NOTEBOOKS

PROJECT = NOTEBOOKS.parent
PAGE = "index.html"
NAME = "the course in a tab"


def address(project: Path = PROJECT) -> str:
    """The base address, with a slash at the end."""
    with (project / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["tool"]["minikafka"]["site"])


def links(base: str) -> dict[str, str]:
    """For each file that names the site's address, the form it uses."""
    is_an_address = "://" in base
    named = f"[{NAME}]({base}{PAGE})" if is_an_address else NAME
    return {
        "pyproject.toml": f'site = "{base}"',
        "README.md": named,
        "notebooks/00_start_here.ipynb": named,
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
