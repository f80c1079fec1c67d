"""Apache Kafka's command line tools end on minikafka as on Apache Kafka: the same
status, the same words.

Each line of TOOLS is run on both, one after the other, in one JVM. What is a broker's
own is replaced by a word.
"""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.clients.nodes import node
from tests.kafka import APACHE_KAFKA, CONFIG_COMMAND, MINIKAFKA, java_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.nightly,
    pytest.mark.timeout(1200),
]

PACKAGE = "org.apache.kafka.tools"
CLASSES = {
    "topics": f"{PACKAGE}.TopicCommand",
    "configs": CONFIG_COMMAND,
    "groups": f"{PACKAGE}.consumer.group.ConsumerGroupCommand",
    "all-groups": f"{PACKAGE}.GroupsCommand",
    "share-groups": f"{PACKAGE}.consumer.group.ShareGroupCommand",
    "streams-groups": f"{PACKAGE}.streams.StreamsGroupCommand",
    "get-offsets": f"{PACKAGE}.GetOffsetShell",
    "delete-records": f"{PACKAGE}.DeleteRecordsCommand",
    "log-dirs": f"{PACKAGE}.LogDirsCommand",
    "metadata-quorum": f"{PACKAGE}.MetadataQuorumCommand",
    "cluster": f"{PACKAGE}.ClusterTool",
    "features": f"{PACKAGE}.FeatureCommand",
    "leader-election": f"{PACKAGE}.LeaderElectionCommand",
    "reassign-partitions": f"{PACKAGE}.reassign.ReassignPartitionsCommand",
    "transactions": f"{PACKAGE}.TransactionsCommand",
    "api-versions": f"{PACKAGE}.BrokerApiVersionsCommand",
    "acls": f"{PACKAGE}.AclCommand",
    "delegation-tokens": f"{PACKAGE}.DelegationTokenCommand",
    "client-metrics": f"{PACKAGE}.ClientMetricsCommand",
    "console-producer": f"{PACKAGE}.ConsoleProducer",
    "console-consumer": f"{PACKAGE}.consumer.ConsoleConsumer",
    "verifiable-producer": f"{PACKAGE}.VerifiableProducer",
    "verifiable-consumer": f"{PACKAGE}.VerifiableConsumer",
    "producer-perf": f"{PACKAGE}.ProducerPerformance",
    "consumer-perf": f"{PACKAGE}.ConsumerPerformance",
    "end-to-end": f"{PACKAGE}.EndToEndLatency",
}
# What they print is times and rates, or in a thread of their own: only how they end is
# compared.
MEASURES = (
    "producer-perf",
    "consumer-perf",
    "end-to-end",
    "verifiable-producer",
    "verifiable-consumer",
)
# a topic, and the transactional id of a producer that has begun a transaction there
HELD = "held"
LONGEST_MS = 900_000
ITS_OWN = [
    (re.compile(pattern), word)
    for pattern, word in (
        ("console-consumer-[0-9]+", "console-consumer-(number)"),
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(id)"),
        ("(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", "(id)"),
        ("[0-9]{13}|[0-9]+ ms ago", "(ms)"),
        ("Epoch: [0-9]+|HighWatermark: +[0-9]+", "(offset)"),
        ("CONTROLLER://127.0.0.1:[0-9]+", "CONTROLLER://(address)"),
        ("CONTROLLER://127.0.0.1:[(]port[)]", "CONTROLLER://(address)"),
        # metadata-quorum: the log's end, and a lag of 0
        (r"(\(id\)\s+)[0-9]+(\s+0\s)", r"\1(offset)\2"),
        ("(__consumer_offsets:[0-9]):[0-9]+", r"\1:(offset)"),
        ('"size":[0-9]+', '"size":(bytes)'),
        (rf"(\(ms\)\s+)[0-9]+(\s+{HELD}-0)", r"\1(duration)\2"),
    )
]
# The offload config is internal: Apache Kafka shows it because the tests' node sets it.
NOISE = re.compile(
    r"at [a-z]+[.a-zA-Z]*|\.\.\. [0-9]+ more|.*\b(WARN|ERROR|INFO)"
    r" org\.apache|.*RunTools|null$|-+$|consumer\.assignor\.offload\.enable="
)
MOST_LINES = 20
PATIENCE_S = 60
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
}
STDIN = "a:1\nb:2\n"
FILES = {
    "delete": {
        "partitions": [{"topic": "orders", "partition": 0, "offset": 1}],
        "version": 1,
    },
    "move": {"topics": [{"topic": "orders"}], "version": 1},
    "plan": {
        "version": 1,
        "partitions": [
            {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["any"]}
        ],
    },
    "elect": {"partitions": [{"topic": "orders", "partition": 0}]},
}

