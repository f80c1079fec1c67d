"""Lesson 23's two files, the one that the learner goes on with and the minimal Kafka,
and what the lesson sees of the latter.
"""

from pathlib import Path

from minikafka.course.places import NOTEBOOKS, my

START = NOTEBOOKS / "checks" / "my_kafka.py"
MINIMAL_KAFKA = NOTEBOOKS / "solutions" / "minimal_kafka.py"


def start(name: str = "my_kafka.py") -> str:
    """Writes the file to go on with beside this notebook, if it isn't there yet. In the
    course's own folder nothing is written: there the file is as it was given.
    """
    if Path.cwd() != my():
        return str(START)
    path = my() / name
    if not path.exists():
        path.write_text(START.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{name} is beside this notebook: open it in the file browser.")
    return name


def found(name: str | Path) -> Path | None:
    """The file with this name, beside the notebook or in the learner's folder."""
    for folder in (Path.cwd(), my()):
        path = folder / name
        if path.is_file():
            return path.resolve()
    return None
