"""The numbers that people watch at work, while the playground's cluster runs: five of
Kafka's metrics, twice a second, for the strip under the picture.

Each is a line over the whole run; the page draws it up to the moment that is shown.
"""

from typing import Any, NamedTuple

from minikafka.course import measured
from minikafka.course.experiments.shop import GROUP
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

EVERY_MS = 500
# how the numbers that only grow are called, and the events that they count
COUNTED = {"ISR shrinks so far": "IsrShrunk", "failed produces so far": "BatchRefused"}


class Sample(NamedTuple):
    """The numbers at one time."""

    at_ms: int
    under_replicated: int
    controllers: int
    lag: int


class Watch:
    """Lets a cluster run, and looks at it meanwhile. trace: of the whole run."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.trace: list[Event] = []

    def run_to(self, cluster: Cluster, at_ms: int) -> None:
        """The same as cluster.run_ms, in pieces."""
        while cluster.now_ms < at_ms:
            next_ms = EVERY_MS * (cluster.now_ms // EVERY_MS + 1)
            cluster.run_ms(min(next_ms, at_ms) - cluster.now_ms)
            if cluster.now_ms == next_ms:
                self._sample(cluster)

    def _sample(self, cluster: Cluster) -> None:
        lag = measured.lag(cluster, GROUP)
        if lag is None:
            lag = self.samples[-1].lag if self.samples else 0
        self.samples.append(
            Sample(
                at_ms=cluster.now_ms,
                under_replicated=measured.under_replicated(cluster),
                controllers=measured.active_controllers(cluster),
                lag=lag,
            )
        )

    def lines(self) -> dict[str, Any]:
        """The lines as JSON: the moments, and the values of each number at these."""
        numbers = {
            "under-replicated partitions": [
                each.under_replicated for each in self.samples
            ]
        }
        for name, kind in COUNTED.items():
            times = [event.at for event in self.trace if event.kind == kind]
            numbers[name] = [
                sum(at <= each.at_ms for at in times) for each in self.samples
            ]
        numbers[f"lag of {GROUP}"] = [each.lag for each in self.samples]
        numbers["active controllers"] = [each.controllers for each in self.samples]
        return {"at": [each.at_ms for each in self.samples], "numbers": numbers}
