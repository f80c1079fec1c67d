"""Lost messages, time-outs and retries of the simulated producer, as the Java client
does them.
"""

import pytest

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.faults import Cut, Delay, Freeze, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import Error, KafkaError
from tests.seeds import seeds

LOST_REQUEST = Lose("shop", 1, "Produce")
LOST_ANSWER = Lose("shop", 1, "Produce", answer=True)


def shop(*faults, seed=1, **config):
    """A cluster with one partition, and a producer."""
    cluster = Cluster(seed=seed, faults=faults)
    cluster.create_topic("orders")
    return cluster, cluster.producer(client_id="shop", **config)


def five_at_once(*faults, seed=1, **config):
    cluster, producer = shop(*faults, seed=seed, linger_ms=0, **config)
    for number in range(5):
        producer.send("orders", value=str(number))
    cluster.run(seconds=5)
    return cluster


def log(cluster):
    return "".join(record.value.decode() for record in cluster.records("orders"))


def told(cluster, kind, *names):
    found = [
        [event.detail[name] for name in names]
        for event in cluster.trace
        if event.kind == kind
    ]
    return [row[0] for row in found] if len(names) == 1 else found


# duplicates


@pytest.mark.parametrize("seed", seeds(range(10)))
def test_a_lost_answer_makes_a_duplicate_and_a_lost_request_does_not(seed):
    logs = []
    for fault in (LOST_ANSWER, LOST_REQUEST):
        cluster, producer = shop(fault, seed=seed, enable_idempotence=False)
        producer.send("orders", value="a").get()
        logs.append(log(cluster))
    assert logs == ["aa", "a"]


def test_kip_98_the_broker_recognises_a_batch_it_has_and_answers_with_its_offset():
    cluster, producer = shop(LOST_ANSWER)
    assert producer.send("orders", value="a").get().offset == 0
    assert log(cluster) == "a"
    assert told(cluster, "DuplicateRecognized", "base_offset", "last_offset") == [
        [0, 0]
    ]


def test_kip_98_a_producer_that_starts_again_has_a_new_id_so_its_repetition_is_new():
    cluster, producer = shop()
    producer.send("orders", value="a").get()
    cluster.crash(producer)
    cluster.restart(producer)
    producer.send("orders", value="a").get()
    assert log(cluster) == "aa" and told(
        cluster, "ProducerIdAssigned", "producer_id"
    ) == [0, 1]


# order


@pytest.mark.parametrize("seed", seeds(range(10)))
def test_what_was_in_flight_on_a_lost_connection_turns_round(seed):
    assert (
        log(five_at_once(LOST_REQUEST, seed=seed, enable_idempotence=False)) == "43210"
    )


@pytest.mark.parametrize("seed", seeds(range(10)))
@pytest.mark.parametrize("fault", [LOST_REQUEST, LOST_ANSWER])
def test_one_request_in_flight_or_idempotence_keeps_the_order(seed, fault):
    one = five_at_once(
        fault,
        seed=seed,
        enable_idempotence=False,
        max_in_flight_requests_per_connection=1,
    )
    assert log(one) == ("01234" if fault is LOST_REQUEST else "001234")
    assert log(five_at_once(fault, seed=seed)) == "01234"


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_no_more_requests_are_in_flight_than_the_limit(limit):
    cluster, producer = shop(
        Delay("shop", 1, 50), linger_ms=0, max_in_flight_requests_per_connection=limit
    )
    producer.send("orders", value="hello").get()
    most = 0
    for _ in range(200):
        producer.send("orders", value="x")
        cluster.run_ms(1)
        most = max(
            most, sum(len(node.in_flight) for node in producer.core.nodes.values())
        )
    assert most == limit


# retries and back-off


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_batch_is_tried_once_more_than_retries_says(retries):
    cluster, producer = shop(
        Lose("shop", 1, "Produce", times=100), enable_idempotence=False, retries=retries
    )
    with pytest.raises(KafkaError) as failed:
        producer.send("orders", value="a").get()
    assert failed.value.error is Error.NETWORK_EXCEPTION
    assert told(cluster, "BatchSent", "attempt") == list(range(1, retries + 2))


