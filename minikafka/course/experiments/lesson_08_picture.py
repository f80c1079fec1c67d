"""The picture at the top of lesson 08: a compacted topic before the cleaner comes."""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# the customers who move, a segment a line; the last segment is active
SEGMENTS = (
    ("alice", "bob", "carol"),
    ("alice", "bob", "alice"),
    ("carol", "alice", "dora"),
    ("bob", "alice", "carol"),
)

_LEFT, _TOP = 16, 44  # of the first record
_ROW = 84  # on a phone, from one row of segments to the next
_PITCH, _GAP = 58, 14  # from record to record, and between segments
_WIDTH, _HEIGHT = 50, 46  # of a record


def who_moves(width: int = WIDE) -> str:
    """SVG: twelve records of four customers in four segments. Which of them go, and
    when, is the lesson's to say.
    """
    body = Drawing(width)
    in_a_row, left = (2, 0) if body.phone else (len(SEGMENTS), _LEFT)
    offset = 0
    for place, customers in enumerate(SEGMENTS):
        row, column = divmod(place, in_a_row)
        x = left + column * (len(customers) * _PITCH + _GAP)
        y = _TOP + row * _ROW
        is_active = customers == SEGMENTS[-1]
        name = "active segment" if is_active else f"segment {offset}"
        body.text(name, x, y - 14, name, bold=True, size=12)
        for customer in customers:
            _draw_record(body.part(str(offset), x, y), offset, customer)
            offset += 1
            x += _PITCH
    said = "The last record for each customer stays. Which of the others go, and when?"
    return svg(
        body,
        title="addresses: a compacted topic",
        scenario="key: customer, value: address",
        sentence=said,
        corner="cleanup.policy compact",
        time="as written",
        alt=f"{said} Twelve records in four segments.",
    )


def _draw_record(record: Drawing, offset: int, customer: str) -> None:
    record.rect("box", 0, 0, _WIDTH, _HEIGHT, "cell", "rule", r=4)
    record.text("offset", 7, 18, str(offset), mono=True, size=12)
    record.text("key", 7, 36, customer, size=12)
