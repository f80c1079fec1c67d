"""Every wrong value gets one plain line, at the call: the argument, what was given,
what would be right.
"""

import dataclasses
from typing import get_args

import pytest

from minikafka import Cluster, faults
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Crash
from minikafka.simulation.arguments import OF_FAULTS
from minikafka.wire.errors import KafkaError

P0 = TopicPartition("orders", 0)
NAN, INF = float("nan"), float("inf")
NUMBERS = [
    ("3", TypeError),
    (2.5, TypeError),
    (True, TypeError),
    ([], TypeError),
    (10**20, ValueError),
]
SECONDS = [
    ("1", TypeError),
    (True, TypeError),
    ([], TypeError),
    *((each, ValueError) for each in (NAN, INF, -1, 1e12)),
]
TEXTS = [
    (5, TypeError),
    (None, TypeError),
    (b"orders", TypeError),
    ("\ud800", ValueError),
    ("x" * 40_000, ValueError),
]
NO_LIST = [
    (5, TypeError),
    (None, TypeError),
    ("orders", ValueError),
    ([5], ValueError),
    ([("orders", -1)], ValueError),
]


class World:
    """The objects whose methods a learner calls."""

    def __init__(self):
        self.cluster = Cluster(seed=7)
        self.cluster.create_topic("orders", partitions=2)
        self.producer = self.cluster.producer()
        self.producer.send("orders", key="alice", value="paid")
        self.reader = self.cluster.consumer()
        self.reader.assign([P0])
        self.member = self.cluster.consumer("orders", group_id="billing")
        self.member.poll(timeout_ms=5000)
        self.waiting = self.producer.send("orders", key="alice", value="shipped")


@pytest.fixture(scope="module")
def world():
    made = World()
    yield made
    made.cluster.close()


