"""The picture at the top of lesson 10: what the lesson's first run with two leaders has
left in their logs, and in the third replica's.
"""

from minikafka.course.experiments import lesson_10_runs
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg
from minikafka.theatre.text import listed

_TOP, _ROW = 16, 68  # of the first broker; from broker to broker
_NAMES, _PITCH = 280, 222  # room for names; from record to record
_WIDTH, _HEIGHT = 210, 52  # of a record
_SMALL_ROW, _SMALL_PITCH = 92, 181  # on a phone


def two_leaders(width: int = WIDE) -> str:
    """SVG: what each replica has. Which of the two records stays is the lesson's to
    say.
    """
    cluster, _ = lesson_10_runs.two_leaders()
    with cluster:
        partition = lesson_10_runs.partition_of(cluster)
        logs = {
            broker: lesson_10_runs.log_of(cluster, broker)
            for broker in partition.replicas
        }
    old, new = partition.replicas[0], partition.leader  # the preferred one led first

    body = Drawing(width)
    told = []
    for place, (broker, log) in enumerate(logs.items()):
        role = f"follows broker {new}"
        if broker == old:
            role = "cut off; led in epoch 0"
        elif broker == new:
            role = f"leads in epoch {partition.leader_epoch}"
        y = place * _SMALL_ROW if body.phone else _TOP + place * _ROW
        _replica(body, broker, role, log, y)
        told.append(f"Broker {broker}, {role}: {listed([value for _, value in log])}.")
    said = (
        "The network is back. Two records have offset 1. Which one stays, and how does"
        " a replica know?"
    )
    return svg(
        body,
        title="orders: one partition, three replicas",
        scenario=f"broker {old} was cut off for a while",
        sentence=said,
        corner=f"epoch {partition.leader_epoch}",
        time="a moment after",
        alt=f"{said} {' '.join(told)}",
    )


def _replica(
    body: Drawing, broker: int, role: str, log: lesson_10_runs.Log, y: float
) -> None:
    """Draw a broker's name, its fate, and its log."""
    names = body.part(f"broker/{broker}", 0, y)
    name = f"broker {broker}"
    left, pitch, width = _NAMES, _PITCH, _WIDTH
    if body.phone:  # the words stand above the log
        names.text("name", 0, 14, name, bold=True)
        names.note("role", 76, 14, role, size=12)
        left, pitch, width = 0, _SMALL_PITCH, _SMALL_PITCH - 8
        y += 22
    else:
        names.text("name", 0, 22, name, bold=True)
        names.note("role", 0, 42, role, size=12)
    for offset, (epoch, value) in enumerate(log):
        key = f"record/{broker}/{offset}"
        _record(body.part(key, left + offset * pitch, y), epoch, value, width)


def _record(cell: Drawing, epoch: int, value: str, width: float) -> None:
    fill, line = ("wash", "ink") if epoch else ("cell", "rule")
    cell.rect("box", 0, 0, width, _HEIGHT, fill, line, r=4)
    cell.text("value", 12, 23, value, mono=True, size=12)
    cell.note("epoch", 12, 42, f"epoch {epoch}", size=12)
