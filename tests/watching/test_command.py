"""`minikafka watch`, as a process of its own."""

import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from minikafka.testing import Kafka

pytestmark = pytest.mark.slow
PATIENCE_S = 60


def command(*args):
    return [sys.executable, "-m", "minikafka", "watch", "--no-browser", *args]


@contextmanager
def watching(*args):
    """The address of the page, and the process."""
    with subprocess.Popen(
        command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.stdout.readline()
            yield re.fullmatch(r"watch (http://127\.0\.0\.1:\d+/)\n", said)[1], process
        finally:
            process.kill()


def test_it_serves_a_page_and_ends_with_ctrl_c():
    with Kafka() as kafka, watching(kafka.bootstrap_servers) as (address, process):
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as page:
            assert f"Kafka at {kafka.bootstrap_servers}" in page.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == ""


def test_a_port_that_is_taken_is_said():
    with watching("localhost:1") as (address, _):
        port = address.rstrip("/").rpartition(":")[2]
        done = subprocess.run(
            command("localhost:1", "--port", port), capture_output=True, text=True
        )
    assert done.returncode == 1
    assert f"minikafka watch: port {port} is taken by another program" in done.stderr


@pytest.mark.parametrize("bootstrap", ["localhost", ":9092", "localhost:kafka"])
def test_what_is_no_address_is_said(bootstrap):
    done = subprocess.run(command(bootstrap), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{bootstrap!r} is no HOST:PORT" in done.stderr
