"""The choice of what is shown: the producer that sent most, and its records under short
letters.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.theatre.casting import Letters, legend, letters
from minikafka.theatre.pictures.pipeline.records import Sent
from minikafka.theatre.play import Detail
from minikafka.trace import Event

MOST_IN_LEGEND = 4  # keys


@dataclass(frozen=True)
class Naming:
    """How records are told apart: by their values; by their keys where values are all
    alike. legend: which letter is which key. differ: whether no two have the same
    value.
    """

    by_value: bool
    letters: Letters
    legend: str
    differ: bool

    @classmethod
    def of(cls, sent: Sequence[Detail]) -> "Naming":
        values = [detail["value"] for detail in sent]
        keys = [detail["key"] for detail in sent]
        different = set(values)
        differ = len(different) == len(values)
        if len(different) > 1 or not any(keys):
            return cls(by_value=True, letters=letters(values), legend="", differ=differ)
        by_key = letters(keys)
        return cls(
            by_value=False,
            letters=by_key,
            legend=legend(by_key, MOST_IN_LEGEND),
            differ=differ,
        )

    def record(self, key: str | None, value: str | None) -> Sent:
        letter = self.letters[value if self.by_value else key]
        return Sent(letter, key, value)


def is_sent_in_a_batch(event: Event) -> bool:
    return event.kind == "PartitionChosen" and "batch" in event.detail


def busiest_producer(sent: Sequence[Event]) -> str:
    """The node that sent the most records; "" if none did."""
    nodes = Counter(event.node for event in sent)
    for node, _ in nodes.most_common(1):
        return node
    return ""


def config_of(trace: Sequence[Event], producer: str) -> dict[str, Any]:
    """The producer's configuration, from the event of its start."""
    for event in trace:
        if event.kind != "ClientStarted" or event.node != producer:
            continue
        config: dict[str, Any] = event.detail.get("config", {})
        return config
    return {}
