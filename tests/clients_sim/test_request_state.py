"""When a client sends a request again: after a lost connection, after a refusal, and
never too soon.
"""

import pytest

from minikafka.clients.producer import Producer
from minikafka.clients.request_state import RequestState, Timed
from minikafka.trace import Trace
from minikafka.wire.errors import Error
from tests.clients_sim.test_connection import METADATA, Now, answer, asked, connected


class Doubts:
    """A guide that remembers what it was told."""

    def __init__(self):
        self.errors = []

    def doubt(self, error):
        self.errors.append(error)


@pytest.fixture
def client():
    client = Timed(retry_backoff_ms=100)
    client.now_ms = 1000
    return client


def test_a_request_in_flight_is_not_sent_again_until_its_answer_came(client):
    state, answers = RequestState(client), []
    take = state.sent(answers.append)
    assert not state.is_due
    take("the answer")
    assert answers == ["the answer"] and state.is_due


def test_after_a_lost_connection_it_is_sent_again_when_the_back_off_is_over(client):
    state, failed = RequestState(client), []
    state.sent(pytest.fail, lambda: failed.append(state.at_ms))(None)
    assert failed == [1100] and not state.is_due
    client.now_ms = 1100
    assert state.is_due


@pytest.mark.parametrize(
    "error", [Error.NOT_LEADER_OR_FOLLOWER, Error.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_a_refusal_that_may_pass_is_told_to_the_guide_and_waited_out(client, error):
    guide = Doubts()
    state = RequestState(client, guide)
    assert state.refused(error) and guide.errors == [error] and state.at_ms == 1100


def test_a_refusal_for_good_is_not_waited_out(client):
    state = RequestState(client)
    assert not state.refused(Error.GROUP_MAX_SIZE_REACHED) and state.is_due


def test_the_answer_to_a_request_that_was_given_up_is_ignored(client):
    state = RequestState(client)
    late = state.sent(pytest.fail)
    state.give_up()
    take = state.sent(lambda _: None)
    late("too late")
    assert state.in_flight
    take("in time")
    assert not state.in_flight


def test_a_producer_that_gets_no_id_asks_again_after_the_back_off():
    producer = Producer("p", [("broker-1", 9092)], Trace("p"), lambda: 0.0, linger_ms=0)
    producer.metadata.want("orders")
    producer.tick(Now(0))
    connection = connected(producer)
    answer(producer, asked(producer)[0], METADATA, Now(1), connection)
    producer.send("orders", b"v", b"k", (), None, None, Now(10))
    [init] = asked(producer)
    answer(
        producer,
        init,
        {"error_code": Error.COORDINATOR_NOT_AVAILABLE},
        Now(20),
        connection,
    )
    assert asked(producer) == [] and producer.next_deadline() == 120
    producer.tick(Now(120))
    assert [request.api.name for request in asked(producer)] == ["InitProducerId"]
