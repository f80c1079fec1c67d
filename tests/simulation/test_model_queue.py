"""The model queue by itself: what it tells, what it refuses, and workers whose work
takes time. (That it does what RabbitMQ does: tests/conformance/test_model_queue.py.)
"""

import pytest

from minikafka.simulation.model_queue import QueueBroker
from minikafka.simulation.model_queue_parts import (
    ChannelClosedByBroker,
    ChannelWrongStateError,
)
from minikafka.simulation.model_queue_worker import ACK, DIE, REQUEUE, QueueWorker


@pytest.fixture
def broker():
    made = QueueBroker()
    made.channel("shop").queue_declare("jobs")
    return made


def publish(broker, *bodies):
    for body in bodies:
        broker.channel("shop").basic_publish("", "jobs", body)


def worker(broker, name, outcome=lambda job: ACK, prefetch_count=1, takes_ms=1000):
    return QueueWorker(
        broker,
        name,
        "jobs",
        takes_ms=lambda job: takes_ms,
        outcome=outcome,
        prefetch_count=prefetch_count,
    )


def works(worker):
    return [(each.began_ms, each.job.text, each.outcome) for each in worker.done]


def test_a_run_is_told_as_lines(broker):
    worker(broker, "w1")
    publish(broker, "a")
    broker.run(seconds=2)
    assert broker.told().splitlines() == [
        "0.000 s  queue broker: queue jobs declared",
        "0.000 s  queue broker: w1 consumes from jobs, prefetch_count 1",
        "0.000 s  queue broker: a published to the default exchange, for ['jobs']",
        (
            "0.000 s  queue broker: a of jobs pushed to w1 with delivery tag 1,"
            " redelivered False"
        ),
        "1.000 s  queue broker: a acknowledged by w1: gone from jobs",
    ]
    assert broker.told("MessageAcknowledged").startswith("1.000 s")
    assert broker.now_ms == 2000


def test_a_worker_does_one_job_after_the_other_and_has_the_next_in_hand(broker):
    slow = worker(broker, "slow", prefetch_count=2)
    publish(broker, "a", "b", "c")
    broker.run(seconds=1.5)
    assert works(slow) == [(0, "a", ACK)]
    assert [each.entry.message.body for each in slow.channel.unacked.values()] == [
        b"b",
        b"c",
    ]
    broker.run(seconds=2)
    assert works(slow) == [(0, "a", ACK), (1000, "b", ACK), (2000, "c", ACK)]


def test_a_worker_that_dies_of_a_job_gives_back_all_that_it_had(broker):
    worker(broker, "w1", lambda job: DIE, prefetch_count=3)
    publish(broker, "a", "b")
    broker.run(seconds=1)
    assert broker.ready("jobs") == ["a", "b"]
    heir = worker(broker, "w2")
    broker.run(seconds=2)
    assert [each.job.method.redelivered for each in heir.done] == [True, True]


def test_a_worker_that_requeues_gets_it_again(broker):
    def outcome(job):
        return ACK if job.method.redelivered else REQUEUE

    again = worker(broker, "w1", outcome)
    publish(broker, "a", "b")
    broker.run(seconds=4)
    assert [each[1:] for each in works(again)] == [
        ("a", REQUEUE),
        ("a", ACK),
        ("b", REQUEUE),
        ("b", ACK),
    ]


def test_a_message_with_its_copies_and_dead_letters_keeps_one_id(broker):
    shop = broker.channel("shop")
    shop.queue_declare("dead")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    shop.queue_declare("mails", arguments=arguments)
    worker_channel = broker.channel("w")
    worker_channel.basic_consume("mails", lambda *delivery: None)
    shop.basic_publish("", "mails", "a")
    worker_channel.basic_reject(1, requeue=False)
    ids = {each.detail["id"] for each in broker.trace if "id" in each.detail}
    assert ids == {1} and broker.ready("dead") == ["a"]
    [letter] = [each for each in broker.trace if each.kind == "MessageDeadLettered"]
    assert letter.detail["reason"] == "rejected"


def test_what_it_does_not_know_is_refused_by_name(broker):
    shop = broker.channel("shop")
    with pytest.raises(ValueError, match=r"x-max-length.*is not among"):
        shop.queue_declare("short", arguments={"x-max-length": 3})
    with pytest.raises(ValueError, match="'direct' or 'fanout'"):
        shop.exchange_declare("news", exchange_type="topic")


@pytest.mark.parametrize(
    ("asks", "reply_code"),
    [
        (lambda channel: channel.basic_consume("none", print), 404),
        (lambda channel: channel.queue_bind("jobs", "none"), 404),
        (lambda channel: channel.basic_publish("none", "", "a"), 404),
        (lambda channel: channel.basic_ack(1), 406),
        (
            lambda channel: channel.queue_declare(
                "jobs", arguments={"x-message-ttl": 1}
            ),
            406,
        ),
    ],
)
def test_a_wrong_call_closes_the_channel(broker, asks, reply_code):
    channel = broker.channel("w")
    with pytest.raises(ChannelClosedByBroker) as refused:
        asks(channel)
    assert refused.value.reply_code == reply_code and not channel.is_open
    with pytest.raises(ChannelWrongStateError):
        channel.basic_qos(1)
