"""What lesson 15 claims about share groups, run on minikafka and on Apache Kafka over
TCP. Members are the simulation's own share consumers.
"""

from random import Random

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource

from minikafka.clients.share_consumer import ShareConsumer
from minikafka.trace import Trace
from minikafka.wire.errors import Error
from tests.clients.brokers import fresh_name, minikafka, until
from tests.clients_sim.test_share_consumer_on_apache_kafka import ShareShell
from tests.kafka import APACHE_KAFKA, BOTH, ApacheKafka, java_tool

pytestmark = pytest.mark.slow

# what a broker allows at least
LEAST = {"group.share.min.record.lock.duration.ms": "1000"}
LONG, SHORT, BETWEEN = (
    {"share.record.lock.duration.ms": ms} for ms in ("60000", "1000", "6000")
)
ONE_AT_A_TIME = {"max_poll_records": 1, "share_acquire_mode": "record_limit"}
EXPLICIT = {"share_acknowledgement_mode": "explicit"}
CHANCE = Random(15)  # one for all, so that no two make the same member id
TRIES = 120  # polls of a second


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request):
    if request.param == APACHE_KAFKA:
        with ApacheKafka(LEAST) as apache:
            yield apache.bootstrap
    else:
        with minikafka(LEAST) as address:
            yield address


@pytest.fixture
def admin(bootstrap):
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


@pytest.fixture
def jobs(bootstrap, admin):
    """Makes a topic of one partition, and sends what it is given in one batch."""
    name = fresh_name("jobs")
    admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1}})
    admin.wait_for_topics([name], 240_000)

    def send(*values):
        producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=60_000)
        producer.partitions_for(name)
        for value in values:
            producer.send(name, key=b"alice", value=value.encode())
        producer.flush()
        producer.close()

    send.topic = name
    return send


@pytest.fixture
def member(bootstrap, admin, jobs):
    """Makes members of a share group that reads from the beginning."""
    made = []

    def join(group, **config):
        host, port = bootstrap.split(":")
        core = ShareConsumer(
            f"member {len(made)}",
            [(host, int(port))],
            Trace("share"),
            jobs.topic,
            random=CHANCE.random,
            group_id=group,
            **config,
        )
        made.append(ShareShell(core))
        return made[-1]

    def begin(group, **configs):
        wanted = {"share.auto.offset.reset": "earliest", **configs}
        admin.alter_configs([ConfigResource("GROUP", group, wanted)])
        # a broker may hear of it a moment later
        asked = ConfigResource("GROUP", group)
        until(lambda: "earliest" in str(admin.describe_configs([asked])))

    join.begin = begin
    yield join
    for each in made:
        each.close()


def first_records(worker):
    """The records of the first poll that brings some."""
    for _ in range(TRIES):
        if records := worker.poll(1):
            return records
    raise AssertionError("no record came")


def joins(*workers):
    """Lets all of them into the group before there is anything to read."""
    for worker in workers:
        until(
            lambda worker=worker: (
                worker.poll(0.1) == [] and worker.core.subscription.assigned
            )
        )


def in_turns(workers, enough):
    """They poll in turns, as their fetches wait at the broker at the same time:
    worker -> its records, once enough(these).
    """
    got = {worker: [] for worker in workers}
    for _ in range(10 * TRIES):
        for worker in workers:
            got[worker] += worker.poll(0.1)
            if enough(got):
                return got
    raise AssertionError(f"not enough came: {got}")


def first_and_other(workers, value):
    """Whoever has the record with this value, and the other one; and their records."""
    got = in_turns(
        workers, lambda got: any(value in values(each) for each in got.values())
    )
    first, other = sorted(workers, key=lambda each: value not in values(got[each]))
    return first, other, got


def values(records):
    return [record.value.decode() for record in records]


def said(worker, record, what):
    worker.core.acknowledge(record.topic, record.partition, record.offset, what)


def test_kip_932_one_poll_takes_a_whole_batch_and_a_second_worker_gets_nothing(
    jobs, member
):
    group = fresh_name("workers")
    member.begin(group, **LONG)
    workers = [member(group), member(group)]
    joins(*workers)
    jobs(*map(str, range(10)))
    first, other, got = first_and_other(workers, "0")
    assert values(got[first]) == list(map(str, range(10)))
    assert got[other] == other.poll(2) == []


def test_kip_1206_with_a_strict_limit_all_workers_of_one_partition_are_busy(
    jobs, member
):
    group = fresh_name("workers")
    member.begin(group, **LONG)
    workers = [member(group, **ONE_AT_A_TIME) for _ in range(3)]
    joins(*workers)
    jobs(*map(str, range(10)))
    # who has a record polls no more: that would accept it
    busy = {}
    for _ in range(3):
        idle = [worker for worker in workers if worker not in busy]
        busy |= {
            worker: values(records)
            for worker, records in in_turns(idle, lambda got: any(got.values())).items()
            if records
        }
    assert sorted(busy.values()) == [["0"], ["1"], ["2"]]


