"""Quotas of clients that write and read (KIP-13), take the broker's time (KIP-124) and
change topics (KIP-599), and that the broker doesn't hear those who go beyond (KIP-219);
and of addresses that open connections, and listeners that take them (KIP-612).
"""

import math
import sys
from random import Random

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.effects import Notice
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.cluster.metadata import MetadataRecord
from minikafka.cluster.quotas import (
    CONNECTIONS,
    FETCH,
    MUTATIONS,
    PRODUCE,
    REQUESTS,
    Rate,
    SimpleRate,
    limit,
)
from minikafka.wire.errors import Error
from minikafka.wire.records import encode_batch
from tests.broker.node import Node

MUCH = ("x" * 10_000,)
RAW = 10_000


@pytest.fixture
def node():
    node = Node()
    node.create_topic("orders")
    return node


def set_quota(node, key, value, **entity):
    """entity: user or client_id; null is the default."""
    parts = []
    for kind, name in entity.items():
        parts.append({"entity_type": kind.replace("_", "-"), "entity_name": name})
    ops = [{"key": key, "value": value or 0.0, "remove": value is None}]
    entries = [{"entity": parts, "ops": ops}]
    [answer] = node.call("AlterClientQuotas", 1, entries=entries).entries
    assert answer.error_code == 0, answer


def produced(node, *values):
    """For how long the producer is throttled."""
    batch = encode_batch([(0, None, value.encode(), []) for value in values])
    data = {"name": "orders", "partition_data": [{"index": 0, "records": batch}]}
    answer = node.call("Produce", 9, acks=1, timeout_ms=1000, topic_data=[data])
    assert answer.responses[0].partition_responses[0].error_code == 0
    return answer.throttle_time_ms


def test_ten_seconds_worth_may_come_at_once(node):
    set_quota(node, PRODUCE, 2000.0, client_id="test")
    assert produced(node, *MUCH) == 0
    throttle_ms = produced(node, *MUCH)
    assert 0 < throttle_ms < 1000
    node.pass_time(throttle_ms)
    node.pass_time(11_000)
    assert produced(node, *MUCH) == 0, "what was long ago doesn't count"


def test_a_throttled_client_is_not_heard_until_its_time_is_over(node):
    set_quota(node, PRODUCE, 1000.0, client_id="test")
    throttle_ms = produced(node, *MUCH)
    assert throttle_ms > 0
    node.send("Metadata", 12, topics=None)
    assert node.answer() is None
    node.connect("another client")
    node.send("Metadata", 12, "another client", topics=None)
    assert node.answer(), "only this connection is"
    node.pass_time(throttle_ms - 1)
    assert node.answer() is None
    node.pass_time(1)
    assert node.answer("Metadata", 12).topics


def test_a_throttled_producer_without_answers_is_not_heard_either(node):
    set_quota(node, PRODUCE, 1000.0, client_id="test")
    assert node.produce("orders", *MUCH, acks=0) is None
    node.send("Metadata", 12, topics=None)
    assert node.answer() is None
    node.pass_time(10_000)
    assert node.answer().topics


def test_a_throttled_fetch_has_nothing_and_goes_on_later(node):
    for _ in range(4):
        node.produce("orders", *MUCH)
    set_quota(node, FETCH, 2500.0, client_id="test")
    node.send_fetch("orders", max_bytes=1 << 20)
    first = node.answer()
    size = len(first.responses[0].partitions[0].records)
    assert (first.throttle_time_ms, size > 2 * RAW) == (0, True)
    node.send_fetch("orders", offset=2)
    second = node.answer()
    assert (second.responses, second.throttle_time_ms > 0) == ([], True)
    node.pass_time(second.throttle_time_ms + 11_000)
    assert node.fetch("orders", offset=2).records


def test_a_node_that_stops_answers_those_that_it_does_not_hear(node):
    set_quota(node, PRODUCE, 1000.0, client_id="test")
    produced(node, *MUCH)
    node.send("Metadata", 12, topics=None)
    node.broker.stop(node.now)
    assert node.answer().topics


