"""However a run of tests ends, nothing of the brokers is left. They have no process and
no file of their own, so the system closes their ports with pytest.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
WAITING = """
import sys, threading

def test_one(kafka_cluster, session_kafka):
    kafka_cluster.topic()
    session_kafka.topic()
    print("running", file=sys.__stdout__, flush=True)
    threading.Event().wait()
"""
SHARED = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_one(kafka, number):
    topic = kafka.topic(name="orders")
    assert kafka.records(topic) == []
"""


def pytest_on(folder, text, *options):
    """The command, and what is known to it: files that it makes are in the folder."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    temporary = folder / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += ["-p", "minikafka.testing.plugin", *options]
    known = {
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TMPDIR": str(temporary),
    }
    return command, {**os.environ, **known}


def hears_ctrl_c():
    """What a shell starts in the background ignores it, and so would our child."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing(tmp_path, end):
    command, known = pytest_on(tmp_path, WAITING, "-s")
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=known,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=hears_ctrl_c,
    ) as process:
        while "running" not in process.stdout.readline():
            assert process.poll() is None
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(end)
        said = process.stdout.read()
        process.wait(60)
    assert children == []
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [tmp_path / "test_it.py"]
    if end == signal.SIGINT:
        assert process.returncode == pytest.ExitCode.INTERRUPTED
        assert "KeyboardInterrupt" in said


def test_workers_of_pytest_xdist_have_brokers_of_their_own(tmp_path):
    command, known = pytest_on(tmp_path, SHARED, "-p", "xdist", "-n", "2")
    done = subprocess.run(
        command, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=300
    )
    assert "8 passed" in done.stdout, done.stdout + done.stderr


def test_a_thread_ends_with_its_brokers(kafka):
    def threads():
        return [each for each in threading.enumerate() if each.name == "minikafka"]

    before = len(threads())
    kafka.close()
    assert len(threads()) == before - 1
