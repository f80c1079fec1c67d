"""Lesson 23's restarts of a learner's Kafka after kill -9: what its log has at its end
then, and what must be there in its next life.
"""

import random
from pathlib import Path
from typing import NamedTuple

from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.kafka_answers import LAST, Wrong, same
from minikafka.course.judging.kafka_requests import (
    TOPIC,
    batch,
    compacted,
    fetch,
    offset_for,
    produce,
    with_orders,
)
from minikafka.course.judging.kafka_scripts import (
    ask_producer_id,
    file_holds,
    topics_of,
)
from minikafka.course.judging.kafka_trial import Trial

_SEED = 23
EMPTY = "orders-eu"  # a topic without records


class Tail(NamedTuple):
    """Bytes at the end of a log, after the acknowledged ones."""

    what: str
    data: bytes

    def write(self, folder: Path) -> None:
        """Append it, as if the broker had been killed while it wrote."""
        with (folder / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
            log.write(self.data)


def _unacknowledged(corrupt: bool = False) -> bytes:
    """The batch that the broker was about to write."""
    made = batch("never acknowledged", "nor this", corrupt=corrupt)
    return (3).to_bytes(8, "big") + made[8:]


HALF = Tail("half a batch at the log's end", _unacknowledged()[:-9])
SHORT = [
    Tail(f"{size} bytes of a batch at the log's end", _unacknowledged()[:size])
    for size in (5, 12, 20)  # within the base offset, after the length, in the header
]
DAMAGED = Tail(
    "a batch with a wrong checksum at the log's end", _unacknowledged(corrupt=True)
)
RANDOM = Tail("200 random bytes at the log's end", random.Random(_SEED).randbytes(200))
# A file system had made the file longer, and lost what was to be in it.
ZEROS = Tail("200 zeros at the log's end", bytes(200))


def survives_a_kill(trial: Trial) -> None:
    """All must be there that was acknowledged, and go on where it was: producer ids too,
    where they are counted.
    """
    us = with_orders(trial)
    us.ask("Metadata", topics=[{"name": EMPTY}])
    ask_producer_id(us)
    for values in (("created",), ("paid", "shipped"), ("created",)):
        produce(us, *values)

    trial.restart()
    us = trial.connect()
    same("the list of all topics", topics_of(us), sorted([TOPIC, EMPTY]), LAST)
    ask_producer_id(us)
    us.ask("Metadata", topics=[{"name": TOPIC}])
    offset_for(us, -1)
    fetch(us, 0)
    produce(us, "after the kill")
    fetch(us, 3)


def survives_a_torn_tail(trial: Trial) -> None:
    """The usual case, and less than a batch's header."""
    goes_on_after(trial, HALF, *SHORT)


def survives_nonsense(trial: Trial) -> None:
    """A whole batch by its length whose checksum says no, and no batch at all."""
    goes_on_after(trial, DAMAGED, RANDOM)


def survives_zeros(trial: Trial) -> None:
    """They are no batch, though there are enough of them for one."""
    goes_on_after(trial, ZEROS)


def goes_on_after(trial: Trial, *tails: Tail) -> None:
    """After each restart the log continues after the acknowledged records; after the
    last one it shows whether all tails have really been cut off.
    """
    us = with_orders(trial)
    written = [("created", "paid"), ("shipped",)]
    for values in written:
        produce(us, *values)

    for tail in tails:
        trial.restart(tail.write, tail.what)
        us = trial.connect()
        offset_for(us, -1)
        written.append(("after the kill",))
        produce(us, *written[-1])
        fetch(us, 0)
        expected = [batch(*values) for values in written]
        file_holds(trial, 0, expected, killed_with=tail.what)

    trial.restart()
    us = trial.connect()
    offset_for(us, -1)
    fetch(us, 0)
    fetch(us, 3)


def survives_compaction(trial: Trial) -> None:
    """The middle one of three records is not there any more, and its offset is."""
    us = with_orders(trial)
    produce(us, "created", "paid", "shipped")

    def compact(folder: Path) -> None:
        path = folder / f"{TOPIC}-0" / f"{0:020}.log"
        path.write_bytes(compacted("created", None, "shipped"))

    trial.restart(compact, "the log as compaction leaves it: offsets 0 and 2")
    us = trial.connect()
    offset_for(us, -1)
    produce(us, "after the kill")


def python_goes_on(trial: Trial) -> None:
    """A producer that knows nothing of the life before."""
    clients.kafka_python_writes(trial, TOPIC, 3)

    trial.restart(HALF.write, HALF.what)
    clients.kafka_python_writes(trial, TOPIC, 3)
    clients.kafka_python_reads(trial, TOPIC, 12)


def dump_tool_reads(trial: Trial) -> None:
    """Kafka's dump tool reads the whole file as it is."""
    clients.kafka_python_writes(trial, TOPIC, 3)

    trial.restart(HALF.write, HALF.what)
    clients.kafka_python_writes(trial, TOPIC, 1)

    said = clients.dumped(trial.kafka.data / f"{TOPIC}-0" / f"{0:020}.log")
    for word in ("isvalid: false", "Found", "invalid", "Exception"):
        if word in said:
            line = next(line for line in said.splitlines() if word in line)
            raise Wrong(f"DumpLogSegments says: {line}")
    same("the records that DumpLogSegments lists", said.count("| offset:"), 4)
