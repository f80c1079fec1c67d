"""Where the course's files are, and where the learner's are.

In a checkout the course is the checkout's own folders: notebooks/, datasets/, docker/,
and the learner's copies stand in my/ beside them. A wheel brings the same folders with
it (pyproject.toml maps them to `minikafka/course/shipped`), and there nothing is ever
written: the learner's folder is ~/minikafka-course, or what MINIKAFKA_HOME names.
"""

import os
import sys
from pathlib import Path

HOME_VARIABLE = "MINIKAFKA_HOME"
_SHIPPED = Path(__file__).resolve().parent / "shipped"

IS_INSTALLED = _SHIPPED.is_dir()  # from a wheel, without a checkout
ROOT = _SHIPPED if IS_INSTALLED else Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
DATASETS = ROOT / "datasets"
COMPOSE = ROOT / "docker" / "compose.yaml"


def lessons() -> list[Path]:
    """The lessons' notebooks, in the order of the course."""
    return [path for path in _numbered() if not _is_extra(path)]


def extras() -> list[Path]:
    """Notebooks beside a lesson that nobody has to do: `06_extra_assignors.ipynb`."""
    return [path for path in _numbered() if _is_extra(path)]


def _numbered() -> list[Path]:
    return sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def _is_extra(path: Path) -> bool:
    return path.name[2:].startswith("_extra_")


def home() -> Path:
    """The folder that holds the learner's my/, and what the lessons link to."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    return Path.home() / "minikafka-course" if IS_INSTALLED else ROOT


def my() -> Path:
    """The learner's own copies and progress.

    In a browser's tab JupyterLite keeps /drive in the browser's own storage, and
    notebooks run there.
    """
    return Path("/drive") if sys.platform == "emscripten" else home() / "my"


def cache() -> Path:
    """The folder for downloads that can be fetched again, such as Apache
    Kafka's jars.
    """
    return home() / ".cache"
