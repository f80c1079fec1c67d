"""Same seed and same calls: the same trace, in this process, in another, under any hash
seed and Python version.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.simulation import scenario

HERE = Path(__file__).resolve()


def elsewhere(python, hash_seed, seed=7):
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    script = [python, str(HERE.with_name("scenario.py")), str(seed)]
    done = subprocess.run(
        script, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def other_pythons():
    """Interpreters of other versions that this machine happens to have."""
    versions = Path.home() / ".pyenv" / "versions"
    found = sorted(
        [*versions.glob("3.12.*/bin/python"), *versions.glob("3.1[34].*/bin/python")]
    )
    return found or [None]


@cache
def first_run():
    return scenario.run(7)


@cache
def first_digest():
    return scenario.digest(7)


def test_the_same_seed_gives_the_same_trace_twice():
    first, second = first_run(), scenario.run(7)
    assert scenario.lines(first) == scenario.lines(second)
    kinds = {event.kind for event in first.trace}
    assert {
        "MessageLost",
        "NodeCrashed",
        "NodeRestarted",
        "NodeFrozen",
        "RecordsPolled",
        "RecordsAcknowledged",
    } <= kinds
    sent = [record.value for record in first.records("orders")]
    assert len(sent) == len(set(sent)) == 120


def test_another_seed_gives_another_trace():
    assert first_digest() != scenario.digest(8)


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1", "12345"])
def test_another_process_and_other_hash_seeds_change_nothing(hash_seed):
    assert elsewhere(sys.executable, hash_seed) == first_digest()


@pytest.mark.parametrize(
    "python", other_pythons(), ids=lambda python: python and python.parts[-3]
)
def test_another_version_of_python_changes_nothing(python):
    if python is None:
        pytest.skip("no other Python here")
    if subprocess.run(
        [python, "-c", "import greenlet"], capture_output=True
    ).returncode:
        pytest.skip("greenlet is not installed there")
    assert elsewhere(str(python), "0") == first_digest()


def test_one_more_client_changes_nothing_for_the_random_choices_of_the_others():
    def sticky(more):
        from minikafka.simulation.cluster import Cluster

        cluster = Cluster(seed=3)
        cluster.create_topic("orders", partitions=6)
        producers = [cluster.producer(batch_size=100) for _ in range(1 + more)]
        return [
            producers[0].send("orders", value="x" * 60).get().partition
            for _ in range(10)
        ]

    assert sticky(0) == sticky(2)


@pytest.mark.parametrize("until_ms", [1500, 4100, 6200])
def test_the_kept_calls_replay_to_any_moment(until_ms):
    first = first_run()
    again = first.replay(until_ms)
    assert again.now_ms >= until_ms
    assert scenario.lines(again) == scenario.lines(first)[: len(again.trace)]
    assert first.trace[len(again.trace)].at >= until_ms
