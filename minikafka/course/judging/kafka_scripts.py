"""Lesson 23's tests of a learner's Kafka, one stage after the other: each function is a
script for a Kafka that has just started on an empty folder.

The rules (kafka_rules.py) check each answer by themselves. The scripts have the
questions, and the checks that no single answer allows.
"""

from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.kafka_answers import LAST, Wrong, same
from minikafka.course.judging.kafka_requests import (
    LONG_MS,
    TOPIC,
    ask_fetch,
    batch,
    commit,
    committed,
    fetch,
    offset_for,
    produce,
    produce_to,
    records_in,
    with_orders,
)
from minikafka.course.judging.kafka_trial import VERSION, Connection, Question, Trial
from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API, encode_request
from minikafka.wire.records import batches, crc_matches

_A_MILLION = 1_000_000


# --- 1: ApiVersions


def asks_versions(trial: Trial) -> None:
    """All that the later stages ask for is in the list, the second time, too."""
    us = trial.connect()
    for _ in range(2):
        listed = us.ask("ApiVersions").api_keys
    served = {each.api_key: (each.min_version, each.max_version) for each in listed}
    for name, version in VERSION.items():
        low, high = served.get(API[name].key, (0, -1))
        if not low <= version <= high:
            raise Wrong(f"ApiVersions, answer: {name} {version} isn't in the list")


def asks_too_new(trial: Trial) -> None:
    """Its body is nothing that anybody can decode. Beside the error ApiVersions alone is
    enough, as in Kafka: a client then asks again in a version that it has in common.
    """
    us = trial.connect()
    future = bytes.fromhex("0012 0063 00000007 0005") + b"judge\0" + b"from the future"
    us.send_frame(Question("ApiVersions", version=99, answer_version=0), future)
    listed = {each.api_key for each in us.receive().api_keys}
    if listed != {API["ApiVersions"].key}:
        for name in VERSION:
            if API[name].key not in listed:
                what = f"{name} isn't in the list"
                raise Wrong(f"ApiVersions, answer to version 99: {what}", LAST)
    us.ask("ApiVersions")  # the connection goes on


def asks_what_is_not_served(trial: Trial) -> None:
    """A client that asks something else must not wait for an answer for ever."""
    parts = encode_request("DescribeGroups", 0, 7, "judge", {"groups": ["billing"]})
    trial.connect().expect_hang_up(
        Question("DescribeGroups", version=0, answer_version=0), b"".join(parts)
    )


# --- 2: Metadata


def asks_metadata(trial: Trial) -> None:
    """Topics that are made, a second time and not at all."""
    us = trial.connect()
    same("the list of a new Kafka's topics", topics_of(us), [], LAST)
    for name in (TOPIC, "payments", TOPIC):
        us.ask("Metadata", topics=[{"name": name}])
    us.ask("Metadata", topics=[{"name": "payments"}, {"name": TOPIC}])
    nothing = us.ask("Metadata", topics=[]).topics
    same("the number of topics where none is asked for", len(nothing), 0, LAST)

    same("the list of all topics", topics_of(us), [TOPIC, "payments"], LAST)

    nobody = [{"name": "nobody"}]
    us.ask("Metadata", topics=nobody, allow_auto_topic_creation=False)

    same("the list of all topics", topics_of(us), [TOPIC, "payments"], LAST)


def topics_of(us: Connection) -> list[str]:
    """The names of all topics."""
    return sorted(each.name for each in us.ask("Metadata", topics=None).topics)


def asks_producer_ids(trial: Trial) -> None:
    """Three producers, two of them on one connection."""
    us = trial.connect()
    for each in (us, trial.connect(), us):
        ask_producer_id(each)


