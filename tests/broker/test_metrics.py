"""What a node says of itself as metrics, by the names of Apache Kafka's MBeans. On both:
tests/conformance/test_metrics_on_both.py.
"""

import pytest

from minikafka import Cluster
from minikafka.broker.broker import Broker
from minikafka.broker.counters import Counters
from minikafka.broker.metrics import METRICS, Measured, exposition, quantile
from minikafka.simulation import processes
from tests.broker.node import CountingNode, Node
from tests.broker.sharing import SharingNode
from tests.metrics import Scrape
from tests.simulation.replication_schedules import QUICK

REPLICAS = "kafka_server_replicamanager_"
CONTROLLER = "kafka_controller_kafkacontroller_"
TOPICS = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"
GROUPS = "kafka_coordinator_group_groupmetadatamanager_"


def text_of(broker):
    node = Measured(
        node_id=broker.node_id,
        replicas=broker.replicas.replicas,
        image=broker.image,
        quorum=broker.quorum,
        groups=broker.groups,
        counters=broker.counters,
    )
    return "".join(exposition(node))


def scraped(broker):
    return Scrape(text_of(broker))


class CountingSharing(CountingNode, SharingNode):
    pass


@pytest.fixture
def node():
    return CountingNode()


@pytest.fixture
def cluster(monkeypatch):
    """Three nodes that count."""

    def counting(*args):
        return Broker(*args, Counters())

    monkeypatch.setattr(processes, "Broker", counting)
    with Cluster(brokers=3, seed=2, configs=QUICK) as cluster:
        cluster.create_topic(
            "orders",
            partitions=6,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
        cluster.run(seconds=2)
        yield cluster


def of_all(cluster, name, **labels):
    """The sum over the brokers that are up."""
    found = []
    for process in cluster.brokers.values():
        if process.state == "up":
            found.append(scraped(process.broker).total(name, **labels))
    return sum(found)


def test_a_healthy_cluster_has_one_active_controller_and_nothing_that_lacks_replicas(
    cluster,
):
    assert of_all(cluster, REPLICAS + "partitioncount") == 18
    assert of_all(cluster, REPLICAS + "leadercount") == 6
    for what in ("underreplicatedpartitions", "underminisrpartitioncount"):
        assert of_all(cluster, REPLICAS + what) == 0
    assert of_all(cluster, CONTROLLER + "activecontrollercount") == 1
    for process in cluster.brokers.values():
        one = scraped(process.broker)
        assert one.value(CONTROLLER + "activebrokercount") == 3
        assert one.value(CONTROLLER + "globalpartitioncount") == 6


def test_without_one_of_three_all_partitions_are_under_replicated_and_at_their_min_isr(
    cluster,
):
    cluster.crash(3)
    cluster.run(seconds=10)
    assert of_all(cluster, REPLICAS + "underreplicatedpartitions") == 6
    assert of_all(cluster, REPLICAS + "atminisrpartitioncount") == 6
    assert of_all(cluster, REPLICAS + "underminisrpartitioncount") == 0
    assert of_all(cluster, "kafka_cluster_partition_insyncreplicascount") == 12
    assert of_all(cluster, CONTROLLER + "activecontrollercount") == 1
    one = scraped(cluster.brokers[1].broker)
    assert one.value(CONTROLLER + "fencedbrokercount") == 1
    assert one.value(CONTROLLER + "offlinepartitionscount") == 0


def test_a_leader_counts_who_returns_to_the_isr_but_not_who_is_fenced_out_of_it(
    cluster,
):
    """The controller takes a fenced broker out of all ISRs by itself; back in it comes
    by AlterPartition (KIP-497), and only that is counted.
    """
    cluster.crash(3)
    cluster.run(seconds=10)
    assert of_all(cluster, REPLICAS + "isrshrinks_total") == 0
    cluster.restart(3)
    cluster.run(seconds=10)
    assert of_all(cluster, REPLICAS + "underreplicatedpartitions") == 0
    assert of_all(cluster, REPLICAS + "isrexpands_total") == 6


def test_records_are_counted_where_they_are_led_and_as_replicated_where_they_follow(
    cluster,
):
    producer = cluster.producer(acks="all")
    for number in range(60):
        producer.send("orders", key=str(number), value="paid")
    cluster.run(seconds=2)
    assert of_all(cluster, TOPICS + "messagesin_total", topic="orders") == 60
    bytes_in = of_all(cluster, TOPICS + "bytesin_total", topic="orders")
    assert bytes_in > 0
    assert of_all(cluster, TOPICS + "replicationbytesin_total") == 2 * bytes_in
    assert of_all(cluster, TOPICS + "replicationbytesout_total") == 2 * bytes_in
    assert of_all(cluster, "kafka_log_log_logendoffset", topic="orders") == 3 * 60


def test_consumers_bytes_are_counted_by_topic_and_in_all(node):
    node.create_topic("orders")
    node.produce("orders", "one", "two")
    node.fetch("orders")
    one = scraped(node.broker)
    size = one.value("kafka_log_log_size", topic="orders", partition="0")
    assert one.value(TOPICS + "bytesout_total", topic="orders") == size
    assert one.value(TOPICS + "bytesout_total") == size
    assert one.value(TOPICS + "messagesin_total", topic="orders") == 2


def test_kip_932_what_a_share_group_is_sent_counts_as_read():
    node = CountingSharing()
    node.produce("orders", "one", "two")
    assert node.member("a").join().fetch() == [(0, 1, 1)]
    one = scraped(node.broker)
    size = one.value("kafka_log_log_size", topic="orders", partition="0")
    assert one.value(TOPICS + "bytesout_total", topic="orders") == size


def test_an_election_of_a_replica_that_was_not_in_sync_is_counted_as_unclean(cluster):
    configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    cluster.create_topic("risky", 1, 2, configs=configs)
    cluster.run(seconds=2)
    image = cluster.brokers[1].broker.image
    leader, follower = image.partition(("risky", 0)).replicas
    [other] = {1, 2, 3} - {leader, follower}
    unclean = "kafka_controller_controllerstats_uncleanleaderelections_total"
    cluster.crash(follower)
    cluster.run(seconds=10)
    assert scraped(cluster.brokers[other].broker).value(unclean) == 0
    cluster.crash(leader)
    cluster.restart(follower)
    cluster.run(seconds=10)
    assert cluster.leader("risky", 0) == follower
    assert scraped(cluster.brokers[other].broker).value(unclean) == 1


def test_a_deleted_topics_counts_go_and_the_sum_of_all_stays(node):
    node.create_topic("orders")
    node.produce("orders", "one", "two")
    node.call("DeleteTopics", 6, topics=[{"name": "orders"}], timeout_ms=1000)
    one = scraped(node.broker)
    assert one.value(TOPICS + "messagesin_total", topic="orders") is None
    assert one.value(TOPICS + "messagesin_total") == 2


def test_a_batch_that_is_there_already_is_not_counted_again(node):
    node.create_topic("orders")
    for _ in range(2):
        node.produce("orders", "one", producer_id=7, producer_epoch=0, base_sequence=0)
    assert scraped(node.broker).value(TOPICS + "messagesin_total") == 1


def test_the_metadata_log_is_shown_as_a_log_and_counted_as_no_topic(node):
    node.create_topic("orders")
    one = scraped(node.broker)
    ends = one.value(
        "kafka_log_log_logendoffset", topic="__cluster_metadata", partition="0"
    )
    assert ends == node.broker.quorum.end_offset > 0
    assert one.value(TOPICS + "messagesin_total") == 0


def test_committed_offsets_are_told_by_the_groups_coordinator_under_a_name_of_ours(
    node,
):
    """Apache Kafka's broker has no metric of a consumer's lag."""
    node.create_topic("orders")
    node.call("FindCoordinator", 3, key="billing", key_type=0)
    node.pass_time(100)
    named = {"partition_index": 0, "committed_offset": 2, "committed_metadata": ""}
    topic = {"name": "orders", "partitions": [named]}
    while True:
        node.send(
            "OffsetCommit",
            8,
            group_id='bill"\\\ning',
            generation_id_or_member_epoch=-1,
            topics=[topic],
        )
        node.pass_time(100)
        if not node.answer().topics[0].partitions[0].error_code:
            break
    one = scraped(node.broker)
    labels = {"group": 'bill"\\\ning', "topic": "orders", "partition": "0"}
    assert one.value("minikafka_group_committed_offset", **labels) == 2
    assert one.value(GROUPS + "numoffsets") == 1
    assert one.value(GROUPS + "numgroups") == 1
    assert one.value(GROUPS + "numgroupsempty") == 1


def test_requests_are_counted_by_version_and_fetches_by_who_fetches_too(node):
    counters = node.broker.counters
    counters.answered(bytes([0, 0, 0, 9]), from_a_node=False, ms=2.4)
    counters.answered(bytes([0, 1, 0, 12]), from_a_node=False, ms=1)
    counters.answered(bytes([0, 1, 0, 18]), from_a_node=True, ms=500)
    one = scraped(node.broker)
    total = REQUESTS + "requests_total"
    assert one.value(total, request="Produce", version="9") == 1
    assert one.total(total, request="Fetch") == 2
    assert one.value(total, request="FetchConsumer", version="12") == 1
    assert one.value(total, request="FetchFollower", version="18") == 1
    times = REQUESTS + "totaltimems"
    assert one.value(times, request="Produce", quantile="0.99") == 2
    assert one.value(times + "_count", request="Fetch") == 2


def test_a_version_that_no_kafka_has_is_not_counted(node):
    for version in range(100, 200):
        node.broker.counters.answered(bytes([0, 18, 0, version]), False, 1)
    assert scraped(node.broker).total(REQUESTS + "requests_total") == 0


def test_quantiles_are_those_of_apache_kafkas_histograms():
    """Ten requests that took 0 to 9 ms, as com.yammer.metrics.stats.Snapshot says."""
    times = range(10)
    assert quantile(times, 0.5) == 4.5
    assert quantile(times, 0.75) == 7.25
    assert quantile(times, 0.95) == quantile(times, 0.999) == 9
    assert quantile([3], 0.5) == 3


def test_a_node_that_counts_nothing_answers_the_same_bytes(node):
    """Counting leaves what clients see as it is."""
    quiet = Node()
    for each in (node, quiet):
        each.create_topic("orders")
        each.produce("orders", "one")
    assert node.values("orders") == quiet.values("orders")


def test_each_metric_has_its_help_its_type_and_one_name(node):
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    shown = {family.name for family in scraped(node.broker).families}
    for metric in METRICS:
        assert metric.help.endswith(".")
        is_counter = metric.name.endswith(("_total", "_count"))
        assert not (metric.type == "counter" and not is_counter), metric.name
    assert REPLICAS + "underreplicatedpartitions" in shown
