"""The pictures of replication show a cluster of three brokers over TCP, under a real
client.
"""

import os
import signal

import pytest

from minikafka.__main__ import main
from minikafka.course.demo import recorded
from minikafka.server.embedded import Served
from minikafka.theatre import picture
from tests.clients.brokers import STEADY, overrides
from tests.server.test_processes import described, process_of, until

pytestmark = pytest.mark.slow

kafka = pytest.importorskip("kafka")
OPTIONS = (
    "--brokers",
    "3",
    *overrides({"offsets.topic.num.partitions": "1", **STEADY}),
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Four records with acks=all."""
    path = tmp_path_factory.mktemp("served") / "trace.jsonl"
    with Served(trace=path, options=OPTIONS) as served:
        bootstrap = served.bootstrap.split(",")
        admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        admin.create_topics([kafka.admin.NewTopic("orders", 1, 3)])
        admin.close()
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
        for value in (b"created", b"paid", b"shipped", b"delivered"):
            producer.send("orders", value, key=b"alice").get(60)
        producer.close()
    return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Three processes, of which the leader's is ended with kill -9 between two records,
    and starts again. It is not the controller's, which might lead the quorum again at
    once, and then has nobody to fence.
    """
    folder = tmp_path_factory.mktemp("three")
    path, options = folder / "trace.jsonl", (*OPTIONS, "--processes")
    with Served(data=folder / "data", trace=path, options=options) as served:
        bootstrap = served.bootstrap.split(",")
        admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        controller = admin.describe_metadata_quorum()["topics"][0]["partitions"][0][
            "leader_id"
        ]
        replicas = sorted((1, 2, 3), key=controller.__eq__)
        admin.create_topics(
            [kafka.admin.NewTopic("orders", replica_assignments={0: replicas})]
        )
        admin.close()
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
        producer.send("orders", b"created", key=b"alice").get(60)
        leader, _ = described(bootstrap, "orders")
        os.kill(process_of(folder / "data", leader), signal.SIGKILL)
        producer.send("orders", b"paid", key=b"alice").get(60)
        producer.close()
        until(lambda: described(bootstrap, "orders")[1] == [1, 2, 3])
    return path, leader


def test_a_killed_process_is_fenced_another_leads_and_it_is_back_with_its_log(killed):
    path, leader = killed
    pic = picture("replica-set", recorded(path))
    kinds = [scene["kind"] for scene in pic.scenes]
    fenced = kinds.index("BrokerFenced")
    # by then a process that starts fast may be back
    elected = kinds.index("LeaderElected")
    [dead] = [
        copy
        for copy in pic.scenes[fenced]["space"]["copies"]
        if copy["broker"] == leader
    ]
    assert (
        fenced < elected
        and dead["life"] == "fenced"
        and pic.scenes[elected]["space"]["leader"] != leader
    )
    back = next(scene for scene in pic.scenes if scene["kind"] == "ReplicaOpened")
    assert (
        back["node"] == f"broker {leader}"
        and "is back: the log on its disk" in back["sentence"]
    )
    assert [2, 2, 2] in [
        [copy["end"] for copy in scene["space"]["copies"]] for scene in pic.scenes
    ]
    assert pic.scenes[-1]["space"]["lost"] == 0


def test_the_quorum_of_three_processes(killed):
    path, leader = killed
    pic = picture("quorum", recorded(path))
    assert any(leader in scene["space"]["fenced"] for scene in pic.scenes)
    assert all(scene["space"]["two"] == 0 for scene in pic.scenes)
    assert "PartitionChangeRecord" in str(pic.table())


def test_the_replica_set_of_a_served_cluster(trace):
    pic = picture("replica-set", recorded(trace))
    told = [
        scene["space"] for scene in pic.scenes if scene["kind"] == "ProduceAnswered"
    ][-1]
    assert [copy["end"] for copy in told["copies"]] == [4, 4, 4] and told["isr"] == [
        1,
        2,
        3,
    ]
    assert [each[2] for each in told["told"]] == ["acknowledged"] * 4 and pic.scenes[
        -1
    ]["space"]["lost"] == 0
    kinds = {scene["kind"] for scene in pic.scenes}
    assert {
        "RecordsAppended",
        "RecordsReplicated",
        "FollowerFetched",
        "ProduceAnswered",
    } <= kinds


def test_the_quorum_of_a_served_cluster(trace):
    pic = picture("quorum", recorded(trace))
    roles = [
        sorted(voter["role"] for voter in scene["space"]["voters"])
        for scene in pic.scenes
    ]
    assert ["controller", "follower", "follower"] in roles and pic.play.cast[
        "part"
    ] == "orders-0"
    assert (
        "TopicRecord (topic orders)" in str(pic.table())
        and pic.scenes[-1]["space"]["two"] == 0
    )


@pytest.mark.parametrize("name", ["replica-set", "quorum"])
def test_the_command_line_shows_them(trace, tmp_path, monkeypatch, capsys, name):
    monkeypatch.setenv("MINIKAFKA_NO_BROWSER", "1")
    page = tmp_path / "page.html"
    assert (
        main(["demo", "--trace", str(trace), "--picture", name, "--out", str(page)])
        == 0
    )
    assert (
        f"the {name} is in" in capsys.readouterr().out
        and "orders-0" in page.read_text(encoding="utf-8")
    )
    assert main(["demo", "--picture", name]) == 1
    assert "--trace FILE" in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_two_texts_overlap(trace, killed, chromium, tmp_path):
    from tests.theatre.overlaps import visit

    page = chromium.new_page(reduced_motion="reduce")
    for name in ("replica-set", "quorum"):
        for path in (trace, killed[0]):
            assert (
                visit(page, name, picture(name, recorded(path)), tmp_path).overlaps
                == []
            )
    page.close()