def ask_producer_id(us: Connection) -> None:
    """Ask for a producer id, as an idempotent producer does before its first record."""
    us.ask("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000)


def clients_see_partitions(trial: Trial) -> None:
    """Each asks for another topic."""
    clients.kafka_python_sees_partitions(trial, TOPIC, {0, 1})
    clients.confluent_sees_partitions(trial, "payments", {0, 1})


# --- 3: Produce


def asks_produce(trial: Trial) -> None:
    """Batches of one record and of more, to both partitions, damaged, to nowhere, and
    without an answer.
    """
    us = with_orders(trial)
    for _ in range(2):
        ask_producer_id(us)
    produce(us, "created")
    produce(us, "created", "paid", "shipped")
    produce(us, "paid")
    produce(us, "first", partition=1)

    produce(us, "damaged", corrupt=True)
    produce(us, "after the damaged one")

    produce(us, "nowhere", partition=7)
    us.ask("Metadata", topics=[{"name": "payments"}])
    produce_to(us, ("nowhere", 0))
    produce_to(us, (TOPIC, 0), (TOPIC, 1), ("payments", 1), ("nowhere", 0))
    produce(us, "no answer", "for these", acks=0)
    us.ask("ApiVersions")  # the next answer is this one's
    produce(us, "after those")


def looks_at_files(trial: Trial) -> None:
    """The files are as Kafka would write them. A batch that was refused is in none of
    them.
    """
    us = with_orders(trial)
    written = {0: (("created",), ("paid", "shipped"), ("paid",)), 1: (("created",),)}
    for partition, each in written.items():
        for values in each:
            produce(us, *values, partition=partition)
            produce(us, "damaged", partition=partition, corrupt=True)
    damaged = batch("damaged", corrupt=True)
    for partition, each in written.items():
        file_holds(trial, partition, [batch(*values) for values in each], damaged)


def file_holds(
    trial: Trial,
    partition: int,
    expected: list[bytes],
    refused: bytes = b"",
    killed_with: str = "",
) -> None:
    """These batches and nothing else, as produced but for the base offset. refused: one
    whose producer was told that it is not stored. killed_with: what was at the file's
    end when the broker started.
    """
    name = f"{TOPIC}-{partition}/{0:020}.log"
    path = trial.kafka.data / name
    if not path.exists():
        names = sorted(each.name for each in trial.kafka.data.iterdir())
        raise Wrong(f"there is no file {name}; the data folder has {names}")

    data, offset = path.read_bytes(), 0
    if refused and refused[16:] in data:
        raise Wrong(f"{name} has the damaged batch that was answered with error 2")
    size = sum(map(len, expected))
    after = f" (started with {killed_with})" if killed_with else ""
    same(f"the size of {name}{after}", len(data), size)
    try:
        there = list(batches(data))
    except KafkaError as error:
        raise Wrong(f"{name} has no record batch: {error}") from None
    same(f"how many batches {name} has", len(there), len(expected))
    for number, (header, view) in enumerate(there):
        what = f"batch {number} in {name}"
        same(f"the base offset of {what}", header.base_offset, offset)
        if not crc_matches(view, header) or view[16:] != expected[number][16:]:
            raise Wrong(f"{what} is not the one that was produced")
        offset = header.next_offset


def clients_write(trial: Trial) -> None:
    """Both to the same partitions."""
    clients.kafka_python_writes(trial, TOPIC, 5)
    clients.confluent_writes(trial, TOPIC, 5)


# --- 4: Fetch and ListOffsets


def asks_fetch(trial: Trial) -> None:
    """From each place: the beginnings of batches, their middles, the end, beyond it."""
    us = with_orders(trial)
    same("the answer at the end of an empty log", records_in(fetch(us, 0)), b"", LAST)
    written = [("created", "paid", "shipped"), ("created",) * 5, ("paid", "shipped")]
    for values in written:
        produce(us, *values)
    for offset in (0, 3, 8, *range(10), 10, 11, -1):
        fetch(us, offset)

    fetch(us, 0, partition=1)
    fetch(us, 0, partition=7)
    ask_fetch(us, {0: 0}, topic="nowhere")
    us.receive()

    first, second, third = (len(batch(*values)) for values in written)
    whole = first + second + third
    what = "how many bytes Fetch gives from 0 on"
    same(what, len(records_in(fetch(us, 0))), whole, LAST)

    for most_bytes, expected in (
        (1, first),
        (first, first),
        (first + second - 1, first),
        (first + second, first + second),
        (whole - 1, first + second),
        (whole, whole),
    ):
        found = records_in(fetch(us, 0, partition_max_bytes=most_bytes))
        what = f"how many bytes Fetch gives with partition_max_bytes {most_bytes}"
        same(what, len(found), expected, LAST)


def asks_list_offsets(trial: Trial) -> None:
    """Ask ListOffsets for an empty log, and for one with records."""
    us = with_orders(trial)
    for _ in range(2):
        for timestamp in (-1, -2):
            for partition in (0, 1, 7):
                offset_for(us, timestamp, partition)
            offset_for(us, timestamp, 1, 0, 7)
            offset_for(us, timestamp, topic="nowhere")
        produce(us, "created", "paid")


def asks_long_poll(trial: Trial) -> None:
    """A broker that does not wait has time to be wrong before there is a record."""
    us, producer = with_orders(trial), trial.connect()
    for turn in range(2):
        fetch(us, turn, max_wait_ms=LONG_MS, receive=False)
        has_time_to_be_wrong(producer)
        produce(producer, f"order {turn}")
        answer = us.receive(due="a record has come, and min_bytes is 1")
        if not records_in(answer):
            line = "Fetch, answer: it came before there was a record: max_wait_ms"
            raise Wrong(line, trial.last_answer("Fetch"))
    found = records_in(fetch(us, 2, max_wait_ms=1))
    same("what Fetch gives at the end, with max_wait_ms 1", found, b"", LAST)


def has_time_to_be_wrong(other: Connection) -> None:
    """Wait until everything that another connection has sent before has reached the
    broker, and so has the answer to it, if there is one that comes at once.
    """
    for _ in range(6):
        other.ask("ApiVersions")


def asks_for_min_bytes(trial: Trial) -> None:
    """One record is not enough, and then there is another one, in the other partition:
    what counts is the sum.
    """
    us, producer = with_orders(trial), trial.connect()
    enough = len(batch("order 0")) + 1
    ask_fetch(us, {0: 0, 1: 0}, max_wait_ms=LONG_MS, min_bytes=enough)
    produce(producer, "order 0")
    has_time_to_be_wrong(producer)
    produce(producer, "order 1", partition=1)
    answer = us.receive(due="the partitions have more than min_bytes together")
    found = len(records_in(answer))
    if found < enough:
        raise Wrong(
            f"Fetch, answer: it came with {found} bytes, min_bytes was {enough}, and"
            " max_wait_ms was not over",
            trial.last_answer("Fetch"),
        )
    ask_fetch(us, {0: 0}, max_wait_ms=1, min_bytes=_A_MILLION)
    us.receive(due="max_wait_ms was 1")


def asks_in_vain(trial: Trial) -> None:
    """An error is told at once. Apache Kafka does not wait either where one partition
    of several has an offset that is out of range.
    """
    us = with_orders(trial)
    fetch(us, 0, partition=7, max_wait_ms=LONG_MS, receive=False)
    us.receive(due="its partition doesn't exist, and an error ends the wait")
    for offsets in ({0: 5}, {0: 0, 1: 5}):
        ask_fetch(us, offsets, max_wait_ms=LONG_MS)
        us.receive(due="an offset is out of range, and an error ends the wait")


def clients_read(trial: Trial) -> None:
    """Each reads the records of both."""
    clients.kafka_python_writes(trial, TOPIC, 5)
    clients.kafka_python_reads(trial, TOPIC, 10)
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 10)


