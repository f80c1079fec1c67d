"""What a voter of the metadata quorum, and who follows its log, believes of what comes in
where nodes listen to each other: nothing is stored before it was checked (KIP-595,
KIP-630).
"""

import pytest

from minikafka.cluster.election import HIGHEST_EPOCH, MOST_AHEAD
from minikafka.cluster.quorum import MOST_OBSERVERS, TOPIC_ID
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.storage.file_names import LOG, file_name
from minikafka.wire.errors import Error

AT_LEADER_EPOCH = 14  # of a batch, its third byte
NOT_EPOCHS = (-(2**31), -1)
NO_ELECTION_LEADS_TO = (HIGHEST_EPOCH, HIGHEST_EPOCH + 1, 2**31 - 2, 2**31 - 1)


def in_each_form(stranger, epoch, sender):
    """The errors of all requests that name an epoch and a voter."""
    node = stranger.one
    vote = {
        "replica_epoch": epoch,
        "replica_id": sender,
        "last_offset_epoch": 0,
        "last_offset": 2**40,
    }
    led = {"leader_id": sender, "leader_epoch": epoch}
    return {
        stranger.of_quorum(node, "Vote", pre_vote=False, **vote),
        stranger.of_quorum(node, "Vote", pre_vote=True, **vote),
        stranger.of_quorum(node, "BeginQuorumEpoch", **led),
        stranger.of_quorum(node, "EndQuorumEpoch", **led, preferred_candidates=[]),
    }


@pytest.mark.parametrize("epoch", [*NOT_EPOCHS, *NO_ELECTION_LEADS_TO])
def test_kip_595_an_epoch_that_no_election_leads_to_is_refused_before_it_is_stored(
    stranger, epoch
):
    quorum = stranger.broker(stranger.one).quorum
    before = (
        quorum.epoch,
        quorum.leader_id,
        quorum._disk.read("__cluster_metadata-0/quorum-state"),
    )
    wanted = Error.FENCED_LEADER_EPOCH if epoch < 0 else Error.INVALID_REQUEST
    assert in_each_form(stranger, epoch, stranger.other) == {wanted.name}
    assert (
        quorum.epoch,
        quorum.leader_id,
        quorum._disk.read("__cluster_metadata-0/quorum-state"),
    ) == before
    assert stranger.takes_a_write()


def test_kip_595_requests_lead_an_epoch_no_further_than_elections_do_however_many_come(
    stranger,
):
    node = stranger.broker(stranger.one)
    latest = node.quorum.replica.log.epochs.latest
    told = {
        "replica_id": stranger.other,
        "last_offset_epoch": 0,
        "last_offset": 0,
        "pre_vote": True,
    }
    assert (
        stranger.of_quorum(
            stranger.one, "Vote", replica_epoch=latest + MOST_AHEAD, **told
        )
        == "NONE"
    )
    assert node.quorum.epoch == latest + MOST_AHEAD
    for ahead in (2, MOST_AHEAD):
        epoch = latest + MOST_AHEAD + ahead
        assert (
            stranger.of_quorum(stranger.one, "Vote", replica_epoch=epoch, **told)
            == "INVALID_REQUEST"
        )
    assert (
        stranger.of_quorum(
            stranger.one, "Vote", replica_epoch=latest + MOST_AHEAD + 1, **told
        )
        == "NONE"
    )
    assert stranger.takes_a_write(), (
        "who stands after all that is one more ahead, and gets their votes"
    )


@pytest.mark.parametrize("sender", [-1, 0, 4, 2**31 - 1, "itself"])
def test_kip_595_only_voters_ask_voters(stranger, sender):
    sender = stranger.one if sender == "itself" else sender
    assert in_each_form(stranger, stranger.epoch + 1, sender) == {
        "INCONSISTENT_VOTER_SET"
    }


