"""Apache Kafka's own Java tools, 4.4.0, against `minikafka serve` (or any Kafka that
MINIKAFKA_BOOTSTRAP names).
"""

import pytest

from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides
from tests.kafka import java_tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.java,
]

TOOLS = "org.apache.kafka.tools."


def tool(name, *args, **options):
    """The standard output of one of Kafka's tools, which must succeed."""
    done = java_tool(TOOLS + name, *args, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def produce(bootstrap, topic, lines, properties=()):
    """The console producer writes a record a line."""
    of_reader = [arg for one in properties for arg in ("--reader-property", one)]
    where = ["--bootstrap-server", bootstrap, "--topic", topic]
    tool("ConsoleProducer", *where, *of_reader, input=lines)


def test_the_console_producer_writes_and_the_console_consumer_reads(bootstrap, topic):
    lines = "".join(f"k{number}|line {number}\n" for number in range(50))
    keyed = ("parse.key=true", "key.separator=|")
    produce(bootstrap, topic, lines, keyed)
    read = tool(
        "consumer.ConsoleConsumer",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--partition",
        "0",
        "--offset",
        "earliest",
        "--max-messages",
        "50",
        "--timeout-ms",
        "20000",
        "--formatter-property",
        "print.key=true",
        "--formatter-property",
        "key.separator=|",
    )
    assert read == lines


@pytest.mark.parametrize(
    "options",
    [["acks=all"], ["acks=1", "compression.type=lz4", "enable.idempotence=false"]],
)
def test_producer_performance_delivers_every_record(bootstrap, topic, options):
    said = tool(
        "ProducerPerformance",
        "--topic",
        topic,
        "--num-records",
        "5000",
        "--record-size",
        "100",
        "--throughput",
        "-1",
        "--producer-props",
        f"bootstrap.servers={bootstrap}",
        *options,
    )
    assert "5000 records sent" in said
    assert (
        tool("GetOffsetShell", "--bootstrap-server", bootstrap, "--topic", topic)
        == f"{topic}:0:5000\n"
    )


def test_kip_794_without_a_key_the_producer_leaves_a_partition_after_two_full_batches():
    """Three leaders: of one that has a full batch, Java's sender would take along half
    full ones of the other two.
    """
    # of 16 records; their times, a byte or two, don't change how many fit
    two_batches, records = 32, 1000
    with Served(options=("--brokers", "3", *overrides(STEADY))) as served:
        bootstrap = ["--bootstrap-server", served.bootstrap, "--topic", "sticky"]
        tool("TopicCommand", *bootstrap, "--create", "--replica-assignment", "1,2,3")
        tool(
            "ProducerPerformance",
            "--topic",
            "sticky",
            "--num-records",
            str(records),
            "--record-size",
            "1000",
            "--throughput",
            "-1",
            "--producer-props",
            f"bootstrap.servers={served.bootstrap}",
            "linger.ms=60000",
        )
        said = tool("GetOffsetShell", *bootstrap).split()
    rests = sorted(int(line.rpartition(":")[2]) % two_batches for line in said)
    assert rests == [0, 0, records % two_batches], said


def test_the_topic_tool_creates_describes_and_deletes(bootstrap, topic):
    def topics(*args):
        return tool("TopicCommand", "--bootstrap-server", bootstrap, *args)

    topics(
        "--create",
        "--topic",
        topic,
        "--partitions",
        "3",
        "--config",
        "retention.ms=60000",
    )
    described = topics("--describe", "--topic", topic)
    assert "PartitionCount: 3" in described
    assert "retention.ms=60000" in described
    topics("--alter", "--topic", topic, "--partitions", "4")
    assert topics("--describe", "--topic", topic).count("Leader: 1") == 4
    topics("--delete", "--topic", topic)
    assert topic not in topics("--list").split()


def test_the_offset_shell_finds_offsets_by_timestamp(bootstrap, topic):
    produce(bootstrap, topic, "a\nb\nc\n")
    shell = [
        "GetOffsetShell",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--time",
    ]
    assert tool(*shell, "earliest") == f"{topic}:0:0\n"
    assert tool(*shell, "0") == f"{topic}:0:0\n"
    assert tool(*shell, "max-timestamp").startswith(f"{topic}:0:")


def test_the_version_tool_lists_what_the_broker_speaks(bootstrap):
    said = tool("BrokerApiVersionsCommand", "--bootstrap-server", bootstrap)
    assert f"{bootstrap} (id: 1 rack: null isFenced: false) -> (" in said
    assert "\tProduce(0): 0 to " in said
