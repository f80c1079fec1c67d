"""The picture at the top of lesson 11: five brokers, the metadata log on each, and the
one that died had the say.
"""

from typing import NamedTuple

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg


class Broker(NamedTuple):
    """role: the words beside its name. end: how much of the log it has."""

    number: int
    role: str
    end: int


LOG = ("topic orders", "broker 4 leads", "topic payments")
# as far as anybody knows, the last record is not committed
COMMITTED = 2
BROKERS = (
    Broker(1, "the controller", 3),
    Broker(2, "voter", 3),
    Broker(3, "voter", 2),
    Broker(4, "leads orders", 2),
    Broker(5, "follows orders", 2),
)
DEAD = 1

_TOP, _ROW = 14, 44  # of the first broker; from broker to broker
_NAMES, _ROLES = 0, 76  # where they begin
_RECORDS, _PITCH = 250, 168  # where they begin; from record to record
_WIDTH, _HEIGHT = 158, 32  # of a record
_SMALL_ROW, _SMALL_PITCH, _UNDER = 72, 120, 28  # on a phone


def the_controller_is_dead(width: int = WIDE) -> str:
    """SVG: how much of the metadata log each broker has. The lesson says what goes on,
    and who decides next.
    """
    body = Drawing(width)
    for place, broker in enumerate(BROKERS):
        y = place * _SMALL_ROW if body.phone else _TOP + place * _ROW
        row = body.part(str(broker.number), 0, y)
        _names(row, broker)
        for offset in range(broker.end):
            if body.phone:  # below the names
                x = offset * _SMALL_PITCH
                _record(row, offset, x, _UNDER, _SMALL_PITCH - 6)
            else:
                _record(row, offset, _RECORDS + offset * _PITCH, 0, _WIDTH)
    said = (
        "The controller decided something, and died. Who decides next, what is"
        " committed, and what goes on meanwhile?"
    )
    alt = (
        f"{said} Brokers 1 and 2 have three records of the metadata log, brokers 3,"
        " 4 and 5 have two."
    )
    return svg(
        body,
        title="the metadata log, on five brokers",
        scenario="three of them are voters",
        sentence=said,
        corner="majority 2",
        time="a moment after",
        alt=alt,
    )


def _names(row: Drawing, broker: Broker) -> None:
    name = f"broker {broker.number}"
    if broker.number == DEAD:
        role = f"{broker.role}; dead"
        name_ink, role_ink = "quiet", "trouble"
    else:
        role = broker.role
        name_ink, role_ink = "ink", "quiet"
    row.text("name", _NAMES, 20, name, name_ink, bold=True)
    row.text("role", _ROLES, 20, role, role_ink, size=12)


def _record(row: Drawing, offset: int, x: float, y: float, width: float) -> None:
    key = f"record/{offset}"
    fill = "cell" if offset < COMMITTED else "paper"
    row.rect(key, x, y, width, _HEIGHT, fill, "rule", r=4)
    row.text(
        f"{key}/words",
        x + (6 if row.phone else 12),
        y + 21,
        LOG[offset],
        mono=True,
        size=12,
    )
