"""Nothing counts before the others agreed: a second replica, played by the test, that
answers late or never.

It is in sync with every partition, and a voter of the metadata quorum; the node under
test leads both.
"""

from collections import deque

import pytest

from minikafka.broker.effects import HangUp, Request
from minikafka.broker.turn import MOST_INSIDE, Turn
from minikafka.clock import Now
from minikafka.cluster import controller, registration
from minikafka.cluster.election import LANE
from minikafka.cluster.metadata import METADATA_TOPIC, OFFSETS_TOPIC, MetadataRecord
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    decode_request,
    encode_request,
    encode_response,
    encode_versioned,
)
from minikafka.wire.records import encode_batch
from tests.broker.node import WALL_MS, Node

RANGE = [
    {
        "name": "range",
        "metadata": encode_versioned(
            "ConsumerProtocolSubscription", 1, {"topics": ["orders"]}
        ),
    }
]
SOON_MS = 100


class Pair(Node):
    """Broker 1, for which broker 2 votes, and broker 2, which fetches when the test
    says so.
    """

    peers = {1: ("one", 9093), 2: ("two", 9093)}

    def start(self):
        self.broker = self.new_broker()
        self.broker.start(self.now)
        while not self.broker.quorum.is_leader:
            self._go_to(self.broker.next_deadline())
            self.vote()
        self.connect("client")
        self.broker.outbox.clear()

    def vote(self):
        """Broker 2 answers votes, and nothing else."""
        for item in [
            item
            for item in self.out()
            if isinstance(item, Request) and item.lane == LANE
        ]:
            asked = decode_request(bytearray().join(item.frame))
            if asked.api.name == "Vote":
                partition = {
                    "partition_index": 0,
                    "leader_id": -1,
                    "vote_granted": True,
                }
                partition["leader_epoch"] = (
                    asked.body.topics[0].partitions[0].replica_epoch
                )
                body = {
                    "topics": [
                        {"topic_name": METADATA_TOPIC, "partitions": [partition]}
                    ]
                }
                frame = encode_response(
                    "Vote", asked.version, asked.correlation_id, body
                )
                self.broker.receive_reply(2, LANE, bytearray().join(frame), self.now)

    def out(self):
        """What is meant for clients; what broker 2 is asked stays without an answer."""
        items = [item for item in super().out() if not isinstance(item, HangUp)]
        self.requests = [item for item in items if isinstance(item, Request)]
        return (
            items
            if not self.broker.quorum.is_leader
            else [item for item in items if item not in self.requests]
        )

    def fetch_metadata(self):
        quorum = self.broker.quorum
        while quorum.high_watermark < quorum.end_offset:
            quorum.follower_fetched(2, quorum.end_offset, self.now)
            self.broker.tick(self.now)

    def join(self):
        """Broker 1 registers, opens its logs and is unfenced."""
        while not self.broker.ready:
            self.fetch_metadata()
            self._go_to(self.broker.next_deadline())

    def fetch_records(self, topic="orders"):
        replica = self.broker.replicas.leader(topic, 0)
        replica.follower_fetched(2, replica.log.log_end_offset, self.now)
        self.broker.tick(self.now)

    def pass_time(self, ms):
        self._go_to(self.now.monotonic_ms + ms)


@pytest.fixture
def empty():
    """A pair whose second voter has not answered yet."""
    return Pair()


@pytest.fixture
def pair(empty):
    """With topics `orders` and `__consumer_offsets`, one partition each, both brokers
    in sync.
    """
    empty.join()
    broker = empty.broker
    second = registration.fields(
        2, b"2" * 16, [b"d" * 16], {"PLAINTEXT": ("two", 9092)}
    )
    broker.quorum.append(
        registration.records(second, broker.quorum.end_offset), empty.now
    )
    empty.fetch_metadata()
    broker.quorum.append(
        controller.unfence(broker.image, 2, broker.active_controller.topic_value),
        empty.now,
    )
    empty.fetch_metadata()
    for name in ("orders", OFFSETS_TOPIC):
        placed = [{"partition_index": 0, "broker_ids": [1, 2]}]
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": placed,
        }
        empty.send("CreateTopics", 5, topics=[topic], timeout_ms=1000)
        empty.fetch_metadata()
        assert empty.answer().topics[0].error_code == Error.NONE
    empty.pass_time(SOON_MS)
    empty.fetch_records(OFFSETS_TOPIC)
    empty.pass_time(SOON_MS)
    return empty