# (the call, the argument, its wrong values with the exception of each)
CALLS = [
    (
        lambda w, v: Cluster(brokers=v),
        "brokers",
        [("1", TypeError), (1.0, TypeError), (True, TypeError)],
    ),
    (lambda w, v: Cluster(seed=v), "seed", NUMBERS[:4]),
    (
        lambda w, v: Cluster(faults=v),
        "faults",
        [(5, TypeError), (Crash(1, at_ms=5), TypeError)],
    ),
    (
        lambda w, v: Cluster(latency_ms=v),
        "latency_ms",
        [
            (3, TypeError),
            ("13", TypeError),
            ((5, 1), ValueError),
            ((-1, 3), ValueError),
            ((1,), ValueError),
            ((1, 2, 3), ValueError),
            ((1.0, 2), ValueError),
            ((1, NAN), ValueError),
        ],
    ),
    (
        lambda w, v: Cluster(configs=v),
        "configs",
        [("x", TypeError), (["a"], TypeError), ({1: 2}, ValueError)],
    ),
    (lambda w, v: w.cluster.create_topic(v), "name", TEXTS),
    (
        lambda w, v: w.cluster.create_topic("new", partitions=v),
        "partitions",
        [*NUMBERS, (0, ValueError), (-1, ValueError)],
    ),
    (
        lambda w, v: w.cluster.create_topic("new", replication_factor=v),
        "replication_factor",
        NUMBERS,
    ),
    (
        lambda w, v: w.cluster.create_topic("new", configs=v),
        "configs",
        [("x", TypeError), ({1: 2}, ValueError)],
    ),
    (lambda w, v: w.cluster.create_partitions(v, 3), "topic", TEXTS),
    (lambda w, v: w.cluster.create_partitions("orders", v), "partitions", NUMBERS),
    (lambda w, v: w.cluster.delete_topic(v), "name", TEXTS),
    (lambda w, v: w.cluster.delete_records(v, 0, 0), "topic", TEXTS),
    (lambda w, v: w.cluster.delete_records("orders", v, 0), "partition", NUMBERS),
    (
        lambda w, v: w.cluster.delete_records("orders", 0, v),
        "before_offset",
        [*NUMBERS, (-2, ValueError)],
    ),
    (
        lambda w, v: w.cluster.alter_configs(v, {}),
        "topic",
        [(None, TypeError), (1.5, TypeError), (b"orders", TypeError)],
    ),
    (
        lambda w, v: w.cluster.alter_configs("orders", v),
        "configs",
        [("x", TypeError), (None, TypeError), ({1: 2}, ValueError)],
    ),
    (lambda w, v: w.cluster.records(v), "topic", TEXTS),
    (
        lambda w, v: w.cluster.records("orders", v),
        "partition",
        [*NUMBERS, (-1, ValueError)],
    ),
    (
        lambda w, v: w.cluster.leader("orders", v),
        "partition",
        [*NUMBERS, (-1, ValueError)],
    ),
    (lambda w, v: w.cluster.log_offsets("orders", v), "partition", NUMBERS),
    (lambda w, v: w.cluster.partition_count(v), "topic", TEXTS),
    (lambda w, v: w.cluster.group(v), "group", TEXTS),
    (lambda w, v: w.cluster.lag(v), "group", TEXTS),
    (lambda w, v: w.cluster.committed_offsets(v), "group", TEXTS),
    (lambda w, v: w.cluster.delete_group(v), "group", TEXTS),
    (lambda w, v: w.cluster.alter_offsets(v, {}), "group", TEXTS),
    (
        lambda w, v: w.cluster.alter_offsets("billing", v),
        "offsets",
        [
            (5, TypeError),
            ([P0], TypeError),
            ({P0: -5}, ValueError),
            ({P0: "1"}, ValueError),
            ({P0: 2**63}, ValueError),
            ({"orders": 1}, ValueError),
            ({("orders", -1): 1}, ValueError),
        ],
    ),
    (
        lambda w, v: w.cluster.slow(w.member, v),
        "processing_ms",
        [*NUMBERS, (-1, ValueError)],
    ),
    (
        lambda w, v: w.cluster.start(v),
        "program",
        [("billing", TypeError), (None, TypeError)],
    ),
    (lambda w, v: w.cluster.table(v), "name", TEXTS),
    (lambda w, v: w.cluster.run(v), "seconds", SECONDS),
    (lambda w, v: w.cluster.sleep(v), "seconds", SECONDS),
    (lambda w, v: w.cluster.run_ms(v), "ms", [*NUMBERS, (-1, ValueError)]),
    (
        lambda w, v: w.cluster.run_until(v),
        "condition",
        [(True, TypeError), (None, TypeError), ("done", TypeError)],
    ),
    (lambda w, v: w.cluster.run_until(bool, v), "seconds", SECONDS),
    (lambda w, v: w.cluster.replay(v), "until_ms", [*NUMBERS, (-1, ValueError)]),
    (lambda w, v: w.cluster.crash(1, call=v), "call", [*NUMBERS, (0, ValueError)]),
    (lambda w, v: w.cluster.freeze(w.reader, v), "seconds", SECONDS),
    (lambda w, v: w.cluster.play(v), "prediction", [(5, ValueError), ([], ValueError)]),
    (lambda w, v: w.cluster.play(None, v), "name", [(5, TypeError)]),
    (
        lambda w, v: w.cluster.play("log", surprise=v),
        "surprise",
        [("paid", TypeError), (5, TypeError)],
    ),
    (
        lambda w, v: w.cluster.play("log", topic=v),
        "topic",
        [(5, TypeError), (["orders"], TypeError)],
    ),
    (
        lambda w, v: w.cluster.play("log", partitions=v),
        "partitions",
        [(0, TypeError), ("0", ValueError), ([-1], ValueError)],
    ),
    (lambda w, v: w.cluster.play("commit", partition=v), "partition", NUMBERS),
    (lambda w, v: w.cluster.play("rebalance", group=v), "group", [(5, TypeError)]),
    (
        lambda w, v: w.cluster.play("rebalance", since_ms=v),
        "since_ms",
        [*NUMBERS, (-1, ValueError)],
    ),
    (
        lambda w, v: w.cluster.play("rebalance", beside=v),
        "beside",
        [(5, TypeError), ("x", ValueError), ([5], ValueError)],
    ),
    (lambda w, v: w.producer.send(v, "paid"), "topic", TEXTS),
    (lambda w, v: w.producer.send("orders", key=v), "key", [("\ud800", ValueError)]),
    (
        lambda w, v: w.producer.send("orders", value=v),
        "value",
        [("\ud800", ValueError)],
    ),
    (
        lambda w, v: w.producer.send("orders", headers=v),
        "headers",
        [
            (5, TypeError),
            ("ab", TypeError),
            ([("a",)], TypeError),
            ([(1, b"")], TypeError),
            ([("\ud800", b"")], TypeError),
        ],
    ),
    (
        lambda w, v: w.producer.send("orders", partition=v),
        "partition",
        [*NUMBERS, (-1, ValueError)],
    ),
    (
        lambda w, v: w.producer.send("orders", timestamp_ms=v),
        "timestamp_ms",
        [*NUMBERS, (2**70, ValueError), (-1, ValueError)],
    ),
    (
        lambda w, v: w.producer.send_offsets_to_transaction({}, v),
        "group",
        [(5, TypeError), (None, TypeError), ("\ud800", ValueError)],
    ),
    (lambda w, v: w.producer.flush(v), "timeout", SECONDS),
    (lambda w, v: w.producer.close(v), "timeout", SECONDS),
    (lambda w, v: w.producer.partitions_for(v), "topic", TEXTS),
    (lambda w, v: w.waiting.get(v), "timeout", SECONDS),
    (lambda w, v: w.cluster.consumer(v), "topics", [*TEXTS, (["orders"], TypeError)]),
    (lambda w, v: w.reader.poll(v), "timeout_ms", SECONDS[:-1]),
    (
        lambda w, v: w.reader.poll(0, v),
        "max_records",
        [*NUMBERS, (0, ValueError), (-1, ValueError)],
    ),
    (
        lambda w, v: w.reader.seek(v, 0),
        "partition",
        [(0, TypeError), (("orders", "0"), ValueError), (("orders", -1), ValueError)],
    ),
    (
        lambda w, v: w.reader.seek(P0, v),
        "offset",
        [(True, TypeError), *((each, ValueError) for each in ("3", 2.5, -1, 2**63))],
    ),
    (
        lambda w, v: w.reader.seek_to_beginning(v),
        "partitions",
        [(0, TypeError), ([P0], TypeError), ("orders", TypeError)],
    ),
    (
        lambda w, v: w.reader.seek_to_end(v),
        "partitions",
        [(0, TypeError), ([P0], TypeError)],
    ),
    (
        lambda w, v: w.reader.position(v),
        "partition",
        [(0, TypeError), ([P0], TypeError)],
    ),
    (lambda w, v: w.reader.position(P0, v), "timeout_ms", SECONDS[:-1]),
    (lambda w, v: w.reader.pause(v), "partitions", [(0, TypeError), ([P0], TypeError)]),
    (
        lambda w, v: w.reader.resume(v),
        "partitions",
        [(0, TypeError), ([P0], TypeError)],
    ),
    (
        lambda w, v: w.reader.highwater(v),
        "partition",
        [(0, TypeError), ([P0], TypeError)],
    ),
    (
        lambda w, v: w.reader.assign(v),
        "partitions",
        [*NO_LIST, (P0, ValueError), ((each for each in [P0]), TypeError)],
    ),
    (lambda w, v: w.reader.beginning_offsets(v), "partitions", NO_LIST),
    (lambda w, v: w.reader.end_offsets(v), "partitions", NO_LIST),
    (
        lambda w, v: w.reader.offsets_for_times(v),
        "timestamps",
        [
            (5, TypeError),
            ([P0], TypeError),
            ({P0: "x"}, ValueError),
            ({P0: -1}, ValueError),
            ({P0: NAN}, ValueError),
            ({P0: 2**70}, ValueError),
            ({"orders": 1}, ValueError),
        ],
    ),
    (lambda w, v: w.reader.partitions_for_topic(v), "topic", TEXTS),
    (
        lambda w, v: w.member.subscribe(v),
        "topics",
        [(5, TypeError), ([5], ValueError), ([b"orders"], ValueError)],
    ),
    (
        lambda w, v: w.member.subscribe("orders", listener=v),
        "listener",
        [(5, ValueError), (print, ValueError)],
    ),
    (
        lambda w, v: w.member.commit(v),
        "offsets",
        [
            (5, TypeError),
            ([P0], TypeError),
            ({P0: 5}, TypeError),
            ({P0: OffsetAndMetadata(-1)}, TypeError),
            ({P0: OffsetAndMetadata(1, 5)}, TypeError),
            ({"orders": OffsetAndMetadata(1)}, TypeError),
        ],
    ),
    (lambda w, v: w.member.commit(timeout_ms=v), "timeout_ms", SECONDS[:-1]),
    (
        lambda w, v: w.member.commit_async(v),
        "offsets",
        [(5, TypeError), ({P0: 5}, TypeError)],
    ),
    (
        lambda w, v: w.member.commit_async(callback=v),
        "callback",
        [(5, TypeError), ("done", TypeError)],
    ),
    (
        lambda w, v: w.member.committed(v),
        "partition",
        [(0, TypeError), ([P0], TypeError)],
    ),
    (
        lambda w, v: w.member.committed(P0, metadata=v),
        "metadata",
        [(1, TypeError), ("yes", TypeError)],
    ),
    (lambda w, v: w.member.committed(P0, timeout_ms=v), "timeout_ms", SECONDS[:-1]),
    (
        lambda w, v: w.member.close(autocommit=v),
        "autocommit",
        [(5, TypeError), ("no", TypeError)],
    ),
    (lambda w, v: w.member.close(timeout_ms=v), "timeout_ms", SECONDS[:-1]),
    (lambda w, v: w.member.slow(v), "processing_ms", [*NUMBERS, (-1, ValueError)]),
    (
        lambda w, v: w.cluster.play("log").svg(v),
        "step",
        [("1", TypeError), (999, ValueError), (-999, ValueError)],
    ),
    (lambda w, v: w.cluster.play("log").page(at_ms=v), "at_ms", [("1", TypeError)]),
]