# {b}: bootstrap. {name}: a file of FILES, or the file with client properties
# ({properties}).
LINES = """
topics --create --topic placed --replica-assignment 1,1
topics --create --topic orders --partitions 3
topics --create --topic orders --partitions 3
topics --create --topic orders --if-not-exists
topics --create --topic compact --config cleanup.policy=compact --config compression.type=gzip
topics --create --topic two --replication-factor 2
topics --create --topic bad/name
topics --list
topics --list --topic or.*
topics --list --exclude-internal
topics --describe
topics --describe --topic orders
topics --describe --topic none
topics --describe --under-replicated-partitions
topics --describe --unavailable-partitions
topics --describe --at-min-isr-partitions
topics --describe --topics-with-overrides
topics --alter --topic orders --partitions 4
topics --alter --topic orders --partitions 2
topics --delete --topic placed
topics --delete --topic none
console-producer --topic orders --reader-property parse.key=true --reader-property key.separator=:
console-producer --topic orders --compression-codec zstd --request-required-acks all \
    --reader-property parse.key=true --reader-property key.separator=:
console-producer --topic compact --producer-property enable.idempotence=false
console-producer --topic auto-created
console-consumer --topic orders --from-beginning --max-messages 4
console-consumer --topic orders --from-beginning --max-messages 4 --group console
console-consumer --topic orders --partition 0 --offset earliest --timeout-ms 10000
console-consumer --topic auto-created --from-beginning --max-messages 2 --isolation-level read_committed
console-consumer --include au.*d --from-beginning --max-messages 2 --group pattern
console-consumer --topic orders --from-beginning --max-messages 4 \
    --consumer-property group.protocol=consumer --group kip848
console-consumer --include or.*s --from-beginning --max-messages 4 \
    --consumer-property group.protocol=consumer --group re2
console-consumer --topic __consumer_offsets --from-beginning --max-messages 1 \
    --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter
get-offsets
get-offsets --topic orders
get-offsets --topic orders --time earliest
get-offsets --topic orders --time -1
get-offsets --topic compact --time -3
get-offsets --topic orders --time -4
get-offsets --topic orders --time -5
get-offsets --topic-partitions orders:0-2 --exclude-internal-topics
configs --describe --entity-type topics --entity-name orders
configs --describe --entity-type topics --entity-name compact
configs --describe --entity-type topics
configs --describe --entity-type brokers --entity-name 1
configs --describe --entity-type brokers --entity-default
configs --describe --entity-type brokers --entity-name 2
configs --describe --entity-type groups --entity-name console
configs --describe --entity-type users
configs --describe --entity-type clients --entity-default
configs --describe --entity-type client-metrics
configs --describe --entity-type broker-loggers --entity-name 2
configs --describe --entity-type topics --entity-name orders --all
configs --describe --entity-type groups --entity-name console --all
configs --describe --entity-type client-metrics --entity-name all --all
configs --alter --entity-type topics --entity-name orders --add-config retention.ms=60000,preallocate=true
configs --alter --entity-type topics --entity-name orders --delete-config retention.ms
configs --alter --entity-type topics --entity-name orders --add-config no.such=1
configs --alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=60000
configs --alter --entity-type brokers --entity-default --add-config message.max.bytes=2000000
configs --alter --entity-type groups --entity-name kip848 --add-config consumer.session.timeout.ms=50000
configs --alter --entity-type client-metrics --entity-name all --add-config interval.ms=1000,metrics=[org.a,org.b]
configs --alter --entity-type client-metrics --entity-name none --delete-config metrics
configs --alter --entity-type client-metrics --entity-name all --add-config match=[who=ann]
configs --alter --entity-type broker-loggers --entity-name 1 --add-config root=WARN
configs --alter --entity-type broker-loggers --entity-name 1 --add-config no.such=WARN
configs --alter --entity-type broker-loggers --entity-name 1 --delete-config root
configs --alter --entity-type brokers --entity-default --add-config min.insync.replicas=2
configs --alter --entity-type brokers --entity-name 1 --add-config min.insync.replicas=2
configs --alter --entity-type brokers --entity-default --delete-config min.insync.replicas
configs --alter --entity-type brokers --entity-default --add-config min.insync.replicas=1
configs --alter --entity-type brokers --entity-name 1 --add-config num.io.threads=9
configs --describe --entity-type brokers --entity-name 1
configs --alter --entity-type brokers --entity-name 1 --delete-config num.io.threads
configs --describe --entity-type client-metrics --entity-name all
configs --alter --entity-type client-metrics --entity-name all --delete-config metrics
configs --alter --entity-type brokers --entity-name 1 --add-config node.id=2
configs --alter --entity-type topics --entity-name orders --add-config local.retention.ms=1000
configs --alter --entity-type topics --entity-name orders --add-config remote.storage.enable=true
configs --alter --entity-type users --entity-name ann --add-config producer_byte_rate=1000
configs --describe --entity-type users
configs --describe --entity-type users --entity-name ann
configs --alter --entity-type users --entity-name ann --add-config SCRAM-SHA-256=[iterations=8192,password=secret]
configs --alter --entity-type users --entity-name ann --client-defaults --add-config request_percentage=9
configs --describe --entity-type users --entity-name ann
configs --describe --entity-type users --entity-name ann --entity-type clients
configs --describe --entity-type ips
configs --alter --entity-type ips --entity-name 127.0.0.9 --add-config connection_creation_rate=5
configs --describe --entity-type ips --entity-name 127.0.0.9
configs --alter --entity-type users --entity-name ann --delete-config producer_byte_rate,SCRAM-SHA-256
configs --alter --entity-type users --entity-name ann --delete-config SCRAM-SHA-256
configs --alter --entity-type users --entity-name ann --client-defaults --delete-config request_percentage
configs --describe --entity-type users
metadata-quorum remove-controller --controller-id 7 --controller-directory-id AAAAAAAAAAAAAAAAAAAAAQ
groups --list --state
groups --describe --group console
groups --describe --group kip848 --members --verbose
groups --describe --group none
groups --group console --topic orders --reset-offsets --to-earliest --execute
groups --delete-offsets --group console --topic orders
groups --delete --group console
all-groups --list
share-groups --list
streams-groups --list
delete-records --offset-json-file {delete}
log-dirs --describe
log-dirs --describe --broker-list 1 --topic-list orders
log-dirs --describe --broker-list 7
metadata-quorum describe --status
metadata-quorum describe --replication
metadata-quorum describe --replication --human-readable
cluster cluster-id
cluster list-endpoints
cluster unregister --id 7
features describe
features upgrade --metadata 4.4 --dry-run
features upgrade --feature metadata.version=33
features downgrade --feature group.version=0 --dry-run
features upgrade --feature no.such.feature=1
features downgrade --feature share.version=0 --dry-run
features downgrade --feature streams.version=0 --dry-run
features upgrade --release-version 4.4 --dry-run
features upgrade --release-version 4.4
features downgrade --feature kraft.version=0
leader-election --election-type preferred --all-topic-partitions
leader-election --election-type preferred --topic orders --partition 0
leader-election --election-type unclean --topic orders --partition 0
leader-election --election-type preferred --path-to-json-file {elect}
reassign-partitions --generate --topics-to-move-json-file {move} --broker-list 1
reassign-partitions --execute --reassignment-json-file {plan}
reassign-partitions --verify --reassignment-json-file {plan}
reassign-partitions --cancel --reassignment-json-file {plan}
reassign-partitions --list
transactions list
transactions list --duration-filter 0
transactions list --transactional-id-pattern he.*
transactions list --transactional-id-pattern none.*
transactions describe --transactional-id held
transactions describe --transactional-id none
transactions describe-producers --topic orders --partition 0
transactions describe-producers --topic held --partition 0
transactions find-hanging --broker-id 1
transactions find-hanging --topic held --partition 0 --max-transaction-timeout 0
transactions abort --topic held --partition 0 --start-offset 5
transactions abort --topic held --partition 0 --start-offset 0
transactions abort --topic held --partition 0 --producer-id 0 --producer-epoch 0 --coordinator-epoch 0
transactions describe-producers --topic held --partition 0 --broker-id 1
api-versions
acls --list
acls --add --allow-principal User:ann --operation Read --topic orders
delegation-tokens --describe --command-config {properties}
client-metrics --list
client-metrics --describe --name all
client-metrics --delete --name all
verifiable-producer --topic verified --max-messages 20
verifiable-producer --topic verified --max-messages 5 --acks 1 --repeating-keys 2 --value-prefix 3
verifiable-consumer --topic verified --group-id verifying --max-messages 20 --reset-policy earliest
verifiable-consumer --topic verified --group-id verifying848 \
    --group-protocol consumer --max-messages 20 --reset-policy earliest
producer-perf --topic perf --num-records 200 --record-size 50 --throughput -1
producer-perf --topic perf --num-records 200 --record-size 50 --throughput -1 \
    --transactional-id perf --transaction-duration-ms 500
consumer-perf --topic perf --num-records 100 --timeout 20000
end-to-end --topic perf --num-records 10 --producer-acks 1 --record-size 20
"""
TOOLS = [" ".join(line.split()) for line in LINES.strip().splitlines()]

