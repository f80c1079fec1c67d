"""Disks that flip bits or lose them, under a replicated cluster (virtual clock): what
is damaged spreads to nobody, and every acknowledged record stays readable while another
replica has it.
"""

import pytest

from minikafka.broker import broker, parts
from minikafka.broker.loggers import Loggers
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.storage.file_names import LOG, file_name
from tests.simulation.replication_schedules import contents
from tests.simulation.three_brokers import five, followers, isr, sent, three

pytestmark = pytest.mark.slow

LOG_FILE = f"orders-0/{file_name(0, LOG)}"
HEADER = {
    "offset": 7,
    "a far offset": 0,
    "length": 11,
    "epoch": 15,
    "magic": 16,
    "crc": 20,
    "a value": 67,
    "the next offset": 75,
}
VALUES = [f"value {number}" for number in range(10)]


def flip(cluster, node, at, path=LOG_FILE):
    cluster.brokers[node].disk.open(path, create=False).data[at] ^= 1


def size_of(cluster, node, path=LOG_FILE):
    return cluster.brokers[node].disk.open(path, create=False).size


def replica_of(cluster, node):
    return cluster.brokers[node].broker.replicas.find_or_create("orders", 0)


def values_of(cluster, node):
    replica = replica_of(cluster, node)
    return contents(replica, replica.log.log_end_offset)


def in_order(values):
    return [*enumerate(values)]


def stopped(cluster, node):
    cluster.stop(node)
    cluster.run_until(lambda: cluster.brokers[node].state == "down")


def read_from_start(cluster):
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    polled = consumer.poll(timeout_ms=5000).values()
    return [
        (each.offset, each.value.decode()) for records in polled for each in records
    ]


def is_healed(cluster):
    """All in sync, and with logs of one length."""

    def healed():
        up = all(
            each.state == "up" and each.broker.ready
            for each in cluster.brokers.values()
        )
        if isr(cluster) != {1, 2, 3} or not up:
            return False
        ends = {replica_of(cluster, node).log.log_end_offset for node in (1, 2, 3)}
        return len(ends) == 1

    return healed


def written(**more):
    cluster = three(**more)
    assert sent(cluster, *VALUES) == list(range(10))
    return cluster


@pytest.mark.parametrize("what", HEADER)
def test_a_follower_refuses_what_its_leader_reads_damaged_and_another_leads(what):
    """A bit flips on the leader's disk while a follower is away; the follower comes
    back, and copies from there.
    """
    cluster = written()
    leader, (one, _) = cluster.leader("orders"), followers(cluster)
    stopped(cluster, one)
    at = size_of(cluster, leader)
    assert sent(cluster, *"abcdef") == list(range(10, 16))
    flip(cluster, leader, at + HEADER[what])
    cluster.restart(one)
    cluster.run_until(is_healed(cluster), 30)
    for node in (1, 2, 3):
        assert values_of(cluster, node) == in_order([*VALUES, *"abcdef"]), node
    assert cluster.leader("orders") != leader
    assert all(process.state == "up" for process in cluster.brokers.values())


