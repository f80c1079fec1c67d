"""The last sentence of the producer's pipeline: what the log holds, and why."""

import pytest

from minikafka.faults import Cut, Lose
from tests.theatre.test_pipeline import pipeline, told_done_and_lost


@pytest.mark.parametrize(
    ("fault", "idempotent", "words"),
    [
        (
            Lose("shop", 1, "Produce"),
            False,
            "5 batches came back when the connection broke, each to the front of the"
            " buffer, so the last one left first: 4 records are overtaken, and the log"
            " holds e d c b a.",
        ),
        (
            Lose("shop", 1, "Produce", answer=True),
            True,
            "“a” and 4 more were sent twice and are in the log once: the first answer"
            " was lost, and the broker recognised the repeat by sequence number 0.",
        ),
        (
            Cut("shop", 1, at_ms=22, for_ms=200_000),
            True,
            "“a” and 4 more are in the log, and the program was told that they"
            " failed: shop heard no answer and gave up after 120 s.",
        ),
        (
            Lose("shop", 1, "Fetch"),
            True,
            "5 records in 1 request: no message was lost, so each is in the log once,"
            " and in order.",
        ),
    ],
)
def test_the_end_says_what_the_log_holds_and_why(fault, idempotent, words):
    pic = pipeline(fault, linger_ms=0, seconds=300, enable_idempotence=idempotent)
    assert pic.scenes[-1]["sentence"].endswith(words)


def test_a_record_twice_and_one_that_is_lost_have_their_causes():
    again = pipeline(
        Lose("shop", 1, "Produce", answer=True), values="a", enable_idempotence=False
    )
    assert again.scenes[-1]["sentence"] == (
        "1 record became 2: “a” is in the log twice, because shop heard no answer and"
        " sent again, and to the broker that was a new batch."
    )
    gone = told_done_and_lost()
    assert gone.scenes[-1]["sentence"].endswith(
        "1 of 3 records is lost, and the program was told that all is done: with acks=0"
        " nobody waits for an answer, so nobody sends again."
    )


def test_while_something_is_on_its_way_nothing_is_summed_up():
    pic = pipeline(values="a", seconds=0, linger_ms=1000)
    assert pic.scenes[-1]["sentence"].startswith("send(“a”) returns at once.")
