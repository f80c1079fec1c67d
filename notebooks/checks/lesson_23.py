"""Lesson 23, write a Kafka: seven stages, each judged by our own questions first, then
by real clients.
"""

from pathlib import Path

from minikafka.course.experiments.lesson_23_kafka import START, found
from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.checks import (
    Exercise,
    NotAttempted,
    Rung,
    WrongKind,
    short,
)
from minikafka.course.judging.kafka_rules import Wrong
from minikafka.course.judging.kafka_trial import broken
from minikafka.course.lessons import Question
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches, crc_matches, encode_batch

EXIT_TICKET = (
    Question(
        "a broker that serves old versions only",
        right=2,
        why=(
            "2. Both use the newest version that both have. The client finds it in the"
            " answer to ApiVersions."
        ),
    ),
    Question(
        "the first record in an answer to Fetch",
        right=3,
        why=(
            "3. A batch comes back whole, with the bytes that the producer sent. The"
            " consumer passes over what lies before its offset."
        ),
    ),
    Question(
        "half a batch at the end of the file",
        right=1,
        why=(
            "1. Nobody was told that it is stored. The broker cuts it off, and the next"
            " record gets its offset."
        ),
    ),
    Question(
        "why the broker writes the base offset and needs no new checksum",
        right=2,
        why=(
            "2. The checksum covers what comes after it, and the base offset lies before"
            " it."
        ),
        lesson="12",
    ),
    Question(
        "a heartbeat with the generation before",
        right=3,
        why=(
            "3. The larger number fences the old boss, and the old member too:"
            " ILLEGAL_GENERATION."
        ),
        lesson="05",
    ),
)

NAME = "my_kafka.py"
TOPIC = "orders"
LONG_MS = 60_000  # a Fetch that waits longer than we do
AT_MS = 1_700_000_000_000


def a_file(answer):
    """The file's path. One that is as it was given counts as not attempted."""
    if not isinstance(answer, str | Path):
        raise WrongKind(f"should be the file's name, and this is {short(answer)}.")
    path = found(answer)
    if path is None:
        raise WrongKind(f"there is no file {answer} here. start() writes it.")
    if path.read_text(encoding="utf-8") == START.read_text(encoding="utf-8"):
        raise NotAttempted(f"{path.name} is still as it was given.")
    return path


def stage(right, hints, *rungs, java=None):
    """rungs: (what holds, a script). java: such a rung that needs Java."""
    made = [_rung(holds, script) for holds, script in rungs]
    if java:
        holds, script = java
        if clients.java() is None:
            holds, script = f"{holds}: left out, without Java", None
        made.append(_rung(holds, script))
    return Exercise(
        name=NAME, right=right, hints=hints, rungs=tuple(made), takes=a_file
    )


def _rung(holds, script):
    def judged(path, case):
        return None if script is None else broken(path, script)

    return Rung(holds=holds, broken=judged, cases={"": None})


# --- requests that are asked again and again


def batch(*values, corrupt=False):
    made = encode_batch([(AT_MS, None, value.encode(), []) for value in values])
    return made[:-1] + bytes([made[-1] ^ 1]) if corrupt else made


def with_orders(trial):
    """A connection, and the topic."""
    us = trial.connect()
    us.ask("Metadata", topics=[{"name": TOPIC}])
    return us


def produce(us, *values, partition=0, acks=-1, **more):
    """One batch. With acks=0 there is no answer to wait for."""
    data = {"index": partition, "records": batch(*values, **more)}
    topic = {"name": TOPIC, "partition_data": [data]}
    us.send("Produce", acks=acks, timeout_ms=10_000, topic_data=[topic])
    return us.receive() if acks else None


def fetch(us, offset, partition=0, max_wait_ms=0, receive=True):
    asked = {"partition": partition, "fetch_offset": offset}
    asked["partition_max_bytes"] = 1_000_000
    topic = {"topic": TOPIC, "partitions": [asked]}
    us.send("Fetch", max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic])
    return us.receive() if receive else None


def offset_for(us, timestamp, partition=0):
    asked = {"partition_index": partition, "timestamp": timestamp}
    topic = {"name": TOPIC, "partitions": [asked]}
    return us.ask("ListOffsets", replica_id=-1, topics=[topic])


def commit(us, group_id, offset, partition=0, **member):
    asked = {"partition_index": partition, "committed_offset": offset}
    asked["committed_metadata"] = ""
    topic = {"name": TOPIC, "partitions": [asked]}
    return us.ask("OffsetCommit", group_id=group_id, topics=[topic], **member)