ASKS = re.compile(r" (--describe|describe|--list|list)\b")
HEARS_WITHIN_S = 20


class Tools:
    """One JVM that runs them."""

    def __enter__(self):
        quiet = (
            "-Xshare:auto",
            "-XX:+UseSerialGC",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        )
        program = java_command(
            str(Path(__file__).with_name("RunTools.java")), jvm=quiet
        )
        pipes = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.DEVNULL,
        }
        self.process = subprocess.Popen(program, text=True, **pipes)
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def run(self, tool, args):
        asked = {
            "tool": CLASSES[tool],
            "args": args,
            "input": STDIN,
            "seconds": PATIENCE_S,
        }
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def hold_a_transaction(kafka):
    """A producer that has one open."""
    options = {
        "transactional.id": HELD,
        "transaction.timeout.ms": LONGEST_MS,
        "log_level": 0,
    }
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **options})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(HELD, b"held", partition=0)
    assert producer.flush(60) == 0
    return producer


def all_lines(java, kafka, data, files, others=None):
    """How each of TOOLS ended and what it said. others: the same of the other Kafka.

    A broker hears a little later than the controller what was changed: who only asks,
    and hears something else than of the other Kafka, asks again for a while.
    """
    told, _holding = [], hold_a_transaction(kafka)
    for nth, line in enumerate(TOOLS):

        def hear(line=line):
            return one_line(java, kafka, data, line.format(**files))

        told.append(hear())
        if others is None or not ASKS.search(line):
            continue
        deadline = time.monotonic() + HEARS_WITHIN_S
        while told[nth] != others[nth] and time.monotonic() < deadline:
            told[nth] = hear()
    return told


