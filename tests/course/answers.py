"""The course's solutions, and verdicts of a kernel that has just started."""

from minikafka.clients.partitioners import murmur2
from minikafka.clients.structs import OffsetAndMetadata
from minikafka.course import lessons
from minikafka.course.experiments.lesson_08_runs import crc32c
from minikafka.course.experiments.lesson_12_runs import Record
from minikafka.course.experiments.lesson_13_runs import TillBusy
from minikafka.course.judging import checks
from minikafka.faults import Crash, Freeze


def solution(lesson, exercise, name):
    """The solution's object of this name."""
    names = {"murmur2": murmur2, "Crash": Crash, "Freeze": Freeze}
    names |= {"OffsetAndMetadata": OffsetAndMetadata, "TillBusy": TillBusy}
    names["crc32c"] = crc32c
    names |= {"Record": Record}
    exec(lessons.solutions(lesson)[str(exercise)], names)
    return names[name]


def verdict(lesson, exercise, answer):
    """The verdict without any history of attempts."""
    return checks.examine(
        lessons.lesson(lesson)._exercise(exercise), answer, seed=f"{lesson}/{exercise}"
    )