def test_kip_595_a_second_leader_of_an_epoch_is_refused_and_stops_nobody(stranger):
    node, epoch = stranger.one, stranger.epoch + 1
    assert (
        stranger.of_quorum(
            node, "BeginQuorumEpoch", leader_id=stranger.other, leader_epoch=epoch
        )
        == "NONE"
    )
    answers = [
        stranger.of_quorum(
            node, "BeginQuorumEpoch", leader_id=stranger.leader, leader_epoch=epoch
        ),
        stranger.of_quorum(
            node, "EndQuorumEpoch", leader_id=stranger.leader, leader_epoch=epoch
        ),
    ]
    assert answers == ["INVALID_REQUEST"] * 2
    assert stranger.takes_a_write(), "the one that was named knows that it doesn't lead"


def test_kip_595_who_is_told_of_another_leader_of_its_epoch_by_an_answer_goes_on(
    stranger,
):
    """A leader keeps leading, a follower following."""
    for node in (stranger.leader, stranger.one):
        election, now = stranger.broker(node).quorum.election, stranger.broker(node).now
        election.learn(stranger.epoch, stranger.other, now)
        assert stranger.broker(node).quorum.leader_id == stranger.leader


def test_kip_595_who_fell_far_behind_learns_the_epoch_by_asking(stranger):
    """More than a request is believed: it hears of no leader, and asks."""
    stranger.cluster.crash(stranger.one)
    for node in (stranger.leader, stranger.other):
        stranger.broker(node).quorum.election.learn(
            100 * MOST_AHEAD, -1, stranger.broker(node).now
        )
    stranger.cluster.run(seconds=10)
    stranger.cluster.restart(stranger.one)
    stranger.cluster.run(seconds=10)
    leaders = {
        (stranger.broker(node).quorum.epoch, stranger.broker(node).quorum.leader_id)
        for node in (1, 2, 3)
    }
    [(epoch, leader)] = leaders
    assert epoch > 100 * MOST_AHEAD and leader in (1, 2, 3)


def test_kip_595_so_do_two_of_whom_the_third_is_far_ahead(stranger):
    stranger.broker(stranger.one).quorum.election.learn(
        100 * MOST_AHEAD, -1, stranger.broker(stranger.one).now
    )
    stranger.cluster.run(seconds=20)
    assert len({stranger.broker(node).quorum.epoch for node in (1, 2, 3)}) == 1
    assert stranger.takes_a_write()


@pytest.mark.parametrize(
    "log_end", [(-1, 5), (-2, 0), (0, -1), (2**31 - 1, 0), ("its epoch", 0)]
)
def test_kip_595_a_candidate_has_a_log_that_can_be(stranger, log_end):
    epoch = stranger.epoch + 1
    last = {
        "last_offset_epoch": epoch if log_end[0] == "its epoch" else log_end[0],
        "last_offset": log_end[1],
    }
    asked = {"replica_epoch": epoch, "replica_id": stranger.other, "pre_vote": False}
    assert (
        stranger.of_quorum(stranger.one, "Vote", **asked, **last) == "INVALID_REQUEST"
    )


@pytest.mark.parametrize(
    "api", ["Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"]
)
@pytest.mark.parametrize("cluster_id", [None, "", "another"])
def test_kip_595_who_does_not_name_this_cluster_is_of_another(
    stranger, api, cluster_id
):
    field = {"field": "name", "number": "partition"} if api == "FetchSnapshot" else {}
    told = stranger.of_quorum(
        stranger.one, api, **field, more={"cluster_id": cluster_id}
    )
    assert told == "INCONSISTENT_CLUSTER_ID"


@pytest.mark.parametrize("api", ["Vote", "BeginQuorumEpoch"])
def test_kip_853_what_is_meant_for_another_voter_or_another_directory_is_not_taken(
    stranger, api
):
    epoch, node = stranger.epoch + 1, stranger.one
    fields = {"leader_id": stranger.other, "leader_epoch": epoch}
    if api == "Vote":
        fields = {
            "replica_id": stranger.other,
            "replica_epoch": epoch,
            "last_offset_epoch": 0,
            "last_offset": 0,
        }
    for voter in (-1, stranger.other):
        assert (
            stranger.of_quorum(node, api, more={"voter_id": voter}, **fields)
            == "INVALID_VOTER_KEY"
        )
    elsewhere = b"another".ljust(16)
    assert (
        stranger.of_quorum(node, api, voter_directory_id=elsewhere, **fields)
        == "INVALID_VOTER_KEY"
    )
    assert stranger.broker(node).quorum.epoch < epoch
    here = stranger.broker(node).incarnation.directory_id
    assert stranger.of_quorum(node, api, voter_directory_id=here, **fields) == "NONE"


