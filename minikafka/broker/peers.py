"""Requests of this node to others. Each ends once: in a reply, or in a failure.

A shell keeps one connection for each (node, lane), so that nothing waits behind a
request that the other side has parked: votes on the lane `quorum`, fetches of followers
on `replica_fetch` and, of the metadata log, on `metadata`; everything that is answered
at once on `control`, markers of transactions on `markers`, who joins one on `joins`,
the state of share partitions on `share_state`. The correlation ids are ours; on a
lane replies come in the order of the requests. A node asked for the first time says
what it speaks (ApiVersions, KIP-35).

A machine that loses power tells nobody, and a connection to it looks well for hours. So
if a node doesn't answer in time, the connection is closed, and every request on that
lane has failed.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import HangUp, Request
from minikafka.broker.replies import check_reply
from minikafka.clock import NodeClock, Now
from minikafka.cluster import election, quorum
from minikafka.cluster.election import Then
from minikafka.cluster.metadata import BrokerChange, Endpoint
from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

CONTROLLER_LISTENER = "CONTROLLER"  # where nodes talk to each other
CONTROL = "control"  # the lane of what is answered at once
API_VERSIONS_VERSION = 3
RETRY_BACKOFF_MS = 100
# controller.socket.timeout.ms, replica.socket.timeout.ms, request.timeout.ms
REQUEST_TIMEOUT_MS = 30_000


Lane = tuple[int, str]  # one connection to another node: which node, and its name
Versions = dict[int, tuple[int, int]]  # of a node: API key -> (lowest, highest)


class OwnRequest(NamedTuple):
    """A request of this node to itself: the same bytes, without a connection."""

    frame: bytearray
    then: Then


class Asked(NamedTuple):
    """A request to another node that has no reply yet."""

    api: str
    version: int
    body: Mapping[str, Any]
    then: Then
    deadline_ms: int  # monotonic


@dataclass(eq=False, repr=False)
class Peers:
    """The requests of this node to others, and to itself. addresses: of the other
    nodes, by node id. versions: the API versions each of them supports, once it has
    said so. send: puts a request into the outbox. timer: for a node that has been
    silent too long, or is greeted again. to_itself: its own requests, not served yet.
    """

    _node_id: int
    _config: BrokerConfig
    _clock: NodeClock
    _send: Callable[[Request | HangUp], None]
    _notice: Callable[[str, Exception], None]
    _timer: Timer
    addresses: dict[int, Endpoint] = field(init=False)
    versions: dict[int, Versions] = field(default_factory=dict)
    to_itself: deque[OwnRequest] = field(default_factory=deque)
    # by correlation id, the oldest first
    _asked: dict[Lane, dict[int, Asked]] = field(default_factory=dict)
    _greet_at_ms: dict[int, int] = field(default_factory=dict)  # monotonic
    _correlation_id: int = 0

    def __post_init__(self) -> None:
        self.addresses = dict(self._config.peers)
        self.addresses.pop(self._node_id, None)
        of_quorum_ms = self._config["controller.quorum.request.timeout.ms"]
        self._timeouts_ms = dict.fromkeys((election.LANE, quorum.LANE), of_quorum_ms)
        self._from_start = frozenset((self._node_id, *self.addresses))
        self._client_id = f"broker-{self._node_id}"

    def start(self) -> None:
        """Ask everybody what they speak."""
        for node in self.addresses:
            self._greet(node)

    def broker_changed(self, change: BrokerChange, now: Now) -> None:
        """A node that is no voter says where it listens to others when it registers;
        where voters are this node knows from its start.
        """
        node = change.broker_id
        if node in self._from_start or change.after is None:
            return
        address = change.after.endpoints.get(CONTROLLER_LISTENER)
        if address and self.addresses.get(node) != address:
            self.addresses[node] = address
            self._greet(node)

    def ask(
        self,
        node: int,
        lane: str,
        api: str,
        version: int,
        body: Mapping[str, Any],
        then: Then,
    ) -> None:
        """Send a request. then(reply or None, now): how it ended, called once."""
        if node == self._node_id:
            frame = messages.encode_request(api, version, 0, None, body)
            self.to_itself.append(OwnRequest(bytearray().join(frame), then))
            return
        self._correlation_id += 1
        frame = messages.encode_request(
            api, version, self._correlation_id, self._client_id, body
        )
        timeout_ms = self._timeouts_ms.get(lane, REQUEST_TIMEOUT_MS)
        deadline_ms = self._clock.now.monotonic_ms + timeout_ms
        asked = Asked(api, version, body, then, deadline_ms)
        on_lane = self._asked.setdefault((node, lane), {})
        on_lane[self._correlation_id] = asked
        if deadline_ms < self._timer.at_ms:
            self._timer.set(deadline_ms)
        self._send(Request(node, lane, self._correlation_id, frame))

    def receive_reply(self, node: int, lane: str, frame: bytearray, now: Now) -> None:
        """The reply to the oldest request of this lane. Errors: DecodeError for bytes
        that are no reply, and for a reply that can't be valid: the request is still to
        fail then, as if there had been none. KAFKA_STORAGE_ERROR: what came
        can't be kept. An answer that meets a bug ends what asked for it.
        """
        asked = self._asked.get((node, lane))
        if not asked:
            raise DecodeError(
                f"node {node} answers on lane {lane}, where it was not asked"
            )
        correlation_id, request = next(iter(asked.items()))
        answered_id, reply = messages.decode_response(
            request.api, request.version, frame
        )
        if answered_id != correlation_id:
            raise DecodeError(
                f"node {node} answers request {answered_id} where {correlation_id}"
                " comes next"
            )
        check_reply(request.api, request.body, reply, {self._node_id, *self.addresses})
        del asked[correlation_id]
        self._set_timer()
        try:
            request.then(reply, now)
        except (AssertionError, DecodeError):
            raise
        except Exception as error:
            if is_of_storage(error):
                raise
            what = f"what node {node} answered ({lane})"
            self._notice(f"{what} met a bug of minikafka's: {error!r}", error)

    def request_failed(
        self, node: int, lane: str, correlation_id: int, now: Now
    ) -> None:
        """There will be no reply: the connection is lost, or was never made."""
        on_lane = self._asked.get((node, lane), {})
        asked = on_lane.pop(correlation_id, None)
        if asked is not None:
            self._set_timer()
            asked.then(None, now)

    def tick(self, now: Now) -> None:
        """Hang up on who is silent, and try again where it is time to."""
        if self._timer.at_ms > now.monotonic_ms:
            return
        for lane, asked in list(self._asked.items()):
            if not asked:
                continue
            oldest = next(iter(asked.values()))
            if oldest.deadline_ms <= now.monotonic_ms:
                self._asked[lane] = {}
                self._send(HangUp(*lane))
                for each in asked.values():
                    each.then(None, now)
        for node, at_ms in list(self._greet_at_ms.items()):
            if at_ms <= now.monotonic_ms:
                del self._greet_at_ms[node]
                self._greet(node)
        self._set_timer()

    def _set_timer(self) -> None:
        at_ms = min(self._greet_at_ms.values(), default=NEVER_MS)
        for asked in self._asked.values():
            if asked:
                oldest = next(iter(asked.values()))
                at_ms = min(at_ms, oldest.deadline_ms)
        self._timer.set(at_ms)

    def _greet(self, node: int) -> None:
        """Ask a node what it speaks."""

        def greeted(reply: Message | None, now: Now) -> None:
            if reply is None or reply.error_code:
                self._greet_at_ms[node] = now.monotonic_ms + RETRY_BACKOFF_MS
                self._set_timer()
                return
            versions = {}
            for each in reply.api_keys:
                versions[each.api_key] = each.min_version, each.max_version
            self.versions[node] = versions

        software = {"client_software_name": "minikafka", "client_software_version": "1"}
        self.ask(node, CONTROL, "ApiVersions", API_VERSIONS_VERSION, software, greeted)


def is_of_storage(error: Exception) -> bool:
    """Whether the disk failed, and no line of code."""
    return isinstance(error, KafkaError) and error.error is Error.KAFKA_STORAGE_ERROR
