"""Frames of lesson 12, as they were sent and with bytes that were changed."""

from functools import cache

from minikafka.course.experiments import lesson_12_frames
from minikafka.course.experiments.lesson_12_frames import Change


@cache
def frames():
    """By the beginning of their names: request, answer and batch."""
    return dict(
        zip(("request", "answer", "batch"), lesson_12_frames.frames(), strict=True)
    )


def changed(name, *changes):
    """The trace of one of them, with (byte, its new value) changed one after the
    other.
    """
    made = [Change(*each) for each in changes]
    return lesson_12_frames.trace(frames()[name], made)


def request():
    """A value, the client id's length, and back."""
    return changed("request", (119, 0x72), (9, 5), (9, 4))


def another_api():
    """The request is taken for one of another API."""
    return changed("request", (1, 3))


def answer():
    """An error that is none of the broker's."""
    return changed("answer", (25, 6))


def batch():
    """A frame with a changed varint in its record batch."""
    return changed("batch", (84, 0x14))
