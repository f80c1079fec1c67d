"""Apache Kafka 4.3.1, the version before the one that all else is compared with: asked
what 4.4.0 didn't change, it answers as minikafka does.

It is asked in a process of its own, whose variable MINIKAFKA_KAFKA_VERSION names it
(tests/kafka.py).
"""

import os
import subprocess
import sys

import pytest

from tests.kafka import PREVIOUS, ROOT

TEST = (
    "tests/conformance/test_same_answers.py"
    "::test_minikafka_answers_as_apache_kafka_does"
)
# Scenarios in all of which the two versions answer alike.
ASKED = (
    "produce_checks_the_request",
    "produce_is_idempotent",
    "fetch_keeps_sessions",
    "list_offsets",
    "metadata",
    "delete_topics",
    "create_partitions",
    "find_coordinator",
    "a_group_of_two",
    "offset_fetch",
    "records_are_acquired_and_acknowledged",
    "who_may_end_a_transaction",
)


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_minikafka_answers_as_the_version_before_does_where_nothing_changed():
    jars = ROOT / ".cache" / f"kafka-{PREVIOUS}" / f"kafka-tools-{PREVIOUS}.jar"
    if not jars.exists():
        pytest.skip(f"no jars of Apache Kafka {PREVIOUS}: `make nightly` fetches them")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "nightly"]
    tests = [f"{TEST}[{name}]" for name in ASKED]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=os.environ | {"MINIKAFKA_KAFKA_VERSION": PREVIOUS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert f"{len(ASKED)} passed" in done.stdout
