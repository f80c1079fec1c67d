"""What Spark asks a source of one's own, written down as it asks: in a process of its
own, so into a file.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

ASKED = ("initialOffset", "latestOffset", "partitions", "commit")


def noted(reader: Any, file: str) -> Any:
    """The stream reader, which now adds a line to the file for each of Spark's
    questions.
    """
    for name in ASKED:
        setattr(reader, name, _noted(name, getattr(reader, name), file))
    return reader


def _noted(name: str, asked: Callable[..., Any], file: str) -> Callable[..., Any]:
    @wraps(asked)
    def noting(*given: Any) -> Any:
        answer = asked(*given)
        said = f"{len(answer)} ranges" if name == "partitions" else _shown(answer)
        line = f"{name}({', '.join(map(_shown, given))})"
        with Path(file).open("a", encoding="utf-8") as log:
            log.write(line + (f" -> {said}" if said else "") + "\n")
        return answer

    return noting


def _shown(value: Any) -> str:
    """Offsets as the numbers of the one topic's partitions; a limit by its name."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return type(value).__name__
    [numbers] = [value[name] for name in value if " " not in name]
    return " ".join(str(numbers[number]) for number in sorted(numbers, key=int))
