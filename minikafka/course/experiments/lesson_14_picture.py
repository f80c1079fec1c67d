"""The picture at the top of lesson 14: a program writes to two places inside Kafka, and
to one outside.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

INSIDE = ("topic receipts", "offset of orders")
_TOP, _ROW, _LEFT, _WIDTH, _CELL = 20, 52, 330, 210, 34


def one_place_outside() -> str:
    """SVG: which of three writes are in the transaction. What becomes of the third is
    the lesson's to say.
    """
    body = Drawing(WIDE)
    body.rect(
        "kafka", _LEFT - 20, _TOP - 10, _WIDTH + 150, 2 * _ROW + 4, "paper", "rule", r=8
    )
    body.text(
        "kafka/name", _LEFT + _WIDTH + 14, _TOP + 50, "transaction", "quiet", size=12
    )
    body.text("program", 0, _TOP + _ROW + 20, "billing", "ink", bold=True)
    body.text(
        "program/work",
        0,
        _TOP + _ROW + 40,
        "reads an order, writes three times",
        "quiet",
        size=12,
    )
    for place, words in enumerate((*INSIDE, "database: + 20 cents")):
        y = _TOP + place * _ROW + (8 if place == len(INSIDE) else 0)
        body.rect(f"write/{place}", _LEFT, y, _WIDTH, _CELL, "cell", "rule", r=4)
        body.text(
            f"write/{place}/words", _LEFT + 12, y + 22, words, "ink", mono=True, size=12
        )
    return svg(
        body,
        title="one order, three writes",
        scenario="two of them in Kafka",
        sentence=(
            "The program may be killed between any two steps. What stands where when it"
            " has started again?"
        ),
        corner="killed when?",
        time="any moment",
        alt=(
            "The program billing reads an order and writes three times: two writes are"
            " in a transaction, one is not."
        ),
    )
