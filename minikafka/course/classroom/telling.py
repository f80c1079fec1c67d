"""The learner's side of a class: what is done in a lesson goes to the class's broker.

Nobody is in a class unless MINIKAFKA_CLASS=host:port and MINIKAFKA_NAME are set where
JupyterLab is started. A record has all that is told of one learner and one lesson, so
only the latest one counts, and one that couldn't be sent is replaced by the next.
"""

import os
import sys
import threading
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

from minikafka.course.clusters import reachable
from minikafka.course.connect import Connection

TOPIC = "minikafka-class"
BROKER, NAME = "MINIKAFKA_CLASS", "MINIKAFKA_NAME"

_DELIVER_WITHIN_MS = 10_000
# less, so that a producer that was given up doesn't go on with an old record
_PRODUCER_GIVES_UP_MS = 8_000
_TRY_AGAIN_S = 5.0

# key -> the latest record of it that the broker hasn't acknowledged
Waiting = dict[str, dict[str, Any]]
_Messages = SimpleQueue[tuple[str, dict[str, Any]]]


def joined() -> bool:
    """Whether this kernel is in a class."""
    return all(os.environ.get(each, "").strip() for each in (BROKER, NAME))


def tell(learner: str, lesson: str, done: dict[str, Any]) -> None:
    """Say what this learner has done in a lesson, if he or she is in a class. Returns at
    once: a lesson never waits for its class.

    learner: differs between two learners with one name.
    """
    broker, name = os.environ.get(BROKER, "").strip(), os.environ.get(NAME, "").strip()
    if broker and name:
        _say_once(
            f"minikafka: you are in a class as {name}. Your teacher sees which lesson"
            " you are in, what you predicted, and which exercises you have tried."
            f' lesson("{lesson}").raise_hand("your question") calls for help (first:'
            " from minikafka import lesson)."
        )
        _messenger(broker).put((f"{name}/{learner}/{lesson}", done))
    elif broker:
        _say_once(
            f"minikafka: {BROKER} is set and {NAME} isn't, so your class can't see"
            " how far you are."
        )


@cache
def _messenger(broker: str) -> _Messages:
    messages: _Messages = SimpleQueue()
    threading.Thread(
        target=_carry, args=(broker, messages), name="class", daemon=True
    ).start()
    return messages


def _carry(broker: str, messages: _Messages) -> None:
    """Send messages as they come. What a broker that is away didn't get is sent when it
    is back, by a new producer: one that has lost its data may give the old one's
    producer id to somebody else.
    """
    waiting: Waiting = {}
    while True:
        key, done = messages.get()
        waiting[key] = done
        while waiting:
            try:
                _deliver(broker, waiting, messages)
            except _refusals() as error:
                why = str(error) or type(error).__name__
                _say_once(
                    f"minikafka: your class's broker {broker} doesn't answer ({why})."
                    " The lesson goes on, and your teacher hears of you when it is"
                    " back."
                )
                _collect(messages, waiting, _TRY_AGAIN_S)


def _refusals() -> tuple[type[Exception], ...]:
    from kafka.errors import KafkaError

    return KafkaError, OSError, ValueError


def _deliver(broker: str, waiting: Waiting, messages: _Messages) -> None:
    """Sends what waits and what comes, for as long as the broker takes it."""
    reachable.connected(broker.split(",")[0]).close()  # a client would try for a minute
    producer = Connection(broker).producer(
        bootstrap_timeout_ms=_DELIVER_WITHIN_MS,
        max_block_ms=_DELIVER_WITHIN_MS,
        request_timeout_ms=_PRODUCER_GIVES_UP_MS - 1_000,
        delivery_timeout_ms=_PRODUCER_GIVES_UP_MS,
    )
    try:
        while True:
            for key in list(waiting):
                producer.send(TOPIC, key=key, value=waiting[key]).get(
                    timeout=_DELIVER_WITHIN_MS / 1000
                )
                del waiting[key]
            _collect(messages, waiting, None)
    finally:
        producer.close(timeout=0)


def _collect(messages: _Messages, waiting: Waiting, timeout_s: float | None) -> None:
    """Wait for one more message, for ever without a timeout."""
    try:
        key, done = messages.get(timeout=timeout_s)
    except Empty:
        return
    waiting[key] = done


@cache
def _say_once(sentence: str) -> None:
    print(sentence, file=sys.stderr)
