"""The course's solutions, and verdicts of a kernel that has just started."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.partitioners import murmur2
from minikafka.clients.structs import OffsetAndMetadata
from minikafka.course import lessons
from minikafka.course.experiments.lesson_08_runs import crc32c
from minikafka.course.experiments.lesson_12_runs import Record
from minikafka.course.experiments.lesson_13_runs import TillBusy, behind, go_back
from minikafka.course.judging import checks
from minikafka.course.kafka_source import DataLoss
from minikafka.faults import Crash, Cut, Freeze, Lose

# what the editions' cells have imported before
IMPORTED = {
    **{"Crash": Crash, "Cut": Cut, "Freeze": Freeze, "Lose": Lose},
    "DataLoss": DataLoss,
    "KafkaTimeoutError": KafkaTimeoutError,
    "OffsetAndMetadata": OffsetAndMetadata,
    "Record": Record,
    "TillBusy": TillBusy,
    **{"base64": base64, "hashlib": hashlib, "hmac": hmac},
    "behind": behind,
    "crc32c": crc32c,
    "go_back": go_back,
    "json": json,
    "murmur2": murmur2,
}


def exercise_of(lesson, number):
    """The exercise, as the check knows it."""
    return lessons.lesson(lesson)._exercise(number)


def solution(lesson, exercise):
    """What the solution hands in."""
    names = dict(IMPORTED)
    exec(lessons.solutions(lesson)[str(exercise)], names)
    return names[exercise_of(lesson, exercise).name]


def endless(*given, **named):
    """An answer to any exercise that never comes back."""
    while True:
        pass


def verdict(lesson, exercise, answer):
    """The verdict without any history of attempts. Of what never ends a moment is as
    long as the seconds that a learner's answer gets.
    """
    asked = exercise_of(lesson, exercise)
    if answer is endless:
        asked = replace(asked, call_seconds=0.1)
    return checks.examine(asked, answer, seed=f"{lesson}/{exercise}")


def hears(lesson, exercise, answer, words):
    """It is wrong, and its verdict has these words."""
    found = verdict(lesson, exercise, answer)
    assert not found.right and words in str(found), found
