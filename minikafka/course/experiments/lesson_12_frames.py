"""Lesson 12's frames, to be looked at and changed byte by byte: a Produce request, its
answer and a record batch; and which side notices a change, the broker or the client.

The request goes to a broker of the simulation. What a client says about an answer, and
a consumer about a batch, is what their code checks, in the same order.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from minikafka.course.experiments import lesson_12_runs as runs
from minikafka.course.experiments.frame_fields import (
    Apart,
    batch_apart,
    error_name,
    request_apart,
    response_apart,
)
from minikafka.theatre import picture
from minikafka.theatre.picture import Picture
from minikafka.trace import Event
from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_response
from minikafka.wire.primitives import DecodeError
from minikafka.wire.records import crc_matches, read_header

NOBODY, BROKER, CLIENT = "nobody", "the broker", "the client"


class Verdict(NamedTuple):
    """by: who notices a change. message: how, or what happens where nobody does."""

    by: str
    message: str


class Frame(NamedTuple):
    """take_apart: returns its fields. judge: says who notices that these bytes aren't
    as sent. code: what passes the bytes on, for readers who want to do the same.
    """

    name: str
    data: bytes
    take_apart: Callable[[bytes], Apart]
    judge: Callable[[bytes], Verdict]
    code: str


class Change(NamedTuple):
    """One byte becomes another one."""

    at: int
    byte: int


# -- who notices


def judged_by_broker(frame: bytes) -> Verdict:
    """A broker of its own is asked, and its answer looked at."""
    client = runs.Client(runs.shop(), "shop")
    answer = client.ask(frame)
    apart = request_apart(frame)
    if answer is None and client.hung_up:
        why = apart.why or "it doesn't serve that"
        return Verdict(BROKER, f"The broker hangs up: {why}.")
    if answer is None:
        return Verdict(NOBODY, "With these acks the broker sends no answer.")
    header = {part.name: part.value for part in apart.parts[:3]}
    asked = f"{header['ApiKey']}, version {header['ApiVersion']}"
    if asked != f"0 Produce, version {runs.VERSION}":
        return Verdict(
            CLIENT,
            f"The broker takes this for API {asked}, and answers that, but the shop asked"
            " something else.",
        )
    return _judged_by_answer(answer, apart)


def _judged_by_answer(answer: bytes, apart: Apart) -> Verdict:
    correlation_id, body = decode_response("Produce", runs.VERSION, answer)
    topics = body.responses
    partitions = [each for topic in topics for each in topic.partition_responses]
    if not partitions:
        return Verdict(NOBODY, "The broker finds nothing to do, and reports no error.")
    code = partitions[0].error_code
    if code:
        said = partitions[0].error_message or apart.why or ""
        why = f": {said}".removesuffix(".") if said else ""
        return Verdict(BROKER, f"The broker refuses it, {error_name(code)}{why}.")
    if correlation_id != runs.CORRELATION_ID:
        return Verdict(
            CLIENT,
            "The broker stores the order, but the shop gets an answer to question"
            f" {correlation_id}, which it never asked.",
        )
    return Verdict(NOBODY, "The broker stores the order.")


def judged_by_producer(frame: bytes) -> Verdict:
    """What a producer that sent this request says about its answer."""
    try:
        correlation_id, body = decode_response("Produce", runs.VERSION, frame)
    except DecodeError as error:
        return Verdict(CLIENT, f"The shop can't read it: {error}.")
    if correlation_id != runs.CORRELATION_ID:
        return Verdict(
            CLIENT,
            f"The shop asked question {runs.CORRELATION_ID}, but this is the answer to"
            f" {correlation_id}, so it hangs up.",
        )
    answered = {
        (topic.name, each.index): each
        for topic in body.responses
        for each in topic.partition_responses
    }
    mine = answered.get((runs.TOPIC, 0))
    if mine is None:
        return Verdict(
            CLIENT,
            "The answer doesn't mention orders, partition 0, so the shop can't go on.",
        )
    if mine.error_code:
        return Verdict(CLIENT, _what_the_producer_does(mine.error_code))
    return Verdict(
        NOBODY, f"The shop accepts it: its order has offset {mine.base_offset}."
    )


def _what_the_producer_does(code: int) -> str:
    name = error_name(code)
    if name != "unknown" and Error(code).retriable:
        return f"The shop reads {name}, and sends the order again."
    return f"The shop reads error {code}, {name}, and gives up on the order."


def judged_by_consumer(frame: bytes) -> Verdict:
    """What a consumer says about a batch that it has fetched."""
    apart = batch_apart(frame)
    length = int.from_bytes(frame[8:12], "big", signed=True)
    size = len(frame) - 12
    if length > size:
        return Verdict(
            CLIENT,
            f"The batch announces {length} bytes, but {size} are there: it's torn.",
        )
    is_readable = frame[16] == 2 and length >= 49
    if is_readable and not crc_matches(frame, read_header(frame)):
        words = "the checksum doesn't match."
        if apart.why:
            words = (
                f"the checksum doesn't match, and its bytes make no sense: {apart.why}."
            )
        return Verdict(CLIENT, f"The consumer refuses it: {words}")
    if apart.why:
        return Verdict(CLIENT, f"The consumer can't read it: {apart.why}.")
    return Verdict(NOBODY, "The consumer hands its records to the program.")


# -- the frames


def frames() -> list[Frame]:
    """Those that the lesson shows."""
    request = runs.order_request()
    answer = runs.Client(runs.shop(), "shop").ask(request)
    assert answer is not None, "the broker answers a good request"

    def response(data: bytes) -> Apart:
        return response_apart(data, "Produce", runs.VERSION)

    return [
        Frame(
            name="a Produce request",
            data=request,
            take_apart=request_apart,
            judge=judged_by_broker,
            code='Client(shop(), "shop").ask(frame)',
        ),
        Frame(
            name="the broker's answer",
            data=answer,
            take_apart=response,
            judge=judged_by_producer,
            code='decode_response("Produce", 8, frame)',
        ),
        Frame(
            name="a record batch",
            data=runs.TWO_RECORDS,
            take_apart=batch_apart,
            judge=judged_by_consumer,
            code="decode_batch(frame)",
        ),
    ]


def changed(frame: Frame, changes: Sequence[Change]) -> bytes:
    """Its bytes with these changes, one after the other."""
    data = bytearray(frame.data)
    for change in changes:
        data[change.at] = change.byte
    return bytes(data)


def trace(frame: Frame, changes: Sequence[Change] = ()) -> list[Event]:
    """The frame as it was sent, and each of its changes, as the picture has it."""
    turns = range(len(changes) + 1)
    return _read(frame, [changes[:turn] for turn in turns])


def flips(frame: Frame) -> list[Event]:
    """The frame as it was sent, then once for every byte with its last bit flipped."""
    made = [[Change(at, byte ^ 1)] for at, byte in enumerate(frame.data)]
    return _read(frame, [[], *made])


def _read(frame: Frame, each: Sequence[Sequence[Change]]) -> list[Event]:
    """An event for every list of changes to the frame."""
    events = []
    for turn, changes in enumerate(each):
        data = changed(frame, changes)
        apart = frame.take_apart(data)
        detail: dict[str, Any] = {
            "frame": frame.name,
            "bytes": list(data),
            "parts": [list(part) for part in apart.parts],
            "end": apart.end,
            "at": changes[-1].at if changes else None,
            "by": NOBODY,
            "message": "",
        }
        if data != frame.data:
            by, message = frame.judge(data)
            detail["by"] = by
            detail["message"] = message
        identity = ("frame", turn + 1)
        events.append(
            Event(identity, 1000 * turn, frame.name, "FrameRead", None, detail)
        )
    return events


def play(frame: Frame) -> Picture:
    """The bytes beside their fields. The page can flip any byte without Python."""
    return picture("bytes", flips(frame), live="flips")


def levers() -> Any:
    """The frames, whose bytes can be changed; one of them, without ipywidgets."""
    if not find_spec("ipywidgets"):
        return play(frames()[0])
    from minikafka.course.levers.frame_bytes import BytesLive

    def show(frame: Frame, changes: Sequence[tuple[int, int]]) -> Picture:
        made = [Change(*each) for each in changes]
        return picture("bytes", trace(frame, made), live=True)

    return BytesLive(frames(), show, play)
