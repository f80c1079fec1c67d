"""The same damage to a folder of Apache Kafka and to one of ours: `python -m
tests.soak.damage_on_both`.

Each writes 40 records into small segments, is restarted once between, and stops cleanly
or is killed (SIGKILL: what the system was given is on the disk). Before it is killed it
has had the five seconds to checkpoint its high watermark: of what is younger no file
but the log itself knows. One file is damaged, the broker is started again, and
everything is read. Apache Kafka needs about ten minutes for its half.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Protocol

from minikafka.server.embedded import Served
from minikafka.storage.checkpoints import HIGH_WATERMARKS
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, crc_matches, decode_batch
from tests.conformance.raw import Connection, batch
from tests.kafka import ApacheKafka
from tests.soak.damage import DAMAGES, STOPS

RECORDS, BEFORE_THE_RESTART = 40, 24
SMALL = {
    "internal_segment_bytes": 2000,
    "index_interval_bytes": 300,
    "retention_ms": -1,
}
PATIENCE_READS = 2000  # until a started broker leads its partition
ACKNOWLEDGED = {
    offset: b"order %d" % offset + bytes(60 + offset) for offset in range(RECORDS)
}

CASES = [  # (what is damaged, which of the files of that name, how)
    *[
        ("orders-0/*.log", 0, damage)
        for damage in ("flip a bit", "halve", "empty", "delete", "garbage", "zeros")
    ],
    *[
        ("orders-0/*.log", -1, damage)
        for damage in (
            "flip a bit",
            "halve",
            "empty",
            "delete",
            "garbage",
            "garbage behind",
        )
    ],
    *[
        (f"orders-0/*.{kind}", 0, damage)
        for kind in ("index", "timeindex")
        for damage in ("garbage", "delete")
    ],
    *[
        ("__cluster_metadata-0/*.log", 0, damage)
        for damage in ("flip a bit", "halve", "delete")
    ],
    *[
        (name, 0, damage)
        for name in (
            "__cluster_metadata-0/quorum-state",
            "meta.properties",
            "orders-0/partition.metadata",
            "orders-0/leader-epoch-checkpoint",
            "recovery-point-offset-checkpoint",
        )
        for damage in ("garbage", "delete")
    ],
]


class Kafka(Protocol):
    """A broker on a folder: started by its constructor, which raises RuntimeError with
    what it said.
    """

    bootstrap: str

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def said(self) -> str: ...


class Java:
    """Apache Kafka on a data folder."""

    def __init__(self, data: Path) -> None:
        self._kafka = ApacheKafka(data=data, start_timeout_s=40).start()
        self.bootstrap = self._kafka.bootstrap

    def stop(self) -> None:
        self._kafka.stop()

    def kill(self) -> None:
        assert self._kafka.process is not None
        self._kafka.process.kill()
        self._kafka.stop()

    def said(self) -> str:
        return self._kafka.log()


class Ours:
    """minikafka on a data folder."""

    def __init__(self, data: Path) -> None:
        self._served = Served(data)
        self.bootstrap, self.said, self.kill = (
            self._served.bootstrap,
            self._served.said,
            self._served.kill,
        )

    def stop(self) -> None:
        self._served.stop()


def write(kafka: type[Kafka], data: Path, stop: str) -> None:
    """A folder with all records in it."""
    for numbers in (range(BEFORE_THE_RESTART), range(BEFORE_THE_RESTART, RECORDS)):
        broker = kafka(data)
        with Connection(broker.bootstrap) as connection:
            if not numbers.start:
                connection.create_topic("orders", **SMALL)
            wait_for_the_leader(connection)
            for number in numbers:
                assert (
                    connection.produce("orders", batch(ACKNOWLEDGED[number])).error_code
                    == 0
                )
        if numbers.start and stop == "kill -9":
            checkpoint = data / HIGH_WATERMARKS
            while f"orders 0 {RECORDS}" not in (
                checkpoint.read_text() if checkpoint.exists() else ""
            ):
                pass
            broker.kill()
        else:
            broker.stop()


def wait_for_the_leader(connection: Connection) -> Error:
    """Reads until there is one or patience ends; the last answer's error."""
    for _ in range(PATIENCE_READS):
        error = Error(connection.offset("orders", -2).error_code)
        if error not in (
            Error.NOT_LEADER_OR_FOLLOWER,
            Error.UNKNOWN_TOPIC_OR_PARTITION,
            Error.LEADER_NOT_AVAILABLE,
        ):
            break
    return error


