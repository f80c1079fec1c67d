"""A class: learners who want to tell the teacher how far they are, and `minikafka
class`, which shows it live.

It is a Kafka program like those of the lessons. Each learner's kernel writes to the
topic `minikafka-class`, with the learner's name as the key; the teacher's side reads
all of it and keeps the latest record of each key. Whoever reaches the broker can write
there, so what no learner's kernel wrote is passed over and counted.

Nobody is in a class unless MINIKAFKA_CLASS=host:port and MINIKAFKA_NAME are set where
JupyterLab is started.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import astuple, dataclass
from functools import cache
from operator import attrgetter
from queue import SimpleQueue
from typing import Any

from minikafka.course.class_topic import Reader
from minikafka.course.connect import Connection, NobodyAnswers

TOPIC = "minikafka-class"
BROKER, NAME = "MINIKAFKA_CLASS", "MINIKAFKA_NAME"

_NOBODY = """minikafka class: nobody answers at {bootstrap}. A broker for the class, on this machine:
  minikafka serve --host 0.0.0.0 --advertised-host ADDRESS-OF-THIS-MACHINE"""
_DELIVER_WITHIN_MS = 60_000
_LONGEST_WORD = 24
_ASK_AGAIN_S = 1
_MOST_PLACES = 1000  # learners in a table: a class, and whatever else somebody writes
_NO_PLACE = (
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
    RecursionError,  # in what was told
    OverflowError,
    OSError,  # of a time that no calendar has
)


@dataclass(frozen=True)
class Place:
    """Where somebody is. at: when that was told, hour and minute."""

    name: str
    lesson: str
    predictions: str
    exercises: str
    ticket: str
    at: str


# --- the learner's side


def tell(lesson: str, predictions: str, exercises: str, ticket: str) -> None:
    """Say where this learner is, if he or she is in a class. Returns at once: a lesson
    never waits for its class.
    """
    broker, name = os.environ.get(BROKER, "").strip(), os.environ.get(NAME, "").strip()
    if broker and name:
        place = {
            "lesson": lesson,
            "predictions": predictions,
            "exercises": exercises,
            "ticket": ticket,
        }
        _messenger(broker).put((name, place))
    elif broker:
        _say_once(
            f"minikafka: {BROKER} is set and {NAME} isn't, so your class can't see"
            " how far you are."
        )


@cache
def _messenger(broker: str) -> SimpleQueue[tuple[str, dict[str, str]]]:
    messages: SimpleQueue[tuple[str, dict[str, str]]] = SimpleQueue()
    threading.Thread(
        target=_carry, args=(broker, messages), name="class", daemon=True
    ).start()
    return messages


def _carry(broker: str, messages: SimpleQueue[tuple[str, dict[str, str]]]) -> None:
    """Send messages as they come. One that can't be sent is dropped, because the next
    one contains at least as much.
    """
    from kafka.errors import KafkaError

    producer = None
    while True:
        name, place = messages.get()
        try:
            producer = producer or Connection(broker).producer(
                bootstrap_timeout_ms=_DELIVER_WITHIN_MS, max_block_ms=_DELIVER_WITHIN_MS
            )
            producer.send(TOPIC, key=name, value=place).get(
                timeout=_DELIVER_WITHIN_MS / 1000
            )
        except (KafkaError, OSError, ValueError) as error:
            why = str(error) or type(error).__name__
            _say_once(
                f"minikafka: your class's broker {broker} was not told of you ({why})."
                " The lesson goes on."
            )


@cache
def _say_once(sentence: str) -> None:
    print(sentence, file=sys.stderr)


# --- the teacher's side


def place_of(record: Any) -> Place | None:
    """From a record of the topic; None for anything that no learner's kernel wrote."""
    try:
        told = json.loads(record.value)
        words = {
            each: _word(told[each])
            for each in ("lesson", "predictions", "exercises", "ticket")
        }
        at = time.strftime("%H:%M", time.localtime(record.timestamp / 1000))
        return Place(_word(record.key.decode()), **words, at=at)
    except _NO_PLACE:
        return None


def _word(text: Any) -> str:
    """Names are typed by learners: nothing of a name may move the terminal's cursor."""
    if not isinstance(text, str):
        raise TypeError
    letters = text[:_LONGEST_WORD]
    return "".join(each if each.isprintable() else "?" for each in letters)


def table(places: list[Place]) -> str:
    """One line per learner, the one furthest behind first."""
    rows = [("name", "lesson", "predictions", "exercises", "exit ticket", "last seen")]
    furthest_behind = sorted(places, key=attrgetter("lesson", "at", "name"))
    rows += [astuple(place) for place in furthest_behind]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        words = [word.ljust(width) for word, width in zip(row, widths, strict=True)]
        lines.append("  ".join(words).rstrip())
    return "\n".join(lines)


def main(args: argparse.Namespace) -> int:
    """`minikafka class --bootstrap HOST:PORT [--once]`: the table, again whenever
    somebody gets on; Ctrl-C ends it.
    """
    # a KeyboardInterrupt would be lost where it strikes a callback of the client's
    stopping = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stopping.set())
    try:
        watch(args.bootstrap, args.once, stopping)
    except NobodyAnswers:
        print(_NOBODY.format(bootstrap=args.bootstrap), file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def watch(bootstrap: str, once: bool, stopping: threading.Event) -> None:
    """Print the table whenever it changes, until told to stop. once: print it as it is
    now, and return.
    """
    connection = Connection(bootstrap)
    connection.check()
    _create_topic(connection)
    board, shown = Board(), ""
    clear = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""
    with closing(Reader(bootstrap, TOPIC)) as reader:
        while not (stopping.is_set() or (once and shown)):
            try:
                records = reader.read()
            except OSError as error:
                _say_once(
                    f"minikafka class: {bootstrap} does not answer just now ({error});"
                    " it is asked again."
                )
                stopping.wait(_ASK_AGAIN_S)
                continue
            board.take(records)
            text = board.text(reader.unreadable)
            if reader.caught_up and (records or text != shown):
                print(f"{clear}{text}", flush=True)
                shown = text


class Board:
    """Where each learner is, and how many records said nothing about that."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._strange = 0

    def take(self, records: Iterable[Any]) -> None:
        for place in map(place_of, records):
            if place is None or not self._has_room_for(place):
                self._strange += 1
            else:
                self._places[place.name] = place

    def _has_room_for(self, place: Place) -> bool:
        return place.name in self._places or len(self._places) < _MOST_PLACES

    def text(self, unreadable: int) -> str:
        """The table, and below it what was passed over. unreadable: batches that nobody
        could decode.
        """
        lines = [table(list(self._places.values()))]
        passed_over = []
        if self._strange:
            records = "record" if self._strange == 1 else "records"
            passed_over.append(
                f"{self._strange} {records} that no learner's kernel wrote"
            )
        if unreadable == 1:
            passed_over.append("1 batch of records that is damaged")
        elif unreadable:
            passed_over.append(f"{unreadable} batches of records that are damaged")
        if passed_over:
            lines += ["", f"Passed over: {' and '.join(passed_over)}."]
        return "\n".join(lines)


def _create_topic(connection: Connection) -> None:
    from kafka.errors import TopicAlreadyExistsError

    admin = connection.admin()
    try:
        admin.create_topics({TOPIC: {"num_partitions": 1}})
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()
