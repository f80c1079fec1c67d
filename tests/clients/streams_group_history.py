"""Streams groups (KIP-1071) with a history that is the same on every broker: members
that are only requests, of which no session ends.
"""

from tests.clients.brokers import KEPT
from tests.clients.group_history import commit
from tests.conformance.raw import batch

PATIENT = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.session.timeout.ms": "3600000",
    "group.streams.assignment.interval.ms": "0",
    **KEPT,
}
GROUPS = ("counting", "waiting", "left", "old")
STORE = "counting-store-changelog"


def make_history(broker):
    broker.create_topic("orders", 3)
    broker.create_topic(STORE, 3)
    for number in range(3):
        written = broker.produce("orders", batch(b"a", b"b"), partition=number)
        assert written.error_code == 0
    for group in GROUPS:
        while (
            broker.ask("FindCoordinator", 3, key=group).error_code
            or broker.ask("OffsetFetch", 7, group_id=group, topics=[]).error_code
        ):
            pass
    store = {"name": STORE, "partitions": 0, "replication_factor": 0}
    counting = reads("orders") | {"state_changelog_topics": [store]}
    epoch = beat(broker, "counting", "one", counting).member_epoch
    beat(broker, "counting", "two", counting)
    # the first gives up what the second is to have, which takes it then
    for member_id, owned in (("one", [0, 1, 2]), ("one", [0, 1]), ("two", [])):
        of_one = epoch if member_id == "one" else epoch + 1
        beat(broker, "counting", member_id, epoch=of_one, owned=owned)
    commit(broker, "counting", {"orders": {0: 1, 1: 2}}, "one", epoch + 1)
    beat(broker, "waiting", "alone", reads("nothing"))
    epoch = beat(broker, "left", "gone", reads("orders")).member_epoch
    commit(broker, "left", {"orders": {0: 2}}, "gone", epoch)
    beat(broker, "left", "gone", epoch=-1)
    commit(broker, "old", {"orders": {0: 1}})


def reads(topic):
    """A subtopology that reads this topic."""
    return {"subtopology_id": "0", "source_topics": [topic]}


def beat(broker, group, member_id, subtopology=None, epoch=0, owned=()):
    """A member joins with a subtopology; without one, it has these tasks of it."""
    asked = {"group_id": group, "member_id": member_id, "member_epoch": epoch}
    asked |= {"standby_tasks": [], "warmup_tasks": [], "active_tasks": []}
    if owned:
        asked["active_tasks"] = [{"subtopology_id": "0", "partitions": list(owned)}]
    if subtopology is not None:
        asked["topology"] = {"epoch": 0, "subtopologies": [subtopology]}
        asked["rebalance_timeout_ms"] = 3_600_000
        asked["process_id"] = f"process-of-{member_id}"
    answer = broker.ask("StreamsGroupHeartbeat", 0, **asked)
    assert answer.error_code == 0, answer
    return answer