def read(connection: Connection) -> tuple[dict[int, bytes], str]:
    """({offset: value}, the first thing that went wrong), going on behind what can't be
    read.
    """
    if error := wait_for_the_leader(connection):
        return {}, error.name
    found, complaint, offset = {}, "", connection.offset("orders", -2).offset
    end = connection.offset("orders", -1).offset
    while offset < end:
        answer = connection.fetch("orders", offset)
        fetched = list(batches(answer.records or b""))
        if answer.error_code or not fetched:
            complaint = (
                complaint or (answer.error_code and Error(answer.error_code).name) or ""
            )
            offset += 1
        for header, content in fetched:
            if crc_matches(content, header):
                found |= {
                    record.offset: bytes(record.value)
                    for record in decode_batch(content)
                }
            else:
                complaint = complaint or "wrong checksum"
            offset = max(offset, header.next_offset)
    return found, complaint


def outcome(kafka: type[Kafka], data: Path, usual: set[str]) -> str:
    """What becomes of a damaged folder, in a few words. usual: lines that a start
    without damage prints.
    """
    try:
        broker = kafka(data)
    except RuntimeError:
        return "refuses"
    try:
        with Connection(broker.bootstrap) as connection:
            found, complaint = read(connection)
    except (OSError, EOFError):
        return "stops soon after the start"
    finally:
        broker.stop()
    lost = sum(found.get(offset) != value for offset, value in ACKNOWLEDGED.items())
    told = {line for line in lines(broker.said()) if line not in usual}
    words = [f"{lost} gone" if lost else "all there"]
    words += [f"a reader sees {complaint}"] if complaint else []
    words += ["a line"] if told else ["silent"] if lost and not complaint else []
    return ", ".join(words)


def lines(said: str) -> set[str]:
    """What a broker said, without times."""
    return {line.partition("] ")[2] or line for line in said.splitlines()}


def results(kafka: type[Kafka], stop: str, folder: Path) -> Iterator[tuple[str, str]]:
    """(case, outcome) for every case."""
    whole = folder / f"{kafka.__name__} {stop}"
    write(kafka, whole, stop)
    before = shutil.copytree(whole, folder / "as it is")
    broker = kafka(before)
    with Connection(broker.bootstrap) as connection:
        assert read(connection) == (
            ACKNOWLEDGED,
            "",
        ), "it has lost records without any damage"
    broker.stop()
    usual = lines(broker.said())
    shutil.rmtree(before)
    for pattern, which, damage in CASES:
        data = shutil.copytree(whole, folder / "damaged")
        path = sorted(data.glob(pattern))[which]
        content = DAMAGES[damage](
            path.read_bytes(), Random(f"{pattern} {which} {damage}"), None
        )
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        age = (
            ""
            if "*" not in pattern or "__" in pattern
            else "oldest "
            if which == 0
            else "newest "
        )
        yield f"{age}{pattern}: {damage}", outcome(kafka, data, usual)
        shutil.rmtree(data)


def main() -> int:
    parser = argparse.ArgumentParser(prog="damage_on_both", description=__doc__)
    parser.add_argument(
        "--only", choices=["apache-kafka", "minikafka"], help="one half of it"
    )
    only = parser.parse_args().only
    kafkas: list[type[Kafka]] = [Java] * (only != "minikafka") + [Ours] * (
        only != "apache-kafka"
    )
    silent = 0
    for stop in STOPS:
        with tempfile.TemporaryDirectory() as folder:
            for kafka in kafkas:
                print(
                    f"--- {'Apache Kafka' if kafka is Java else 'minikafka'}, {stop}",
                    flush=True,
                )
                for case, what in results(kafka, stop, Path(folder)):
                    print(f"{case:52} {what}", flush=True)
                    silent += kafka is Ours and "silent" in what
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
