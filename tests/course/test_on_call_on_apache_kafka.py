"""Lesson 22's tools and symptoms beside Apache Kafka's: three of its brokers and a
controller, its own tools, the same columns; and what nine of the nights show.
"""

import json
import re
from contextlib import closing

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer
from kafka.errors import KafkaError

from minikafka.course.on_call import (
    plans,
    tools,
    tools_console,
    tools_groups,
    tools_topics,
)
from minikafka.course.on_call.incident import Incident
from tests.clients.brokers import until
from tests.course.processes import NOBODY, running, sent
from tests.kafka import APACHE_KAFKA, CONFIG_COMMAND, java_tool

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.timeout(1800),
]

ROLES = {4: "controller", 1: "broker", 2: "broker", 3: "broker"}
PACKAGE = "org.apache.kafka.tools"
CLASSES = {
    "kafka-topics": f"{PACKAGE}.TopicCommand",
    "kafka-consumer-groups": f"{PACKAGE}.consumer.group.ConsumerGroupCommand",
    "kafka-log-dirs": f"{PACKAGE}.LogDirsCommand",
    "kafka-metadata-quorum": f"{PACKAGE}.MetadataQuorumCommand",
    "kafka-transactions": f"{PACKAGE}.TransactionsCommand",
    "kafka-configs": CONFIG_COMMAND,
    "kafka-leader-election": f"{PACKAGE}.LeaderElectionCommand",
    "kafka-get-offsets": f"{PACKAGE}.GetOffsetShell",
    "kafka-reassign-partitions": f"{PACKAGE}.reassign.ReassignPartitionsCommand",
    "kafka-console-consumer": f"{PACKAGE}.consumer.ConsoleConsumer",
}
FAST = {
    "log_retention_check_interval_ms": 1000,
    "log_initial_task_delay_ms": 0,
    "group_initial_rebalance_delay_ms": 0,
    "offsets_topic_replication_factor": 3,
}


@pytest.fixture(scope="module")
def brokers():
    with running(APACHE_KAFKA, ROLES, **FAST) as nodes:
        yield nodes
        # without a controller nobody can take over: they would wait for it a minute each
        nodes.kill(1, 2, 3)


@pytest.fixture(scope="module")
def night():
    """An hour with an open transaction, of which the tools have something to say."""
    incident = Incident(plans.read("night-09"))
    assert incident.world.apps
    return incident


def apaches(brokers, line):
    """What Apache Kafka's tool prints, errors and all."""
    program, *args = line.split()
    done = java_tool(CLASSES[program], "--bootstrap-server", brokers.asked, *args)
    return done.stdout + done.stderr


def ours(night, line):
    """What a night prints, errors and all."""
    return "\n".join(filter(None, said(night, line)))


def said(night, line):
    tool, given = tools.found(tools.TOOLS, line.split())
    return tools.said(tool, night.world, given)


def outputs(brokers, line):
    program, *args = line.split()
    return java_tool(CLASSES[program], "--bootstrap-server", brokers.asked, *args)


def begun_again(name):
    return Incident(plans.read(name))


def first_row(text):
    return text.strip("\n").splitlines()[0].split()


def names(text):
    """What stands before a colon."""
    return re.findall(r"([A-Z][A-Za-z]+):", text)


def keys(found):
    """All keys of a JSON text, in order."""
    if isinstance(found, dict):
        inner = [keys(value) for value in found.values()]
        return sorted({*found, *(key for each in inner for key in each)})
    if isinstance(found, list):
        return sorted({key for each in found for key in keys(each)})
    return []


def write(brokers, topic, values, **options):
    with closing(brokers.producer(**options)) as producer:
        for value in values:
            sent(producer, topic, value)


def consumer_of(brokers, topic, group, **options):
    return KafkaConsumer(
        topic,
        bootstrap_servers=brokers.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **options,
    )


def read_some(consumer):
    found = []
    until(lambda: found.extend(consumer.poll(timeout_ms=500).values()) or found)
    return found


@pytest.fixture(scope="module")
def payments(brokers):
    """A topic with an open transaction, and a group that reads it."""
    brokers.create("payments", 1, 2, 3, min_insync_replicas=2)
    write(brokers, "payments", [b"one"])
    settings = {
        "bootstrap.servers": brokers.bootstrap,
        "transactional.id": "payouts",
        "transaction.timeout.ms": 900_000,
        "log_level": 0,
    }
    payouts = Producer(settings)
    payouts.init_transactions()
    payouts.begin_transaction()
    payouts.produce("payments", b"payout 1")
    payouts.flush()
    write(brokers, "payments", [b"two", b"three"])
    # it stays a member however long the tests take
    settings = {"isolation_level": "read_committed", "max_poll_interval_ms": 3_600_000}
    ledger = consumer_of(brokers, "payments", "ledger", **settings)
    assert [record.value for record in read_some(ledger)[0]] == [b"one"]
    ledger.commit()
    yield ledger
    ledger.close()


