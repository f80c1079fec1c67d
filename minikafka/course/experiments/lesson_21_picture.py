"""The picture at the top of lesson 21: what writes into three topics, and what reads
from them, when one side changes or is killed.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

# who writes, its topic, who reads
ROWS = (
    ("shop, version 2", "orders", "billing, version 1"),
    ("source: a file's lines", "lines", "sink: a table's rows"),
    ("texts, by anybody", "words", "a program that counts"),
)

_TOP, _ROW = 20, 66  # of the first row; from row to row
_HEIGHT, _WRITER, _TOPIC = 38, 220, 190
_TOPIC_LEFT, _READER_LEFT = 345, 660


def around_three_topics() -> str:
    """SVG: three topics with a program on each side. What happens to those on the right
    is the lesson's to say.
    """
    body = Drawing(WIDE)
    for place, (writer, topic, reader) in enumerate(ROWS):
        row = body.part(f"row/{topic}", 0, _TOP + place * _ROW)
        row.rect("writer", 0, 0, _WRITER, _HEIGHT, "paper", "rule", r=18)
        row.text("writer/name", 18, 24, writer, size=13)
        row.arrow("writes", _WRITER + 10, 19, _TOPIC_LEFT - 10, 19)
        row.rect("topic", _TOPIC_LEFT, 0, _TOPIC, _HEIGHT, "cell", "rule", r=4)
        row.text("topic/name", _TOPIC_LEFT + 14, 24, topic, mono=True, size=13)
        row.arrow("reads", _TOPIC_LEFT + _TOPIC + 10, 19, _READER_LEFT - 10, 19)
        row.rect("reader", _READER_LEFT, 0, _WRITER, _HEIGHT, "paper", "rule", r=18)
        row.text("reader/name", _READER_LEFT + 18, 24, reader, size=13)
    said = (
        "The programs on the left may change or be killed at any time. What do those on"
        " the right see?"
    )
    return svg(
        body,
        title="three topics, six programs",
        scenario="brokers store bytes",
        sentence=said,
        corner="who knows what they mean?",
        time="any moment",
        alt=f"{said} A shop and billing, a source and a sink, texts and counts.",
    )
