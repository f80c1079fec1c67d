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

_ASKED, _ANSWERED = 34, 156  # from above: of the bytes of the request, of the answer
_BYTE, _HEIGHT = 25.5, 28  # of a byte's cell
_COLUMNS, _API, _TALL = 7, 132, 66  # APIs in a row; the room and the height of one
_LISTED = _ANSWERED + 82


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


def who_wants_to_come_in() -> str:
    """SVG: the client's question and the broker's answer. The lesson says what the
    client makes of it.
    """
    answer = answered(RECORDED)
    asked = request_apart(RECORDED).parts
    found = response_apart(answer, "ApiVersions", 0).parts
    head = [part for part in found if part.depth == 0]
    listed = [part for part in found if part.depth > 0]
    body = Drawing(WIDE)
    _who(body, "client", 12, "K", 0, "kafka-python asks")
    _frame(body.part("asked", 0, _ASKED), RECORDED, asked, "actor1")
    _who(body, "broker", _ANSWERED - 22, "M", 1, "the minimal Kafka answers")
    _frame(body.part("answered", 0, _ANSWERED), answer, head, "actor2")
    served = [listed[at : at + 3] for at in range(0, len(listed), 3)]
    for place, (key, low, high) in enumerate(served):
        row, column = divmod(place, _COLUMNS)
        api = body.part(f"api/{key.value}", column * _API, _LISTED + row * (_TALL + 8))
        _api(api, answer[key.first : high.end], key, low, high)
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


def _frame(row: Drawing, data: bytes, parts: list[Part], ink: str) -> None:
    """The bytes of some fields, and what the fields say."""
    for part in parts:
        left = part.first * _BYTE
        width = (part.end - part.first) * _BYTE
        is_named = part.name in NAMES
        line = ink if is_named else "rule"
        for at in range(part.first, part.end):
            x = at * _BYTE
            look = "wash" if is_named else "paper"
            row.rect(f"byte/{at}", x, 0, _BYTE, _HEIGHT, look, "rule")
            middle = x + _BYTE / 2
            hexed = f"{data[at]:02x}"
            row.text(
                f"byte/{at}/hex", middle, 19, hexed, mono=True, size=13, anchor="middle"
            )
        key = f"field/{part.first}"
        row.rect(key, left, 0, width, _HEIGHT, "none", line, r=3, width=1.5)
        if is_named:
            value = part.value.strip("“”").split()[0]
            row.note(f"{key}/name", left + 2, 45, NAMES[part.name], size=12)
            row.text(f"{key}/value", left + 2, 63, value, bold=True, size=14)


def _api(box: Drawing, data: bytes, key: Part, low: Part, high: Part) -> None:
    """One API of the list: its name, its versions, and the six bytes that say so."""
    number = int(key.value)
    [name] = [each for each, api in API.items() if api.key == number]
    versions = f"version {low.value}"
    if low.value != high.value:
        versions = f"versions {low.value} to {high.value}"
    hexed = data.hex(" ", 2)
    box.rect("box", 0, 0, _API - 8, _TALL, "wash", "rule", r=5)
    box.text("name", 9, 19, name, bold=True, size=12)
    box.text("hex", 9, 36, hexed, "quiet", mono=True, size=12)
    box.text("versions", 9, 55, versions, size=12)