@pytest.mark.parametrize("partition", [-1, 1, 2**31 - 1])
def test_kip_595_the_metadata_log_has_one_partition(stranger, partition):
    fields = {"leader_id": stranger.other, "leader_epoch": stranger.epoch + 1}
    assert (
        stranger.of_quorum(stranger.one, "BeginQuorumEpoch", at=partition, **fields)
        == "INVALID_REQUEST"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("leaderEpoch", 2**31 - 1),
        ("leaderEpoch", HIGHEST_EPOCH + 1),
        ("leaderEpoch", -5),
        ("votedId", []),
    ],
)
def test_kip_595_a_stored_epoch_that_no_election_leads_to_is_named_and_the_node_does_not_start(
    stranger, name, value
):
    """Older ones stored whatever they were told. Without the file it comes back, and
    learns from the others.
    """
    node, path = stranger.one, "__cluster_metadata-0/quorum-state"
    stranger.cluster.crash(node)
    disk = stranger.cluster.brokers[node].disk
    state = {"leaderId": -1, "leaderEpoch": 3, "votedId": -1, "data_version": 1} | {
        name: value
    }
    disk.write_atomic(path, str(state).replace("'", '"').encode())
    stranger.cluster.restart(node)
    assert (
        path in stranger.broker(node).why_failed
        and "remove it" in stranger.broker(node).why_failed
    )
    disk.remove(path)
    stranger.cluster.restart(node)
    stranger.cluster.run(seconds=10)
    assert stranger.broker(node).ready


def test_kip_595_a_stored_leader_that_is_no_voter_is_nobodys(stranger):
    """Nobody listens where it would be asked for records."""
    node, path = stranger.one, "__cluster_metadata-0/quorum-state"
    stranger.cluster.crash(node)
    state = {
        "leaderId": 77,
        "leaderEpoch": stranger.epoch,
        "votedId": -1,
        "data_version": 1,
    }
    stranger.cluster.brokers[node].disk.write_atomic(
        path, str(state).replace("'", '"').encode()
    )
    stranger.cluster.restart(node)
    stranger.cluster.run(seconds=10)
    assert stranger.broker(node).ready


def test_kip_595_no_record_of_the_metadata_is_of_an_epoch_that_the_node_has_not_come_to(
    stranger,
):
    """A batch's epoch is not covered by its checksum: with a bit flipped in it this
    node would ask for votes in an epoch that never was.
    """
    node = stranger.one
    stranger.cluster.crash(node)
    disk = stranger.cluster.brokers[node].disk
    log = f"{METADATA_LOG}/{file_name(0, LOG)}"
    written = bytes(disk.open(log).data)
    flipped = bytearray(written)
    flipped[AT_LEADER_EPOCH] ^= 1 << 4
    disk.write_atomic(log, bytes(flipped))
    stranger.cluster.restart(node)
    told = stranger.broker(node).why_failed
    assert METADATA_LOG in told and "Put a good copy back" in told
    disk.write_atomic(log, written)
    stranger.cluster.restart(node)
    stranger.cluster.run(seconds=10)
    assert stranger.broker(node).ready


# -- who follows


def fetched(stranger, node, replica_id, replica_epoch=-1, **changes):
    """The error of a fetch of the metadata log."""
    partition = {
        "partition": 0,
        "current_leader_epoch": stranger.epoch,
        "fetch_offset": 0,
        "partition_max_bytes": 100,
    }
    partition |= {name: changes.pop(name) for name in [*changes] if name in partition}
    topics = [
        {"topic_id": changes.pop("topic_id", TOPIC_ID), "partitions": [partition]}
    ]
    state = {"replica_id": replica_id, "replica_epoch": replica_epoch}
    body = {
        "cluster_id": stranger.active.cluster_id,
        "replica_state": state,
        "max_wait_ms": 0,
        "topics": topics,
    }
    answer = stranger.ask(node, "Fetch", **body | changes)
    return Error(answer.error_code or answer.responses[0].partitions[0].error_code).name