def test_quotas_are_there_after_a_restart(node):
    set_quota(node, PRODUCE, 1000.0, client_id="test")
    for clean in (True, False):
        node.restart(clean)
        throttle_ms = produced(node, *MUCH)
        assert throttle_ms > 0
    node.pass_time(throttle_ms)
    set_quota(node, PRODUCE, None, client_id="test")
    assert node.broker.image.users.quotas == {}
    assert produced(node, *MUCH, *MUCH) == 0


# -- KIP-124


class SlowNode(Node):
    """A node that takes a while for everything: each look at its stopwatch is so many ms
    after the one before. It looks when it begins with a request, when it has the answer,
    and when it is done with it.
    """

    work_ms = elapsed_ms = looks = 0

    def new_broker(self):
        plain = super().new_broker()
        said = plain.config, self.disk, Random(7), plain.trace
        return Broker(self.node_id, *said, stopwatch=self.look)

    def look(self):
        self.looks += 1
        self.elapsed_ms += self.work_ms
        return self.elapsed_ms * 1_000_000


@pytest.fixture
def slow():
    node = SlowNode()
    node.create_topic("orders")
    return node


def throttled_ms(node):
    """For how long its client is told to be silent."""
    return node.call("Metadata", 12, topics=[]).throttle_time_ms


def test_kip_124_who_takes_more_than_its_share_of_the_time_is_told_and_not_heard(slow):
    """A tenth of the time is one second in ten."""
    set_quota(slow, REQUESTS, 10.0, client_id="test")
    slow.work_ms = 200
    assert [throttled_ms(slow) for _ in range(3)] == [0, 0, 0]
    throttle_ms = throttled_ms(slow)
    assert throttle_ms == 1000
    slow.send("Metadata", 12, topics=[])
    assert slow.answer() is None
    slow.connect("another client")
    slow.send("Metadata", 12, "another client", topics=[])
    assert slow.answer(), "only this connection is muted"
    slow.pass_time(999)
    assert slow.answer() is None
    slow.pass_time(1)
    assert slow.answer("Metadata", 12)


def test_kip_124_a_throttle_lasts_until_the_share_is_kept_and_a_second_at_most(slow):
    set_quota(slow, REQUESTS, 10.0, client_id="test")
    slow.work_ms = 1001
    assert throttled_ms(slow) == 10
    slow.pass_time(12_000)
    slow.work_ms = 60_000
    assert throttled_ms(slow) == 1000


def test_kip_124_what_was_long_ago_does_not_count(slow):
    set_quota(slow, REQUESTS, 10.0, client_id="test")
    for _ in range(3):
        slow.work_ms = 500
        assert throttled_ms(slow) == 0
        slow.pass_time(12_000)


def test_kip_124_a_percent_is_one_of_a_thread_so_more_than_a_hundred_is_no_limit(slow):
    set_quota(slow, REQUESTS, 120.0, client_id="test")
    for _ in range(30):
        slow.work_ms = 500
        assert throttled_ms(slow) == 0
        slow.pass_time(1000)


def test_kip_124_a_produce_is_carried_out_and_a_fetch_has_nothing(slow):
    slow.produce("orders", "a")
    set_quota(slow, REQUESTS, 1.0, client_id="test")
    slow.work_ms = 1000
    assert produced(slow, "b") == 1000
    slow.pass_time(12_000)
    slow.send_fetch("orders")
    answer = slow.answer()
    assert (answer.responses, answer.throttle_time_ms) == ([], 1000)
    slow.work_ms = 0
    slow.pass_time(22_000)
    assert slow.values("orders") == ["a", "b"]


def test_kip_124_the_longer_of_two_throttles_is_told(slow):
    set_quota(slow, REQUESTS, 1.0, client_id="test")
    slow.work_ms = 1000
    set_quota(slow, PRODUCE, 900.0, client_id="test")
    slow.pass_time(1000)
    assert produced(slow, *MUCH) > 1000
    slow.pass_time(60_000)
    set_quota(slow, PRODUCE, 100_000.0, client_id="test")
    slow.pass_time(60_000)
    assert produced(slow, *MUCH) == 1000


