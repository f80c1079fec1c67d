"""A program's log: its own lines, and those of its Kafka client or its broker."""

from typing import TYPE_CHECKING, NamedTuple

from minikafka.trace import Event, printable

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

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


def of_broker(world: "World", broker: int) -> list[Line]:
    """The lines that a broker has logged."""
    found = []
    for event in world.events:
        if event.node == f"broker {broker}":
            words = printable(_without_node(event), WIDEST)
            found.append(Line(event.at, f"kafka-{broker} {words}"))
    return found


def of_pods(world: "World", app: str) -> list[Line]:
    """The lines that all pods of a deployment have logged, in all their lives."""
    found = [Line(*line) for line in world.apps[app].log]
    for event in world.events:
        is_mine = event.node.startswith(f"{app}-")
        if is_mine and event.kind in CLIENT_KINDS:
            found.append(Line(event.at, f"{event.node} {_without_node(event)}"))
    return found


def _without_node(event: Event) -> str:
    """Its sentence, without the time and the node before it."""
    _, _, words = str(event).partition(f"{event.node}: ")
    return words


def shown(world: "World", lines: list[Line], most: int = LINES) -> str:
    """The newest, each once: how often it came is said."""
    texts = []
    for line in _counted(lines)[-most:]:
        text = f"{world.clock(line.at_ms)} {line.words}"
        if line.times > 1:
            text += f" ({line.times} times since)"
        texts.append(text)
    return "\n".join(texts)


def _counted(lines: list[Line]) -> list[Line]:
    """In order of time; the same line in a row is one."""
    told: list[Line] = []
    for line in sorted(lines, key=lambda line: line.at_ms):
        times = 1
        if told and told[-1].words == line.words:
            times += told.pop().times
        told.append(line._replace(times=times))
    return told
