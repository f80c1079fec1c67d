"""What lesson 03 asks of a producer's trace."""

from minikafka import Cluster
from minikafka.course.experiments.lesson_03_runs import (
    after_the_loss,
    heard_after,
    heard_and_written,
    how_often,
)
from minikafka.faults import Lose


def sent(faults=(), **config):
    """A producer sends one record: what happens in a minute."""
    cluster = Cluster(seed=1, faults=list(faults))
    cluster.create_topic("orders")
    cluster.producer(client_id="shop", **config).send("orders", value="paid")
    cluster.run(seconds=60)
    return list(cluster.trace)


def kinds(condition, faults=(), **config):
    """The kinds of the events for which the condition holds, while a producer sends one
    record.
    """
    return [event.kind for event in filter(condition, sent(faults, **config))]


def test_a_producer_acts_on_a_loss_once_for_each_retry():
    assert kinds(after_the_loss) == []
    assert (
        kinds(after_the_loss, [Lose("shop", 1, "Produce", times=2)])
        == ["BatchRetried"] * 2
    )


def test_a_program_hears_that_a_record_was_written_or_that_it_failed():
    assert kinds(heard_after(0)) == ["RecordsAcknowledged"]
    assert kinds(heard_after(0), [Lose("shop", 1, "Produce")], retries=0) == [
        "SendFailed"
    ]
    assert kinds(heard_after(60_000)) == []


def test_how_often_a_value_is_written_is_said_when_all_is_acknowledged():
    lost_answer = [Lose("shop", 1, "Produce", answer=True)]
    count = how_often("paid", sent=1)
    assert (count(sent(lost_answer)), count([])) == ("once", None)
    assert count(sent(lost_answer, enable_idempotence=False)) == "twice"


def test_a_future_says_done_or_failed_and_the_log_has_the_value_or_not():
    outcome = heard_and_written("paid")
    assert outcome(sent()) == "done, in the log"
    assert (
        outcome(sent([Lose("shop", 1, "Produce")], retries=0))
        == "failed, not in the log"
    )
    assert (
        outcome(sent([Lose("shop", 1, "Produce", answer=True)], retries=0))
        == "failed, in the log"
    )