def test_kip_932_a_batch_that_takes_longer_than_its_lock_is_done_again(jobs, member):
    group = fresh_name("workers")
    member.begin(group, **SHORT)
    workers = [member(group), member(group)]
    joins(*workers)
    jobs(*map(str, range(10)))
    slow, other, got = first_and_other(workers, "0")
    assert len(got[slow]) == 10
    again = first_records(other)
    assert [record.delivery_count for record in again] == 10 * [2]
    [outcome] = slow.commit().values()
    assert outcome.error is Error.INVALID_RECORD_STATE
    third, fourth = first_records(slow), first_records(other)
    assert [record.delivery_count for record in third] == 10 * [3]
    assert [record.delivery_count for record in fourth] == 5 * [4], "half of them"


def test_kip_932_what_a_worker_held_for_too_long_comes_to_another_behind_later_records(
    jobs, member
):
    group = fresh_name("workers")
    member.begin(group, **BETWEEN)
    workers = [member(group, **ONE_AT_A_TIME) for _ in range(2)]
    joins(*workers)
    jobs("created", "paid", "shipped")
    slow, other, got = first_and_other(workers, "created")
    assert values(got[slow]) == ["created"]
    did = got[other]
    while len(did) < 3:
        did += first_records(other)
    assert values(did) == ["paid", "shipped", "created"]
    assert [record.delivery_count for record in did] == [1, 1, 2]


def test_kip_932_after_five_deliveries_nobody_gets_a_record_and_it_is_nowhere_else(
    bootstrap, admin, jobs, member
):
    group = fresh_name("workers")
    member.begin(group, **LONG)
    worker = member(group, **ONE_AT_A_TIME, **EXPLICIT)
    joins(worker)
    jobs("?", "1", "2")
    topics = set(admin.list_topics())
    counts, did = [], []
    while len(did) < 2 or len(counts) < 5:
        [record] = first_records(worker)
        if record.value == b"?":
            counts.append(record.delivery_count)
            said(worker, record, "release")
        else:
            did.append(record)
            said(worker, record, "accept")
    worker.commit()
    assert worker.poll(2) == []
    assert counts == [1, 2, 3, 4, 5]
    assert set(admin.list_topics()) <= topics | {"__share_group_state"}
    assert plain_consumer_reads(bootstrap, jobs.topic) == ["?", "1", "2"]


def test_kip_932_what_is_rejected_comes_to_nobody_again(jobs, member):
    group = fresh_name("workers")
    member.begin(group, **LONG)
    worker = member(group, **ONE_AT_A_TIME, **EXPLICIT)
    joins(worker)
    jobs("?", "1")
    did = []
    for _ in range(2):
        [record] = first_records(worker)
        did.append(record.value)
        said(worker, record, "reject" if record.value == b"?" else "accept")
    worker.commit()
    assert did == [b"?", b"1"]
    assert worker.poll(2) == []


def plain_consumer_reads(bootstrap, topic):
    partition = TopicPartition(topic, 0)
    reader = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    reader.assign([partition])
    end, found = reader.end_offsets([partition])[partition], []
    while reader.position(partition) < end:
        for records in reader.poll(timeout_ms=500).values():
            found += values(records)
    reader.close()
    return found


@pytest.mark.java
def test_what_a_share_group_accepted_is_there_for_all_others_and_for_itself_when_it_is_reset(
    bootstrap, jobs, member
):
    group, audit = fresh_name("workers"), fresh_name("audit")
    for each in (group, audit):
        member.begin(each, **LONG)
    worker = member(group)
    joins(worker)
    jobs("0", "1", "2")
    assert values(first_records(worker)) == ["0", "1", "2"]
    assert worker.commit() == {(jobs.topic, 0): None}
    assert worker.poll(2) == []
    assert values(first_records(member(audit))) == ["0", "1", "2"]
    assert plain_consumer_reads(bootstrap, jobs.topic) == ["0", "1", "2"]
    worker.close()
    main = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    of_it = ["--bootstrap-server", bootstrap, "--group", group, "--topic", jobs.topic]
    reset = ["--reset-offsets", "--to-earliest", "--execute"]
    done = java_tool(main, *of_it, *reset)
    assert done.returncode == 0 and group in done.stdout, done.stdout + done.stderr
    again = first_records(member(group))
    assert [(each.value, each.delivery_count) for each in again] == [
        (b"0", 1),
        (b"1", 1),
        (b"2", 1),
    ]
