"""Lesson 23's two files, the one that the learner goes on with and the minimal Kafka,
and what the lesson shows of the latter.
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
from minikafka.wire.text import snake_case

START = NOTEBOOKS / "checks" / "my_kafka.py"
MINIMAL_KAFKA = NOTEBOOKS / "solutions" / "minimal_kafka.py"
THREE = ("created", "paid", "shipped")
FIVE = ("created",) * 5
_VERSIONS = re.compile(r"(\d+)(\+|-\d+)?")


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
    paragraphs = TEXT.split("\n\n")
    text = next(each for each in paragraphs if f"\n{api} key=" in f"\n{each}")
    lines = text[text.index(f"{api} key=") :].splitlines()[1:]
    left_out = 0  # how deep what the version lacks is
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if left_out and depth > left_out:
            continue
        there = all(_has(version, word) for word in line.split()[2:])
        left_out = 0 if there else depth
        if there:
            name, _, rest = line.strip().partition(":")
            kind = re.sub(r"\?\d+\+", "?", rest.split()[0]) if rest else ""
            yield " " * depth + (f"{snake_case(name)}: {kind}" if kind else name)


def _has(version: int, word: str) -> bool:
    """Whether a word of a field's line leaves the field in this version."""
    range_ = _VERSIONS.fullmatch(word)
    if range_ is None:
        return not word.startswith("tag=")
    low, end = int(range_[1]), range_[2] or f"-{range_[1]}"
    return version >= low and (end == "+" or version <= int(end[1:]))


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
        identified = [each for each in said if "identified" in each]
        print("kafka-python:", identified[0].partition(": ")[2])
        asked = [each for each in running.kafka.conversation() if each.is_request]
    named = [f"{each.asked.api} {each.asked.version}" for each in asked]
    first = [each.asked.api for each in asked].index("Produce")
    return list(dict.fromkeys(named[: first + 1]))


def fetched_from(offset: int) -> list[int]:
    """A topic has eight orders, in a batch of three and one of five. The offsets of the
    records in the answer to Fetch from this offset on.
    """
    with trial(MINIMAL_KAFKA) as running:
        us = with_orders(running)
        produce(us, *THREE)
        produce(us, *FIVE)
        found = []
        for _, batch_ in batches(records_in(fetch(us, offset))):
            found += [record.offset for record in decode_batch(batch_)]
        return found


def next_offset_after_half_a_batch() -> int:
    """Three orders are acknowledged. The broker is killed with kill -9 while it writes
    the next batch, and half of this one is in the file. The offset of the first order
    after the restart.
    """

    def half_a_batch(data: Path) -> None:
        path = data / f"{TOPIC}-0" / f"{0:020}.log"
        stamped = len(THREE).to_bytes(8, "big") + batch(*FIVE)[8:]
        with path.open("ab") as log:
            log.write(stamped[: len(stamped) // 2])

    with trial(MINIMAL_KAFKA) as running:
        produce(with_orders(running), *THREE)
        running.restart(half_a_batch)
        answer = produce(running.connect(), "created")
        offset: int = answer.responses[0].partition_responses[0].base_offset
        return offset
