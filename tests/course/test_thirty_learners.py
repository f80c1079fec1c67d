"""A class at one broker: thirty learners run lesson 00's last experiment at the same
moment.
"""

from threading import Barrier, Thread

import pytest

from minikafka.course.connect import VARIABLE
from minikafka.course.contents import contents
from tests.clients.brokers import minikafka

pytestmark = pytest.mark.slow

LEARNERS = 30
EARLIEST = 'auto_offset_reset="earliest"'
# A consumer of kafka-python 3.0 that subscribes while an answer of Metadata is on its
# way takes that one for its own (a TODO in its set_topics says so), and asks again
# after metadata_max_age_ms: five minutes, unless it is told to be quicker.
ASKS_AGAIN_SOON = f"{EARLIEST}, metadata_max_age_ms=1_000"


def test_thirty_learners_at_one_broker_see_each_their_own_records(monkeypatch):
    [cell] = [cell["source"] for cell in contents()["00"].code if cell["id"] == "tcp"]
    assert 'value=b"created"' in cell and 'value=b"paid"' in cell
    assert EARLIEST in cell
    together, seen = Barrier(LEARNERS), {}

    def learn(number):
        mine = cell.replace('b"created"', f'b"created by {number}"')
        mine = mine.replace('b"paid"', f'b"paid by {number}"')
        mine = mine.replace(EARLIEST, ASKS_AGAIN_SOON)
        together.wait()
        exec(
            compile(mine, f"learner {number}", "exec"),
            {"print": lambda *said: seen.update({number: said})},
        )

    with minikafka() as bootstrap:
        monkeypatch.setenv(VARIABLE, bootstrap)
        learners = [Thread(target=learn, args=[number]) for number in range(LEARNERS)]
        for learner in learners:
            learner.start()
        for learner in learners:
            learner.join()
    assert seen == {
        n: (b"created by %d" % n, b"paid by %d" % n) for n in range(LEARNERS)
    }
