"""The picture at the top of lesson 23: the first frame that a real client sends, and
the minimal Kafka's answer to it, byte by byte.
"""

import runpy
import tempfile
from pathlib import Path

from minikafka.course.experiments.frame_fields import (
    Part,
    request_apart,
    response_apart,
)
from minikafka.course.experiments.lesson_23_kafka import MINIMAL_KAFKA
from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg
from minikafka.wire.messages import API

# What kafka-python 3.0.12 sends when it has connected, without the size in front.
# tests/course/test_lesson_23_kafka.py has it send that again.
RECORDED = bytes.fromhex(
    "00120004000000010004" + b"shop".hex() + "000d" + b"kafka-python".hex() + "07"
    "332e302e313200"
)
# field -> what it is called here; the others are only bytes
NAMES = {
    "ApiKey": "API",
    "ApiVersion": "version",
    "CorrelationId": "correlation id",
    "ClientId": "client id",
    "ClientSoftwareName": "software",
    "ClientSoftwareVersion": "its version",
    "ErrorCode": "error",
    "ApiKeys": "APIs",
}

_ASKED = 34  # from above: of the bytes of the request
_BYTE, _HEIGHT = 25.25, 28  # of a byte's cell
_FIELDS = 82  # from one row of fields to the next
_BETWEEN = 122  # from the last row of the request to the answer
_API, _TALL = 132, 66  # the room and the height of an API
_SMALL_API = 181  # on a phone


def answered(frame: bytes) -> bytes:
    """What the minimal Kafka says to a frame, in an empty folder. It must be one whose
    answer waits for nothing.
    """
    broker = runpy.run_path(str(MINIMAL_KAFKA))["Broker"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            broker(Path(folder)).answer(frame).send(None)
        except StopIteration as ended:
            answer: bytes = ended.value
            return answer
    raise AssertionError("the answer waits for something")


def who_wants_to_come_in(width: int = WIDE) -> str:
    """SVG: the client's question and the broker's answer. The lesson says what the
    client makes of it.
    """
    answer = answered(RECORDED)
    asked = request_apart(RECORDED).parts
    found = response_apart(answer, "ApiVersions", 0).parts
    head = [part for part in found if part.depth == 0]
    listed = [part for part in found if part.depth > 0]
    body = Drawing(width)
    _who(body, "client", 12, "K", 0, "kafka-python asks")
    last = _frame(body.part("asked", 0, _ASKED), RECORDED, asked, "actor1")
    y = _ASKED + last + _BETWEEN
    _who(body, "broker", y - 22, "M", 1, "the minimal Kafka answers")
    last = _frame(body.part("answered", 0, y), answer, head, "actor2")
    y += last + _FIELDS
    served = [listed[at : at + 3] for at in range(0, len(listed), 3)]
    pitch = _SMALL_API if body.phone else _API
    for place, (key, low, high) in enumerate(served):
        row, column = divmod(place, (width + 8) // pitch)
        api = body.part(f"api/{key.value}", column * pitch, y + row * (_TALL + 8))
        _api(api, pitch - 8, answer[key.first : high.end], key, low, high)
    said = (
        "A real client has connected. What must one file say to it, until it can write"
        " and read?"
    )
    alt = (
        f"{said} kafka-python asks for ApiVersions in version 4, {len(RECORDED)} bytes;"
        f" the answer has error 35 and {len(served)} APIs."
    )
    return svg(
        body,
        title="A Kafka in one file",
        scenario="the first request, and its answer",
        sentence=said,
        corner=f"{len(RECORDED)} and {len(answer)} bytes",
        time="frame 1",
        alt=alt,
    )


def _who(
    body: Drawing, key: str, y: float, letter: str, actor: int, words: str
) -> None:
    body.disc(key, 11, y, 10, letter, actor, 12)
    body.text(f"{key}/words", 28, y + 5, words, bold=True, size=14)


def _frame(rows: Drawing, data: bytes, parts: list[Part], ink: str) -> int:
    """The bytes of some fields, and what the fields say, in as many rows as they need;
    returns where the last one begins.
    """
    x, y = 0.0, 0
    for part in parts:
        width = (part.end - part.first) * _BYTE
        if x + width > rows.width:
            x, y = 0, y + _FIELDS
        field = rows.part(f"field/{part.first}", x, y)
        _field(field, data[part.first : part.end], part, ink)
        x += width
    return y


def _field(field: Drawing, data: bytes, part: Part, ink: str) -> None:
    is_named = part.name in NAMES
    look = "wash" if is_named else "paper"
    for at, byte in enumerate(data):
        key, x = f"byte/{at}", at * _BYTE
        field.rect(key, x, 0, _BYTE, _HEIGHT, look, "rule")
        middle, hexed = x + _BYTE / 2, f"{byte:02x}"
        field.text(f"{key}/hex", middle, 19, hexed, mono=True, size=13, anchor="middle")
    line = ink if is_named else "rule"
    width = len(data) * _BYTE
    field.rect("box", 0, 0, width, _HEIGHT, "none", line, r=3, width=1.5)
    if is_named:
        value = part.value.strip("“”").split()[0]
        field.note("name", 2, 45, NAMES[part.name], size=12)
        field.text("value", 2, 63, value, bold=True, size=14)


def _api(
    box: Drawing, width: float, data: bytes, key: Part, low: Part, high: Part
) -> None:
    """One API of the list: its name, its versions, and the six bytes that say so."""
    number = int(key.value)
    [name] = [each for each, api in API.items() if api.key == number]
    versions = f"version {low.value}"
    if low.value != high.value:
        versions = f"versions {low.value} to {high.value}"
    hexed = data.hex(" ", 2)
    box.rect("box", 0, 0, width, _TALL, "wash", "rule", r=5)
    box.text("name", 9, 19, name, bold=True, size=12)
    box.text("hex", 9, 36, hexed, "quiet", mono=True, size=12)
    box.text("versions", 9, 55, versions, size=12)
