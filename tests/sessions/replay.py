"""A session, played again: its requests go to a broker of today, whose clock stands
still but while an answer is waited for that the client had at that point.

Ids and addresses differ from run to run. Those of the new answers are put into later
requests in the place of the old ones, and the old ones into the new answers, so that
the bytes can be compared.
"""

from collections.abc import Callable, Iterator
from typing import Any

from minikafka.broker.effects import Close, Reply
from minikafka.clock import Now
from minikafka.wire.messages import decode_response, encode_request, encode_response
from minikafka.wire.records import read_header
from minikafka.wire.schema import Message
from tests.broker.node import Node
from tests.sessions.session import Exchange

PATIENCE_MS = 120_000

# What a broker chooses, or is told when it starts
CHOSEN = {
    "cluster_id",
    "member_id",
    "topic_id",
    "producer_id",
    "session_id",
    "host",
    "port",
    "leader",  # of a classic group: a member id
}
Chosen = dict[tuple[str, Any], Any]


class Replay:
    """differences: (number of the frame, what the client got, what it gets now), both
    decoded, of each answer whose bytes differ.
    """

    def __init__(self, session: list[Exchange]) -> None:
        self.differences: list[tuple[int, Any, Any]] = []
        self._node = Node()
        self._node.now = Now(0, began_ms(session))
        self._answers: dict[tuple[int, int], bytes] = {}
        self._connected: set[int] = set()
        self._new_of: Chosen = {}
        self._old_of: Chosen = {}
        for number, each in enumerate(session):
            if each.is_request:
                self._ask(each)
            else:
                self._compare(number, each)

    def _ask(self, each: Exchange) -> None:
        node, asked = self._node, each.asked
        node.pass_time(1)  # what the broker does in the background
        self._take()
        if each.connection not in self._connected:
            node.connect(each.connection)
            self._connected.add(each.connection)
        frame = each.data
        if asked.body is not None:
            replace(asked.body, lambda name, old: self._new_of.get((name, old), old))
            frame = b"".join(
                encode_request(
                    asked.api,
                    asked.version,
                    asked.correlation_id,
                    asked.client_id,
                    asked.body,
                )
            )
        node.broker.receive(each.connection, bytearray(frame), node.now)
        self._take()

    def _take(self) -> None:
        """The answers that are out."""
        for effect in self._node.out():
            assert not isinstance(effect, Close), effect.why
            if isinstance(effect, Reply):
                frame = b"".join(effect.frame)
                correlation_id = int.from_bytes(frame[:4], "big")
                self._answers[effect.connection, correlation_id] = frame

    def _compare(self, number: int, each: Exchange) -> None:
        waited_ms = 0
        while each.of not in self._answers:
            assert waited_ms < PATIENCE_MS, f"frame {number} is not answered"
            self._node.pass_time(10)
            waited_ms += 10
            self._take()
        api, version = each.asked.api, each.asked.answer_version
        frame = self._answers.pop(each.of)
        correlation_id, new = decode_response(api, version, frame)
        old = each.answer
        if api == "ApiVersions":
            self._compare_versions(number, old, new)
            return
        for name, was, chosen in pairs("", old, new):
            if name in CHOSEN:
                self._new_of[name, was] = chosen
                self._old_of[name, chosen] = was
        replace(new, lambda name, value: self._old_of.get((name, value), value))
        frame = b"".join(encode_response(api, version, correlation_id, new))
        if frame != each.data:
            self.differences.append((number, old.to_dict(), new.to_dict()))

    def _compare_versions(self, number: int, old: Message, new: Message) -> None:
        """The broker may learn more APIs and newer versions, and forget none."""
        served = {each.api_key: each for each in new.api_keys}
        for was in old.api_keys:
            now = served.get(was.api_key)
            is_there = now is not None and now.min_version <= was.min_version
            if not is_there or now.max_version < was.max_version:
                self.differences.append((number, old.to_dict(), new.to_dict()))
                return
        if old.error_code != new.error_code:
            self.differences.append((number, old.to_dict(), new.to_dict()))


def began_ms(session: list[Exchange]) -> int:
    """About when it was, by the client's first record: a record that is far ahead of
    the broker's clock is refused (KIP-937).
    """
    produced = next(
        each.asked.body
        for each in session
        if each.asked.api == "Produce" and each.is_request
    )
    return read_header(produced.topic_data[0].partition_data[0].records).max_timestamp


def replace(body: Message, by: Callable[[str, Any], Any]) -> None:
    """Put another value into each field of a message that is neither a message nor an
    array of messages.
    """
    for name, value in vars(body).items():
        if name == "_struct":
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Message):
                replace(each, by)
        if not isinstance(value, list | Message | memoryview):
            setattr(body, name, by(name, value))


def pairs(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The fields that both have, with their names, down to the last message."""
    if isinstance(old, Message) and isinstance(new, Message):
        for field in old.to_dict():
            yield from pairs(field, getattr(old, field), getattr(new, field, None))
    elif isinstance(old, list) and isinstance(new, list):
        for was, now in zip(old, new, strict=False):
            yield from pairs(name, was, now)
    elif not isinstance(old, memoryview):
        yield name, old, new
