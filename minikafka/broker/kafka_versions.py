"""What brokers of an older Kafka offer clients, so that programs can be tried on it
(`serve --kafka-version`). Of APIs and versions that aren't served here, older ones
mostly, nothing is told.
"""

from collections.abc import Mapping
from typing import NamedTuple

from minikafka.cluster.features import ELR_FEATURE, FEATURES


class Levels(NamedTuple):
    """Of a feature: the levels that the brokers know, and the one at which a new cluster
    begins; 0: it is off.
    """

    lowest: int
    highest: int
    finalized: int


class KafkaVersion(NamedTuple):
    """apis: per API, its lowest and its highest version. features: by name."""

    apis: Mapping[str, tuple[int, int]]
    features: Mapping[str, Levels]

    @property
    def first_levels(self) -> dict[str, int]:
        """The levels of all features in a new cluster. Eligible leader replicas stay on:
        without them nothing here would lead safely (KIP-966).
        """
        found = dict.fromkeys(FEATURES, 0)
        for name, levels in self.features.items():
            found[name] = levels.finalized
        return found | {ELR_FEATURE: 1}

    def narrowed(self, api: str, served: tuple[int, int]) -> tuple[int, int] | None:
        """The versions of an API that clients are served; None: none. served: those that
        we serve.
        """
        if api not in self.apis:
            return None
        lowest, highest = self.apis[api]
        both = max(lowest, served[0]), min(highest, served[1])
        return both if both[0] <= both[1] else None