def test_kip_580_each_back_off_is_twice_the_last_give_or_take_a_fifth_and_a_second_at_most():
    cluster, producer = shop(Lose("shop", 1, "Produce", times=7))
    producer.send("orders", value="a").get()
    waited = told(cluster, "BatchRetried", "backoff_ms")
    expected = [100, 200, 400, 800, 1000, 1000, 1000]
    assert all(
        0.8 * aim - 1 <= ms <= min(1.2 * aim, 1000)
        for ms, aim in zip(waited, expected, strict=True)
    ), waited
    assert len(set(waited)) > 4, (
        "a jitter, so that many producers don't come back together"
    )


def test_the_trace_says_why_a_batch_left_and_why_it_came_back():
    cluster, producer = shop(
        LOST_ANSWER, Lose("shop", 1, "Produce", nth=2), batch_size=200
    )
    producer.send("orders", value="a").get()
    assert told(cluster, "BatchSent", "attempt", "reason") == [
        [1, "linger_ms"],
        [2, "retry"],
        [3, "retry"],
    ]
    assert told(cluster, "BatchRetried", "attempt", "reason") == [
        [n, "connection_lost"] for n in (1, 2)
    ]
    for _ in range(2):
        producer.send("orders", value="x" * 100)
    assert told(cluster, "BatchFilled", "batch", "count") == [[2, 1]]
    producer.flush()
    assert told(cluster, "BatchSent", "reason")[-2:] == ["full", "flush"]


def test_a_refusal_that_may_pass_is_tried_again():
    """Asking for the topic's metadata makes it anew."""
    cluster, producer = shop()
    producer.send("orders", value="a").get()
    cluster.delete_topic("orders")
    assert producer.send("orders", value="b").get().offset == 0
    assert told(cluster, "BatchRetried", "reason") == ["refused"]


# time


def test_kip_91_a_batch_is_given_up_delivery_timeout_ms_after_send_even_in_flight():
    cluster, producer = shop(request_timeout_ms=1000, delivery_timeout_ms=1500)
    producer.send("orders", value="a").get()
    cluster.freeze(1)
    began = cluster.now_ms
    failed = producer.send("orders", value="b")
    with pytest.raises(KafkaTimeoutError, match=r"delivery_timeout_ms \(1.5 s\)"):
        failed.get()
    assert cluster.now_ms - began == 1500
    assert told(cluster, "BatchRetried", "reason") == ["request_timeout_ms"]


@pytest.mark.parametrize(
    "fault",
    [Cut("shop", 1, at_ms=1000, for_ms=200_000), Freeze(1, at_ms=1001, for_ms=200_000)],
)
def test_kip_91_a_record_that_failed_may_be_written_after_that(fault):
    cluster, producer = shop(fault, linger_ms=0)
    producer.send("orders", value="a").get()
    cluster.run_ms(1000 - cluster.now_ms)
    failed = producer.send("orders", value="b")
    cluster.run(seconds=150)
    assert failed.failed() and told(cluster, "SendFailed", "count", "error") == [
        [1, "REQUEST_TIMED_OUT"]
    ]
    cluster.run(seconds=100)
    assert log(cluster) == "ab"


def test_kip_360_after_a_batch_was_given_up_the_next_one_begins_a_new_epoch():
    cluster, producer = shop(
        Cut("shop", 1, at_ms=1000), request_timeout_ms=1000, delivery_timeout_ms=1500
    )
    producer.send("orders", value="a").get()
    cluster.run_ms(1000 - cluster.now_ms)
    lost = producer.send("orders", value="b")
    cluster.run(seconds=3)
    assert lost.failed()
    cluster.heal()
    producer.send("orders", value="c").get()
    assert (
        producer.core.producer_epoch == 1 and log(cluster)[0] + log(cluster)[-1] == "ac"
    )


def test_kip_91_there_must_be_time_for_one_try():
    with pytest.raises(ValueError, match="there would be no time for one try"):
        shop(request_timeout_ms=1000, linger_ms=600, delivery_timeout_ms=1500)
    _, producer = shop(request_timeout_ms=150_000)
    assert producer.config["delivery_timeout_ms"] == 150_005, (
        "the default grows with what it must hold"
    )


def test_acks_0_waits_for_nobody_and_loses_without_a_word():
    cluster, producer = shop(Lose("shop", 1, "Produce", nth=2), acks=0, linger_ms=0)
    sent = []
    for value in "abc":
        sent.append(producer.send("orders", value=value))
        cluster.run_ms(200)
    assert log(cluster) == "ac" and [future.value.offset for future in sent] == [
        -1,
        -1,
        -1,
    ]
    assert (
        told(cluster, "BatchSent", "acks") == [0, 0, 0]
        and told(cluster, "RecordsAcknowledged", "count") == []
    )
