"""The picture at the top of lesson 16: three brokers, three copies of each partition,
and one broker has stopped.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

BROKERS = (1, 2, 3)
STOPPED = 3
# partition -> the broker that leads it while all are there
PREFERRED = {0: 1, 1: 2, 2: 3}

_BOX, _GAP, _TOP = 280, 40, 16
_ROW, _CELL = 44, 32


def three_brokers() -> str:
    """SVG: who has a copy, who led what. Who leads partition 2 now is the lesson's to
    say.
    """
    body = Drawing(WIDE)
    for place, broker in enumerate(BROKERS):
        _broker(body, broker, place * (_BOX + _GAP))
    said = (
        "Broker 3 has stopped. What can still be read and written, and who can say so?"
    )
    return svg(
        body,
        title="orders: three partitions, three copies of each",
        scenario="three brokers, each led one partition",
        sentence=said,
        corner="min.insync.replicas 2",
        time="broker 3 stopped",
        alt=(
            f"{said} Brokers 1 and 2 are there, and hold copies of all three"
            " partitions."
        ),
    )


def _broker(body: Drawing, broker: int, x: float) -> None:
    stopped = broker == STOPPED
    key = f"broker/{broker}"
    dashed = {"dash": "6 5"} if stopped else {}
    body.rect(
        key,
        x,
        _TOP,
        _BOX,
        188,
        "paper" if stopped else "wash",
        "gone" if stopped else "rule",
        r=8,
        **dashed,
    )
    body.text(
        f"{key}/name",
        x + 16,
        _TOP + 28,
        f"broker {broker}",
        "gone" if stopped else "ink",
        bold=True,
    )
    if stopped:
        body.text(
            f"{key}/state", x + _BOX - 16, _TOP + 28, "stopped", "gone", anchor="end"
        )
    for partition, leader in PREFERRED.items():
        _copy(
            body,
            f"{key}/{partition}",
            x + 16,
            _TOP + 46 + partition * _ROW,
            partition,
            leader == broker,
            stopped,
        )


def _copy(
    body: Drawing,
    key: str,
    x: float,
    y: float,
    partition: int,
    leads: bool,
    stopped: bool,
) -> None:
    ink = "gone" if stopped else "ink"
    fill, line = ("paper", "gone") if stopped else ("cell", "ink" if leads else "rule")
    body.rect(key, x, y, _BOX - 32, _CELL, fill, line, r=4)
    body.text(
        f"{key}/name", x + 12, y + 21, f"orders-{partition}", ink, mono=True, size=12
    )
    said = ("led" if stopped else "leader") if leads else "copy"
    body.text(
        f"{key}/role",
        x + _BOX - 44,
        y + 21,
        said,
        ink if leads else "quiet",
        size=12,
        anchor="end",
    )
