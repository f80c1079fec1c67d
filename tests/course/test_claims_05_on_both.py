"""What lesson 05 claims about consumer groups, run on minikafka and on Apache Kafka over TCP."""

import threading

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import CommitFailedError

from tests.course.test_claims_on_both import PATIENCE_SECONDS, bootstrap, topic, write

__all__ = ["bootstrap", "topic", "write"]  # fixtures

# Long: when a poll of kafka-python 3.0 ends between JoinGroup and SyncGroup, the member forgets to take over its share.
POLL_MS = 2000


class Member(threading.Thread):
    """A consumer that polls in a thread of its own. share: its partitions; read: (partition, offset) of its records.

    rests_after: having read so many it stops polling until rested is set, then commits; error: what that raised.
    """

    def __init__(self, changed, consumer, rests_after=None):
        super().__init__(daemon=True)
        self.changed, self.consumer, self.rests_after = changed, consumer, rests_after
        self.share, self.read, self.error = [], [], None
        self.ended, self.rested = threading.Event(), threading.Event()

    def run(self):
        while not self.ended.is_set():
            found = self.consumer.poll(timeout_ms=POLL_MS)
            with self.changed:
                self.read += [(record.partition, record.offset) for records in found.values() for record in records]
                self.share = sorted(partition.partition for partition in self.consumer.assignment())
                self.changed.notify_all()
            if self.rests_after == len(self.read):
                self.rests_after = None
                self.rested.wait(PATIENCE_SECONDS)
                self.commit()
        self.consumer.close(autocommit=False)

    def commit(self):
        try:
            self.consumer.commit()
        except CommitFailedError as error:
            with self.changed:
                self.error = error
                self.changed.notify_all()

    def leave(self):
        self.ended.set()
        self.rested.set()
        self.join(PATIENCE_SECONDS)


class Party:
    """The members that a test has started."""

    def __init__(self, servers):
        self.bootstrap, self.members, self.changed = servers, [], threading.Condition()

    def start(self, name, group, rests_after=None, **settings):
        """One more member of the group, which reads the topic of this name from the start and commits nothing."""
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "heartbeat_interval_ms": 500}
        consumer = KafkaConsumer(name, bootstrap_servers=self.bootstrap, group_id=group, **{**defaults, **settings})
        self.members.append(Member(self.changed, consumer, rests_after))
        self.members[-1].start()
        return self.members[-1]

    def wait_until(self, holds):
        with self.changed:
            came = self.changed.wait_for(holds, PATIENCE_SECONDS)
            assert came, [(member.share, member.read) for member in self.members]


@pytest.fixture
def party(bootstrap):
    one = Party(bootstrap)
    yield one
    for member in one.members:
        member.ended.set()
    for member in one.members:
        member.leave()


@pytest.mark.parametrize(
    ("partitions", "steps"), [(3, (1, 2, 3, 4)), (4, (2, 3)), (6, (3,)), (10, (10,))], ids=["3", "4", "6", "10"]
)
def test_partitions_are_shared_as_far_as_they_divide_and_members_beyond_their_number_idle(
    topic, party, partitions, steps
):
    name = topic(partitions=partitions)
    for count in steps:
        while len(party.members) < count:
            party.start(name, name)
        each, more = divmod(partitions, count)
        sizes = [each] * (count - more) + [each + 1] * more

        def even(sizes=sizes):
            given = sorted(number for member in party.members for number in member.share)
            return given == list(range(partitions)) and sorted(len(member.share) for member in party.members) == sizes

        party.wait_until(even)


def test_another_group_gets_every_record_too_and_the_first_does_not_notice(topic, party, write):
    name = topic(partitions=2)
    billing = party.start(name, f"{name}-billing")
    party.wait_until(lambda: billing.share == [0, 1])
    before = topic.admin.describe_groups([f"{name}-billing"])
    for partition in (0, 1):
        write(name, [b"order"] * 3, partition=partition)
    audit = party.start(name, f"{name}-audit")
    everything = [(partition, offset) for partition in (0, 1) for offset in range(3)]
    party.wait_until(lambda: sorted(billing.read) == sorted(audit.read) == everything)
    audit.leave()
    assert topic.admin.describe_groups([f"{name}-billing"]) == before


class EverythingToAll(RangePartitionAssignor):
    """What nobody should write: each member gets all partitions."""

    name = "everything-to-all"

    @classmethod
    def assign(cls, cluster, members):
        whole = super().assign(cluster, members[:1])[members[0].member_id]
        return {member.member_id: whole for member in members}


def test_the_coordinator_hands_out_what_a_member_decided_even_where_a_partition_has_two_owners(topic, party, write):
    name = topic(partitions=2)
    members = [party.start(name, name, partition_assignment_strategy=[EverythingToAll]) for _ in range(2)]
    party.wait_until(lambda: all(member.share == [0, 1] for member in members))
    for partition in (0, 1):
        write(name, [b"order"] * 2, partition=partition)
    everything = {(0, 0), (0, 1), (1, 0), (1, 1)}
    party.wait_until(lambda: all(set(member.read) == everything for member in members))


def test_kip_62_who_does_not_poll_in_time_is_out_may_not_commit_and_its_records_come_again(topic, party, write):
    name = topic()
    write(name, [b"order"] * 3, partition=0)
    slow = party.start(name, name, rests_after=3, max_poll_interval_ms=1000)
    party.wait_until(lambda: len(slow.read) == 3)
    other = party.start(name, name)
    party.wait_until(lambda: len(other.read) == 3)
    slow.rested.set()
    party.wait_until(lambda: slow.error is not None)
    assert other.read == [(0, 0), (0, 1), (0, 2)]
