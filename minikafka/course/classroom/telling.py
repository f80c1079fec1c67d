"""The learner's side of a class: what is done in a lesson goes to the class's broker.

Nobody is in a class unless MINIKAFKA_CLASS=host:port and MINIKAFKA_NAME are set where
JupyterLab is started. A record has all that is told of one learner and one lesson, so
only the latest one counts, and one that couldn't be sent is replaced by the next.
"""

import json
import os
import sys
import threading
import time
from functools import cache
from typing import Any, NamedTuple

from minikafka.course.classroom import topic

TOPIC = "minikafka-class"
BROKER, NAME = "MINIKAFKA_CLASS", "MINIKAFKA_NAME"

LONGEST_NAME = 64  # characters: an e-mail address as a login

_TRY_AGAIN_S = 5.0
_HEARD_WITHIN_S = 5.0  # more than an attempt takes at an address where nobody is


def broker() -> str:
    """host:port of the class's broker, or an empty text."""
    return _set(BROKER)


def name() -> str:
    """This learner's name in the class, or an empty string."""
    return _whole_name()[:LONGEST_NAME]


def cut() -> str:
    """A sentence for the learner whose name is too long, or an empty text."""
    if len(_whole_name()) <= LONGEST_NAME:
        return ""
    return f"{NAME} is cut after {LONGEST_NAME} characters: choose a shorter one."


def _whole_name() -> str:
    return _set(NAME)


def _set(variable: str) -> str:
    """Quotes around it stay there after Windows' `set`, and are no part of it."""
    return os.environ.get(variable, "").strip().strip('"').strip()


def joined() -> bool:
    """Whether this kernel is in a class."""
    return bool(broker() and name())


def tell(learner: str, lesson: str, done: dict[str, Any]) -> None:
    """Say what this learner has done in a lesson, if he or she is in a class. Returns at
    once: a lesson never waits for its class.

    learner: differs between two learners with one name.
    """
    if joined():
        say_once(
            f"minikafka: you are in a class as {name()}. Your teacher sees which lesson"
            " you are in, what you predict, which exercises you try, with rungs,"
            " wrong answers and hints, and the result of your exit ticket, but not your code. If you"
            f' have a question:  from minikafka import lesson; lesson("{lesson}")'
            '.raise_hand("your question")',
            about=name(),
        )
        if cut():
            say_once(f"minikafka: {cut()}")
        _messenger(broker()).put(f"{name()}/{learner}/{lesson}", done)
    elif broker():
        say_once(
            f"minikafka: {BROKER} is set and {NAME} isn't, so your class can't see"
            " how far you are."
        )


def heard() -> bool:
    """Whether the class's broker has all that this kernel has told. Waits a few
    seconds for it, if the broker is slow.
    """
    return _messenger(broker()).heard(_HEARD_WITHIN_S)


@cache
def _messenger(address: str) -> "_Messenger":
    return _Messenger(address)


class _Message(NamedTuple):
    """A report to the class, and its time."""

    done: dict[str, Any]
    at_ms: int


class _Messenger:
    """Sends what is told as it comes, in a thread of its own. What a broker that is away
    didn't get is sent when it is back.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        # key -> the latest message of it that the broker hasn't acknowledged
        self._waiting: dict[str, _Message] = {}
        self._refused = False  # the latest attempt failed, and nothing new has come
        self._changed = threading.Condition()
        threading.Thread(target=self._carry, name="class", daemon=True).start()

    def put(self, key: str, done: dict[str, Any]) -> None:
        with self._changed:
            self._waiting[key] = _Message(done, int(time.time() * 1000))
            self._refused = False
            self._changed.notify_all()

    def heard(self, within_s: float) -> bool:
        """Waits until everything is acknowledged, or an attempt has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._refused or not self._waiting, within_s)
            return not self._waiting

    def _carry(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                key, message = next(iter(self._waiting.items()))
            try:
                self._send(key, message)
            except OSError:
                say_once(
                    f"minikafka: your class's broker {self._address} doesn't answer."
                    " The lesson goes on, and when the broker is back, your teacher"
                    " sees what you have done."
                )
                with self._changed:
                    self._refused = True
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: not self._refused, _TRY_AGAIN_S)

    def _send(self, key: str, message: _Message) -> None:
        value = json.dumps(message.done).encode()
        topic.append(
            self._address, TOPIC, key.encode(errors="replace"), value, message.at_ms
        )
        with self._changed:
            if self._waiting[key] is message:  # nothing newer came meanwhile
                del self._waiting[key]
            self._changed.notify_all()


_said = set[str]()


def say_once(sentence: str, about: str = "") -> None:
    """Once in a kernel, beside what its cells print.

    about: of several sentences about the same thing only the first is said.
    """
    if (about or sentence) not in _said:
        _said.add(about or sentence)
        print(sentence, file=sys.stderr)