def console_round_trip(trial: Trial) -> None:
    """Write with Java's console producer, and read it back with the console
    consumer.
    """
    clients.console_round_trip(trial, TOPIC)


# --- 6: where a group has got to


def asks_offsets(trial: Trial) -> None:
    """Later commits replace earlier ones, also where they are smaller."""
    us = with_orders(trial)
    us.ask("FindCoordinator", key="billing")
    committed(us, "billing")
    for offset in (2, 5, 3, 0):
        commit(us, "billing", offset)
        committed(us, "billing")

    commit(us, "billing", 7, 0, 1)
    for group_id in ("billing", "audit"):
        committed(us, group_id)

    for group_id, count in (("billing", 2), ("audit", 0)):
        everything = us.ask("OffsetFetch", group_id=group_id, topics=None)
        found = sum(len(each.partitions) for each in everything.topics)
        what = f"how many offsets OffsetFetch gives of all topics of {group_id}"
        same(what, found, count, LAST)


def offsets_survive(trial: Trial) -> None:
    """Two lives later they are there."""
    us = with_orders(trial)
    for offset in (2, 5):
        commit(us, "billing", offset)
    commit(us, "audit", 1, 1)
    for _ in range(2):
        trial.restart()
        us = trial.connect()
        for group_id in ("billing", "audit"):
            us.ask("FindCoordinator", key=group_id)
            committed(us, group_id)
        commit(us, "billing", 6)


def commits_python(trial: Trial) -> None:
    """By hand, without being a member."""
    clients.kafka_python_writes(trial, TOPIC, 3)
    clients.kafka_python_commits(trial, TOPIC, "billing")