def test_kip_124_a_request_that_waits_takes_no_time(slow):
    """As a Fetch of a consumer does that has read everything."""
    set_quota(slow, REQUESTS, 1.0, client_id="test")
    slow.work_ms = 1
    slow.send_fetch("orders", max_wait_ms=60_000, min_bytes=1)
    assert slow.answer() is None
    slow.pass_time(60_000)
    assert slow.answer().throttle_time_ms == 0


def test_kip_124_the_time_of_a_producer_without_answers_does_not_count(slow):
    set_quota(slow, REQUESTS, 1.0, client_id="test")
    slow.work_ms = 10_000
    for _ in range(3):
        assert slow.produce("orders", "a", acks=0) is None
    slow.work_ms = 0
    assert throttled_ms(slow) == 0


def test_kip_124_nodes_have_no_quota(slow):
    set_quota(slow, REQUESTS, 1.0, client_id=None)
    slow.broker.connected("node", CONTROLLER_LISTENER, "127.0.0.1")
    slow.work_ms = 10_000
    for _ in range(3):
        slow.send("Metadata", 12, "node", topics=[])
        assert slow.answer().throttle_time_ms == 0


def test_kip_124_where_nobody_has_a_quota_nothing_is_measured(slow):
    before = slow.looks
    throttled_ms(slow)
    assert slow.looks == before
    set_quota(slow, PRODUCE, 1000.0, client_id="another")
    slow.work_ms = 10_000
    assert throttled_ms(slow) == 0


def test_kip_124_in_the_simulation_a_request_takes_no_time(node):
    set_quota(node, REQUESTS, 0.001, client_id="test")
    assert [throttled_ms(node) for _ in range(100)] == [0] * 100


# -- KIP-612


def connections(node, host, count=1):
    """For how long each of its new connections is held before it is closed."""
    return [node.broker.throttling.connected(host, node.now) for _ in range(count)]


def test_kip_612_an_address_opens_ten_seconds_worth_at_once_and_then_its_rate(node):
    set_quota(node, CONNECTIONS, 2.0, ip="10.0.0.1")
    assert connections(node, "10.0.0.1", 20) == [0] * 20
    assert connections(node, "10.0.0.1", 3) == [500] * 3, "those held don't count"
    assert connections(node, "10.0.0.2", 99) == [0] * 99, "others have no limit"
    node.pass_time(11_000)
    assert connections(node, "10.0.0.1", 21) == [0] * 20 + [500]


def test_kip_612_a_connection_is_held_for_a_second_at_most(node):
    set_quota(node, CONNECTIONS, 100.0, ip=None)
    connections(node, "10.0.0.1", 300)
    set_quota(node, CONNECTIONS, 1.0, ip=None)
    assert connections(node, "10.0.0.1") == [1000]


def test_kip_612_the_default_is_counted_for_each_address(node):
    set_quota(node, CONNECTIONS, 1.0, ip=None)
    set_quota(node, CONNECTIONS, 3.0, ip="localhost")
    for host, most in (("10.0.0.1", 10), ("10.0.0.2", 10), ("127.0.0.1", 30)):
        held = connections(node, host, most + 1)
        assert held[:most] == [0] * most and held[most] > 0, host
    set_quota(node, CONNECTIONS, None, ip=None)
    assert connections(node, "10.0.0.1", 50) == [0] * 50


