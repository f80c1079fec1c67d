"""An incident as data: a file of its own, `incidents/NAME.toml`.

It says what runs, what goes wrong and when (as command lines of `tools.py` and
`mishaps.py`), the messages that people get, the causes to choose from, and when all is
well again. The teacher's page of lesson 22 says how to write one.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "incidents"


class Cause(NamedTuple):
    """text: a cause to choose. because: why it is right, or wrong."""

    text: str
    because: str


class Step(NamedTuple):
    """A line of the plan, and when it comes."""

    at_ms: int
    line: str


class Limits(NamedTuple):
    """The limits within which a good answer to the incident stays."""

    lost: int
    twice: int
    minutes: float  # of outage


class Plan(NamedTuple):
    """exercise: its number in lesson 22, None for a teacher's own. well: what must be
    true at the end, name of a test in `wellness.py` -> what it is given.
    """

    name: str
    title: str
    exercise: int | None
    seed: int
    opens: str
    called_ms: int
    late_ms: int
    causes: tuple[Cause, ...]
    right: int
    limits: Limits
    best: str
    hints: tuple[str, ...]
    topics: tuple[dict[str, Any], ...]
    apps: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]
    well: tuple[dict[str, Any], ...]
    brokers: dict[str, str]
    spare_bytes: int


def names() -> list[str]:
    """Those of the lesson, in its order."""
    plans = [read(path.stem) for path in FOLDER.glob("*.toml")]
    plans.sort(key=lambda plan: plan.exercise or 99)
    return [plan.name for plan in plans]


def read(name: str) -> Plan:
    """The plan with this name, or in this file. Raises ValueError if it isn't a
    plan.
    """
    if not isinstance(name, str):
        raise ValueError(f"an incident has a name, not {name!r}")
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        known = ", ".join(f'"{each}"' for each in names())
        raise ValueError(f"there is no incident {name!r}; there are {known}")
    try:
        return _plan(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except KeyError as error:
        raise ValueError(f"{path.name} lacks {error}") from None


def _plan(name: str, found: dict[str, Any]) -> Plan:
    """The plan in a file's tables."""
    steps = []
    for step in found.get("plan", []):
        steps.append(Step(_ms(step["at_min"]), step["run"]))
    causes = []
    for cause in found["causes"]:
        causes.append(Cause(cause["text"], cause["because"]))
    limits = found["limits"]
    return Plan(
        name=name,
        title=found["title"],
        exercise=found.get("exercise"),
        seed=found["seed"],
        opens=found["opens"].strip(),
        called_ms=_ms(found["called_after_min"]),
        late_ms=found["late_s"] * 1000,
        causes=tuple(causes),
        right=found["right"],
        limits=Limits(
            lost=limits["lost"],
            twice=limits["twice"],
            minutes=limits["minutes"],
        ),
        best=found["best"].strip(),
        hints=tuple(found.get("hints", ())),
        topics=tuple(found["topics"]),
        apps=tuple(found["apps"]),
        steps=tuple(sorted(steps, key=lambda step: step.at_ms)),
        well=tuple(found["well"]),
        brokers=found.get("brokers", {}),
        spare_bytes=found.get("spare_bytes", 0),
    )


def _ms(minutes: float) -> int:
    """Minutes as milliseconds."""
    return round(minutes * 60_000)
