"""The picture at the top of lesson 14: a program writes to two places inside Kafka, and
to one outside.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

INSIDE = ("topic receipts", "offset of orders")
OUTSIDE = "database: + 20 cents"

_TOP, _ROW = 20, 52  # of the first write; from write to write
_LEFT = 330  # where writes begin
_WIDTH, _HEIGHT = 210, 34  # of a write
_APART = 8  # how much lower the write outside is


def one_place_outside(width: int = WIDE) -> str:
    """SVG: which of three writes are in the transaction. The lesson says what happens
    to the third.
    """
    body = Drawing(width)
    # on a phone the writes are below the program
    left, top = (20, _TOP + 48) if body.phone else (_LEFT, _TOP)
    _transaction(body.part("transaction", left, top))
    _program(body.part("program", 0, 0 if body.phone else _TOP + _ROW))
    y = top
    for words in INSIDE:
        _write(body.part(f"write/{words}", left, y), words)
        y += _ROW
    _write(body.part(f"write/{OUTSIDE}", left, y + _APART), OUTSIDE)
    said = (
        "The program may be killed between any two steps. What is where after"
        " its restart?"
    )
    alt = (
        "The program billing reads an order and writes three times: two writes are"
        " in a transaction, one is not."
    )
    return svg(
        body,
        title="one order, three writes",
        scenario="two of them in Kafka",
        sentence=said,
        corner="killed when?",
        time="any moment",
        alt=alt,
    )


def _transaction(box: Drawing) -> None:
    """The box around the writes that are in it."""
    width = min(_WIDTH + 150, box.width)
    height = len(INSIDE) * _ROW + 4
    box.rect("box", -20, -10, width, height, "paper", "rule", r=8)
    box.note("name", _WIDTH + 14, 50, "transaction", size=12)


def _program(program: Drawing) -> None:
    work = "reads an order, writes three times"
    program.text("name", 0, 20, "billing", bold=True)
    program.note("work", 0, 40, work, size=12)


def _write(write: Drawing, words: str) -> None:
    write.rect("box", 0, 0, _WIDTH, _HEIGHT, "cell", "rule", r=4)
    write.text("words", 12, 22, words, mono=True, size=12)
