"""What an operator does to a cluster over the weeks, with Apache Kafka's own tools: a
broker more, partitions moved under a throttle (KIP-73, KIP-455), leaders elected, a
broker down, a broker gone.

Each chapter goes on where the one before it ended. The cluster may be of either kind.
"""

import json
import re
import time
from contextlib import ExitStack
from typing import NamedTuple

from tests.clients.brokers import until
from tests.clients.test_tools import ASKS, HEARS_WITHIN_S, NOISE, Tools
from tests.course.processes import Nodes

ROLES = dict.fromkeys((1, 2, 3), "broker,controller") | {4: "broker"}
NEW = 4
RECORDS, RECORD_BYTES = 40_000, 1000
LIMIT = 4_000_000  # bytes a second
RATES = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LISTED = "leader.replication.throttled.replicas"
PROPOSED = re.compile(r'"replicas":\[([\d,]+)\],"log_dirs":\["any"')
ITS_OWN = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r'"logDir":"[^"]*"', '"logDir":(folder)'),
        (r'"/[^"]*"', "(folder)"),
        (r"--reassignment-json-file \S+", "(file)"),
        (r'"size":\d+', '"size":(bytes)'),
        (r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", "(id)"),
        (r"127\.0\.0\.1[: ]\d{4,5}", "(address)"),
        (r"\d{13}", "(ms)"),
        (
            r"(Epoch|HighWatermark|LeaderId|MaxFollowerLag(TimeMs)?): +\d+",
            r"\1: (number)",
        ),
        # of a node: where its metadata log ends, its lag, whether it leads
        (r"\d+ (\(id\)) \d+ \d+ (\(ms\) \(ms\)) (Leader|Follower)", r"(voter) \1 \2"),
        (r"(\d+ \(id\)) \d+ \d+ (\(ms\) \(ms\) Observer)", r"\1 \2"),
        (r"adminclient-\d+|Thread-\d+", "(client)"),
    )
]


class Told(NamedTuple):
    """What was typed, how it ended, and what the tool wrote."""

    line: str
    exit: int | str
    text: str

    @property
    def facts(self):
        """The lines, without what is a broker's own, or the moment's."""
        found = [f"exit {self.exit}"]
        for line in self.text.splitlines():
            line = " ".join(line.split())
            if not line or NOISE.match(line):
                continue
            line = PROPOSED.sub(in_order, line)
            for pattern, word in ITS_OWN:
                line = pattern.sub(word, line)
            found.append(line)
        return found


def in_order(proposed):
    """Where --generate lets the replicas begin is drawn by lot."""
    replicas = ",".join(sorted(proposed[1].split(",")))
    return f'"replicas":[{replicas}],"log_dirs":["any"'


