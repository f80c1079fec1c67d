"""A Kafka for one cell, with real clients: a group of kafka-python consumers in
threads, and the trace to play.

    with GroupLab(partitions=4) as lab:
        lab.start("A")
        lab.wait_for(members=1)
        lab.command("groups", "describe")
    lab.play()

It serves a small Kafka of its own while the block runs. With MINIKAFKA_BOOTSTRAP it
uses that cluster, and has no trace.
"""

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from pprint import pp
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from minikafka.course.connect import Connection, named
from minikafka.course.demo import recorded
from minikafka.course.judging.verdicts import Said
from minikafka.server.embedded import Served
from minikafka.theatre import picture

PATIENCE_SECONDS = 180.0
# Long: when a poll of kafka-python 3.0 ends between JoinGroup and SyncGroup, the member
# forgets to take over its share.
POLL_MS = 2000
UNIQUE = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # in a member's id


class GroupLab:
    """topic, group: their names, new each time, so that a second run finds nothing of
    the first.
    """

    def __init__(self, partitions: int) -> None:
        unique = uuid4().hex[:8]
        self.topic, self.group = f"orders-{unique}", f"billing-{unique}"
        self.partitions = partitions
        self._goodbyes: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self._shares: dict[str, list[int]] = {}
        self._served: Served | None = None
        self._trace: list[Any] = []

    def __enter__(self) -> "GroupLab":
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        self._file = Path(self._folder.name) / "trace.jsonl"
        if not named():
            self._served = Served(trace=self._file)
        self.kafka = Connection(
            named() if self._served is None else self._served.bootstrap
        )
        self.kafka.check()
        admin = self.kafka.admin()
        admin.create_topics(
            {self.topic: {"num_partitions": self.partitions, "replication_factor": 1}}
        )
        admin.close()
        return self

    def __exit__(self, *error: object) -> None:
        for name in self._goodbyes:
            self.say_goodbye(name)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        if self._served is not None:
            self._served.stop()
            self._trace = recorded(self._file)
        self._folder.cleanup()

    def start(self, name: str) -> None:
        """One more kafka-python consumer of the group, in a thread of its own: it polls
        until it says goodbye.
        """
        self._goodbyes[name] = threading.Event()
        self._threads.append(
            threading.Thread(
                target=self._read, args=(name, self._goodbyes[name]), daemon=True
            )
        )
        self._threads[-1].start()

    def _read(self, name: str, goodbye: threading.Event) -> None:
        consumer = self.kafka.consumer(
            self.topic,
            group_id=self.group,
            client_id=f"consumer {name}",
            auto_offset_reset="earliest",
        )
        while not goodbye.is_set():
            consumer.poll(timeout_ms=POLL_MS)
            self._shares[name] = sorted(
                partition.partition for partition in consumer.assignment()
            )
        self._shares.pop(name, None)
        consumer.close()

    def say_goodbye(self, name: str) -> None:
        """Let this one leave the group."""
        self._goodbyes[name].set()

    def wait_for(self, members: int) -> dict[str, list[int]]:
        """Wait until this many members share all partitions. Returns which member has
        which.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            shares = dict(sorted(self._shares.items()))
            held = sorted(number for share in shares.values() for number in share)
            if (
                len(shares) == members
                and all(shares.values())
                and held == list(range(self.partitions))
            ):
                return shares
            time.sleep(0.05)
        raise TimeoutError(
            f"{members} members did not come to share {self.topic} within"
            f" {PATIENCE_SECONDS:.0f} s"
        )

    def write(self, records: int) -> None:
        """So many orders, in turn to all partitions."""
        producer = self.kafka.producer()
        for number in range(records):
            producer.send(
                self.topic,
                key=f"o-{number}",
                value="20 euros",
                partition=number % self.partitions,
            )
        producer.flush()
        producer.close()

    def command(self, *words: str) -> None:
        """Run kafka-python's own command line; print the line and what it says, members
        in order.

        The address and what is new each time (group, topic, member ids) are printed as
        words.
        """
        options = [*words, "-g", self.group]
        command = [
            sys.executable,
            "-m",
            "kafka.admin",
            "-b",
            self.kafka.bootstrap,
            "--format",
            "json",
            *options,
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        print("$ python -m kafka.admin -b HOST:PORT", *words, "-g billing")
        said = (
            done.stdout.replace(self.group, "billing").replace(self.topic, "orders")
            or done.stderr
        )
        said = re.sub(UNIQUE, "...", said)
        try:
            pp(_in_order(json.loads(said)), width=118, compact=True)
        except ValueError:
            print(said)

    def play(self) -> Any:
        """The picture of what the broker saw; a sentence where the broker is another
        one than ours.
        """
        if not self._trace:
            return Said(
                "That cluster writes no trace, so there is nothing to play. Unset"
                " MINIKAFKA_BOOTSTRAP for one."
            )
        return picture("rebalance", self._trace, group=self.group)


def _in_order(said: dict[str, Any]) -> dict[str, Any]:
    """The groups with their members sorted by client id."""
    for group in said.values():
        if "members" in group:
            group["members"].sort(key=lambda member: member["client_id"])
    return said
