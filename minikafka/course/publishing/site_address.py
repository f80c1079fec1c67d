"""Where the site is: `site` in pyproject.toml's [tool.minikafka], a web address or a
folder of the project. The README and lesson 00 link to an address; to a folder that
nobody may have built yet they do not. `repository` beside it is the address of the
project itself, to which the site's pages link; without it they don't.

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
    return _told(project)["site"]


def web_address() -> str:
    """The same, if it is one that others can reach; or nothing."""
    base = address() if (PROJECT / "pyproject.toml").exists() else ""
    return base if "://" in base else ""


def repository() -> str:
    """Where the project's files are for everybody, or nothing."""
    known = _told(PROJECT) if (PROJECT / "pyproject.toml").exists() else {}
    return known.get("repository", "")


def _told(project: Path) -> dict[str, str]:
    with (project / "pyproject.toml").open("rb") as file:
        found: dict[str, str] = tomllib.load(file)["tool"]["minikafka"]
    return found


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