def produce(pair, value="a", acks=-1, timeout_ms=1000, **of_batch):
    answer = pair.produce("orders", value, acks=acks, **of_batch)
    return None if answer is None else (answer.error_code, answer.base_offset)


# -- producers and consumers


def test_acks_all_is_answered_when_the_in_sync_replicas_have_the_records(pair):
    assert produce(pair) is None
    pair.fetch_records()
    answer = pair.answer("Produce", 9).responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (Error.NONE, 0)


def test_acks_1_is_answered_at_once(pair):
    assert produce(pair, acks=1) == (Error.NONE, 0)


def test_acks_all_gives_up_after_the_requests_timeout_and_the_records_may_still_come_to_count(
    pair,
):
    assert produce(pair) is None
    pair.pass_time(1000)
    answer = pair.answer("Produce", 9).responses[0].partition_responses[0]
    assert answer.error_code == Error.REQUEST_TIMED_OUT
    pair.fetch_records()
    assert pair.values("orders") == ["a"]


def test_kip_98_a_batch_that_is_there_already_waits_like_a_new_one(pair):
    numbered = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    assert produce(pair, acks=1, **numbered) == (Error.NONE, 0)
    assert produce(pair, **numbered) is None
    pair.fetch_records()
    assert (
        pair.answer("Produce", 9).responses[0].partition_responses[0].base_offset == 0
    )


def test_a_leader_that_was_replaced_meanwhile_promises_nothing(pair):
    assert produce(pair) is None
    fields = {
        "partition_id": 0,
        "topic_id": pair.broker.image.topics["orders"].topic_id,
        "leader": 2,
    }
    pair.broker.quorum.append(
        [MetadataRecord("PartitionChangeRecord", 2, fields)], pair.now
    )
    pair.fetch_metadata()
    answer = pair.answer("Produce", 9).responses[0].partition_responses[0]
    assert answer.error_code == Error.NOT_LEADER_OR_FOLLOWER


def test_consumers_do_not_see_what_does_not_count(pair):
    produce(pair, acks=1)
    assert pair.values("orders") == []
    pair.send_fetch("orders", max_wait_ms=500)
    assert pair.answer() is None
    pair.fetch_records()
    assert len(pair.answer("Fetch", 12).responses[0].partitions[0].records) > 0


# -- a producer's requests in flight (max.in.flight.requests.per.connection)


class Wire:
    """A client's connection, and the shell around it: its frames, numbered by their
    correlation ids, which a turn lets in; and what became of them.
    """

    def __init__(self, pair):
        self.pair, self.heard = pair, []
        self.requests, self.is_paused = deque(), False
        self.turn = Turn(pair.broker, self, lambda: pair.now)
        self.turn.connected(self, "PLAINTEXT", "here")

    def answer(self, frame):
        if frame is None:
            self.heard.append("Done")
        else:
            self.heard.append(int.from_bytes(b"".join(frame)[:4], "big"))

    def refuse(self, why):
        self.heard.append("Close")
        self.turn.gone(self)

    def holds(self):
        return False

    def carry_out(self, effect):
        pass

    def turn_ended(self, touched):
        pass

    def produce(self, number, value="a", acks=-1, topic="orders"):
        data = [
            {"index": 0, "records": encode_batch([(WALL_MS, None, value.encode(), [])])}
        ]
        body = {
            "acks": acks,
            "timeout_ms": 1000,
            "topic_data": [{"name": topic, "partition_data": data}],
        }
        self.ask("Produce", 9, number, **body)

    def ask(self, api, version, number, **body):
        self.requests.append(
            bytearray().join(encode_request(api, version, number, "test", body))
        )

    def go(self):
        self.turn.receive(self, ())
        return self.heard

    @property
    def appended(self):
        return self.pair.broker.replicas.leader("orders", 0).log.log_end_offset


@pytest.fixture
def wire(pair):
    return Wire(pair)


