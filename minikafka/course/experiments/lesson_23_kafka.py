"""Lesson 23's two files: the one that the learner starts from, and the minimal Kafka;
and the parts of the latter that the lesson shows.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from minikafka.course.judging.kafka_clients import quietly
from minikafka.course.judging.kafka_requests import (
    TOPIC,
    batch,
    fetch,
    produce,
    records_in,
    with_orders,
)
from minikafka.course.judging.kafka_trial import VERSION, trial
from minikafka.course.places import NOTEBOOKS, my
from minikafka.wire.messages import TEXT
from minikafka.wire.records import batches, decode_batch
from minikafka.wire.schema_text import snake_case

START = NOTEBOOKS / "checks" / "my_kafka.py"
MINIMAL_KAFKA = NOTEBOOKS / "solutions" / "minimal_kafka.py"
THREE = ("created", "paid", "shipped")
FIVE = ("created",) * 5
_VERSIONS = re.compile(r"(?P<low>\d+)(-(?P<high>\d+)|(?P<open>\+))?")


# -- the learner's file


def start(name: str = "my_kafka.py") -> str:
    """Writes the file to go on with beside this notebook, if it isn't there yet. In the
    course's own folder nothing is written: there the file is as it was given.
    """
    if Path.cwd() != my():
        print(f"This notebook isn't in my/: {START.name} is the file as it is given.")
        print("It isn't to be edited: `minikafka lesson 23` makes a copy that is.")
        return str(START)
    path = my() / name
    if not path.exists():
        path.write_text(START.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{name} is beside this notebook: open it in the file browser.")
    return name


def found(name: str | Path) -> Path | None:
    """The file with this name, beside the notebook or in the learner's folder."""
    for folder in (Path.cwd(), my()):
        path = folder / name
        if path.is_file():
            return path.resolve()
    return None


def show(*apis: str) -> None:
    """Prints the fields of these APIs, in the version that the checks ask in."""
    for api in apis:
        version = VERSION[api]
        print(f"{api} {version}")
        for line in fields(api, version):
            print(line)


def fields(api: str, version: int) -> Iterator[str]:
    """The lines of the schema text that this version has, with the names that they
    have in Python.
    """
    left_out = 0  # how deep what the version lacks is
    for line in _schema_lines(api):
        depth = len(line) - len(line.lstrip())
        is_inside = left_out > 0 and depth > left_out
        if is_inside:
            continue
        conditions = line.split()[2:]
        left_out = 0
        if all(_has(version, word) for word in conditions):
            yield " " * depth + _in_python(line)
        else:
            left_out = depth


def _schema_lines(api: str) -> list[str]:
    """The lines about an API in the schema text, below the line with its name."""
    head = f"{api} key="
    for paragraph in TEXT.split("\n\n"):
        lines = paragraph.splitlines()
        for number, line in enumerate(lines):
            if line.startswith(head):
                return lines[number + 1 :]
    raise LookupError(api)


def _in_python(line: str) -> str:
    """LeaderId: int32 5+ -> leader_id: int32"""
    name, _, rest = line.strip().partition(":")
    if not rest:
        return name
    kind = re.sub(r"\?\d+\+", "?", rest.split()[0])
    return f"{snake_case(name)}: {kind}"


def _has(version: int, word: str) -> bool:
    """Whether a word of a field's line leaves the field in this version."""
    versions = _VERSIONS.fullmatch(word)
    if versions is None:
        return not word.startswith("tag=")
    low = int(versions["low"])
    if versions["high"]:
        return low <= version <= int(versions["high"])
    if versions["open"]:
        return low <= version
    return version == low


# -- what the minimal Kafka does


def first_requests() -> list[str]:
    """A producer of kafka-python's meets the minimal Kafka. Prints what it takes it
    for; returns its requests up to the first Produce, each with its version, and once:
    how often it asks for Metadata depends on the machine.
    """
    from kafka import KafkaProducer

    with trial(MINIMAL_KAFKA) as running, quietly() as said:
        shop = KafkaProducer(bootstrap_servers=running.bootstrap)
        shop.send(TOPIC, b"created", partition=0).get(60)
        shop.close()
        identified = next(each for each in said if "identified" in each)
        _, _, whom = identified.partition(": ")
        print("kafka-python:", whom)
        conversation = running.kafka.conversation()
    requests: list[str] = []
    for each in conversation:
        asked = each.asked
        named = f"{asked.api} {asked.version}"
        if each.is_request and named not in requests:
            requests.append(named)
        if asked.api == "Produce":
            break
    return requests


def fetched_from(offset: int) -> list[int]:
    """A topic has eight orders, in a batch of three and one of five. The offsets of the
    records in the answer to Fetch from this offset on.
    """
    with trial(MINIMAL_KAFKA) as running:
        us = with_orders(running)
        produce(us, *THREE)
        produce(us, *FIVE)
        answer = fetch(us, offset)
        offsets = []
        for _, fetched in batches(records_in(answer)):
            for record in decode_batch(fetched):
                offsets.append(record.offset)
        return offsets


def next_offset_after_half_a_batch() -> int:
    """Three orders are acknowledged. The broker is killed with kill -9 while it writes
    the next batch, and half of this one is in the file. The offset of the first order
    after the restart.
    """

    def half_a_batch(data: Path) -> None:
        path = data / f"{TOPIC}-0" / f"{0:020}.log"
        base_offset = len(THREE).to_bytes(8, "big")
        stamped = base_offset + batch(*FIVE)[8:]
        half = len(stamped) // 2
        with path.open("ab") as log:
            log.write(stamped[:half])

    with trial(MINIMAL_KAFKA) as running:
        produce(with_orders(running), *THREE)
        running.restart(half_a_batch)
        answer = produce(running.connect(), "created")
        [topic] = answer.responses
        [partition] = topic.partition_responses
        return int(partition.base_offset)