def test_kip_612_an_address_has_one_quota_however_it_is_spelled(node):
    """As Java's InetAddress reads it: what was set last, under any name, counts."""
    for name, host in (
        ("0:0:0:0:0:0:0:1", "::1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("10.0.0.2", "::ffff:10.0.0.2"),
        ("fe80::1", "fe80::1%eth0"),
        ("LOCALHOST", "127.0.0.1"),
    ):
        set_quota(node, CONNECTIONS, 1.0, ip=name)
        assert connections(node, host, 11)[-1] > 0, name
    set_quota(node, CONNECTIONS, 5.0, ip="::1")
    assert connections(node, "::1") == [0]
    set_quota(node, CONNECTIONS, None, ip="::1")
    assert connections(node, "::1", 99) == [0] * 99
    for wrong in ("[10.0.0.1]", "[::1", "::1]", "1::2::3", "10.0.0.1/8"):
        assert "is not a valid IP" in verdict(node, CONNECTIONS, 1.0, "ip", wrong)


def waits_ms(node, listener, count=1):
    """For how long new connections of a listener wait, and those behind them."""
    wait_ms = node.broker.throttling.connection_wait_ms
    return [wait_ms(listener, node.now) for _ in range(count)]


def test_kip_612_a_listener_lets_in_ten_seconds_worth_at_once_and_then_its_rate():
    """Those that wait are let in, so they count, too."""
    node = Node(**{"listener.name.ssl.max.connection.creation.rate": "2"})
    assert waits_ms(node, "SSL", 20) == [0] * 20
    assert waits_ms(node, "SSL", 3) == [500, 1000, 1000]
    assert waits_ms(node, "PLAINTEXT", 99) == [0] * 99
    node.pass_time(11_000)
    assert waits_ms(node, "SSL", 21) == [0] * 20 + [500]


def test_kip_612_a_brokers_rate_is_of_all_its_listeners_and_changes_at_run_time(node):
    assert waits_ms(node, "PLAINTEXT", 11) == [0] * 11
    alter_brokers(node, "max.connection.creation.rate", "2")
    assert waits_ms(node, "SSL", 10) == [0] * 9 + [500]
    alter_brokers(node, "listener.name.ssl.max.connection.creation.rate", "1")
    assert waits_ms(node, "PLAINTEXT") == [1000]
    alter_brokers(node, "max.connection.creation.rate", None)
    assert waits_ms(node, "PLAINTEXT") == [0]
    assert waits_ms(node, "SSL") == [1000]
    alter_brokers(node, "listener.name.ssl.max.connection.creation.rate", "0")
    node.pass_time(60_000)
    assert waits_ms(node, "SSL") == [1000]


def alter_brokers(node, name, text):
    """Set a config of all brokers, or take it back (None)."""
    asked = {"name": name, "config_operation": 1 if text is None else 0, "value": text}
    resource = {"resource_type": 4, "resource_name": "", "configs": [asked]}
    [answer] = node.call("IncrementalAlterConfigs", 1, resources=[resource]).responses
    assert answer.error_code == 0, answer


# -- numbers that are none, or next to nothing

RATES = (PRODUCE, FETCH)
SHARES = ("request_percentage", "controller_mutation_rate")
TAKEN, TOO_LARGE, NO_FRACTION = "", "too large for", "cannot be a fractional value"
TOO_SMALL, INFINITE = "must be greater than 0", "must be a finite number"
LONG = 2.0**63
OF_RATES = {
    -math.inf: TOO_SMALL,
    -1.0: TOO_SMALL,
    -5e-324: TOO_SMALL,
    0.0: TOO_SMALL,
    0.5: NO_FRACTION,
    1.0: TAKEN,
    1 + 1e-7: TAKEN,
    LONG: TAKEN,
    1e19: TOO_LARGE,
    sys.float_info.max: TOO_LARGE,
    math.inf: INFINITE,
}
OF_SHARES = dict.fromkeys(OF_RATES, TAKEN) | {
    value: TOO_SMALL for value in OF_RATES if value <= 0
}
OF_SHARES[math.inf] = INFINITE
STRICTER = (math.nan, 5e-324, 1e-7)


def verdict(node, key, value, *entity):
    """What is said of a quota; nothing where it is set."""
    kind, name = entity
    parts = [{"entity_type": kind, "entity_name": name}]
    ops = [{"key": key, "value": value}]
    [answer] = node.call(
        "AlterClientQuotas", 1, entries=[{"entity": parts, "ops": ops}]
    ).entries
    return answer.error_message or ""


@pytest.mark.parametrize("key", [*RATES, *SHARES])
def test_kip_546_quotas_at_the_ends_of_a_double_are_judged_as_by_apache_kafka(
    node, key
):
    for value, words in (OF_RATES if key in RATES else OF_SHARES).items():
        said = verdict(node, key, value, "client-id", "app")
        assert words in said and bool(words) == bool(said), value


def test_kip_546_quotas_of_addresses_at_the_ends_of_an_int(node):
    for value, words in OF_RATES.items():
        largest = {LONG: 2.0**31 - 1, 1e19: 2.0**31}.get(value, value)
        said = verdict(node, "connection_creation_rate", largest, "ip", None)
        assert words in said and bool(words) == bool(said), value


def test_a_rate_that_is_no_number_or_next_to_nothing_is_refused(node):
    """Apache Kafka 4.3.1 takes NaN for any quota, and for a rate what is so small that
    it is no fraction. By a rate of 1e-7 a client reads nothing any more there; by NaN and
    by 5e-324 it reads one batch at a time and is never throttled.
    """
    for key in RATES:
        for value in STRICTER:
            assert TOO_SMALL in verdict(node, key, value, "client-id", None)
    for key in SHARES:
        assert TOO_SMALL in verdict(node, key, math.nan, "client-id", None)
        assert verdict(node, key, 5e-324, "client-id", None) == TAKEN
    node.produce("orders", *MUCH)
    assert node.values("orders") == list(MUCH)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, 5e-324, 1e-7])