def committed(us, group_id):
    topic = {"name": TOPIC, "partition_indexes": [0, 1]}
    return us.ask("OffsetFetch", group_id=group_id, topics=[topic])


def same(what, given, expected):
    if given != expected:
        raise Wrong(f"{what} is {given}, and should be {expected}")


# --- 1: ApiVersions


def exercise_1():
    return stage(
        "clients know which requests you serve.",
        (
            "An answer is the size (4 bytes), the correlation id of its request, and"
            " then the fields. encode_response writes all but the size.",
            "The list has an entry for each API in VERSIONS: API[name].key, the lowest,"
            " the highest version.",
            "For a version that you don't serve: encode_response('ApiVersions', 0,"
            " correlation_id, ...) with error_code 35 and the same list. Don't decode"
            " that request: you need its first eight bytes only.",
        ),
        ("version 0 is answered with what you serve", asks_versions),
        ("newer versions are answered in version 0, with error 35", asks_too_new),
        (
            "kafka-python says which Kafka it takes yours for, and goes on",
            clients.kafka_python_identifies,
        ),
    )


def asks_versions(trial):
    us = trial.connect()
    for _ in range(2):
        listed = us.ask("ApiVersions").api_keys
    served = {each.api_key: (each.min_version, each.max_version) for each in listed}
    for name, (key, version) in WANTED.items():
        low, high = served.get(key, (0, -1))
        if not low <= version <= high:
            raise Wrong(f"ApiVersions, answer: {name} {version} isn't in the list")


# name -> (key, the version that the later stages ask in)
WANTED = {
    "ApiVersions": (18, 0),
    "Metadata": (3, 5),
    "InitProducerId": (22, 1),
    "Produce": (0, 7),
    "Fetch": (1, 6),
    "ListOffsets": (2, 3),
    "FindCoordinator": (10, 1),
    "OffsetCommit": (8, 3),
    "OffsetFetch": (9, 3),
    "JoinGroup": (11, 3),
    "SyncGroup": (14, 1),
    "Heartbeat": (12, 1),
    "LeaveGroup": (13, 1),
}


def asks_too_new(trial):
    us = trial.connect()
    future = bytes.fromhex("0012 0063 00000007 0005") + b"judge\0" + b"from the future"
    us.send_frame("ApiVersions", 0, future)
    us.receive()
    us.ask("ApiVersions")  # the connection goes on


# --- 2: Metadata


def exercise_2():
    return stage(
        "clients find your broker and the topic's partitions.",
        (
            "One broker: node_id 1, host 127.0.0.1, and the port on which you listen.",
            "A topic that is asked for and isn't there is made, with PARTITIONS"
            " partitions, if allow_auto_topic_creation says so. topics is None in the"
            " request: the answer has all topics.",
            "Each partition of the answer: partition_index, leader_id=1,"
            " replica_nodes=[1], isr_nodes=[1]. And controller_id=1.",
        ),
        ("a topic is made when somebody asks for it", asks_metadata),
        (
            "kafka-python and confluent-kafka see its two partitions",
            clients_see_partitions,
        ),
    )


def asks_metadata(trial):
    us = trial.connect()
    same("how many topics a new Kafka has", topics_of(us), [])
    for name in (TOPIC, "payments", TOPIC):
        us.ask("Metadata", topics=[{"name": name}])
    same("the list of all topics", topics_of(us), [TOPIC, "payments"])
    asked = {"topics": [{"name": "nobody"}], "allow_auto_topic_creation": False}
    us.ask("Metadata", **asked)
    same("the list of all topics", topics_of(us), [TOPIC, "payments"])


def topics_of(us):
    return sorted(each.name for each in us.ask("Metadata", topics=None).topics)


def clients_see_partitions(trial):
    clients.kafka_python_sees_partitions(trial, TOPIC, {0, 1})
    clients.confluent_sees_partitions(trial, "payments", {0, 1})


# --- 3: Produce


def exercise_3():
    return stage(
        "producers write, and each record has its offset.",
        (
            "partition.records is one batch. read_header(batch).last_offset_delta + 1"
            " is how many offsets it takes; crc_matches(batch, header) looks for damage"
            " (error 2).",
            "The next offset is counted for each partition. The first eight bytes of"
            " the batch become its base offset, offset.to_bytes(8, 'big'); all else is"
            " stored as it came.",
            "With acks=0 there is no answer, not even an empty one. Kafka's producers"
            " ask InitProducerId first: any number that nobody else has is a good"
            " producer_id.",
        ),
        ("records get the next offsets of their partition", asks_produce),
        ("the files have Kafka's names, and the batches in them", looks_at_files),
        ("kafka-python and confluent-kafka write", clients_write),
    )