def test_requests_in_flight_are_appended_while_the_first_one_waits_to_be_replicated(
    wire,
):
    for number in range(MOST_INSIDE + 2):
        wire.produce(number, str(number))
    assert wire.go() == []
    assert wire.appended == MOST_INSIDE
    wire.pair.fetch_records()
    assert wire.go() == list(range(MOST_INSIDE))
    assert wire.appended == MOST_INSIDE + 2
    wire.pair.fetch_records()
    assert wire.go() == list(range(MOST_INSIDE + 2))
    assert wire.pair.values("orders") == [
        str(number) for number in range(MOST_INSIDE + 2)
    ]


def test_what_is_done_early_is_answered_in_its_turn(wire):
    wire.produce(1)
    wire.produce(2, acks=1)
    wire.produce(3)
    assert wire.go() == []
    assert wire.appended == 2, (
        "who was answered early waits before another one comes in"
    )
    wire.pair.fetch_records()
    assert wire.go() == [1, 2]
    assert wire.appended == 3
    wire.pair.fetch_records()
    assert wire.go() == [1, 2, 3]


def test_a_request_that_waits_for_something_else_lets_nobody_in(wire):
    partition = {
        "partition": 0,
        "fetch_offset": 0,
        "partition_max_bytes": 1 << 20,
        "current_leader_epoch": -1,
    }
    topics = [{"topic": "orders", "partitions": [partition]}]
    wire.ask(
        "Fetch",
        11,
        1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=topics,
    )
    wire.produce(2)
    assert wire.go() == []
    assert wire.appended == 0
    wire.pair.pass_time(500)
    assert wire.go() == [1]
    assert wire.appended == 1


def test_an_error_closes_the_connection_after_those_before_it_are_answered(wire):
    wire.produce(1)
    wire.produce(2, acks=0, topic="nowhere")
    assert wire.go() == []
    wire.pair.fetch_records()
    assert wire.go() == [1, "Close"]


def test_acks_0_behind_acks_all_is_appended_at_once_and_never_answered(wire):
    wire.produce(1)
    wire.produce(2, acks=0)
    assert wire.go() == []
    assert wire.appended == 2
    wire.pair.fetch_records()
    assert wire.go() == [1, "Done"]


def test_nobody_waits_for_a_producer_that_hangs_up_with_requests_in_flight(wire):
    wire.produce(1)
    wire.produce(2)
    wire.produce(3, acks=1)
    wire.go()
    assert len(wire.pair.broker.requests.waiting) == 2
    wire.turn.gone(wire)
    assert len(wire.pair.broker.requests.waiting) == 0
    wire.pair.fetch_records()
    assert wire.go() == []


