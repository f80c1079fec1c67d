"""The picture at the top of lesson 23: three real clients at the door of an empty
file.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

CLIENTS = ("kafka-python", "confluent-kafka", "Java's console")
STAGES = (
    "1  ApiVersions",
    "2  Metadata",
    "3  Produce",
    "4  Fetch",
    "5  after kill -9",
    "6  offsets",
    "7  groups",
)

_TOP, _BOTTOM = 16, 232
_CLIENT = 16  # left of the clients
_FILE, _FILE_WIDTH = 330, 190  # the file: its left side
_STAGES, _STAGE_WIDTH = 580, 170
_ROW = (_BOTTOM - _TOP) / len(STAGES)


def who_wants_to_come_in() -> str:
    """SVG: the clients, the file, and the stages, none of which is done."""
    body = Drawing(WIDE)
    middle = (_TOP + _BOTTOM) / 2
    body.rect("file", _FILE, _TOP, _FILE_WIDTH, _BOTTOM - _TOP, "cell", "rule", r=4)
    center = _FILE + _FILE_WIDTH / 2
    body.text("file/name", center, middle, "my_kafka.py", mono=True, anchor="middle")
    body.note("file/empty", center, middle + 22, "no answers yet", "middle", size=12)
    step = (_BOTTOM - _TOP) / len(CLIENTS)
    for number, client in enumerate(CLIENTS):
        y = _TOP + step * (number + 0.5)
        name = f"client/{number}"
        body.text(name, _CLIENT, y + 5, client, bold=True)
        body.arrow(f"{name}/way", _CLIENT + 150, y, _FILE - 8, y)
    for number, stage in enumerate(STAGES):
        y = _TOP + _ROW * number
        name = f"stage/{number}"
        body.rect(f"{name}/box", _STAGES, y + 8, 14, 14, "paper", "quiet", r=2)
        body.text(name, _STAGES + 24, y + 20, stage, size=13)
    said = "Three real clients want to come in. What does the file have to say to them?"
    return svg(
        body,
        title="A Kafka in one file",
        scenario="kafka-python, confluent-kafka and Java's console tools",
        sentence=said,
        corner="seven stages",
        time="none is done",
        alt=f"{said} Seven stages stand beside it, and none is ticked.",
    )
