"""Consumer groups of real clients while members come, die and go: every record is read,
commits are at the ends.
"""

import pytest

from tests.clients.brokers import fresh_name
from tests.clients.group_members import Group
from tests.clients.nodes import node
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH

pytestmark = [pytest.mark.first, pytest.mark.slow]


@pytest.fixture(scope="module", params=BOTH)
def kafka(request, tmp_path_factory):
    with node(request.param, tmp_path_factory.mktemp("data")) as broker:
        yield broker


@pytest.fixture
def group(kafka, tmp_path):
    one = Group(kafka, fresh_name("orders"), fresh_name("group"), tmp_path)
    yield one
    one.close()


def live_through_it(group, *members):
    """Three members; a fourth joins, the second is killed, the third leaves. members:
    the four, as (client, assignor, protocol).
    """
    first, second, third = (group.member(*each) for each in members[:3])
    group.wait_until_shared_by(first, second, third)
    fourth = group.member(*members[3])
    group.wait_until_shared_by(first, second, third, fourth)
    second.kill()
    group.wait_until_shared_by(first, third, fourth)
    third.leave()
    group.wait_until_shared_by(first, fourth)
    ends = group.wait_until_all_is_read()
    first.leave()
    group.wait_until_shared_by(fourth)
    fourth.leave()
    assert group.committed() == ends


CLIENTS = {
    "kafka-python": ("kafka-python", "range"),
    "librdkafka": ("librdkafka", None),
    "librdkafka, cooperative": ("librdkafka", "cooperative-sticky"),
    "librdkafka, KIP-848": ("librdkafka", None, "consumer"),
    "aiokafka": ("aiokafka", None),
    "java": ("java", None),
    "java, KIP-848": ("java", None, "consumer"),
}
JAVA = {"marks": pytest.mark.java}


@pytest.mark.parametrize(
    "client",
    [pytest.param(name, **(JAVA if "java" in name else {})) for name in CLIENTS],
)
def test_members_join_die_and_leave_and_every_record_is_read(group, client):
    live_through_it(group, *[CLIENTS[client]] * 4)


@pytest.mark.java
def test_four_kinds_of_clients_share_one_group(group):
    live_through_it(
        group,
        *[
            (client, "range")
            for client in ("kafka-python", "librdkafka", "java", "aiokafka")
        ],
    )


@pytest.mark.parametrize(
    "client", ["kafka-python", "librdkafka", "librdkafka, KIP-848", "aiokafka"]
)
def test_a_group_and_its_commits_survive_a_crash_and_a_restart_of_the_broker(
    group, client
):
    first, second = (group.member(*CLIENTS[client]) for _ in range(2))
    group.wait_until_shared_by(first, second)
    group.board.wait_until(
        lambda: first.committed and second.committed, "both have committed"
    )
    group.kafka.restart(crash=True)
    before = group.board.seen()
    group.board.wait_until(
        lambda: group.board.seen() > before, "they read on after the crash"
    )
    group.wait_until_shared_by(first, second)
    ends = group.wait_until_all_is_read()
    first.leave()
    second.leave()
    group.kafka.restart()
    assert group.committed() == ends
    late = group.member(*CLIENTS[client])
    group.wait_until_shared_by(late)
    with Connection(group.kafka.bootstrap) as broker:
        assert (
            broker.produce(group.topic, batch(b"the only one")).base_offset == ends[0]
        )
    group.board.wait_until(lambda: late.seen, "the new member reads")
    assert late.seen == {(0, ends[0])}, "it goes on where the others stopped"
    late.leave()
