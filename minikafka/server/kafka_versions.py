"""The table of what brokers of older Kafkas say in ApiVersions. Each said it itself:
`python -m tests.conformance.kafka_versions` asks them.
"""

import csv
from pathlib import Path

from minikafka.broker.kafka_versions import KafkaVersion, Levels

TABLE = Path(__file__).with_name("kafka_versions.csv")
API_ROW, FEATURE_ROW = "api", "feature"


def kafka_versions() -> dict[str, KafkaVersion]:
    """All that are known, the oldest first."""
    apis: dict[str, dict[str, tuple[int, int]]] = {}
    features: dict[str, dict[str, Levels]] = {}
    with TABLE.open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            kind, name = row.pop("kind"), row.pop("name")
            for version, cell in row.items():
                of_apis = apis.setdefault(version, {})
                of_features = features.setdefault(version, {})
                if not cell:
                    continue
                levels = [int(each) for each in cell.split()]
                if kind == API_ROW:
                    of_apis[name] = levels[0], levels[1]
                else:
                    of_features[name] = Levels(*levels)
    return {each: KafkaVersion(apis[each], features[each]) for each in apis}
