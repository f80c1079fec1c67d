"""A member's share sessions, one with each broker that leads some of its partitions
(KIP-932).

A session names its partitions to the broker once, and afterwards only changes. Its
epoch counts the requests, so one is open at a time. It lives as long as its connection:
when that ends the broker takes back the member's records, and acknowledgements of them
are refused here already.

The program's acknowledgements are sent with the next ShareFetch. If there is nothing to
fetch, because the program waits for the result (commit_sync), needs more time (renew),
or has enough records, they are sent with a ShareAcknowledge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minikafka.clients.connection import Client, Node
from minikafka.clients.request_state import RequestState
from minikafka.clients.share_config import ACQUIRE_MODES
from minikafka.clients.share_deliveries import (
    NEW_EPOCH,
    RENEW,
    Delivery,
    Run,
    Said,
    ShareSession,
    acknowledgement_batches,
    arrived,
    renews,
    runs,
)
from minikafka.clients.share_membership import ShareMembership
from minikafka.clients.share_subscription import ShareSubscription
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

FINAL_EPOCH = -1
LAST_EPOCH = 2**31 - 1

# the broker doesn't know the session, or has another epoch for it
LOST_SESSION = (Error.SHARE_SESSION_NOT_FOUND, Error.INVALID_SHARE_SESSION_EPOCH)
# for a partition; Java's client retries this, too
MAY_PASS = Error.UNKNOWN_SERVER_ERROR

Outcome = Mapping[TopicPartition, KafkaError | None]


@dataclass(eq=False, repr=False)
class ShareSessions:
    """All sessions of one consumer."""

    _client: Client
    _subscription: ShareSubscription
    _membership: ShareMembership
    _sessions: dict[int, "ShareSession"] = field(default_factory=dict)
    _requests: dict[int, RequestState] = field(default_factory=dict)
    # nodes in the order of the last fetches; with a strict limit, one at a time
    _asked_last: list[int] = field(default_factory=list)

    @property
    def are_busy(self) -> bool:
        return any(each.is_busy for each in self._sessions.values())

    def end(self) -> None:
        """Give back all records that the member has, everywhere."""
        for session in self._sessions.values():
            session.ends = True

    def say(self, delivery: Delivery) -> None:
        """Acknowledge a record to the broker."""
        session = delivery.session
        partition = delivery.partition
        assert delivery.said is not None
        if delivery.said == RENEW:
            session.renewing[partition, delivery.offset] = delivery
        session.say(partition, delivery.offset, delivery.said)
        if session.is_over:
            self._refused_all(session, Error.SHARE_SESSION_NOT_FOUND)

    def work(self) -> None:
        """Send everything that can be sent now."""
        for session in list(self._sessions.values()):
            node = self._client.nodes.get(session.node_id)
            has_connection = node is not None and node.connection == session.connection
            if not has_connection:
                self._over(session, Error.NETWORK_EXCEPTION)
        wants = self._wanted()
        self._begin(wants)
        may_fetch = self._may_fetch()
        for node_id, session in self._in_turn():
            if not self._client.is_due(session.request):
                continue
            node = self._client.nodes[node_id]
            partitions = wants.get(node_id, [])
            if session.ends:
                self._end(session, node)
            elif may_fetch and partitions and not session.renews:
                self._fetch(session, node, partitions)
                may_fetch = self._may_fetch()
            elif session.waiting:
                self._acknowledge(session, node)

    def _wanted(self) -> dict[int, list[TopicPartition]]:
        """The partitions to fetch, by the node that leads them; none between polls."""
        if not self._subscription.wants_records:
            return {}
        leaders = self._client.leaders(self._subscription.assigned)
        return {node.id: partitions for node, partitions in leaders}

    def _begin(self, wants: Mapping[int, list[TopicPartition]]) -> None:
        """Begin a session with each node that has none yet."""
        for node_id in wants:
            if node_id in self._sessions:
                continue
            connection = self._client.nodes[node_id].connection
            state = self._requests.get(node_id)
            if state is None:
                state = RequestState(self._client, self._client.metadata)
                self._requests[node_id] = state
            self._sessions[node_id] = ShareSession(node_id, connection, state)

    def _in_turn(self) -> list[tuple[int, ShareSession]]:
        """The sessions by node. A node that was never asked comes first, the one asked
        last comes last.
        """
        turns = {node_id: turn for turn, node_id in enumerate(self._asked_last)}

        def turn_of(each: tuple[int, ShareSession]) -> int:
            node_id, _ = each
            return turns.get(node_id, -1)

        return sorted(self._sessions.items(), key=turn_of)

    def _may_fetch(self) -> bool:
        """Whether a fetch may be sent: with a strict limit in records, one broker is
        asked at a time.
        """
        if self._client.config["share_acquire_mode"] != "record_limit":
            return True
        return not any(each.request.in_flight for each in self._sessions.values())

    # requests

    def _who(self, epoch: int) -> dict[str, Any]:
        """The member's fields in a request, for a session of this epoch."""
        return {
            "group_id": self._client.config["group_id"],
            "member_id": self._membership.member_id,
            "share_session_epoch": epoch,
        }

    def _fetch(
        self, session: ShareSession, node: Node, partitions: list[TopicPartition]
    ) -> None:
        """Fetch from these partitions, and send acknowledgements that are waiting."""
        session.sent, session.waiting = session.waiting, {}
        wanted = {self._key(each) for each in partitions}
        named = [each for each in partitions if self._key(each) not in session.known]
        named += [each for each in session.sent if each not in named]
        forgotten = sorted(session.known - wanted)
        session.known = wanted
        if node.id in self._asked_last:
            self._asked_last.remove(node.id)
        self._asked_last.append(node.id)
        body = self._who(session.epoch) | self._limits()
        body["topics"] = self._parts(named, session.sent)
        body["forgotten_topics_data"] = nested(forgotten, "topic_id")
        fetched = partial(self._fetched, session)
        lost = partial(self._lost, session)
        answered = session.request.sent(fetched, lost)
        self._client.request(node, "ShareFetch", body, answered)

    def _limits(self) -> dict[str, Any]:
        """The limits of a fetch: how much it may return, and how long it may wait for
        that.
        """
        config = self._client.config
        acquire_mode = ACQUIRE_MODES.index(config["share_acquire_mode"])
        return {
            "max_wait_ms": config["fetch_max_wait_ms"],
            "min_bytes": config["fetch_min_bytes"],
            "max_bytes": config["fetch_max_bytes"],
            "max_records": config["max_poll_records"],
            "batch_size": config["max_poll_records"],
            "share_acquire_mode": acquire_mode,
        }

    def _acknowledge(self, session: ShareSession, node: Node) -> None:
        """Send acknowledgements that are waiting, without a fetch."""
        session.sent, session.waiting = session.waiting, {}
        epoch = FINAL_EPOCH if session.ends else session.epoch
        body = self._who(epoch)
        body["is_renew_ack"] = renews(session.sent)
        body["topics"] = self._parts(list(session.sent), session.sent)
        acknowledged = partial(self._acknowledged, session)
        lost = partial(self._lost, session)
        answered = session.request.sent(acknowledged, lost)
        self._client.request(node, "ShareAcknowledge", body, answered)

    def _end(self, session: ShareSession, node: Node) -> None:
        if session.epoch == NEW_EPOCH:
            self._over(session, Error.SHARE_SESSION_NOT_FOUND)
        else:
            self._acknowledge(session, node)

    def _parts(self, named: list[TopicPartition], said: Said) -> list[dict[str, Any]]:
        """The partitions in a request, with the acknowledgements of their records."""
        parts = []
        for each in named:
            batches = acknowledgement_batches(runs(said.get(each, {})))
            part = {
                "partition_index": each.partition,
                "acknowledgement_batches": batches,
            }
            topic_id, _ = self._key(each)
            parts.append((topic_id, part))
        return nested(parts, "topic_id")

    def _key(self, partition: TopicPartition) -> tuple[bytes, int]:
        return self._subscription.topic_ids[partition.topic], partition.partition

    # answers

    def _lost(self, session: ShareSession) -> None:
        """The connection is lost, and the session with it."""
        self._over(session, Error.NETWORK_EXCEPTION)

    def _fetched(self, session: ShareSession, response: Message) -> None:
        if not self._accepted(session, response):
            return
        outcome: dict[TopicPartition, KafkaError | None] = dict.fromkeys(session.sent)
        for partition, part in self._parts_of(response):
            if part.acknowledge_error_code:
                refused = Error(part.acknowledge_error_code)
                why = part.acknowledge_error_message
                outcome[partition] = KafkaError(refused, why)
            self._arrived(session, partition, part)
        self._tell(session, outcome)

    def _acknowledged(self, session: ShareSession, response: Message) -> None:
        if not self._accepted(session, response):
            return
        outcome: dict[TopicPartition, KafkaError | None] = dict.fromkeys(session.sent)
        for partition, part in self._parts_of(response):
            if part.error_code:
                refused = Error(part.error_code)
                outcome[partition] = KafkaError(refused, part.error_message)
                self._client.metadata.doubt(refused)
        self._tell(session, outcome)
        if session.ends:
            self._over(session, Error.SHARE_SESSION_NOT_FOUND)

    def _accepted(self, session: ShareSession, response: Message) -> bool:
        """Whether the broker accepted the request as a whole."""
        error = Error(response.error_code)
        if error is Error.NONE:
            session.epoch = session.epoch + 1 if session.epoch < LAST_EPOCH else 1
            return True
        may_be_tried_again = session.request.refused(error)
        if not may_be_tried_again and not session.ends:
            self._subscription.error = KafkaError(error, response.error_message)
            session.request.back_off()
        is_there_no_more = error in LOST_SESSION or session.epoch == NEW_EPOCH
        if is_there_no_more or session.ends:
            self._over(session, error)
        else:
            self._tell(session, _all_refused(session, error))
        return False

    def _arrived(
        self, session: ShareSession, partition: TopicPartition, part: Message
    ) -> None:
        """Process what a fetch returned for one partition."""
        error = Error(part.error_code)
        if error is not Error.NONE:
            session.request.back_off()
            may_be_tried_again = session.request.refused(error) or error is MAY_PASS
            if not may_be_tried_again:
                why = part.error_message or error.message
                error_here = KafkaError(error, f"fetching from {partition}: {why}")
                self._subscription.error = error_here
            return
        came = arrived(session, partition, part, self._client.config["check_crcs"])
        for offset, said in came.said.items():
            session.say(partition, offset, said)
        if came.error is not None:
            self._subscription.error = came.error
        self._subscription.arrived += came.found

    def _parts_of(self, response: Message) -> list[tuple[TopicPartition, Message]]:
        names = self._client.metadata.topic_names
        found = []
        for topic in response.responses:
            for part in topic.partitions:
                name = names[topic.topic_id]
                found.append((TopicPartition(name, part.partition_index), part))
        return found

    # the results of acknowledgements

    def _tell(self, session: ShareSession, outcome: Outcome) -> None:
        """Pass on the results of acknowledgements."""
        said, session.sent = session.sent, {}
        for partition, offsets in said.items():
            error = outcome[partition]
            for offset, what in offsets.items():
                if what == RENEW:
                    delivery = session.renewing.pop((partition, offset))
                    if error is None:
                        self._subscription.renew(delivery)
            self._told(partition, runs(offsets), error)

    def _told(
        self, partition: TopicPartition, said: list[Run], error: KafkaError | None
    ) -> None:
        """A broker has answered acknowledgements of records, or can't any more."""
        outcome = self._subscription.outcome
        outcome[partition] = outcome.get(partition) or error
        if error is not None:
            count = sum(run.last_offset - run.first_offset + 1 for run in said)
            self._subscription.remarks.append(
                f"the acknowledgement of {count} record(s) of {partition} was refused"
                f" ({error.error.name}), so another member may get them"
            )
        if self._client.trace:
            self._client.trace.emit(
                "ShareRecordsSaid",
                group=self._client.config["group_id"],
                member=self._membership.member_id,
                topic=partition.topic,
                partition=partition.partition,
                batches=[list(run) for run in said],
                error=Error.NONE.name if error is None else error.error.name,
            )

    def _over(self, session: ShareSession, error: Error) -> None:
        """The session has ended; waiting acknowledgements of its records are
        refused.
        """
        session.is_over = True
        session.request.give_up()
        if self._sessions.get(session.node_id) is session:
            del self._sessions[session.node_id]
        self._refused_all(session, error)

    def _refused_all(self, session: ShareSession, error: Error) -> None:
        self._tell(session, _all_refused(session, error))
        session.sent, session.waiting = session.waiting, {}
        self._tell(session, _all_refused(session, error))


def _all_refused(session: ShareSession, error: Error) -> Outcome:
    return {partition: KafkaError(error) for partition in session.sent}
