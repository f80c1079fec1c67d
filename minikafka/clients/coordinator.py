"""Finds the coordinator of a group or a transactional id (FindCoordinator), and keeps a
separate connection to it.

The connection is separate, as in the Java client, because a JoinGroup waits at the
broker until the whole group has joined, and answers on one connection keep their order:
on a shared one every fetch would wait behind it.

The coordinator moves with the leadership of a partition of `__consumer_offsets`. A
caller that gets NOT_COORDINATOR, or loses the connection, calls lost(), and the next
ready() looks for it again.
"""

from typing import Any

from minikafka.clients.connection import Client, Node
from minikafka.clients.request_state import OnResponse, RequestState
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

KEY_TYPE_GROUP, KEY_TYPE_TRANSACTION = 0, 1  # FindCoordinator's key_type

# Errors of a broker that is not, or no longer, the coordinator, or can't work as one.
MOVED = (
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT,
)


class Coordinator:
    """The coordinator of one group or transactional id, as one client sees it."""

    def __init__(
        self, client: Client, group_id: str, key_type: int = KEY_TYPE_GROUP
    ) -> None:
        self.client = client
        self.group_id = group_id
        self._key_type = key_type
        # a refusal that a retry can't fix
        self.error: KafkaError | None = None
        self._node: Node | None = None
        self._state = RequestState(client)

    def ready(self) -> Node | None:
        """The coordinator, if requests can be sent to it; otherwise takes the next step
        towards it and returns None.

        Call it again after any event of the client, and when it ticks.
        """
        if (
            self._node is not None
            and self._node.connection is None
            and self._node.retry_at > 0
        ):
            # its connection was lost, or never made, so it may be another broker by now
            self.lost()
        if self._node is not None:
            return self.client.ready_node(self._node)
        node = self.client.any_node() if self.client.is_due(self._state) else None
        if node is not None:
            body = {"key_type": self._key_type, "coordinator_keys": [self.group_id]}
            self.client.request(
                node, "FindCoordinator", body, self._state.sent(self._found)
            )
        return None

    def lost(self) -> None:
        """Forget the coordinator and close its connection; requests in flight have
        failed.
        """
        node, self._node = self._node, None
        self._state.back_off()
        if node is not None:
            self.client.hang_up(node)

    def doubt(self, error: Error) -> None:
        """Forget the coordinator if this refusal means that it isn't one any more."""
        if error in MOVED:
            self.lost()

    def request(
        self,
        api: str,
        body: dict[str, Any],
        on_response: OnResponse,
        timeout_ms: int | None = None,
    ) -> None:
        """Send a request to the coordinator, which must be ready()."""
        node = self._node
        assert node is not None and node.ready, "asked ready() first"

        def answered(response: Message | None) -> None:
            if response is None and self._node is node:
                self.lost()
            on_response(response)

        self.client.request(node, api, body, answered, timeout_ms)

    def _found(self, response: Message) -> None:
        self._state.back_off()
        found = response.coordinators[0]
        error = Error(found.error_code)
        if error is Error.NONE:
            self._node = Node(found.node_id, (found.host, found.port))
        elif not error.retriable:
            self.error = KafkaError(error, found.error_message or error.message)