def test_a_stored_quota_that_is_not_legal_is_told_and_nothing_obeys_it(node, value):
    """Brokers took NaN once. It is described, and can be taken back."""
    entity = [{"entity_type": "client-id", "entity_name": None}]
    records = []
    for key in RATES:
        fields = {"entity": entity, "key": key, "value": value, "remove": False}
        records.append(MetadataRecord("ClientQuotaRecord", 0, fields))
    node.broker.quorum.append(records, node.now)
    for clean in (True, False):
        node.restart(clean)
        told = [item.line for item in node.out() if isinstance(item, Notice)]
        assert told == [
            f"quota of client-id (default): {key}={value} is not legal, and nothing"
            " obeys it"
            for key in RATES
        ]
        node.produce("orders", *MUCH, *MUCH)
        assert node.values("orders")[-1] == MUCH[0]
    for key in RATES:
        set_quota(node, key, None, client_id=None)
    assert node.broker.image.users.quotas == {}


USER, CLIENT = ("user", "ann"), ("client-id", "app")
ANY_USER, ANY_CLIENT = ("user", None), ("client-id", None)
# the most specific one first
ORDER = [
    (CLIENT, USER),
    (ANY_CLIENT, USER),
    (USER,),
    (CLIENT, ANY_USER),
    (ANY_CLIENT, ANY_USER),
    (ANY_USER,),
    (CLIENT,),
    (ANY_CLIENT,),
]


def test_the_most_specific_quota_counts():
    """KIP-55."""
    quotas = {one: {PRODUCE: float(number)} for number, one in enumerate(ORDER, 1)}
    for number, one in enumerate(ORDER, 1):
        found = limit(quotas, "ann", "app", PRODUCE)
        assert (found.per_second, limit(quotas, "ann", "app", FETCH)) == (
            number,
            None,
        )
        names = {"user": "ann", "client-id": "app"}
        assert dict(found.shared_by) == {kind: names[kind] for kind, _ in one}
        del quotas[one]
    assert limit(quotas, "ann", "app", PRODUCE) is None
    others = {(CLIENT, USER): {PRODUCE: 1.0}}
    assert limit(others, "bob", "app", PRODUCE) is None
    assert limit(others, "ann", "another", PRODUCE) is None


def test_a_rate_is_over_ten_windows_and_the_one_that_began():
    rate = Rate()
    assert rate.throttle_ms(1.0, 5000) == 0
    rate.record(20_000, 5000)
    assert rate.throttle_ms(1000.0, 5000) == 10_000
    assert rate.throttle_ms(2000.0, 5000) == 0
    rate.record(20_000, 15_900)
    assert rate.throttle_ms(1000.0, 15_900) == 29_100
    rate.record(0, 16_000)
    assert rate.throttle_ms(2000.0, 16_000) == 0, "the first ones are too old"
    rate.record(-20_000, 16_000)
    assert rate.throttle_ms(1.0, 16_000) == 0


