"""minikafka: a small real Kafka in Python, and a course that runs on it.

The names that a lesson imports arrive on first use, so that `minikafka serve` does not
load the simulation and the simulation does not load the course.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minikafka.course.lessons import lesson
    from minikafka.course.predictions import predict
    from minikafka.course.progress import progress
    from minikafka.simulation.cluster import Cluster

__all__ = ["Cluster", "lesson", "predict", "progress"]

_HOME = {
    "Cluster": "minikafka.simulation.cluster",
    "lesson": "minikafka.course.lessons",
    "predict": "minikafka.course.predictions",
    "progress": "minikafka.course.progress",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'minikafka' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