ROWS = [
    "kafka-consumer-groups --list --state",
    "kafka-consumer-groups --describe --group ledger",
    "kafka-consumer-groups --describe --group ledger --offsets",
    "kafka-consumer-groups --describe --group ledger --offsets --verbose",
    "kafka-consumer-groups --list --type",
    "kafka-consumer-groups --describe --group ledger --members",
    "kafka-consumer-groups --describe --group ledger --members --verbose",
    "kafka-consumer-groups --describe --group ledger --state",
    "kafka-metadata-quorum describe --replication",
    "kafka-transactions list",
    "kafka-transactions describe --transactional-id payouts",
    "kafka-transactions describe-producers --topic payments --partition 0",
    "kafka-transactions find-hanging --broker-id 1",
    "kafka-transactions find-hanging --topic payments",
]


@pytest.mark.parametrize("line", ROWS)
def test_a_table_has_the_columns_of_apache_kafkas(brokers, payments, night, line):
    assert first_row(ours(night, line)) == first_row(apaches(brokers, line))


@pytest.mark.parametrize(
    "line",
    [
        "kafka-topics --describe --topic payments",
        "kafka-metadata-quorum describe --status",
    ],
)
def test_what_is_named_is_named_as_by_apache_kafka(brokers, payments, night, line):
    def by_line(text):
        return list(
            dict.fromkeys(tuple(dict.fromkeys(names(row))) for row in text.splitlines())
        )

    mine, theirs = by_line(ours(night, line)), by_line(apaches(brokers, line))
    assert mine == [row for row in theirs if row]


def test_the_log_dirs_are_told_in_the_same_json(brokers, payments, night):
    line = "kafka-log-dirs --describe --topic-list payments"
    texts = [ours(night, line), apaches(brokers, line)]
    heads = {tuple(text.splitlines()[:2]) for text in texts}
    assert len(heads) == 1
    mine, theirs = (json.loads(text.splitlines()[2]) for text in texts)
    assert keys(mine) == keys(theirs)


def test_configs_offsets_and_refusals_are_told_in_the_same_words(
    brokers, payments, night
):
    line = "kafka-configs --describe --entity-type topics --entity-name payments"
    assert ours(night, line) == apaches(brokers, line).rstrip()
    line = "kafka-configs --alter --entity-type topics --entity-name payments"
    line += " --add-config retention.ms=7200000"
    assert ours(night, line) == apaches(brokers, line).rstrip()
    line = "kafka-consumer-groups --reset-offsets --group ledger --topic payments"
    line += " --to-earliest --execute"
    assert ours(night, line).split() == apaches(brokers, line).split()
    line = "kafka-consumer-groups --describe --group nobody"
    assert ours(night, line) in apaches(brokers, line)
    line = "kafka-topics --describe --topic nothing"
    assert ours(night, line) in apaches(brokers, line)
    line = "kafka-leader-election --election-type preferred --topic payments"
    line += " --partition 0"
    assert "Valid replica already elected for partitions payments-0" in apaches(
        brokers, line
    )
    form = re.compile(r"payments:\d+:\d+")
    for line in (
        "kafka-get-offsets --topic payments",
        "kafka-get-offsets --topic payments --partitions 0",
    ):
        for text in (ours(night, line), apaches(brokers, line)):
            assert all(form.fullmatch(row) for row in text.split())
    for line in (
        "kafka-get-offsets --topic nothing",
        "kafka-transactions find-hanging",
        "kafka-configs --describe --entity-type topics --entity-name nothing",
        "kafka-configs --describe --entity-type brokers --entity-default",
        "kafka-configs --alter --entity-type brokers --entity-default --add-config"
        " log.cleaner.threads=2",
        "kafka-configs --alter --entity-type brokers --entity-default --delete-config"
        " log.cleaner.threads",
        "kafka-consumer-groups --delete --group ledger",
        "kafka-consumer-groups --delete --group nobody",
        "kafka-topics --delete --topic nothing",
        "kafka-reassign-partitions --list",
        "kafka-leader-election --election-type preferred --all-topic-partitions",
        "kafka-leader-election --election-type preferred --topic nothing --partition 0",
    ):
        assert ours(night, line) in apaches(brokers, line)
    line = "kafka-configs --describe --entity-type brokers --entity-name 1 --all"
    rack = "  broker.rack=null sensitive=false synonyms={}"
    for text in (ours(night, line), apaches(brokers, line)):
        assert rack in text.splitlines()