@pytest.mark.parametrize("what", HEADER)
@pytest.mark.parametrize("which", ["leader", "follower"])
def test_a_bit_that_flips_while_a_broker_is_down_costs_no_record(what, which):
    cluster = written()
    leader, (one, _) = cluster.leader("orders"), followers(cluster)
    node = leader if which == "leader" else one
    stopped(cluster, node)
    flip(cluster, node, size_of(cluster, node) // 10 * 3 + HEADER[what])
    cluster.restart(node)
    cluster.run(seconds=3)
    cluster.run_until(is_healed(cluster), 30)
    for each in (1, 2, 3):
        assert values_of(cluster, each) == in_order(VALUES), each
    assert read_from_start(cluster) == in_order(VALUES)


def notices(monkeypatch):
    """What the brokers of this test say to who looks after them: (node, line)."""
    said = []
    made = []
    make = broker.Broker.__init__

    def noted_make(self, node_id, *args, **kwargs):
        made.append(node_id)
        make(self, node_id, *args, **kwargs)

    class Noted(Loggers):
        def __init__(self, tell):
            super().__init__(tell)
            self.node_id = made[-1]

        def notice(self, line, error=None):
            if (self.node_id, line) not in said:
                said.append((self.node_id, line))
            super().notice(line, error)

    monkeypatch.setattr(broker.Broker, "__init__", noted_make)
    monkeypatch.setattr(parts, "Loggers", Noted)
    return said


def test_a_leader_whose_bytes_are_damaged_says_which_file_and_offset(monkeypatch):
    said = notices(monkeypatch)
    cluster = written()
    leader, (one, _) = cluster.leader("orders"), followers(cluster)
    stopped(cluster, one)
    at = size_of(cluster, leader)
    assert sent(cluster, *"abc") == [10, 11, 12]
    flip(cluster, leader, at + HEADER["a value"])
    cluster.restart(one)
    cluster.run_until(is_healed(cluster), 30)
    wrong = "the batch at offset 10 does not match its checksum"
    refused = (
        f"orders-0: node {leader} gives damaged records for 10: {wrong}. It is asked"
        " for again"
    )
    found = (
        f"{LOG_FILE} is damaged at offset 10: {wrong}; this replica is offline, and"
        " fetches it again"
    )
    assert said == [(one, refused), (leader, found)]


def test_who_is_alone_in_sync_keeps_what_it_has_until_another_one_is():
    """A leader that is the only one in sync is damaged: it goes on with what is left,
    and makes room as soon as another replica, which had the lost records too, is in
    sync.
    """
    cluster, replicas = five()
    cluster.alter_configs("orders", {"min.insync.replicas": 1})
    assert sent(cluster, *VALUES) == list(range(10))
    leader = cluster.leader("orders")
    others = [node for node in replicas if node != leader]
    for node in (*others, leader):
        stopped(cluster, node)
    flip(cluster, leader, size_of(cluster, leader) // 10 * 3 + HEADER["a value"])
    cluster.restart(leader)
    cluster.run(seconds=5)
    assert (cluster.leader("orders"), isr(cluster)) == (leader, {leader})
    assert replica_of(cluster, leader).log.damaged_from == 3
    for node in others:
        cluster.restart(node)
    cluster.run_until(
        lambda: isr(cluster) == {*replicas} and cluster.leader("orders") != leader, 30
    )
    cluster.run_until(lambda: isr(cluster) == {*replicas}, 30)
    assert [values_of(cluster, node) for node in replicas] == [in_order(VALUES)] * 3


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "cut", ["to nothing", "between two batches", "within one", "away"]
)
def test_a_log_that_lost_bytes_while_its_broker_was_down_is_fetched_again(clean, cut):
    cluster = written()
    leader = cluster.leader("orders")
    cluster.run(seconds=6)  # the high watermark is on disk
    if clean:
        stopped(cluster, leader)
    else:
        cluster.crash(leader)
    disk, size = cluster.brokers[leader].disk, size_of(cluster, leader)
    if cut == "away":
        disk.remove(LOG_FILE)
    else:
        left = {
            "to nothing": 0,
            "between two batches": size // 2,
            "within one": size // 2 + 9,
        }
        disk.open(LOG_FILE).truncate(left[cut])
    cluster.restart(leader)
    cluster.run_until(is_healed(cluster), 30)
    assert [values_of(cluster, node) for node in (1, 2, 3)] == [in_order(VALUES)] * 3


def test_a_follower_without_room_for_a_batch_is_offline_and_goes_on_when_there_is(
    monkeypatch,
):
    said = notices(monkeypatch)
    cluster = written()
    full = followers(cluster)[0]
    disk = cluster.brokers[full].disk
    disk.capacity_bytes = disk.used_bytes + 5000  # for metadata, and not for the batch
    assert sent(cluster, "x" * 9000) == [10]
    cluster.run_until(lambda: full not in isr(cluster), 1)
    assert said == [(full, "orders-0 is offline: orders-0: No space left on device")]
    assert sent(cluster, "y") == [11]
    disk.capacity_bytes = None
    cluster.run_until(is_healed(cluster), 10)
    assert len(values_of(cluster, full)) == 12


def test_a_node_that_can_write_nothing_stops_with_a_line_and_the_others_go_on():
    cluster = written()
    full = followers(cluster)[0]
    process = cluster.brokers[full]
    process.disk.capacity_bytes = process.disk.used_bytes
    assert sent(cluster, "x") == [10]
    cluster.run_until(lambda: process.state == "down", 10)
    assert process.broker.why_failed.endswith("No space left on device")
    assert sent(cluster, "y") == [11]


def test_a_voter_refuses_damaged_metadata_and_who_sends_it_stops(monkeypatch):
    """The active controller reads a flipped bit to a voter that comes back; asked
    again, it looks itself, and stops: another voter leads, and has these records.
    """
    said = notices(monkeypatch)
    cluster = written()
    active = next(
        node for node, each in cluster.brokers.items() if each.broker.quorum.is_leader
    )
    late = next(node for node in (1, 2, 3) if node != active)
    stopped(cluster, late)
    path = f"{METADATA_LOG}/{file_name(0, LOG)}"
    at = size_of(cluster, active, path)
    cluster.create_topic("more", replication_factor=2)
    flip(cluster, active, at + HEADER["a value"], path)
    cluster.restart(late)
    cluster.run_until(lambda: cluster.brokers[active].state == "down", 10)
    assert "is damaged at offset" in cluster.brokers[active].broker.why_failed
    assert {node for node, line in said if "damaged metadata came" in line} == {late}
    cluster.run_until(lambda: "more" in cluster.brokers[late].broker.image.topics, 20)
    assert sent(cluster, "y") == [10]


def test_a_follower_may_begin_within_a_batch_where_its_leaders_log_begins_after_delete_records():
    """KIP-107: the log start offset lies within a batch, which a new follower gets
    whole.
    """
    cluster = three()
    late = followers(cluster)[0]
    stopped(cluster, late)
    producer = cluster.producer(acks="all", linger_ms=50)
    for value in "abcdef":
        producer.send("orders", value=value)
    producer.flush()
    cluster.delete_records("orders", 0, 3)
    disk = cluster.brokers[late].disk
    disk.rmtree("orders-0")
    cluster.restart(late)
    cluster.run_until(is_healed(cluster), 20)
    assert replica_of(cluster, late).log.log_start_offset == 3
    assert values_of(cluster, late) == values_of(cluster, cluster.leader("orders"))