def test_kip_595_a_follower_is_a_node_and_another_one(stranger):
    for replica_id in (-(2**31), -2, stranger.leader):
        assert fetched(stranger, stranger.leader, replica_id) == "INVALID_REQUEST"
    assert fetched(stranger, stranger.leader, stranger.one) == "NONE"


def test_kip_595_who_follows_the_metadata_log_names_its_cluster_and_the_epoch_and_has_no_session(
    stranger,
):
    at = stranger, stranger.leader, stranger.one
    assert (
        fetched(*at, cluster_id=None)
        == fetched(*at, cluster_id="another")
        == "INCONSISTENT_CLUSTER_ID"
    )
    assert fetched(*at, session_epoch=0) == "INVALID_REQUEST"
    assert fetched(*at, partition=1) == "UNKNOWN_TOPIC_OR_PARTITION"
    epochs = [
        fetched(*at, current_leader_epoch=epoch)
        for epoch in (-1, stranger.epoch - 1, 2**31 - 1)
    ]
    assert epochs == [
        "FENCED_LEADER_EPOCH",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
    ]


def test_kip_595_what_follows_without_being_known_is_remembered_up_to_a_limit(stranger):
    quorum, now = stranger.active.quorum, stranger.active.now
    for node in range(100, 100 + 2 * MOST_OBSERVERS):
        quorum.follower_fetched(
            node, 0, now._replace(monotonic_ms=now.monotonic_ms + node)
        )
    assert min(quorum.observers) == 100 + MOST_OBSERVERS
    assert len(quorum.observers) == MOST_OBSERVERS


def test_kip_903_what_an_older_run_of_a_broker_has_does_not_count(stranger):
    topic = stranger.active.image.topics["orders"]
    leader = topic.partitions[0].leader
    follower = next(node for node in (1, 2, 3) if node != leader)
    known = stranger.broker(leader).replicas.leader("orders", 0).followers[follower]
    stranger.takes_a_write()
    was = known.log_end_offset
    at = {
        "topic_id": topic.topic_id,
        "current_leader_epoch": topic.partitions[0].leader_epoch,
        "fetch_offset": 0,
    }
    epoch = stranger.active.image.brokers[follower].broker_epoch
    assert was and fetched(stranger, leader, follower, epoch - 1, **at) == "NONE"
    assert known.log_end_offset == was
    assert fetched(stranger, leader, 77, **at) == "NOT_LEADER_OR_FOLLOWER"


def test_kip_630_a_piece_of_a_snapshot_begins_within_it(stranger):
    """-1 was read from the disk, whose error stopped the node."""
    quorum = stranger.active.quorum
    quorum._unsaved_bytes = quorum._config.snapshots.record_bytes
    quorum._save_snapshot(stranger.active.now)
    of = quorum.snapshots.newest

    def told(position, replica_id=stranger.one, **more):
        asked = {
            "current_leader_epoch": stranger.epoch,
            "snapshot_id": of._asdict(),
            "position": position,
        }
        more = {"more": {"replica_id": replica_id} | more}
        return stranger.of_quorum(
            stranger.leader, "FetchSnapshot", "name", "partition", **more, **asked
        )

    assert told(0) == "NONE"
    assert {told(position) for position in (-1, -(2**63), 2**63 - 1)} == {
        "POSITION_OUT_OF_RANGE"
    }
    assert told(0, max_bytes=-1) == "POSITION_OUT_OF_RANGE"
    assert told(0, replica_id=-5) == "INVALID_REQUEST"
    assert 77 not in quorum.election._heard_ms and told(0, replica_id=77) == "NONE"
    assert set(quorum.election._heard_ms) == {stranger.one, stranger.other}