def test_what_is_an_error_there_is_one_here(brokers, night):
    """So a pipe leaves the same lines."""
    brokers.create("left", 1, 2, 3)
    write(brokers, "left", [b"one"])
    with closing(consumer_of(brokers, "left", "gone")) as reader:
        read_some(reader)
        reader.commit()
    left = begun_again("quiet-night")
    left.act("kubectl scale deployment/billing --replicas 0")
    for ending in ("", " --members", " --state"):
        line = "kafka-consumer-groups --describe --group {}" + ending
        theirs = outputs(brokers, line.format("gone"))
        mine = said(left, line.format("billing"))
        assert mine.err == tools_groups.NO_MEMBERS.format("billing")
        assert theirs.stderr.strip() == tools_groups.NO_MEMBERS.format("gone")
        assert first_row(mine.out) == first_row(theirs.stdout)
    line = (
        "kafka-consumer-groups --reset-offsets --group {} --topic {}:0 --to-offset 99"
    )
    theirs = outputs(brokers, line.format("gone", "left")).stderr
    mine = said(left, line.format("billing", "orders")).err.splitlines()
    assert mine[0] == tools_groups.NOT_EXECUTED and mine[0] in theirs
    high = "New offset (99) is higher than latest offset for topic partition"
    assert high in mine[1] and high in theirs
    line = "kafka-console-consumer --topic {} --from-beginning --max-messages 1"
    theirs = outputs(brokers, line.format("left"))
    mine = said(left, line.format("orders"))
    assert mine.end == theirs.stderr.splitlines()[-1]
    assert len(mine.out.splitlines()) == len(theirs.stdout.splitlines()) == 1


def test_the_console_consumer_shows_what_its_properties_name(brokers, payments, night):
    line = "kafka-console-consumer --topic payments --partition 0 --offset 0"
    line += " --max-messages 1 --property print.key=true --property print.offset=true"
    form = re.compile(r"Offset:0\t\S+\t\S")
    for text in (ours(night, line), apaches(brokers, line)):
        first, record, *_, last = text.strip().splitlines()
        assert first == tools_console.OLD_PROPERTY
        assert form.match(record)
        assert last == "Processed a total of 1 messages"
    line = "kafka-console-consumer --topic payments --partition 0 --timeout-ms 3000"
    for text in (ours(night, line), apaches(brokers, line)):
        *_, error, last = text.strip().splitlines()
        assert error == "org.apache.kafka.common.errors.TimeoutException"
        assert last.startswith("Processed a total of ")


# -- symptoms


def lag_rows(text):
    """LAG by partition, of kafka-consumer-groups --describe."""
    rows = [row.split() for row in text.strip().splitlines()]
    heading = rows[0]
    at, number = heading.index("LAG"), heading.index("PARTITION")
    return {row[number]: row[at] for row in rows[1:] if len(row) == len(heading)}


def test_open_transaction_readers_of_committed_records_wait_until_it_is_ended(
    brokers, payments
):
    described = "kafka-consumer-groups --describe --group ledger"
    assert lag_rows(apaches(brokers, described)) == {"0": "3"}
    told = apaches(brokers, "kafka-transactions describe --transactional-id payouts")
    assert "Ongoing" in told
    hanging = apaches(brokers, "kafka-transactions find-hanging --broker-id 1")
    assert len(hanging.strip().splitlines()) == 1
    line = "kafka-transactions forceTerminateTransaction --transactionalId payouts"
    apaches(brokers, line)
    values = []
    until(
        lambda: (
            values.extend(
                record.value
                for records in payments.poll(timeout_ms=500).values()
                for record in records
            )
            or len(values) == 2
        )
    )
    assert values == [b"two", b"three"]


def test_hot_key_one_partition_has_all_of_the_lag(brokers):
    line = "kafka-topics --create --topic hot --partitions 3 --replication-factor 3"
    apaches(brokers, line)
    with closing(brokers.producer()) as producer:
        for _ in range(30):
            producer.send("hot", key=b"megamart", value=b"order")
        producer.flush()
    with closing(consumer_of(brokers, "hot", "billing", max_poll_records=1)) as reader:
        read_some(reader)
        reader.commit()
        text = apaches(brokers, "kafka-consumer-groups --describe --group billing")
    lags = sorted(int(lag) for lag in lag_rows(text).values() if lag != "-")
    assert lags[-1] == 29 and sum(lags[:-1]) == 0


def test_commits_first_there_is_no_lag_and_nothing_is_done(brokers):
    brokers.create("paid", 1, 2, 3)
    write(brokers, "paid", [b"a", b"b"])
    with closing(consumer_of(brokers, "paid", "mailer")) as reader:
        read_some(reader)
        reader.commit()
    text = apaches(brokers, "kafka-consumer-groups --describe --group mailer")
    assert lag_rows(text) == {"0": "0"}
    assert "Consumer group 'mailer' has no active members." in text