def test_kip_73_replication_is_measured_over_a_second_at_least_and_eleven_at_most():
    rate = SimpleRate()
    assert rate.measure(0) == 0
    rate.record(1000, 0)
    assert rate.measure(1) == 1000, "not a thousand in a millisecond"
    for at_ms in range(500, 20_000, 500):
        rate.record(1000, at_ms)
    assert rate.measure(19_500) == pytest.approx(2000, rel=0.1)
    assert rate.measure(30_499) > 0
    assert rate.measure(30_500) == 0, "what is older than all windows doesn't count"


# -- KIP-599


def new_topics(*partitions):
    """One topic for each number of partitions."""
    return [
        {"name": name, "num_partitions": count, "replication_factor": 1}
        for name, count in zip("abcdefg", partitions, strict=False)
    ]


def create(node, topics, version=7):
    """The errors, and for how long the client is throttled."""
    answer = node.call("CreateTopics", version, topics=topics, timeout_ms=1000)
    codes = {topic.name: Error(topic.error_code) for topic in answer.topics}
    return codes, answer.throttle_time_ms


@pytest.fixture
def limited(node):
    """A partition a second may be created or deleted: eleven at once."""
    set_quota(node, MUTATIONS, 1.0, client_id="test")
    return node


def test_kip_599_tokens_may_be_overdrawn_once_and_then_topics_are_refused(limited):
    codes, throttle_ms = create(limited, new_topics(3, 12, 1))
    assert codes["a"] == codes["b"] == Error.NONE
    assert codes["c"] == Error.THROTTLING_QUOTA_EXCEEDED
    assert throttle_ms == 4000
    assert set(limited.broker.image.topics) == {"orders", "a", "b"}
    limited.send("Metadata", 12, topics=None)
    assert limited.answer() is None, "it isn't heard meanwhile"
    limited.pass_time(4000)
    assert limited.answer()
    assert create(limited, new_topics(3, 12, 1)[2:]) == ({"c": Error.NONE}, 0)


def test_kip_599_older_versions_are_carried_out_and_throttled(limited):
    codes, throttle_ms = create(limited, new_topics(20), version=5)
    assert (codes, throttle_ms) == ({"a": Error.NONE}, 9000)
    limited.pass_time(9000)
    gone = limited.call("DeleteTopics", 4, topic_names=["a"], timeout_ms=1000)
    assert [topic.error_code for topic in gone.responses] == [0]
    assert gone.throttle_time_ms == 20_000


def test_kip_599_what_is_refused_anyway_does_not_count(limited):
    create(limited, new_topics(11))
    limited.pass_time(1)
    for _ in range(3):
        codes, throttle_ms = create(limited, new_topics(11))
        assert (codes, throttle_ms) == ({"a": Error.TOPIC_ALREADY_EXISTS}, 0)


def test_kip_599_deleting_and_growing_count_their_partitions(limited):
    create(limited, new_topics(11, 5))
    count = {"name": "orders", "count": 4, "assignments": None}
    answer = limited.call("CreatePartitions", 3, topics=[count], timeout_ms=1000)
    assert answer.results[0].error_code == Error.THROTTLING_QUOTA_EXCEEDED
    assert answer.throttle_time_ms == 5000
    limited.pass_time(5000)
    by_id = limited.broker.image.topics["a"].topic_id
    asked = [{"name": None, "topic_id": by_id}, {"name": "b"}]
    answer = limited.call("DeleteTopics", 6, topics=asked, timeout_ms=1000)
    codes = [topic.error_code for topic in answer.responses]
    assert codes == [Error.NONE, Error.THROTTLING_QUOTA_EXCEEDED]
    assert answer.throttle_time_ms == 11_000