def asks_produce(trial):
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


def looks_at_files(trial):
    us = with_orders(trial)
    written = {0: (("created",), ("paid", "shipped"), ("paid",)), 1: (("created",),)}
    for partition, each in written.items():
        for values in each:
            produce(us, *values, partition=partition)
    for partition, each in written.items():
        file_holds(trial, partition, [batch(*values) for values in each])


def file_holds(trial, partition, expected):
    name = f"{TOPIC}-{partition}/{0:020}.log"
    path = trial.kafka.data / name
    if not path.exists():
        there = sorted(p.name for p in trial.kafka.data.iterdir())
        raise Wrong(f"there is no file {name}; the data folder has {there}")
    data, offset = path.read_bytes(), 0
    size = sum(map(len, expected))
    same(f"the size of {name}", len(data), size)
    for number, (header, view) in enumerate(batches(data)):
        what = f"batch {number} in {name}"
        same(f"the base offset of {what}", header.base_offset, offset)
        if not crc_matches(view, header) or view[16:] != expected[number][16:]:
            raise Wrong(f"{what} is not the one that was produced")
        offset = header.next_offset


def clients_write(trial):
    clients.kafka_python_writes(trial, TOPIC, 5)
    clients.confluent_writes(trial, TOPIC, 5)


# --- 4: Fetch and ListOffsets


def exercise_4():
    return stage(
        "consumers read.",
        (
            "Look for the batch that holds the offset: the first one whose last offset"
            " isn't smaller. It comes back whole, as it lies in the file, and so do"
            " those after it. At the end of the log records is b'', not None.",
            "high_watermark and last_stable_offset are the end offset. An offset below"
            " 0 or above the end is error 1; the end itself is none.",
            "To wait: an asyncio.Event that produce sets, and then replaces by a new"
            " one. asyncio.wait_for(event.wait(), seconds) raises TimeoutError when"
            " max_wait_ms is over. Take the event before you look into the log.",
        ),
        ("Fetch gives whole batches from the offset on", asks_fetch),
        ("ListOffsets knows where a log begins and ends", asks_list_offsets),
        ("Fetch at the end waits, and answers when a record comes", asks_long_poll),
        ("kafka-python and confluent-kafka read what they wrote", clients_read),
        java=(
            "Java's console consumer reads what the console producer wrote",
            lambda trial: clients.console_round_trip(trial, TOPIC),
        ),
    )


def asks_fetch(trial):
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


def records_in(answer):
    return bytes(answer.responses[0].partitions[0].records or b"")


def asks_list_offsets(trial):
    us = with_orders(trial)
    for _ in range(2):
        for timestamp in (-1, -2):
            for partition in (0, 1, 7):
                offset_for(us, timestamp, partition)
        produce(us, "created", "paid")


def asks_long_poll(trial):
    us, producer = with_orders(trial), trial.connect()
    for turn in range(2):
        fetch(us, turn, max_wait_ms=LONG_MS, receive=False)
        producer.ask("ApiVersions")
        producer.ask("Metadata", topics=[{"name": TOPIC}])  # it has time to be wrong
        produce(producer, f"order {turn}")
        if not records_in(us.receive()):
            raise Wrong("Fetch, answer: it came before there was a record: max_wait_ms")
    same("Fetch with max_wait_ms 1", records_in(fetch(us, 2, max_wait_ms=1)), b"")


def clients_read(trial):
    clients.kafka_python_writes(trial, TOPIC, 5)
    clients.kafka_python_reads(trial, TOPIC, 10)
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 10)


# --- 5: a restart after kill -9


def exercise_5():
    return stage(
        "what was acknowledged survives kill -9.",
        (
            "Everything that you know of a log must come from its file when the broker"
            " starts: which topics there are, where each batch begins, the end offset.",
            "batches(data) gives (header, bytes) of each whole batch; crc_matches says"
            " if it is undamaged. What comes after the last good one is cut off with"
            " file.truncate.",
            "A file that is opened with 'a+b' writes at the end, wherever you have read."
            " flush() after each batch: what is in Python's own buffer dies with it.",
        ),
        ("topics, records and offsets are there again", survives_a_kill),
        ("half a batch at the end is cut off", survives_a_torn_tail),
        ("bytes that are no batch are cut off", survives_nonsense),
        (
            "kafka-python reads on, before the kill and after it",
            python_goes_on,
        ),
        java=("Kafka's own dump tool reads the file to its end", dump_tool_reads),
    )


def survives_a_kill(trial):
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


