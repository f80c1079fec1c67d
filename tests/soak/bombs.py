"""`python -m tests.soak.bombs`: the batches of tests/wire/bombs.py against a real
`minikafka serve`, wherever it decodes records. A witness asks for versions all the
time: its longest wait is how long the node heard nobody, and counts as the time that
the node worked meanwhile, because the machine may have other things to do.

A line a place; exit code 1 if the node fell silent for too long, needed too much
memory, or did not live. Linux only.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from minikafka.server.embedded import Served
from minikafka.server.folder_disk import FolderDisk
from minikafka.storage import checkpoints
from minikafka.wire.compression import CODECS
from minikafka.wire.records import encode_batch
from tests.conformance.raw import Connection
from tests.wire.bombs import BOMBS, NOW_MS, bomb

MAX_MESSAGE_BYTES = 4 << 20
OPTIONS = (
    "--override",
    "log.cleaner.backoff.ms=200",
    "--override",
    f"message.max.bytes={MAX_MESSAGE_BYTES}",
)
TABLE = [
    (what, codec)
    for what in BOMBS
    for codec in CODECS
    if len(bomb(what, codec)) < MAX_MESSAGE_BYTES
]
ROUNDS = 3


class Witness(threading.Thread):
    """Another client. longest_ms: its longest wait for an answer; longest_cpu_ms: what
    the node worked meanwhile.
    """

    def __init__(self, served):
        super().__init__(daemon=True)
        self.longest_ms = self.longest_cpu_ms = 0.0
        self.error, self._over, self._served = None, threading.Event(), served
        self.start()

    def run(self):
        try:
            with Connection(self._served.bootstrap) as connection:
                while not self._over.wait(0.002):
                    begin, cpu_begin = time.perf_counter(), cpu_ms(self._served.process)
                    connection.ask("ApiVersions", 0)
                    self.longest_cpu_ms = max(
                        self.longest_cpu_ms, cpu_ms(self._served.process) - cpu_begin
                    )
                    self.longest_ms = max(
                        self.longest_ms, (time.perf_counter() - begin) * 1000
                    )
        except (OSError, EOFError) as error:
            self.error = error

    def stop(self):
        self._over.set()
        self.join(60)
        assert self.error is None and not self.is_alive(), (
            f"the witness was not answered: {self.error}"
        )


def cpu_ms(process):
    """What a process has worked so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def compacted_produce(connection, served):
    """Each record of a compacted topic needs a key."""
    connection.create_topic(
        "compacted", partitions=len(TABLE), cleanup_policy="compact"
    )
    for partition, (what, codec) in enumerate(TABLE * ROUNDS):
        connection.produce(
            "compacted", bomb(what, codec), partition=partition % len(TABLE)
        )


def searches(connection, served):
    """ListOffsets by time and for the largest timestamp, twenty requests at a time."""
    connection.create_topic("searched", partitions=len(TABLE))
    for partition, (what, codec) in enumerate(TABLE):
        assert (
            connection.produce(
                "searched", bomb(what, codec), partition=partition
            ).error_code
            == 0
        )
        for _ in range(ROUNDS):
            for timestamp in [NOW_MS, -3] * 10:
                places = [{"partition_index": partition, "timestamp": timestamp}]
                connection.send(
                    "ListOffsets",
                    7,
                    replica_id=-1,
                    topics=[{"name": "searched", "partitions": places}],
                )
            first = connection.correlation_id - 19
            for connection.correlation_id in range(first, first + 20):
                connection.read("ListOffsets", 7)


def one_request_for_all(connection, served):
    """One request that searches all of them."""
    for timestamp in [NOW_MS, -3] * ROUNDS:
        places = [
            {"partition_index": partition, "timestamp": timestamp}
            for partition in range(len(TABLE))
        ]
        connection.ask(
            "ListOffsets",
            7,
            replica_id=-1,
            topics=[{"name": "searched", "partitions": places}],
        )


def compaction(connection, served):
    """Topics that are compacted when the bombs are in them already."""
    names = [f"later-{number}" for number in range(len(TABLE))]
    for name, (what, codec) in zip(names, TABLE, strict=True):
        connection.create_topic(name, min_cleanable_dirty_ratio="0.01")
        assert connection.produce(name, bomb(what, codec)).error_code == 0
        configs = [
            {"name": key, "config_operation": 0, "value": value}
            for key, value in {
                "cleanup.policy": "compact",
                "internal.segment.bytes": "300",
            }.items()
        ]
        resource = {"resource_type": 2, "resource_name": name, "configs": configs}
        connection.ask(
            "IncrementalAlterConfigs", 1, resources=[resource], validate_only=False
        )
        for _ in range(6):  # until there is a new segment
            assert (
                connection.produce(
                    name, bytes(encode_batch([(NOW_MS, b"k", b"v", [])]))
                ).error_code
                == 0
            )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        cleaned = checkpoints.read_offsets(
            FolderDisk(served.folder), checkpoints.CLEANER_OFFSETS
        )
        said = served.log_file.read_text()
        left = [
            each
            for each in names
            if (each, 0) not in cleaned and f"{each}-0 is not compacted" not in said
        ]
        if not left:
            return
        threading.Event().wait(0.05)
    raise AssertionError(f"neither compacted nor given up: {left}")


PLACES = {
    False: (compacted_produce, searches, one_request_for_all, compaction),
    True: (compacted_produce, searches),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stall-ms",
        type=int,
        default=2500,
        help="how long it may work and hear nobody",
    )
    parser.add_argument(
        "--memory-mb",
        type=int,
        default=250,
        help="how much memory it may need at its peak",
    )
    options = parser.parse_args()
    failed = False
    for trace in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            log_file = Path(folder) / "log"
            trace_file = Path(folder) / "trace" if trace else None
            with Served(
                Path(folder) / "data", trace=trace_file, log=log_file, options=OPTIONS
            ) as served:
                served.folder, served.log_file = Path(folder) / "data", log_file
                for place in PLACES[trace]:
                    failed |= run(
                        place, served, options, " with --trace" if trace else ""
                    )
    return failed


def run(place, served, options, how):
    witness = Witness(served)
    begin = time.monotonic()
    try:
        with Connection(served.bootstrap) as connection:
            place(connection, served)
        witness.stop()
        problem = ""
    except (AssertionError, OSError) as error:
        problem = f"FAILED: {error}"
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    peak_mb = int(status.split("VmHWM:")[1].split()[0]) // 1024
    if witness.longest_cpu_ms > options.stall_ms or peak_mb > options.memory_mb:
        problem = problem or "FAILED"
    print(
        f"{place.__name__}{how}: {len(TABLE)} bombs, {time.monotonic() - begin:.0f} s,"
        f" a witness waited {witness.longest_ms:.0f} ms at most,"
        f" {witness.longest_cpu_ms:.0f} ms of the node's time; peak memory so far"
        f" {peak_mb} MB {problem}",
        flush=True,
    )
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
