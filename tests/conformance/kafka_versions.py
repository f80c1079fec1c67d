"""What brokers of older Kafkas say in ApiVersions, asked of them one after the other:

    python -m tests.conformance.kafka_versions

writes minikafka/server/kafka_versions.csv. Maven fetches 50 to 90 MB for each.
"""

import csv
import os
import subprocess
import sys

import tasks
from minikafka.broker.kafka_versions import KafkaVersion, Levels
from minikafka.server.kafka_versions import API_ROW, FEATURE_ROW, TABLE
from minikafka.wire.messages import API, BY_KEY
from tests.conformance.raw import Connection
from tests.kafka import ROOT, ApacheKafka

# the release that was asked, of each line
ASKED = {
    "3.6": "3.6.2",
    "3.7": "3.7.2",
    "3.8": "3.8.1",
    "3.9": "3.9.1",
    "4.0": "4.0.0",
    "4.1": "4.1.0",
    "4.2": "4.2.0",
    "4.3": "4.3.1",
}
# the first version of ApiVersions that tells features with a level 0 (KIP-1022)
TELLS_ALL = 4


def said(client) -> KafkaVersion:
    """What a broker says, in the newest version that it speaks, up to the one that
    tells all.
    """
    who = {"client_software_name": "tests", "client_software_version": "1"}
    answer = client.ask("ApiVersions", 3, **who)
    newest = {each.api_key: each.max_version for each in answer.api_keys}
    if newest[API["ApiVersions"].key] >= TELLS_ALL:
        answer = client.ask("ApiVersions", TELLS_ALL, **who)
    apis = {
        BY_KEY[each.api_key].name: (each.min_version, each.max_version)
        for each in answer.api_keys
    }
    at = {each.name: each.max_version_level for each in answer.finalized_features}
    features = {
        each.name: Levels(each.min_version, each.max_version, at.get(each.name, 0))
        for each in answer.supported_features
    }
    return KafkaVersion(apis, features)


def main() -> None:
    """Ask all of them, each in a process of its own (tests/kafka.py)."""
    columns: dict[str, list[list[str]]] = {}
    for line, version in ASKED.items():
        problems = tasks.fetch_kafka(version)
        assert not problems, problems
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--one"],
            env=os.environ | {"MINIKAFKA_KAFKA_VERSION": version},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
        )
        columns[line] = [row.split(",") for row in done.stdout.splitlines()]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for line, found in columns.items():
        for kind, name, cell in found:
            rows.setdefault((kind, name), {})[line] = cell
    with TABLE.open("w", encoding="utf-8", newline="") as text:
        write = csv.writer(text, lineterminator="\n").writerow
        write(["kind", "name", *ASKED])
        for (kind, name), cells in sorted(rows.items()):
            write([kind, name, *(cells.get(line, "") for line in ASKED)])


def one() -> None:
    """Print what Apache Kafka of this version says."""
    with ApacheKafka() as kafka, Connection(kafka.bootstrap) as client:
        found = said(client)
    for name, levels in found.apis.items():
        print(API_ROW, name, " ".join(map(str, levels)), sep=",")
    for name, levels in found.features.items():
        print(FEATURE_ROW, name, " ".join(map(str, levels)), sep=",")


if __name__ == "__main__":
    one() if "--one" in sys.argv else main()
