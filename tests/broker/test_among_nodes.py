"""What a node believes of what comes in where nodes listen to each other: nothing is
stored before it was checked (KIP-595, KIP-630, KIP-631, KIP-497).
"""

import pytest

from minikafka import Cluster
from minikafka.broker.replies import CHECKS, check_reply
from minikafka.cluster import registration
from minikafka.cluster.election import HIGHEST_EPOCH, MOST_AHEAD
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.cluster.quorum import MOST_OBSERVERS, TOPIC_ID
from minikafka.cluster.snapshots import Incoming, encode
from minikafka.simulation.processes import CONTROLLER_PORT
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.storage.file_names import LOG, file_name
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    API,
    decode_response,
    encode_request,
    encode_response,
)
from minikafka.wire.primitives import DecodeError
from tests.simulation.replication_schedules import QUICK

AT_LEADER_EPOCH = 14  # of a batch, its third byte
NOT_EPOCHS = (-(2**31), -1)
NO_ELECTION_LEADS_TO = (HIGHEST_EPOCH, HIGHEST_EPOCH + 1, 2**31 - 2, 2**31 - 1)


class Stranger:
    """Somebody who reaches the nodes' listener of a cluster, and knows all that one can
    know.
    """

    name, state, silent = "stranger", "up", False

    def __init__(self, **configs):
        self.asked = 0
        self.cluster = Cluster(brokers=3, seed=2, configs=QUICK | configs)
        self.cluster.create_topic("orders", partitions=1, replication_factor=3)
        self.cluster.run(seconds=2)
        self.leader = self.broker(1).quorum.leader_id
        self.one, self.other = {1, 2, 3} - {self.leader}

    def broker(self, node):
        return self.cluster._brokers[node].broker

    @property
    def active(self):
        return self.broker(self.leader)

    @property
    def epoch(self):
        return self.active.quorum.epoch

    def ask(self, node, api, version=None, **body):
        """The answer, or None if the connection was closed."""
        version = API[api].max_version if version is None else version
        self.got, network = [], self.cluster._network
        self.asked += 1
        link = network.connect(
            self, f"{self.name} #{self.asked}", (f"broker-{node}", CONTROLLER_PORT)
        )
        network.request(link, encode_request(api, version, 1, "stranger", body))
        self.cluster.run_until(lambda: bool(self.got))
        network.close(link, by_caller=True)
        return self.got[0] and decode_response(api, version, self.got[0])[1]

    def reply(self, link, frame):
        self.got.append(frame)

    def lost(self, link):
        self.got.append(None)

    def of_quorum(
        self,
        node,
        api,
        field="topic_name",
        number="partition_index",
        at=0,
        more=None,
        **partition,
    ):
        """The error of a request of the quorum: of the whole, or of its partition."""
        body = {
            "cluster_id": self.active.cluster_id,
            "topics": [{field: METADATA_TOPIC, "partitions": [partition]}],
        }
        partition[number] = at
        if api in ("Vote", "BeginQuorumEpoch"):
            body["voter_id"] = node
        answer = self.ask(node, api, **body | (more or {}))
        return Error(
            answer.error_code or answer.topics[0].partitions[0].error_code
        ).name

    def said(self, node):
        """What a broker says of itself when it registers."""
        fields = self.active.image.brokers[node].fields
        of = (
            node,
            b"another run".ljust(16),
            fields["log_dirs"],
            self.broker(node).config.advertised,
        )
        asked = registration.fields(*of) | {"cluster_id": self.active.cluster_id}
        return asked | {"previous_broker_epoch": -1}

    def registered(self, **changes):
        """The error of a registration."""
        asked = self.said(self.one) | changes
        return Error(
            self.ask(self.leader, "BrokerRegistration", **asked).error_code
        ).name

    def takes_a_write(self):
        producer = self.cluster.producer(acks="all")
        future = producer.send("orders", value="x")
        self.cluster.run(seconds=10)
        return future.succeeded()


@pytest.fixture
def stranger():
    return Stranger()