class Operator:
    """Types commands. others: what an operator of the other kind was told; what differs
    is asked again for a while, since a broker hears a little later than the controller
    what was changed. told: what became of each, by chapter. rate: of the throttled
    move, in bytes a second.
    """

    def __init__(self, java, nodes, folder, others=None):
        self.nodes, self.told, self.rate = nodes, {}, 0.0
        self._java, self._folder, self._others = java, folder, others

    def does(self, chapter):
        self._now = self.told[chapter] = []
        self._expected = self._others.told[chapter] if self._others else []
        chapter(self)

    def types(self, line):
        """Runs a tool. A word in braces is a file of the operator's."""
        told = self._run(line)
        if ASKS.search(line) and len(self._now) < len(self._expected):
            expected = self._expected[len(self._now)]
            deadline = time.monotonic() + HEARS_WITHIN_S
            while told.facts != expected.facts and time.monotonic() < deadline:
                told = self._run(line)
        self._now.append(told)

    def _run(self, line):
        tool, *words = line.split()
        words = [
            re.sub(r"^\{(.*)\}$", rf"{self._folder}/\1.json", each) for each in words
        ]
        where = ["--bootstrap-server", self.nodes.asked]
        after = 1 if tool == "cluster" else 0
        done = self._java.run(tool, [*words[:after], *where, *words[after:]])
        return Told(line, done["exit"], done["out"] + done["err"])

    def writes(self, name, **content):
        """A file, in JSON."""
        text = json.dumps({"version": 1} | content)
        (self._folder / f"{name}.json").write_text(text)

    def plans(self, name, **replicas):
        """A file for kafka-reassign-partitions: where the only partition of each topic
        is to be.
        """
        partitions = [
            {"topic": topic, "partition": 0, "replicas": placed}
            for topic, placed in replicas.items()
        ]
        self.writes(name, partitions=partitions)

    def produces(self, topic):
        size = ["--num-records", str(RECORDS), "--record-size", str(RECORD_BYTES)]
        pace = ["--throughput", "-1", "--bootstrap-server", self.nodes.asked]
        self._java.run("producer-perf", ["--topic", topic, *size, *pace])

    def waits(self, topic, *replicas):
        """Until the only partition is there, and nowhere else, and in sync."""

        def is_there():
            found = self.nodes.partition(topic)
            placed, in_sync = sorted(found.replica_nodes), sorted(found.isr_nodes)
            return placed == in_sync == sorted(replicas)

        until(is_there)

    def waits_in_sync(self, *topics):
        """Until all replicas of these are in sync."""

        def are_in_sync():
            asked = [{"name": topic} for topic in topics]
            found = self.nodes.ask("DescribeTopicPartitions", 0, topics=asked).topics
            partitions = [each for topic in found for each in topic.partitions]
            return all(
                set(each.isr_nodes) == set(each.replica_nodes) for each in partitions
            )

        until(are_in_sync)

    def waits_for(self, *brokers):
        """Until these are the brokers that live."""
        until(lambda: self.nodes.live() == list(brokers))

    def stops(self, number):
        self.nodes.stop(number)
        self.nodes[number].process.wait()


def looks_around(op):
    op.types("cluster cluster-id")
    op.types("metadata-quorum describe --status")
    op.types("metadata-quorum describe --replication")
    op.types("topics --create --topic big --replica-assignment 1:2:3")
    op.types(
        "topics --create --topic orders --replica-assignment 1:2:3,2:3:1,3:1:2"
        " --config min.insync.replicas=2"
    )
    op.types("topics --create --topic payments --replica-assignment 1")
    op.produces("big")
    op.waits("big", 1, 2, 3)
    op.types("topics --describe")
    op.types("get-offsets --topic big")
    op.types("log-dirs --describe --broker-list 1,2,3 --topic-list big")


def lets_a_broker_join(op):
    op.types("cluster list-endpoints")
    op.nodes.start(NEW)
    op.waits_for(1, 2, 3, NEW)
    op.types("cluster list-endpoints")
    op.types("metadata-quorum describe --replication")
    op.types(f"log-dirs --describe --broker-list {NEW} --topic-list big")


def moves_a_partition_under_a_throttle(op):
    op.writes("topics", topics=[{"topic": "big"}])
    op.types(
        "reassign-partitions --generate --topics-to-move-json-file {topics}"
        " --broker-list 2,3,4"
    )
    op.plans("move", big=[4, 2, 3])
    op.types(
        "reassign-partitions --execute --reassignment-json-file {move}"
        f" --throttle {LIMIT}"
    )
    began = time.perf_counter()
    op.types("reassign-partitions --list")
    op.types("reassign-partitions --verify --reassignment-json-file {move}")
    op.types("topics --describe --topic big")
    op.types("topics --describe --under-replicated-partitions")
    op.types("configs --describe --entity-type brokers --entity-name 1")
    op.types("configs --describe --entity-type brokers --entity-name 4")
    op.types("configs --describe --entity-type topics --entity-name big")
    op.waits("big", 4, 2, 3)
    op.rate = RECORDS * RECORD_BYTES / (time.perf_counter() - began)
    op.types("reassign-partitions --list")
    op.types("reassign-partitions --verify --reassignment-json-file {move}")
    op.types("configs --describe --entity-type brokers --entity-name 1")
    op.types("configs --describe --entity-type topics --entity-name big")
    op.types("topics --describe --topic big")
    op.types("get-offsets --topic big")


