"""What lesson 23 tries with somebody's Kafka, a stage after the other: each function is
a script for a Kafka that has just started on an empty folder.

The rules (kafka_rules.py) look at each answer by themselves. Here stands what is asked,
and what no single answer shows.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.kafka_answers import Wrong
from minikafka.course.judging.kafka_requests import (
    LONG_MS,
    TOPIC,
    batch,
    commit,
    committed,
    fetch,
    in_generation,
    join,
    member,
    offset_for,
    produce,
    records_in,
    sync,
    with_orders,
)
from minikafka.course.judging.kafka_trial import VERSION, Connection, Trial
from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API
from minikafka.wire.records import batches, crc_matches

_LOOKS, _LOOK_SECONDS = 40, 0.05


def same(what: str, given: Any, expected: Any) -> None:
    """Errors: Wrong."""
    if given != expected:
        raise Wrong(f"{what} is {given}, and should be {expected}")


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
    """Its body is nothing that anybody can decode."""
    us = trial.connect()
    future = bytes.fromhex("0012 0063 00000007 0005") + b"judge\0" + b"from the future"
    us.send_frame("ApiVersions", 0, future)
    us.receive()
    us.ask("ApiVersions")  # the connection goes on


# --- 2: Metadata


def asks_metadata(trial: Trial) -> None:
    """Topics that are made, a second time and not at all."""
    us = trial.connect()
    same("how many topics a new Kafka has", topics_of(us), [])
    for name in (TOPIC, "payments", TOPIC):
        us.ask("Metadata", topics=[{"name": name}])

    same("the list of all topics", topics_of(us), [TOPIC, "payments"])

    nobody = [{"name": "nobody"}]
    us.ask("Metadata", topics=nobody, allow_auto_topic_creation=False)

    same("the list of all topics", topics_of(us), [TOPIC, "payments"])


def topics_of(us: Connection) -> list[str]:
    """The names of all topics."""
    return sorted(each.name for each in us.ask("Metadata", topics=None).topics)


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
    us.ask("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000)
    produce(us, "created")
    produce(us, "created", "paid", "shipped")
    produce(us, "paid")
    produce(us, "first", partition=1)

    produce(us, "damaged", corrupt=True)
    produce(us, "after the damaged one")

    produce(us, "nowhere", partition=7)
    produce(us, "no answer", "for these", acks=0)
    us.ask("ApiVersions")  # the next answer is this one's
    produce(us, "after those")


def looks_at_files(trial: Trial) -> None:
    """As Kafka would find them."""
    us = with_orders(trial)
    written = {0: (("created",), ("paid", "shipped"), ("paid",)), 1: (("created",),)}
    for partition, each in written.items():
        for values in each:
            produce(us, *values, partition=partition)
    for partition, each in written.items():
        file_holds(trial, partition, [batch(*values) for values in each])


def file_holds(trial: Trial, partition: int, expected: list[bytes]) -> None:
    """These batches and nothing else, as produced but for the base offset."""
    name = f"{TOPIC}-{partition}/{0:020}.log"
    path = trial.kafka.data / name
    if not path.exists():
        names = sorted(each.name for each in trial.kafka.data.iterdir())
        raise Wrong(f"there is no file {name}; the data folder has {names}")

    data, offset = path.read_bytes(), 0
    size = sum(map(len, expected))
    same(f"the size of {name}", len(data), size)
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
    same("the answer at the end of an empty log", records_in(fetch(us, 0)), b"")
    produce(us, "created", "paid", "shipped")
    produce(us, "created")
    for offset in (0, 3, 1, 2, 4, 5, -1):
        fetch(us, offset)

    fetch(us, 0, partition=1)
    fetch(us, 0, partition=7)

    whole = len(batch("created", "paid", "shipped")) + len(batch("created"))
    same("how many bytes Fetch gives from 0 on", len(records_in(fetch(us, 0))), whole)

    first = len(batch("created", "paid", "shipped"))
    for most_bytes in (1, first, whole - 1, whole):
        found = records_in(fetch(us, 0, partition_max_bytes=most_bytes))
        what = f"how many bytes Fetch gives with partition_max_bytes {most_bytes}"
        same(what, len(found), whole if most_bytes == whole else first)


def asks_list_offsets(trial: Trial) -> None:
    """Of an empty log, and of one with records."""
    us = with_orders(trial)
    for _ in range(2):
        for timestamp in (-1, -2):
            for partition in (0, 1, 7):
                offset_for(us, timestamp, partition)
        produce(us, "created", "paid")


def asks_long_poll(trial: Trial) -> None:
    """A broker that does not wait has time to be wrong before there is a record."""
    us, producer = with_orders(trial), trial.connect()
    for turn in range(2):
        fetch(us, turn, max_wait_ms=LONG_MS, receive=False)
        producer.ask("ApiVersions")
        producer.ask("Metadata", topics=[{"name": TOPIC}])  # it has time to be wrong
        produce(producer, f"order {turn}")
        if not records_in(us.receive()):
            raise Wrong("Fetch, answer: it came before there was a record: max_wait_ms")
    same("Fetch with max_wait_ms 1", records_in(fetch(us, 2, max_wait_ms=1)), b"")


def clients_read(trial: Trial) -> None:
    """Each reads the records of both."""
    clients.kafka_python_writes(trial, TOPIC, 5)
    clients.kafka_python_reads(trial, TOPIC, 10)
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 10)


# --- 5: a restart after kill -9


def survives_a_kill(trial: Trial) -> None:
    """All must be there that was acknowledged, and go on where it was."""
    us = with_orders(trial)
    for values in (("created",), ("paid", "shipped"), ("created",)):
        produce(us, *values)

    trial.restart()
    us = trial.connect()
    us.ask("Metadata", topics=[{"name": TOPIC}])
    offset_for(us, -1)
    fetch(us, 0)
    produce(us, "after the kill")
    fetch(us, 3)


def torn(data: Path) -> None:
    """As if the broker had been killed while it wrote."""
    with (data / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
        half = (3).to_bytes(8, "big") + batch("never acknowledged", "nor this")[8:]
        log.write(half[:-9])


def survives_a_torn_tail(trial: Trial) -> None:
    """The usual case."""
    goes_on_after(trial, torn)


def nonsense(data: Path) -> None:
    """A whole batch's length, and a content that nobody wrote."""
    with (data / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
        log.write((3).to_bytes(8, "big") + batch("damaged", corrupt=True)[8:])


def survives_nonsense(trial: Trial) -> None:
    """A whole batch by its length, and its checksum says no."""
    goes_on_after(trial, nonsense)


def zeros(data: Path) -> None:
    """A file system that had made the file longer, and lost what was to be in it."""
    with (data / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
        log.write(bytes(200))


def survives_zeros(trial: Trial) -> None:
    """They are no batch, though there are enough of them for one."""
    goes_on_after(trial, zeros)


def goes_on_after(trial: Trial, damage: Callable[[Path], None]) -> None:
    """Two restarts: after the second one it shows if the first has really cut."""
    us = with_orders(trial)
    produce(us, "created", "paid")
    produce(us, "shipped")

    trial.restart(damage)
    us = trial.connect()
    offset_for(us, -1)
    produce(us, "after the kill")
    fetch(us, 0)

    trial.restart()
    us = trial.connect()
    offset_for(us, -1)
    fetch(us, 0)
    fetch(us, 3)

    written = (("created", "paid"), ("shipped",), ("after the kill",))
    file_holds(trial, 0, [batch(*values) for values in written])


def python_goes_on(trial: Trial) -> None:
    """A producer that knows nothing of the life before."""
    clients.kafka_python_writes(trial, TOPIC, 3)

    trial.restart(torn)
    clients.kafka_python_writes(trial, TOPIC, 3)
    clients.kafka_python_reads(trial, TOPIC, 12)


def dump_tool_reads(trial: Trial) -> None:
    """It goes through the file as it lies there."""
    clients.kafka_python_writes(trial, TOPIC, 3)

    trial.restart(torn)
    clients.kafka_python_writes(trial, TOPIC, 1)

    said = clients.dumped(trial.kafka.data / f"{TOPIC}-0" / f"{0:020}.log")
    for word in ("isvalid: false", "Found", "invalid", "Exception"):
        if word in said:
            line = next(line for line in said.splitlines() if word in line)
            raise Wrong(f"DumpLogSegments says: {line}")
    same("the records that DumpLogSegments lists", said.count("| offset:"), 4)


# --- 6: where a group has got to


def asks_offsets(trial: Trial) -> None:
    """Later commits replace earlier ones, also where they are smaller."""
    us = with_orders(trial)
    us.ask("FindCoordinator", key="billing")
    committed(us, "billing")
    for offset in (2, 5, 3):
        commit(us, "billing", offset)
        committed(us, "billing")

    commit(us, "billing", 7, partition=1)
    for group_id in ("billing", "audit"):
        committed(us, group_id)

    everything = us.ask("OffsetFetch", group_id="billing", topics=None)
    found = sum(len(each.partitions) for each in everything.topics)
    same("how many offsets OffsetFetch gives of all topics", found, 2)


def offsets_survive(trial: Trial) -> None:
    """Two lives later they are there."""
    us = with_orders(trial)
    for offset in (2, 5):
        commit(us, "billing", offset)
    commit(us, "audit", 1, partition=1)
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


# --- 7: groups


def heartbeat(us: Connection, joined: Any, expected: int = 0) -> None:
    """Errors: Wrong, for another error code than expected."""
    answer = us.ask("Heartbeat", **member(joined))
    same("the error code of a Heartbeat", answer.error_code, expected)


def one_member(trial: Trial) -> None:
    """It joins, joins again, and leaves."""
    us = with_orders(trial)
    me = join(us)
    same("the leader of a group of one", me.leader, me.member_id)
    listed = [bytes(each.metadata) for each in me.members]
    same("the metadata of the members", listed, [b"what I read"])
    sync(us, me, {me.member_id: b"both partitions"})
    heartbeat(us, me)
    commit(us, "billing", 1, **in_generation(me))
    committed(us, "billing")

    again = join(us, me.member_id)
    heartbeat(us, me, expected=22)
    sync(us, again, {me.member_id: b"both partitions"})
    heartbeat(us, again)

    us.ask("LeaveGroup", group_id="billing", member_id=me.member_id)
    heartbeat(us, again, expected=25)


def two_members(trial: Trial) -> None:
    """The second one comes while the first one is at work, and leaves again."""
    first, second = with_orders(trial), trial.connect()
    a = join(first)
    sync(first, a, {a.member_id: b"both"})

    join(second, receive=False)
    rebalancing(first, a)
    join(first, a.member_id, receive=False)
    a, b = first.receive(), second.receive()
    same("the second member's generation", b.generation_id, a.generation_id)

    leader = a if a.leader == a.member_id else b
    same("how many members the leader hears of", len(leader.members), 2)

    assigned = {a.member_id: b"partition 0", b.member_id: b"partition 1"}
    follower, of_follower = (second, b) if leader is a else (first, a)
    of_leader = first if leader is a else second
    sync(follower, of_follower, receive=False)
    sync(of_leader, leader, assigned)
    follower.receive()

    for us, joined in ((first, a), (second, b)):
        heartbeat(us, joined)

    second.ask("LeaveGroup", group_id="billing", member_id=b.member_id)
    rebalancing(first, a)
    a = join(first, a.member_id)
    sync(first, a, {a.member_id: b"both"})


def rebalancing(us: Connection, joined: Any) -> None:
    """The news may take a moment: it came over another connection."""
    for _ in range(_LOOKS):
        if us.ask("Heartbeat", **member(joined)).error_code == 27:
            return
        time.sleep(_LOOK_SECONDS)
    heartbeat(us, joined, expected=27)


def silent_member(trial: Trial) -> None:
    """Nobody says that it has gone."""
    first, second = with_orders(trial), trial.connect()
    a = join(first, session_timeout_ms=500)
    sync(first, a, {a.member_id: b"both"})

    b = join(second)  # the answer comes when a is out
    same("the leader of those who are left", b.leader, b.member_id)
    heartbeat(first, a, expected=25)


def confluent_member(trial: Trial) -> None:
    """With offsets of its group in the end."""
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 5, group_id="billing")


def python_members(trial: Trial) -> None:
    """Alone, and then two at once."""
    with_orders(trial)
    clients.kafka_python_members(trial, TOPIC, 1)
    clients.kafka_python_members(trial, TOPIC, 2)


def console_round_trip(trial: Trial) -> None:
    """With Java's tools."""
    clients.console_round_trip(trial, TOPIC)