# -- the quorum


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
    here = stranger.broker(node).registration.directory_id
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
    disk = stranger.cluster._brokers[node].disk
    state = {"leaderId": -1, "leaderEpoch": 3, "votedId": -1, "data_version": 1} | {
        name: value
    }
    disk.write_atomic(path, str(state).replace("'", '"').encode())
    stranger.cluster.restart(node)
    assert (
        path in stranger.broker(node).stopped
        and "remove it" in stranger.broker(node).stopped
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
    stranger.cluster._brokers[node].disk.write_atomic(
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
    disk = stranger.cluster._brokers[node].disk
    log = f"{METADATA_LOG}/{file_name(0, LOG)}"
    written = bytes(disk.open(log).data)
    flipped = bytearray(written)
    flipped[AT_LEADER_EPOCH] ^= 1 << 4
    disk.write_atomic(log, bytes(flipped))
    stranger.cluster.restart(node)
    told = stranger.broker(node).stopped
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


# -- brokers


def test_kip_631_the_id_of_a_broker_that_lives_is_taken_the_controllers_own_too(
    stranger,
):
    for node in (1, 2, 3):
        answer = stranger.ask(
            stranger.leader, "BrokerRegistration", **stranger.said(node)
        )
        assert answer.error_code == Error.DUPLICATE_BROKER_REGISTRATION
    run = stranger.active.image.brokers[stranger.one].incarnation_id
    elsewhere = [{"name": "PLAINTEXT", "host": "elsewhere", "port": 1}]
    assert (
        stranger.registered(incarnation_id=run, listeners=elsewhere)
        == "DUPLICATE_BROKER_REGISTRATION"
    )


def test_kip_631_a_run_that_registers_again_as_it_did_keeps_its_epoch(stranger):
    """The answer was lost."""
    known = stranger.active.image.brokers[stranger.one]
    asked = stranger.said(stranger.one) | {"incarnation_id": known.incarnation_id}
    answer = stranger.ask(stranger.leader, "BrokerRegistration", **asked)
    assert (answer.error_code, answer.broker_epoch) == (Error.NONE, known.broker_epoch)
    assert stranger.active.image.brokers[stranger.one] is known


GOOD = {"name": "PLAINTEXT", "host": "one", "port": 9092, "security_protocol": 0}
DIRECTORY = b"a directory".ljust(16)


@pytest.mark.parametrize(
    "changes",
    [
        {"broker_id": -1},
        {"broker_id": 4},
        {"broker_id": 2**31 - 1},
        {"listeners": []},
        {"listeners": [GOOD, GOOD]},
        {
            "listeners": (
                [GOOD] + [GOOD | {"name": f"L{number}"} for number in range(200)]
            )
        },
        {"listeners": [GOOD | {"name": "ELSEWHERE"}]},
        {"listeners": [GOOD | {"host": ""}]},
        {"listeners": [GOOD | {"host": "x" * 32_000}]},
        {"listeners": [GOOD | {"host": "a\nb"}]},
        {"listeners": [GOOD | {"port": 0}]},
        {"listeners": [GOOD | {"security_protocol": -1}]},
        {"rack": "x" * 32_000},
        {"log_dirs": []},
        {"log_dirs": [DIRECTORY, DIRECTORY]},
        {"log_dirs": [bytes(15) + b"\1"]},
        {"log_dirs": "another's"},
        {
            "features": [
                {
                    "name": "metadata.version",
                    "min_supported_version": 9,
                    "max_supported_version": 7,
                }
            ]
        },
        {
            "features": [
                {
                    "name": "x" * 32_000,
                    "min_supported_version": 0,
                    "max_supported_version": 1,
                }
            ]
        },
    ],
    ids=str,
)
def test_kip_631_a_broker_that_cannot_be_is_not_registered(stranger, changes):
    if "broker_id" not in changes:  # an id that is free
        stranger.cluster.stop(stranger.one)
        stranger.cluster.run(seconds=5)
    if changes.get("log_dirs") == "another's":
        changes = {
            "log_dirs": stranger.active.image.brokers[stranger.other].fields["log_dirs"]
        }
    before = dict(stranger.active.image.brokers)
    assert stranger.registered(**changes) == "INVALID_REGISTRATION"
    assert stranger.active.image.brokers == before


def test_kip_584_a_broker_that_cannot_do_what_the_cluster_does_is_not_registered(
    stranger,
):
    stranger.cluster.stop(stranger.one)
    stranger.cluster.run(seconds=5)
    feature = {
        "name": "metadata.version",
        "min_supported_version": 1,
        "max_supported_version": 7,
    }
    assert stranger.registered(features=[feature]) == "UNSUPPORTED_VERSION"
    assert stranger.registered() == "NONE"


@pytest.mark.parametrize("offset", [-(2**63), -2, 2**40, 2**63 - 1])
def test_kip_631_no_broker_has_read_what_the_controller_has_not(stranger, offset):
    known = stranger.active.image.brokers[stranger.one]
    body = {
        "broker_id": stranger.one,
        "broker_epoch": known.broker_epoch,
        "current_metadata_offset": offset,
    }
    assert (
        stranger.ask(stranger.leader, "BrokerHeartbeat", **body).error_code
        == Error.INVALID_REQUEST
    )


def test_kip_631_a_broker_whose_wish_to_stop_was_made_up_comes_back(stranger):
    """What a controller believed once, that a broker leaves, it forgot only at that
    broker's next start.
    """
    known = stranger.active.image.brokers[stranger.one]
    body = {
        "broker_id": stranger.one,
        "broker_epoch": known.broker_epoch,
        "want_shut_down": True,
    }
    stranger.ask(
        stranger.leader,
        "BrokerHeartbeat",
        **body,
        current_metadata_offset=known.broker_epoch,
    )
    assert not stranger.active.image.brokers[stranger.one].may_lead
    stranger.cluster.run(seconds=5)
    assert stranger.active.image.brokers[stranger.one].may_lead
    assert not stranger.broker(stranger.one).may_stop


def test_kip_497_a_leader_is_in_one_recovery_state_here(stranger):
    topic = stranger.active.image.topics["orders"]
    partition = topic.partitions[0]
    isr = [{"broker_id": node, "broker_epoch": -1} for node in partition.replicas]
    asked = {
        "partition_index": 0,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
    }
    asked |= {"new_isr_with_epochs": isr, "leader_recovery_state": 1}
    of = {
        "broker_id": partition.leader,
        "broker_epoch": stranger.active.image.brokers[partition.leader].broker_epoch,
    }
    topics = [{"topic_id": topic.topic_id, "partitions": [asked]}]
    answer = stranger.ask(stranger.leader, "AlterPartition", **of, topics=topics)
    assert answer.topics[0].partitions[0].error_code == Error.INVALID_REQUEST


def test_kip_497_a_partition_that_is_named_twice_changes_once(stranger):
    topic = stranger.active.image.topics["orders"]
    partition = topic.partitions[0]
    epochs = {
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
    }
    isr = [{"broker_id": partition.leader, "broker_epoch": -1}]
    asked = {"partition_index": 0, "new_isr_with_epochs": isr} | epochs
    of = {
        "broker_id": partition.leader,
        "broker_epoch": stranger.active.image.brokers[partition.leader].broker_epoch,
    }
    topics = [{"topic_id": topic.topic_id, "partitions": [asked, asked]}]
    answer = stranger.ask(stranger.leader, "AlterPartition", **of, topics=topics)
    assert [part.error_code for part in answer.topics[0].partitions] == [
        Error.NONE,
        Error.INVALID_REQUEST,
    ]


# -- transactions


def test_kip_98_a_coordinator_epoch_that_no_coordinator_has_come_to_ends_no_transaction(
    stranger,
):
    """2^31-1 was kept, and the coordinator of that producer could end none of its
    transactions any more.
    """
    producer = stranger.cluster.producer(transactional_id="t")
    producer.init_transactions()
    producer.begin_transaction()
    sent = producer.send("orders", value="x")
    stranger.cluster.run(seconds=1)
    assert sent.succeeded()
    topic = stranger.active.image.topics["orders"]
    leader = topic.partitions[0].leader
    state = stranger.broker(leader).replicas.leader("orders", 0).log.producers
    [producer_id] = state._ongoing

    def marked(epoch, producer_epoch):
        marker = {
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
            "transaction_result": False,
        }
        marker |= {
            "coordinator_epoch": epoch,
            "topics": [{"name": "orders", "partition_indexes": [0]}],
        }
        answer = stranger.ask(leader, "WriteTxnMarkers", 1, markers=[marker])
        return Error(answer.markers[0].topics[0].partitions[0].error_code).name

    assert {marked(epoch, 0) for epoch in (1000, 2**31 - 1)} == {"UNKNOWN_LEADER_EPOCH"}
    assert marked(-2, 0) == marked(0, -1) == "INVALID_REQUEST"
    assert marked(0, 2**15 - 1) == "INVALID_PRODUCER_EPOCH"
    state.producers[producer_id].coordinator_epoch = 2**31 - 1  # as it was kept before
    producer.commit_transaction()
    stranger.cluster.run(seconds=5)
    assert not state._ongoing


# -- answers


def answers(stranger):
    """For each API whose answers are checked: a request, and an honest answer as
    fields.
    """
    leader = {"leader_id": stranger.leader, "leader_epoch": stranger.epoch}
    partition = {"partition_index": 0, **leader}
    topic = {"topic_name": METADATA_TOPIC, "partitions": [partition]}
    of_quorum = {}, {"topics": [topic]}
    return {
        "Vote": of_quorum,
        "BeginQuorumEpoch": of_quorum,
        "EndQuorumEpoch": of_quorum,
        "FetchSnapshot": of_fetch_snapshot(stranger.epoch),
        "Fetch": of_fetch(leader),
        "ListOffsets": of_list_offsets(),
        "AddPartitionsToTxn": of_add_partitions_to_txn(),
        "WriteTxnMarkers": of_write_txn_markers(),
        "AllocateProducerIds": (
            {},
            {"producer_id_start": 1000, "producer_id_len": 1000},
        ),
    }


def of_fetch_snapshot(epoch):
    where = {"snapshot_id": {"end_offset": 5, "epoch": epoch}, "position": 10}
    asked = {"partition": 0, **where}
    piece = {"index": 0, **where, "size": 14, "unaligned_records": b"abcd"}
    return (
        {"topics": [{"partitions": [asked]}]},
        {"topics": [{"name": METADATA_TOPIC, "partitions": [piece]}]},
    )


def of_fetch(leader):
    partition = {
        "partition_index": 0,
        "high_watermark": 5,
        "log_start_offset": 0,
        "records": b"",
        "current_leader": leader,
    }
    return (
        {"topics": [{"topic_id": TOPIC_ID}]},
        {"responses": [{"topic_id": TOPIC_ID, "partitions": [partition]}]},
    )


def of_list_offsets():
    asked = {"name": "orders", "partitions": [{"partition_index": 0}]}
    said = {"name": "orders", "partitions": [{"partition_index": 0, "offset": 3}]}
    return {"topics": [asked]}, {"topics": [said]}


def of_add_partitions_to_txn():
    transaction = {
        "transactional_id": "t",
        "topics": [{"name": "orders", "partitions": [0]}],
    }
    partition = {"partition_index": 0, "partition_error_code": 0}
    topic = {"name": "orders", "results_by_partition": [partition]}
    result = {"transactional_id": "t", "topic_results": [topic]}
    return {"transactions": [transaction]}, {"results_by_transaction": [result]}


def of_write_txn_markers():
    partition = {"partition_index": 0, "error_code": 0}
    topic = {"name": "orders", "partitions": [partition]}
    marked = {"producer_id": 7, "topics": [topic]}
    return {"markers": [{"producer_id": 7}]}, {"markers": [marked]}


NONSENSE = {
    "leader_id": (-2, 77, 2**31 - 1),
    "leader_epoch": (-2, HIGHEST_EPOCH + 1, 2**31 - 1),
    "partition_index": (-1, 1),
    "index": (1,),
    "size": (0, -1, 13),
    "position": (0, 11),
    "high_watermark": (-1,),
    "log_start_offset": (-1,),
    "diverging_epoch": ({"epoch": 3, "end_offset": -1},),
    "snapshot_id": ({"end_offset": 6, "epoch": 2**31 - 1},),
    "offset": (-1,),
    "transactional_id": ("another",),
    "partition_error_code": (9999,),
    "producer_id": (8,),
    "producer_id_start": (-1, 2**63 - 1),
    "producer_id_len": (-1, 0),
}
UNCHECKED = {("WriteTxnMarkers", "partition_index"), ("Fetch", "partition_error_code")}


def spoiled(fields, name, value):
    """The answer with one field changed, wherever in it."""
    if isinstance(fields, list):
        return [spoiled(each, name, value) for each in fields]
    if not isinstance(fields, dict):
        return fields
    return {
        key: value if key == name else spoiled(each, name, value)
        for key, each in fields.items()
    }


@pytest.mark.parametrize("api", CHECKS)
def test_what_nobody_in_his_right_mind_answers_is_no_answer(stranger, api):
    """Any field of an honest answer, with any nonsense; and one of another number of
    partitions.
    """
    version = {"Fetch": 18, "Vote": 2, "ListOffsets": 7, "AddPartitionsToTxn": 5}.get(
        api, API[api].max_version
    )
    asked, honest = answers(stranger)[api]

    def check(fields):
        frame = b"".join(encode_response(api, version, 1, fields))
        check_reply(api, asked, decode_response(api, version, frame)[1], {1, 2, 3})

    check(honest)
    count = 0
    for name, values in NONSENSE.items():
        for value in values:
            fields = spoiled(honest, name, value)
            if fields != honest and (api, name) not in UNCHECKED:
                with pytest.raises(DecodeError):
                    check(fields)
                count += 1
    if api != "AllocateProducerIds":
        for many in (0, 2):
            [field] = [
                name for name, value in honest.items() if isinstance(value, list)
            ]
            with pytest.raises(DecodeError):
                check({field: honest[field] * many})
            count += 1
    assert count > 1


def test_a_nonsense_answer_fails_its_request_and_closes_the_connection(stranger):
    """The shell hears DecodeError, says so in a line, closes, and tells of the failure;
    the node goes on.
    """
    broker, heard = stranger.broker(stranger.one), []
    at = stranger.other, "votes"
    body = {"cluster_id": broker.cluster_id, "topics": []}
    broker.peers.ask(
        *at, "Vote", 2, body, lambda reply, now: heard.append(reply), broker.now
    )
    correlation_id = broker.outbox.pop().correlation_id
    told = {
        "partition_index": 0,
        "leader_id": stranger.leader,
        "leader_epoch": 2**31 - 1,
    }
    fields = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [told]}]}
    frame = bytearray().join(encode_response("Vote", 2, correlation_id, fields))
    with pytest.raises(DecodeError, match="no election leads to"):
        broker.receive_reply(*at, frame, broker.now)
    assert not heard
    broker.request_failed(*at, correlation_id, broker.now)
    assert heard == [None]
    assert stranger.takes_a_write()


@pytest.mark.parametrize("damage", ["cut", "another epoch of a broker"])
def test_kip_630_a_leaders_snapshot_that_is_none_takes_no_logs_place(stranger, damage):
    """It was kept first and read then, and the node could not start any more."""
    quorum = stranger.active.quorum
    quorum._unsaved_bytes = quorum._config.snapshots.record_bytes
    quorum._save_snapshot(stranger.active.now)
    of, follower = quorum.snapshots.newest, stranger.broker(stranger.one).quorum
    of = of._replace(end_offset=of.end_offset + 1000)
    data = (
        quorum._disk.read(quorum.snapshots.newest.path)[:-5]
        if damage == "cut"
        else of_nobody()
    )
    incoming = Incoming(of, bytearray(data))
    before = follower.end_offset, follower.snapshots.ids
    with pytest.raises(DecodeError, match="no snapshot"):
        follower._install_snapshot(incoming, stranger.broker(stranger.one).now)
    assert (follower.end_offset, follower.snapshots.ids) == before


def of_nobody():
    """A snapshot in which a broker that is not there changes."""
    change = {"broker_id": 5, "broker_epoch": 3, "fenced": 1}
    return encode(1, [MetadataRecord("BrokerRegistrationChangeRecord", 1, change)], 0)