def wants_more_replicas(op):
    op.plans("more", payments=[1, 2, 3])
    execute = "reassign-partitions --execute --reassignment-json-file {more}"
    op.types(f"{execute} --disallow-replication-factor-change")
    op.types(execute)
    op.waits("payments", 1, 2, 3)
    op.types("reassign-partitions --verify --reassignment-json-file {more}")
    op.types("topics --describe --topic payments")


def adds_to_what_is_under_way(op):
    op.plans("second", big=[4, 3, 1])
    op.plans("third", payments=[1, 2, 4])
    again = "--additional --throttle"
    op.types(
        "reassign-partitions --execute --reassignment-json-file {second}"
        " --throttle 500000"
    )
    op.types("reassign-partitions --execute --reassignment-json-file {third}")
    op.types(
        "reassign-partitions --execute --reassignment-json-file {third}"
        f" {again} 500000"
    )
    op.waits("payments", 1, 2, 4)
    op.types("reassign-partitions --list")
    op.types(
        "reassign-partitions --execute --reassignment-json-file {second}"
        f" {again} 100000000"
    )
    op.waits("big", 4, 3, 1)
    op.types("reassign-partitions --verify --reassignment-json-file {second}")
    op.types("reassign-partitions --verify --reassignment-json-file {third}")
    op.types("configs --describe --entity-type topics --entity-name payments")


def takes_one_back(op):
    execute = "reassign-partitions --execute --reassignment-json-file"
    op.plans("four", big=[4, 3, 1, 2])
    op.plans("three", big=[4, 3, 2])
    op.types(f"{execute} {{four}} --throttle 200000")
    op.types(f"{execute} {{three}} --additional --disallow-replication-factor-change")
    op.types("reassign-partitions --cancel --reassignment-json-file {four}")
    op.waits("big", 4, 3, 1)
    op.plans("wrong", big=[2, 3, 1])
    for how in ("", " --preserve-throttles"):
        op.types(
            "reassign-partitions --execute --reassignment-json-file {wrong}"
            " --throttle 200000"
        )
        op.types("reassign-partitions --list")
        op.types(
            f"reassign-partitions --cancel --reassignment-json-file {{wrong}}{how}"
        )
        op.waits("big", 4, 3, 1)
        op.types("reassign-partitions --list")
        op.types("topics --describe --topic big")
        op.types("configs --describe --entity-type topics --entity-name big")
        op.types("configs --describe --entity-type brokers --entity-name 4")
    op.types("reassign-partitions --verify --reassignment-json-file {wrong}")
    op.types("configs --describe --entity-type brokers --entity-name 4")
    op.types("reassign-partitions --cancel --reassignment-json-file {wrong}")


def has_leaders_elected(op):
    op.stops(2)
    op.waits_for(1, 3, 4)
    op.types("topics --describe --topic orders")
    op.nodes.start(2)
    op.waits_for(1, 2, 3, 4)
    op.waits_in_sync("orders")
    op.types("topics --describe --topic orders")
    op.types("leader-election --election-type preferred --topic orders --partition 1")
    op.types("leader-election --election-type preferred --all-topic-partitions")
    op.types("topics --describe --topic orders")