def torn(data):
    """As if the broker had been killed while it wrote."""
    with (data / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
        half = (3).to_bytes(8, "big") + batch("never acknowledged", "nor this")[8:]
        log.write(half[:-9])


def survives_a_torn_tail(trial):
    goes_on_after(trial, torn)


def nonsense(data):
    """A whole batch's length, and a content that nobody wrote."""
    with (data / f"{TOPIC}-0" / f"{0:020}.log").open("ab") as log:
        log.write((3).to_bytes(8, "big") + batch("damaged", corrupt=True)[8:])


def survives_nonsense(trial):
    goes_on_after(trial, nonsense)


def goes_on_after(trial, damage):
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


def python_goes_on(trial):
    clients.kafka_python_writes(trial, TOPIC, 3)
    trial.restart(torn)
    clients.kafka_python_writes(trial, TOPIC, 3)
    clients.kafka_python_reads(trial, TOPIC, 12)


def dump_tool_reads(trial):
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


def exercise_6():
    return stage(
        "a consumer finds again where it was.",
        (
            "FindCoordinator: your one broker is the coordinator of all groups.",
            "Keep (group id, topic, partition) -> offset. OffsetFetch gives -1 where"
            " there is none, with error 0. topics is None: all of the group.",
            "To survive kill -9: append a line of JSON for each commit, flush, and read"
            " the lines at the start; the last one counts.",
        ),
        ("a committed offset is given back, to its group alone", asks_offsets),
        ("committed offsets survive kill -9", offsets_survive),
        ("kafka-python commits and asks", commits_python),
    )


def asks_offsets(trial):
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


def offsets_survive(trial):
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


def commits_python(trial):
    clients.kafka_python_writes(trial, TOPIC, 3)
    clients.kafka_python_commits(trial, TOPIC, "billing")


# --- 7: groups


def exercise_7():
    return stage(
        "members share the partitions. This is a Kafka.",
        (
            "One member: JoinGroup with an empty member_id gets a new id; generation 1;"
            " it is the leader, and members lists it with its metadata. SyncGroup gives"
            " back what the leader sent.",
            "A second member joins: from now on the first one's heartbeats are answered"
            " 27, and the newcomer waits (a future) until the first one has sent"
            " JoinGroup, too. Then both are answered, with generation + 1.",
            "SyncGroup waits for the leader's, which has all assignments by member id."
            " Each member gets its own. A member that leaves, or is silent for"
            " session_timeout_ms, is like one that comes: everyone joins again.",
        ),
        ("one member joins, is assigned and stays", one_member),
        ("two members are in one generation", two_members),
        ("a member that falls silent is put out", silent_member),
        ("confluent-kafka reads and commits as a member", confluent_member),
        ("two kafka-python members have one partition each", python_members),
    )


def join(us, member_id="", session_timeout_ms=30_000, receive=True):
    offered = [{"name": "range", "metadata": b"what I read"}]
    us.send(
        "JoinGroup",
        group_id="billing",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=LONG_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=offered,
    )
    return us.receive() if receive else None


def sync(us, joined, assigned=(), receive=True):
    assignments = [
        {"member_id": name, "assignment": what} for name, what in dict(assigned).items()
    ]
    us.send("SyncGroup", **of(joined), assignments=assignments)
    return us.receive() if receive else None


def of(joined):
    return {
        "group_id": "billing",
        "generation_id": joined.generation_id,
        "member_id": joined.member_id,
    }


def heartbeat(us, joined, expected=0):
    answer = us.ask("Heartbeat", **of(joined))
    same("the error code of a Heartbeat", answer.error_code, expected)


def one_member(trial):
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


def in_generation(joined):
    return {
        "generation_id_or_member_epoch": joined.generation_id,
        "member_id": joined.member_id,
    }


def two_members(trial):
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


def rebalancing(us, joined):
    """The news may take a moment: it came over another connection."""
    for _ in range(50):
        if us.ask("Heartbeat", **of(joined)).error_code == 27:
            return
    heartbeat(us, joined, expected=27)


def silent_member(trial):
    first, second = with_orders(trial), trial.connect()
    a = join(first, session_timeout_ms=500)
    sync(first, a, {a.member_id: b"both"})
    b = join(second)  # the answer comes when a is out
    same("the leader of those who are left", b.leader, b.member_id)
    heartbeat(first, a, expected=25)


def confluent_member(trial):
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 5, group_id="billing")


def python_members(trial):
    clients.kafka_python_members(trial, TOPIC, 1)
    clients.kafka_python_members(trial, TOPIC, 2)
