"""The picture at the top of lesson 10: one log three times, a broker that is cut off,
and two records at one offset.
"""

from typing import NamedTuple

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg


class Record(NamedTuple):
    """leader_epoch: of the leader that has written it."""

    leader_epoch: int
    value: str


CREATED = Record(0, "created")
LONELY = Record(0, "lonely order")
PAID = Record(1, "paid")

# each broker's records, and the words beside its name; the first is cut off
LOGS = {2: (CREATED, LONELY), 1: (CREATED, PAID), 3: (CREATED, PAID)}
ROLES = {
    2: "cut off; led in epoch 0",
    1: "leads in epoch 1",
    3: "follows broker 1",
}

_TOP, _ROW = 16, 68  # of the first broker; from broker to broker
_NAMES, _PITCH = 280, 222  # room for names; from record to record
_WIDTH, _HEIGHT = 210, 52  # of a record


def two_leaders() -> str:
    """SVG: what each replica has. Which of the two records stays is the lesson's to
    say.
    """
    body = Drawing(WIDE)
    for place, broker in enumerate(LOGS):
        _replica(body, broker, _TOP + place * _ROW)
    said = (
        "The network is back. Two records have offset 1. Which one stays, and how does"
        " a replica know?"
    )
    alt = (
        f"{said} Broker 2, which led in epoch 0, has created and lonely order."
        " Brokers 1 and 3 have created, and paid of epoch 1."
    )
    return svg(
        body,
        title="orders: one partition, three replicas",
        scenario="broker 2 was cut off for a while",
        sentence=said,
        corner="epoch 1",
        time="a moment after",
        alt=alt,
    )


def _replica(body: Drawing, broker: int, y: float) -> None:
    """Draw a broker's name, its fate, and its log."""
    names = body.part(f"broker/{broker}", 0, y)
    names.text("name", 0, 22, f"broker {broker}", bold=True)
    names.note("role", 0, 42, ROLES[broker], size=12)
    for offset, record in enumerate(LOGS[broker]):
        key = f"record/{broker}/{offset}"
        _record(body.part(key, _NAMES + offset * _PITCH, y), record)


def _record(cell: Drawing, record: Record) -> None:
    epoch = record.leader_epoch
    fill, line = ("wash", "ink") if epoch else ("cell", "rule")
    cell.rect("box", 0, 0, _WIDTH, _HEIGHT, fill, line, r=4)
    cell.text("value", 12, 23, record.value, mono=True, size=12)
    cell.note("epoch", 12, 42, f"epoch {epoch}", size=12)