def misses_a_broker(op):
    op.types("topics --create --topic alone --replica-assignment 3")
    op.types(
        "topics --create --topic strict --replica-assignment 1:2:3"
        " --config min.insync.replicas=3"
    )
    op.nodes.kill(3)
    op.waits_for(1, 2, 4)
    for which in ("under-replicated", "under-min-isr", "at-min-isr", "unavailable"):
        op.types(f"topics --describe --{which}-partitions")
    op.nodes.start(3)
    op.waits_for(1, 2, 3, 4)
    op.waits_in_sync("orders", "strict", "big", "alone")
    for which in ("under-replicated", "unavailable"):
        op.types(f"topics --describe --{which}-partitions")


def retires_a_broker(op):
    op.writes("topics", topics=[{"topic": "big"}, {"topic": "payments"}])
    op.types(
        "reassign-partitions --generate --topics-to-move-json-file {topics}"
        " --broker-list 1,2,3"
    )
    op.plans("retire", big=[1, 2, 3], payments=[1, 2, 3])
    op.types("reassign-partitions --execute --reassignment-json-file {retire}")
    op.waits("big", 1, 2, 3)
    op.waits("payments", 1, 2, 3)
    op.types("reassign-partitions --verify --reassignment-json-file {retire}")
    op.types("topics --describe")
    op.types(f"log-dirs --describe --broker-list {NEW}")
    op.stops(NEW)
    op.waits_for(1, 2, 3)
    op.types("cluster list-endpoints")
    op.types("cluster list-endpoints --include-fenced-brokers")
    op.types(f"cluster unregister --id {NEW}")
    op.types("cluster list-endpoints --include-fenced-brokers")
    op.types(f"cluster unregister --id {NEW}")
    op.types(f"topics --create --topic there --replica-assignment {NEW}")


def limits_clients_and_replicas(op):
    quotas = "producer_byte_rate=1048576,consumer_byte_rate=2097152"
    client = "--entity-type clients --entity-name billing"
    op.types(f"configs --alter {client} --add-config {quotas}")
    op.types(f"configs --describe {client}")
    op.types("configs --describe --entity-type clients")
    op.types(
        f"configs --alter {client}"
        " --delete-config producer_byte_rate,consumer_byte_rate"
    )
    op.types(f"configs --describe {client}")
    rates = ",".join(f"{name}={LIMIT}" for name in RATES)
    for which in ("--entity-name 1", "--entity-default"):
        brokers = f"--entity-type brokers {which}"
        op.types(f"configs --alter {brokers} --add-config {rates}")
        op.types(f"configs --describe {brokers}")
        op.types(f"configs --alter {brokers} --delete-config {','.join(RATES)}")
    op.types(
        "configs --alter --entity-type brokers --entity-name 1"
        f" --add-config {RATES[0]}=-1"
    )
    topic = "--entity-type topics --entity-name orders"
    for listed in ("[0:1,1:2]", "*", "0-1"):
        op.types(f"configs --alter {topic} --add-config {LISTED}={listed}")
        op.types(f"configs --describe {topic}")
    op.types(f"configs --alter {topic} --delete-config {LISTED}")
    op.types(f"configs --describe {topic}")


def looks_at_features(op):
    op.types("features describe")
    op.types("features upgrade --release-version 4.4 --dry-run")
    op.types("features upgrade --release-version 4.4")
    op.types("features downgrade --feature group.version=0 --dry-run")
    op.types("features version-mapping --release-version 4.4")
    op.types("features feature-dependencies --feature transaction.version=2")


CHAPTERS = (
    looks_around,
    lets_a_broker_join,
    moves_a_partition_under_a_throttle,
    wants_more_replicas,
    adds_to_what_is_under_way,
    takes_one_back,
    has_leaders_elected,
    misses_a_broker,
    retires_a_broker,
    limits_clients_and_replicas,
    looks_at_features,
)


def operated(kind, folder, others=None):
    """An operator who has done all of it."""
    with ExitStack() as stack, Tools() as java:
        nodes = Nodes(stack, kind, ROLES, 1, {}, later=(NEW,))
        operator = Operator(java, nodes, folder, others)
        for chapter in CHAPTERS:
            operator.does(chapter)
        return operator