def test_a_bug_in_one_of_the_requests_in_flight_closes_the_connection_at_once(
    wire, monkeypatch
):
    wire.produce(1)
    wire.go()

    def bug(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("minikafka.broker.handlers.produce.append", bug)
    wire.produce(2)
    assert wire.go() == ["Close"]
    assert len(wire.pair.broker.requests.waiting) == 0


# -- groups


def commit(pair, offset):
    topics = [
        {
            "name": "orders",
            "partitions": [{"partition_index": 0, "committed_offset": offset}],
        }
    ]
    pair.send(
        "OffsetCommit",
        5,
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=topics,
    )


def test_a_committed_offset_is_not_there_before_it_counts(pair):
    commit(pair, 7)
    assert pair.answer() is None
    pair.connect("other")
    pair.send(
        "OffsetFetch",
        5,
        connection="other",
        group_id="g",
        topics=[{"name": "orders", "partition_indexes": [0]}],
    )
    assert pair.answer().topics[0].partitions[0].committed_offset == -1
    pair.fetch_records(OFFSETS_TOPIC)
    assert (
        pair.answer("OffsetCommit", 5).topics[0].partitions[0].error_code == Error.NONE
    )
    found = pair.call(
        "OffsetFetch",
        5,
        group_id="g",
        topics=[{"name": "orders", "partition_indexes": [0]}],
    )
    assert found.topics[0].partitions[0].committed_offset == 7


# -- the metadata quorum


def test_a_node_is_ready_only_when_its_registration_is_committed(empty):
    empty.pass_time(1000)
    assert empty.broker.image.brokers == {}
    empty.join()
    assert empty.broker.ready


def new_topic(name):
    return {
        "topics": [{"name": name, "num_partitions": 1, "replication_factor": 1}],
        "timeout_ms": 1000,
    }


def test_a_topic_is_there_when_its_records_are_committed(pair):
    pair.send("CreateTopics", 5, **new_topic("new"))
    assert pair.answer() is None
    assert "new" not in pair.broker.image.topics
    pair.fetch_metadata()
    assert pair.answer().topics[0].error_code == Error.NONE
    assert "new" in pair.broker.image.topics


def test_the_controller_decides_on_committed_state_only(pair):
    pair.send("CreateTopics", 5, **new_topic("new"))
    pair.connect("other")
    pair.send("CreateTopics", 5, connection="other", **new_topic("new"))
    assert pair.out() == []
    pair.fetch_metadata()
    codes = [reply.connection for reply in pair.broker.outbox]
    assert codes == ["client", "other"]
    first, second = pair.out()
    assert first.frame != second.frame, "the second one hears TOPIC_ALREADY_EXISTS"


def test_what_is_never_committed_is_never_answered_with_success(pair):
    pair.send("CreateTopics", 5, **new_topic("new"))
    pair.pass_time(30_000)
    [topic] = pair.answer().topics
    assert topic.error_code == Error.REQUEST_TIMED_OUT
    assert "new" not in pair.broker.image.topics


def test_kip_730_a_producer_id_waits_for_its_block(pair):
    pair.send("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    assert pair.answer() is None
    pair.fetch_metadata()
    first = pair.answer().producer_id
    assert (
        pair.call(
            "InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000
        ).producer_id
        == first + 1
    )


def test_kip_730_who_is_not_registered_has_no_producer_id_yet_and_its_client_tries_again(
    empty,
):
    """The controller refuses the broker with STALE_BROKER_EPOCH, of which no client
    knows.
    """
    empty.send("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    empty.fetch_metadata()
    assert not empty.broker.ready
    assert empty.answer().error_code == Error.COORDINATOR_LOAD_IN_PROGRESS


def test_kip_966_a_replica_that_left_when_nothing_new_could_count_is_told_to_clients(
    pair,
):
    placed = [{"partition_index": 0, "broker_ids": [1, 2]}]
    topic = {
        "name": "safe",
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": placed,
    }
    topic["configs"] = [{"name": "min.insync.replicas", "value": "2"}]
    pair.send("CreateTopics", 5, topics=[topic], timeout_ms=1000)
    pair.fetch_metadata()
    assert pair.answer().topics[0].error_code == Error.NONE
    value = pair.broker.active_controller.topic_value
    fencing = controller.fence(pair.broker.image, [2], value)
    pair.broker.quorum.append(fencing.records, pair.now)
    pair.fetch_metadata()
    [told] = (
        pair.call("DescribeTopicPartitions", 0, topics=[{"name": "safe"}])
        .topics[0]
        .partitions
    )
    assert (told.isr_nodes, told.eligible_leader_replicas, told.last_known_elr) == (
        [1],
        [2],
        [],
    )


def test_what_a_restart_finds_uncommitted_counts_only_with_the_new_leader_epoch(pair):
    pair.send("CreateTopics", 5, **new_topic("new"))
    pair.disk.crash()
    pair.now = Now(pair.now.monotonic_ms, WALL_MS)
    pair.start()
    assert "new" not in pair.broker.image.topics
    pair.fetch_metadata()
    assert "new" in pair.broker.image.topics


def test_a_stopped_node_takes_nothing_behind_what_it_noted_as_its_end(pair):
    """A clean stop notes where each log ends. What would be appended after that makes
    a damaged log of it at the next start.
    """
    wire = Wire(pair)
    wire.produce(1, acks=1)
    assert wire.go() == [1]
    log = pair.broker.replicas.leader("orders", 0).log
    end = log.log_end_offset
    wire.produce(2, acks=1)
    pair.broker.stop(pair.now)
    assert wire.go() == [1] and len(wire.requests) == 1
    assert log.log_end_offset == end
