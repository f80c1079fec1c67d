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
    key = f"broker/{broker}"
    left, right = x + 16, x + _BOX - 16
    line = _TOP + 28
    name = f"broker {broker}"
    if broker == STOPPED:
        body.rect(key, x, _TOP, _BOX, 188, "paper", "gone", r=8, dash="6 5")
        body.text(f"{key}/name", left, line, name, "gone", bold=True)
        body.text(f"{key}/state", right, line, "stopped", "gone", anchor="end")
    else:
        body.rect(key, x, _TOP, _BOX, 188, "wash", "rule", r=8)
        body.text(f"{key}/name", left, line, name, "ink", bold=True)
    for partition in PREFERRED:
        _copy(body, broker, partition, left, _TOP + 46 + partition * _ROW)


def _copy(body: Drawing, broker: int, partition: int, x: float, y: float) -> None:
    key = f"broker/{broker}/{partition}"
    leads = PREFERRED[partition] == broker
    if broker == STOPPED:
        fill, line, ink, role = "paper", "gone", "gone", "led"
    else:
        fill, line, ink, role = "cell", "rule", "ink", "leader"
        if leads:
            line = "ink"
    body.rect(key, x, y, _BOX - 32, _CELL, fill, line, r=4)
    name = f"orders-{partition}"
    body.text(f"{key}/name", x + 12, y + 21, name, ink, mono=True, size=12)
    said, role_ink = (role, ink) if leads else ("copy", "quiet")
    right = x + _BOX - 44
    body.text(f"{key}/role", right, y + 21, said, role_ink, size=12, anchor="end")