@pytest.mark.parametrize(
    ("call", "argument", "wrong"),
    CALLS,
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_wrong_value_gets_one_sentence_that_names_the_argument(
    world, call, argument, wrong
):
    events = len(world.cluster.trace)
    for value, kind in wrong:
        with pytest.raises(kind) as caught:
            call(world, value)
        words = str(caught.value)
        assert (
            words.startswith(f"{argument}=")
            and "give" in words
            and len(words) < 250
            and words.isprintable()
        ), words
    assert len(world.cluster.trace) == events, "nothing has happened"


def test_each_field_of_each_fault_is_checked():
    names = {"node", "one", "other", "client", "broker"}
    for kind in get_args(faults.Fault):
        fields = {each.name for each in dataclasses.fields(kind)}
        assert fields <= OF_FAULTS.keys() | names, kind


@pytest.mark.parametrize(
    "target", [2, 0, -1, True, 1.0, None, [1], "broker 9", "", print, {}]
)
def test_what_is_to_crash_must_be_here(world, target):
    for call in (
        world.cluster.crash,
        world.cluster.freeze,
        world.cluster.thaw,
        world.cluster.restart,
        lambda each: world.cluster.cut(1, each),
    ):
        with pytest.raises(
            ValueError, match="is not here; there are broker 1, producer 1"
        ):
            call(target)


def test_a_client_of_another_cluster_is_not_here(world):
    with Cluster() as other:
        stranger = other.consumer(client_id="stranger")
        with pytest.raises(ValueError, match="<stranger: up> is not here"):
            world.cluster.freeze(stranger)
    with pytest.raises(ValueError, match="is no consumer"):
        world.cluster.slow(world.producer, 5)


@pytest.mark.parametrize("how", ["power", "silent"])
def test_only_a_broker_has_a_machine_that_can_go_away(world, how):
    with pytest.raises(
        TypeError, match="only a broker can lose power or go without a word"
    ):
        world.cluster.crash(world.cluster.producer(), **{how: True})


REFUSED_BY_KAFKA = [
    (lambda c: c.create_topic("new", partitions=2**31 - 1), "partitions"),
    (lambda c: c.create_topic("no spaces"), "no spaces"),
    (lambda c: c.create_topic("new", configs={"retention.ms": [5]}), "retention.ms"),
    (lambda c: c.create_topic("new", replication_factor=3), "replication"),
    (lambda c: c.alter_configs("orders", {"retention": 5}), "retention"),
    (lambda c: c.alter_configs("nowhere", {"retention.ms": 5}), "nowhere"),
    (lambda c: c.create_partitions("orders", 1), "orders"),
    (lambda c: c.delete_topic("nowhere"), "nowhere"),
    (lambda c: c.records("order"), "did you mean 'orders'"),
    (lambda c: c.leader("orders", 7), "partitions 0 to 1, no 7"),
    (lambda c: c.group("biling"), "did you mean 'billing'"),
    (lambda c: c.delete_records("orders", 0, 99), "orders"),
]


@pytest.mark.parametrize(
    ("call", "words"),
    REFUSED_BY_KAFKA,
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_only_the_broker_can_know_is_refused_in_words_too(world, call, words):
    with pytest.raises(KafkaError) as caught:
        call(world.cluster)
    assert words in str(caught.value) and len(str(caught.value)) < 300


def test_an_empty_picture_is_saved_shown_and_told(tmp_path):
    with Cluster() as cluster:
        for name in ("log", "partitioner", "pipeline", "commit", "lag", "rebalance"):
            shown = cluster.play(name)
            shown.save(tmp_path / "page.html")
            assert (
                "nothing has happened yet" in repr(shown)
                and repr(shown.table()) == ""
                and "<svg" in shown.svg()
            )


def test_a_topic_without_records_is_a_picture(tmp_path):
    with Cluster() as cluster:
        cluster.create_topic("orders")
        for name in ("log", "partitioner", "pipeline", "commit", "lag", "rebalance"):
            cluster.play(name).save(tmp_path / "page.html")


def test_no_client_takes_the_name_of_a_broker(world):
    with Cluster() as cluster:
        names = [
            cluster.producer(client_id=name).name
            for name in ("broker 1", "admin", "network", "cluster", "shop")
        ]
        assert names == ["broker 1 1", "admin 1", "network 1", "cluster 1", "shop"]
        cluster.create_topic("orders")


def test_no_two_clients_have_one_name_however_often_it_is_given(world):
    with Cluster() as cluster:
        assert [cluster.producer(client_id="pay").name for _ in range(3)] == [
            "pay",
            "pay 1",
            "pay 2",
        ]


def interrupted(cluster):
    cluster.sleep(1)
    raise KeyboardInterrupt


def interrupted_condition():
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["program", "condition", "listener", "serializer"])
def test_an_interrupt_leaves_the_cluster_usable(where):
    """What stops run(10**9), or a program that never gives way, is the kernel's
    interrupt.
    """
    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        producer = cluster.producer()
        with pytest.raises(KeyboardInterrupt):
            if where == "program":
                program = cluster.start(interrupted, cluster)
                cluster.run(10**9)
            elif where == "condition":
                cluster.run_until(interrupted_condition)
            elif where == "serializer":
                cluster.producer(
                    value_serializer=lambda value: interrupted_condition()
                ).send("orders", "paid")
            else:
                listener = type(
                    "Listener",
                    (),
                    {"on_partitions_assigned": lambda *_: interrupted_condition()},
                )()
                consumer = cluster.consumer(group_id="billing")
                consumer.subscribe("orders", listener=listener)
                consumer.poll(timeout_ms=5000)
        if where == "program":
            assert program.state == "failed"
        producer.send("orders", "paid")
        cluster.run(1)
        assert [record.value for record in cluster.records("orders")] == [b"paid"]
        reader = cluster.consumer("orders", auto_offset_reset="earliest")
        assert sum(map(len, reader.poll(timeout_ms=1000).values())) == 1
        if where == "listener":
            listener.on_partitions_assigned = lambda partitions: None
            consumer.poll(timeout_ms=5000)
            assert consumer.assignment() == {P0}
