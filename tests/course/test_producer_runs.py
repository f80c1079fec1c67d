"""What lesson 03 asks of a producer's trace."""

from minikafka import Cluster
from minikafka.course.producer_runs import after_the_loss, heard_after
from minikafka.faults import Lose


def kinds(condition, faults=(), **config):
    """The kinds of the events for which the condition holds, while a producer sends one record."""
    cluster = Cluster(seed=1, faults=list(faults))
    cluster.create_topic("orders")
    cluster.producer(client_id="shop", **config).send("orders", value="paid")
    cluster.run(seconds=60)
    return [event.kind for event in filter(condition, cluster.trace)]


def test_a_producer_acts_on_a_loss_once_for_each_retry():
    assert kinds(after_the_loss) == []
    assert kinds(after_the_loss, [Lose("shop", 1, "Produce", times=2)]) == ["BatchRetried"] * 2


def test_a_program_hears_that_a_record_was_written_or_that_it_failed():
    assert kinds(heard_after(0)) == ["RecordsAcknowledged"]
    assert kinds(heard_after(0), [Lose("shop", 1, "Produce")], retries=0) == ["SendFailed"]
    assert kinds(heard_after(60_000)) == []
