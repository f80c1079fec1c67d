"""The picture at the top of lesson 10: one log three times, a broker that is cut off,
and two records at one offset.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# broker -> what stands beside its name, and (leader epoch, value) of its records; the
# first is cut off
LOGS = {
    2: ("cut off; led in epoch 0", [(0, "created"), (0, "lonely order")]),
    1: ("leads in epoch 1", [(0, "created"), (1, "paid")]),
    3: ("follows broker 1", [(0, "created"), (1, "paid")]),
}
_TOP, _ROW, _NAME, _CELL, _GAP = 16, 68, 280, 210, 12


def two_leaders() -> str:
    """SVG: what each replica has. Which of the two records stays is the lesson's to
    say.
    """
    body = Drawing(WIDE)
    for place, (broker, (role, log)) in enumerate(LOGS.items()):
        y = _TOP + place * _ROW
        body.text(f"name/{broker}", 0, y + 22, f"broker {broker}", "ink", bold=True)
        body.text(f"role/{broker}", 0, y + 42, role, "quiet", size=12)
        for offset, (epoch, value) in enumerate(log):
            _record(
                body,
                f"record/{broker}/{offset}",
                _NAME + offset * (_CELL + _GAP),
                y,
                epoch,
                value,
            )
    said = (
        "The network is back. Two records have offset 1. Which one stays, and how does"
        " a replica know?"
    )
    return svg(
        body,
        title="orders: one partition, three replicas",
        scenario="broker 2 was cut off for a while",
        sentence=said,
        corner="epoch 1",
        time="a moment after",
        alt=(
            f"{said} Broker 2, which led in epoch 0, has created and lonely order."
            " Brokers 1 and 3 have created, and paid of epoch 1."
        ),
    )


def _record(
    body: Drawing, key: str, x: float, y: float, epoch: int, value: str
) -> None:
    body.rect(
        key,
        x,
        y,
        _CELL,
        52,
        "cell" if epoch == 0 else "wash",
        "ink" if epoch else "rule",
        r=4,
    )
    body.text(f"{key}/value", x + 12, y + 23, value, "ink", mono=True, size=12)
    body.text(f"{key}/epoch", x + 12, y + 42, f"epoch {epoch}", "quiet", size=12)
