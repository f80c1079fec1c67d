"""What a node believes of what comes in where nodes listen to each other: nothing is
stored before it was checked (KIP-595, KIP-630, KIP-631, KIP-497).
"""

import pytest

from minikafka.wire.errors import Error

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
    """The answer to the first registration was lost, so the run repeats it."""
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
    [producer_id] = state.ongoing

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
    assert not state.ongoing
