"""A program's log: its own lines, and those of its Kafka client or its broker."""

from collections.abc import Iterable
from typing import NamedTuple

from minikafka.course.on_call.apps import App
from minikafka.trace import Event, printable

LINES = 15  # that are shown, unless told otherwise
WIDEST = 200  # characters of a broker's line
CLIENT_KINDS = {
    "CommitFailed",
    "MemberStateChanged",
    "PollOverdue",
    "PositionReset",
    "SendFailed",
}


class Line(NamedTuple):
    """times: how often it came in a row, up to this time."""

    at_ms: int
    words: str
    times: int = 1


def of_broker(events: Iterable[Event], broker: int) -> list[Line]:
    """The lines that a broker has logged."""
    found = []
    for event in events:
        if event.node == f"broker {broker}":
            words = printable(_without_node(event), WIDEST)
            found.append(Line(event.at, f"kafka-{broker} {words}"))
    return found


def of_pods(events: Iterable[Event], app: App) -> list[Line]:
    """The lines that all pods of a deployment have logged, in all their lives."""
    found = [Line(*line) for line in app.log]
    for event in events:
        is_mine = event.node.startswith(f"{app.name}-")
        if is_mine and event.kind in CLIENT_KINDS:
            found.append(Line(event.at, f"{event.node} {_without_node(event)}"))
    return found


def clock(at_ms: int) -> str:
    """A time of the night, as logs have it."""
    minutes, seconds = divmod(at_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"


def _without_node(event: Event) -> str:
    """Its sentence, without the time and the node before it."""
    _, _, words = str(event).partition(f"{event.node}: ")
    return words


def shown(lines: list[Line], most: int = LINES, since_ms: int = 0) -> str:
    """The newest lines. Repeats in a row are one line, with their count. since_ms:
    leave out older lines.
    """
    texts = []
    newer = [line for line in lines if line.at_ms >= since_ms]
    counted = _counted(newer)
    for line in counted[-most:] if most else []:
        text = f"{clock(line.at_ms)} {line.words}"
        if line.times > 1:
            text += f" ({line.times} times since)"
        texts.append(text)
    return "\n".join(texts)


def _counted(lines: list[Line]) -> list[Line]:
    """Lines in order of time, with repeats in a row counted as one."""
    told: list[Line] = []
    for line in sorted(lines, key=lambda line: line.at_ms):
        times = 1
        if told and told[-1].words == line.words:
            times += told.pop().times
        told.append(line._replace(times=times))
    return told
