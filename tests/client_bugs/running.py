"""Runs a bug's program with one version of its client, on one kind of broker."""

import subprocess

from minikafka.course.client_bugs import FOLDER, Bug
from tests.client_bugs.brokers import broker_for
from tests.client_bugs.fetching import command_with, fetched

MOST_SECONDS = 300


def printed(bug: Bug, version: str, kind: str) -> str:
    """What it prints. Errors: Missing, for a version that can't be fetched here."""
    folder = fetched(bug.package, version)
    command = command_with(folder, FOLDER / "programs" / bug.program)
    with broker_for(bug, kind) as bootstrap:
        done = subprocess.run(
            [*command, bootstrap],
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