def one_line(java, kafka, data, line):
    tool, *words = line.split()
    options = ["--bootstrap-server", kafka.bootstrap]
    if tool == "groups":
        options += ["--timeout", "60000"]
    done = java.run(
        tool,
        (
            [*words[:1], *options, *words[1:]]
            if tool == "cluster"
            else [*options, *words]
        ),
    )
    if tool in MEASURES:
        return [f"exit {done['exit']}"]
    return [f"exit {done['exit']}", *said(done["out"] + done["err"], kafka, data)]


def said(text, kafka, data):
    """The first lines, in one order, without what is a broker's own, or the
    moment's.
    """
    text = text.replace(str(data), "(folder)").replace(
        kafka.bootstrap.rpartition(":")[2], "(port)"
    )
    for pattern, word in ITS_OWN:
        text = pattern.sub(word, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    kept = sorted({line for line in lines if line and not NOISE.match(line)})
    return kept[:MOST_LINES]


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """minikafka and Apache Kafka after all lines."""
    files = {"properties": tmp_path_factory.mktemp("files") / "client.properties"}
    files["properties"].touch()
    for name, content in FILES.items():
        files[name] = files["properties"].with_name(f"{name}.json")
        files[name].write_text(json.dumps(content))
    found = []
    with Tools() as java:
        for kind in (MINIKAFKA, APACHE_KAFKA):
            data = tmp_path_factory.mktemp("data")
            with node(kind, data, PROPERTIES) as kafka:
                found.append(all_lines(java, kafka, data, files, *found))
    return found


@pytest.mark.compares
@pytest.mark.parametrize("nth, line", list(enumerate(TOOLS)), ids=TOOLS)
def test_a_tool_of_apache_kafka_ends_on_minikafka_as_on_apache_kafka(sides, nth, line):
    ours, theirs = (side[nth] for side in sides)
    assert ours == theirs


def test_most_of_the_tools_end_well(sides):
    well = [sum(told[0] == "exit 0" for told in side) for side in sides]
    print(
        f"of {len(TOOLS)} lines {well[0]} end well on minikafka, {well[1]} on Apache"
        " Kafka"
    )
    assert well[1] > 90
    assert well[0] >= well[1] - 5
