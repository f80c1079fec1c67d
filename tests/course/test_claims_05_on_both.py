"""What lesson 05 claims about consumer groups, run on minikafka and on Apache Kafka
over TCP.
"""

import signal
import subprocess
import sys
import threading

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import CommitFailedError

from tests.course.on_both import PATIENCE_SECONDS

pytestmark = [pytest.mark.first, pytest.mark.slow]

# Long: when a poll of kafka-python 3.0 ends between JoinGroup and SyncGroup, the member
# forgets to take over its share.
POLL_MS = 2000


class Member(threading.Thread):
    """A consumer that polls in a thread of its own. share: its partitions; read:
    (partition, offset) of its records.

    rests_after: having read so many it stops polling until rested is set, then commits;
    error: what that raised.
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
                self.read += [
                    (record.partition, record.offset)
                    for records in found.values()
                    for record in records
                ]
                self.share = sorted(
                    partition.partition for partition in self.consumer.assignment()
                )
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


CAREFUL = """
import sys
from kafka import KafkaConsumer
from kafka.errors import CommitFailedError

servers, name, session_ms = sys.argv[1:]
consumer = KafkaConsumer(
    name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest", enable_auto_commit=False,
    session_timeout_ms=int(session_ms), heartbeat_interval_ms=500,
)
for record in consumer:
    print("has", record.offset, flush=True)
    sys.stdin.readline()  # the bank takes its time
    try:
        consumer.commit()
        print("committed", flush=True)
    except CommitFailedError:
        print("refused", flush=True)
"""


class CarefulProcess(threading.Thread):
    """A member that is a process, so that a test can kill it, or let it stand still.
    said: its lines.

    It says which record it has, waits for a line, commits, and says what came of that.
    """

    def __init__(self, changed, *words):
        super().__init__(daemon=True)
        self.changed, self.said = changed, []
        command = [sys.executable, "-c", CAREFUL, *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self):
        for line in self.process.stdout:
            with self.changed:
                self.said.append(line.strip())
                self.changed.notify_all()

    def kill(self):
        self.process.kill()
        self.join(PATIENCE_SECONDS)
        self.process.communicate()


class Party:
    """The members that a test has started."""

    def __init__(self, servers):
        self.bootstrap, self.members, self.changed = servers, [], threading.Condition()
        self.processes = []

    def start(self, name, group, rests_after=None, **settings):
        """One more member of the group, which reads the topic of this name from the
        start and commits nothing.
        """
        defaults = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 500,
        }
        consumer = KafkaConsumer(
            name,
            bootstrap_servers=self.bootstrap,
            group_id=group,
            **{**defaults, **settings},
        )
        self.members.append(Member(self.changed, consumer, rests_after))
        self.members[-1].start()
        return self.members[-1]

    def careful_process(self, name, session_ms):
        """One more member of the group of this name, which reads the topic of this
        name.
        """
        self.processes.append(
            CarefulProcess(self.changed, self.bootstrap, name, str(session_ms))
        )
        self.processes[-1].start()
        return self.processes[-1]

    def wait_until(self, holds):
        with self.changed:
            came = self.changed.wait_for(holds, PATIENCE_SECONDS)
            said = [process.said for process in self.processes]
            assert came, (
                [(member.share, member.read) for member in self.members],
                said,
            )


@pytest.fixture
def party(bootstrap):
    one = Party(bootstrap)
    yield one
    for process in one.processes:
        process.kill()
    for member in one.members:
        member.ended.set()
    for member in one.members:
        member.leave()


@pytest.mark.parametrize(
    ("partitions", "steps"),
    [(3, (1, 2, 3, 4)), (4, (2, 3)), (6, (3,)), (10, (10,))],
    ids=["3", "4", "6", "10"],
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
            given = sorted(
                number for member in party.members for number in member.share
            )
            return (
                given == list(range(partitions))
                and sorted(len(member.share) for member in party.members) == sizes
            )

        party.wait_until(even)


def test_another_group_gets_every_record_too_and_the_first_does_not_notice(
    topic, party, write
):
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


def test_the_coordinator_hands_out_what_a_member_decided_even_where_a_partition_has_two_owners(
    topic, party, write
):
    name = topic(partitions=2)
    members = [
        party.start(name, name, partition_assignment_strategy=[EverythingToAll])
        for _ in range(2)
    ]
    party.wait_until(lambda: all(member.share == [0, 1] for member in members))
    for partition in (0, 1):
        write(name, [b"order"] * 2, partition=partition)
    everything = {(0, 0), (0, 1), (1, 0), (1, 1)}
    party.wait_until(lambda: all(set(member.read) == everything for member in members))


def test_kip_62_who_does_not_poll_in_time_is_out_may_not_commit_and_its_records_come_again(
    topic, party, write
):
    name = topic()
    write(name, [b"order"] * 3, partition=0)
    slow = party.start(name, name, rests_after=3, max_poll_interval_ms=1000)
    party.wait_until(lambda: len(slow.read) == 3)
    other = party.start(name, name)
    party.wait_until(lambda: len(other.read) == 3)
    slow.rested.set()
    party.wait_until(lambda: slow.error is not None)
    assert other.read == [(0, 0), (0, 1), (0, 2)]


def a_pair(topic, party, session_ms):
    """A member and a careful process share two partitions: both, the topic, and the
    process's partition.
    """
    name = topic(partitions=2)
    other = party.start(name, name)
    careful = party.careful_process(name, session_ms)
    party.wait_until(lambda: len(other.share) == 1)
    return other, careful, name, 1 - other.share[0]


def test_a_member_that_is_killed_stays_in_the_group_while_its_session_lasts(
    topic, party, write
):
    other, killed, name, _ = a_pair(topic, party, session_ms=45_000)
    killed.kill()
    write(name, [b"order"] * 3, partition=other.share[0])
    party.wait_until(lambda: len(other.read) == 3)
    group = topic.admin.describe_groups([name])[name]
    assert (
        group["group_state"] == "Stable"
        and len(group["members"]) == 2
        and len(other.share) == 1
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no signal stops a process there")
def test_a_member_that_stands_still_longer_than_its_session_has_a_record_that_another_has_too_and_may_not_commit(
    topic, party, write
):
    other, frozen, name, partition = a_pair(topic, party, session_ms=6000)
    write(name, [b"order"], partition=partition)
    party.wait_until(lambda: frozen.said == ["has 0"])
    frozen.process.send_signal(signal.SIGSTOP)
    party.wait_until(lambda: other.read == [(partition, 0)])
    frozen.process.send_signal(signal.SIGCONT)
    print(file=frozen.process.stdin, flush=True)
    party.wait_until(lambda: frozen.said == ["has 0", "refused"])
