"""A client's connection on which faults happen: it meets each request before the node
has it, and each answer before the client has it.

Answers leave in the order of the requests, so what follows one that is delayed waits
behind it, as it does on a slow network.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minikafka.broker.effects import Frame
from minikafka.server.connection import Connection
from minikafka.testing.answers import (
    ANSWERED,
    places,
    refusal,
    walk,
    with_error,
)
from minikafka.testing.asked import Asked
from minikafka.testing.brokers import Node
from minikafka.testing.client import CLIENT_ID
from minikafka.testing.faults import (
    Active,
    Answer,
    Crash,
    Delay,
    Faults,
    Freeze,
    Lose,
    Throttle,
)
from minikafka.testing.heard import Heard
from minikafka.wire.messages import (
    Request,
    UnsupportedVersion,
    api_name,
    decode_request,
    decode_response,
    encode_response,
)
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

NOT_YET: Any = object()


@dataclass
class Due:
    """A request whose answer has not left yet. faults: those that may meet its answer.
    given: the answer; None: it has none. waits: a fault holds it back.
    """

    asked: Asked
    request: Request | None = None
    faults: list[Active] = field(default_factory=list)
    given: Any = NOT_YET
    waits: bool = False


class MeddledConnection(Connection):
    """node: whose client it is."""

    def __init__(self, faults: Faults, heard: Heard, node: Node, *rest: Any) -> None:
        super().__init__(*rest)
        self._all = faults
        self._heard = heard
        self._node = node
        self._due: deque[Due] = deque()
        self._is_held = False
        # requests that came meanwhile; Due: one that its faults have met already
        self._behind: deque[tuple[bytearray, Due | None]] = deque()

    # -- requests

    def _take(self, frames: list[bytearray]) -> None:
        self._behind.extend((frame, None) for frame in frames)
        if not self._is_held:
            self._pass_on()

    def _pass_on(self) -> None:
        """Give the node what has come, up to the first that a fault holds back."""
        passing: list[bytearray] = []
        while self._behind and not self._is_held:
            frame, due = self._behind.popleft()
            act = None
            if due is None:
                due, act = self._meet(frame)
            if isinstance(act, Lose | Crash):
                super()._take(passing)
                self.abort()
                if isinstance(act, Crash):
                    self._node.crash(act.power)
                return
            if isinstance(act, Freeze):
                # it comes when the node goes on
                self._behind.appendleft((frame, due))
                self._node.freeze()
                self._node.when_thawed.append(self._pass_on)
                break
            if isinstance(act, Delay):
                self._behind.appendleft((frame, due))
                self._hold(act.extra_ms)
                break
            self._due.append(due)
            if isinstance(act, Answer):
                self._unanswered += 1
                asked = due.request
                assert asked is not None
                due.given = refused(asked, act.error)
            else:
                passing.append(frame)
        self._send_due()
        super()._take(passing)

    def _meet(self, frame: bytearray) -> tuple[Due, object]:
        """A request's faults, and the one that hits it now."""
        node = self._node
        due = Due(self._heard.add(frame, self.name, node.name, node.topic_name))
        api = api_name(frame)
        met = [each for each in self._all.active if each.fault.api == api]
        if not met:
            return due, None
        try:
            request = decode_request(bytes(frame))
        except (DecodeError, UnsupportedVersion):
            return due, None  # the node says what is wrong
        if request.client_id == CLIENT_ID:
            return due, None
        due.request = request
        named = places(api, request.body, self._node.topic_name)
        for each in met:
            fault = each.fault
            if not each.concerns(request, self._node.number):
                continue
            if fault.meets_answers:
                # a fetch session names only what has changed (KIP-227)
                if api == "Fetch" or is_about(each, named):
                    due.faults.append(each)
            elif is_about(each, named) and each.hit():
                due.asked.fault = fault
                return due, fault
        return due, None

    def _hold(self, ms: int) -> None:
        """Let no request in for this long."""
        self._is_held = True
        asyncio.get_running_loop().call_later(ms / 1000, self._let_go)

    def _let_go(self) -> None:
        self._is_held = False
        if not self.closed:
            self._pass_on()

    # -- answers

    def answer(self, frame: Frame | None) -> None:
        """The oldest request that the node has is finished."""
        due = next(each for each in self._due if each.given is NOT_YET)
        due.given = frame
        self._send_due()

    def _send_due(self) -> None:
        while self._due and not self.closed:
            due = self._due[0]
            if due.given is NOT_YET or due.waits:
                return
            if due.given is not None and self._holds_back(due):
                return
            self._due.popleft()
            due.asked.answered(due.given)
            super().answer(due.given)

    def _holds_back(self, due: Due) -> bool:
        """Let the first fault that hits this answer happen. Returns whether it doesn't
        leave now.
        """
        faults, due.faults = due.faults, []
        for each in faults:
            if each in self._all.active and self._happens(each, due):
                break
        return due.waits

    def _happens(self, active: Active, due: Due) -> bool:
        """Whether the fault hits this answer; then it has."""
        fault, asked = active.fault, due.request
        assert asked is not None
        api = asked.api.name
        _, body = decode_response(api, asked.version, b"".join(due.given))
        if api == "Fetch" and fault.topic is not None:
            told = walk(ANSWERED[api], body, self._node.topic_name)
            if not is_about(active, [(topic, number) for topic, number, _ in told]):
                return False
        if not active.hit():
            return False
        due.asked.fault = fault
        if isinstance(fault, Lose | Crash):
            due.waits = True  # for ever
            self.abort()
            if isinstance(fault, Crash):
                self._node.crash(fault.power)
        elif isinstance(fault, Freeze):
            due.waits = True
            self._node.freeze()
            self._node.when_thawed.append(partial(self._waited, due))
        elif isinstance(fault, Delay):
            due.waits = True
            loop = asyncio.get_running_loop()
            loop.call_later(fault.extra_ms / 1000, self._waited, due)
        elif isinstance(fault, Answer):
            wanted = wants(active)
            due.given = encoded(
                asked, with_error(api, body, fault.error, self._node.topic_name, wanted)
            )
        elif isinstance(fault, Throttle):
            body.throttle_time_ms = fault.throttle_time_ms
            due.given = encoded(asked, body)
            self._hold(fault.throttle_time_ms)
        return True

    def _waited(self, due: Due) -> None:
        due.waits = False
        if not self.closed:
            self._send_due()
            self._turn.receive(self, ())  # which flushes what is sent


def refused(asked: Request, error: str) -> list[Any] | None:
    """The answer to a request that isn't done; None: its client wants none (acks=0)."""
    api = asked.api.name
    if api == "Produce" and asked.body.acks == 0:
        return None
    return encode_response(
        api, asked.version, asked.correlation_id, refusal(api, asked.body, error)
    )


def encoded(asked: Request, body: Message) -> list[Any]:
    return encode_response(asked.api.name, asked.version, asked.correlation_id, body)


def is_about(active: Active, named: list[tuple[str, int | None]]) -> bool:
    if active.fault.topic is None:
        return True
    wanted = wants(active)
    return any(wanted(topic, number) for topic, number in named)


def wants(active: Active) -> Callable[[str, int | None], bool]:
    """Whether a fault is about a partition of a topic."""
    fault = active.fault

    def wanted(topic: str, number: int | None) -> bool:
        if fault.topic not in (None, topic):
            return False
        return fault.partition is None or number in (None, fault.partition)

    return wanted