def test_rebalance_loop_a_member_that_polls_too_seldom_is_out_and_can_not_commit(
    brokers,
):
    brokers.create("slow", 1, 2, 3)
    write(brokers, "slow", [b"a", b"b"])
    settings = {"max_poll_interval_ms": 6000, "session_timeout_ms": 6000}
    settings |= {"heartbeat_interval_ms": 1000}
    with closing(consumer_of(brokers, "slow", "slowly", **settings)) as reader:
        read_some(reader)

        def is_out():
            line = "kafka-consumer-groups --describe --group slowly --state"
            return " Empty " in apaches(brokers, line)

        until(is_out)
        with pytest.raises(KafkaError):
            reader.commit()


def test_made_anew_the_offsets_go_with_the_topic(brokers):
    brokers.create("anew", 1, 2, 3)
    write(brokers, "anew", [b"a", b"b"])
    with closing(consumer_of(brokers, "anew", "reader")) as reader:
        read_some(reader)
        reader.commit()
    apaches(brokers, "kafka-topics --delete --topic anew")
    until(lambda: brokers.described("anew") == (NOBODY, []))
    brokers.create("anew", 1, 2, 3)
    write(brokers, "anew", [b"c"])
    text = apaches(brokers, "kafka-consumer-groups --describe --group reader")
    assert "anew" not in text.replace("Group reader not found", "")
    assert apaches(brokers, "kafka-get-offsets --topic anew").split() == ["anew:0:1"]


def test_retention_deletes_what_a_group_has_not_read(brokers):
    brokers.create("short", 1, 2, 3, segment_ms=1000)
    write(brokers, "short", [b"a"])
    with closing(consumer_of(brokers, "short", "reports")) as reader:
        read_some(reader)
        reader.commit()
    write(brokers, "short", [b"b"])
    brokers.configure("short", "retention.ms", "1000")

    def is_deleted():
        write(brokers, "short", [b"later"])
        line = "kafka-get-offsets --topic short --time earliest"
        return int(apaches(brokers, line).strip().rpartition(":")[2]) > 1

    until(is_deleted)
    text = apaches(brokers, "kafka-consumer-groups --describe --group reports")
    assert "short" in text


def test_rolling_restart_with_min_isr_as_high_as_the_replicas_one_broker_stops_all(
    brokers,
):
    brokers.create("strict", 1, 2, 3, min_insync_replicas=3)
    brokers.kill(3)
    until(lambda: brokers.described("strict") == (1, [1, 2]))
    with pytest.raises(KafkaError):
        write(
            brokers, "strict", [b"a"], acks="all", retries=0, delivery_timeout_ms=31000
        )
    line = "kafka-topics --describe --under-min-isr-partitions --exclude-internal"
    assert "Topic: strict" in apaches(brokers, line)
    line = "kafka-topics --describe --unavailable-partitions --exclude-internal"
    assert "strict" not in apaches(brokers, line)
    brokers.configure("strict", "min.insync.replicas", "2")
    write(brokers, "strict", [b"a"], acks="all")


def test_unclean_election_nobody_leads_while_the_only_eligible_replica_is_down(brokers):
    brokers.create("offered", 2, 3)
    brokers.kill(3)
    until(lambda: brokers.described("offered") == (2, [2]))
    write(brokers, "offered", [b"a"], acks="all")
    brokers.kill(2)
    brokers.start(3)
    until(lambda: brokers.described("offered")[0] == NOBODY and 3 in brokers.live())
    line = "kafka-topics --describe --unavailable-partitions --exclude-internal"
    [row] = [row for row in apaches(brokers, line).splitlines() if "offered" in row]
    assert "Leader: none" in row and "Isr: \t" in row and "Elr: 2" in row
    words, _, _ = tools_topics.SKIPPED.format(where="offered-0").partition("...")
    line = "kafka-get-offsets --topic offered"
    # on a busy machine it may be told that it had no connection in time
    until(lambda: apaches(brokers, line).startswith(words))
    brokers.start(2)
    until(lambda: brokers.described("offered") == (2, [2, 3]))


def test_voters_lost_the_tools_that_ask_the_controller_get_no_answer_and_a_leader_does(
    brokers,
):
    """The last test: the only controller is gone."""
    brokers.create("led", 1, 2, 3)
    brokers.kill(4)
    line = "kafka-metadata-quorum describe --status"
    assert "Exception" in apaches(brokers, line)
    assert "Exception" in apaches(brokers, "kafka-topics --describe --topic led")
    assert "led:0:0" in apaches(brokers, "kafka-get-offsets --topic led")
    line = "kafka-leader-election --election-type unclean --topic led --partition 0"
    assert apaches(brokers, line).startswith(tools_topics.NO_RESULTS)
