"""Lesson 23, write a Kafka: seven stages, each judged by our own questions first, then
by real clients.
"""

from pathlib import Path

from minikafka.course.experiments.lesson_23_kafka import START, found
from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging import kafka_group_scripts as groups
from minikafka.course.judging import kafka_restarts as restarts
from minikafka.course.judging import kafka_scripts as scripts
from minikafka.course.judging.checks import (
    Exercise,
    NotAttempted,
    Rung,
    WrongKind,
    short,
)
from minikafka.course.judging.kafka_trial import broken
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "Fetch 4 to 6 here, 7 to 24 there",
        right=3,
        why=(
            "3. They use the newest version that both have, and there is none. Kafka 4.0"
            " dropped old versions in this way (KIP-896)."
        ),
    ),
    Question(
        "a batch that is larger than partition_max_bytes",
        right=2,
        why=(
            "2. A batch isn't taken apart, and the first one comes whatever its size."
            " Otherwise this consumer could never get past it."
        ),
    ),
    Question(
        "the next offset after a batch with a wrong checksum",
        right=1,
        why=(
            "1. A batch whose checksum is wrong is cut off, with all that follows. What"
            " comes before it stays."
        ),
    ),
    Question(
        "what notices a wrong base offset",
        right=3,
        why=(
            "3. The batch's checksum doesn't cover the base offset, and TCP carries"
            " exactly what the broker has sent."
        ),
        lesson="12",
    ),
    Question(
        "a commit from the generation before",
        right=2,
        why=(
            "2. The larger number fences the old member: ILLEGAL_GENERATION, and nothing"
            " is committed."
        ),
        lesson="05",
    ),
)

NAME = "my_kafka.py"


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
        if script is None:
            return None
        wrong = broken(path, script)
        if wrong is None:
            return None
        headline, *details = wrong.splitlines()
        return "\n".join([headline, f"does not hold yet: {holds}", *details])

    return Rung(holds=holds, broken=judged, cases={"": None})


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
        ("version 0 is answered with what you serve", scripts.asks_versions),
        (
            "newer versions are answered in version 0, with error 35",
            scripts.asks_too_new,
        ),
        ("other requests end the connection", scripts.asks_what_is_not_served),
        (
            "kafka-python says which Kafka it takes yours for, and goes on",
            clients.kafka_python_identifies,
        ),
    )


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
            " replica_nodes=[1], isr_nodes=[1]. And controller_id=1. InitProducerId:"
            " any number that nobody else has is a good producer_id.",
        ),
        ("a topic is made when somebody asks for it", scripts.asks_metadata),
        (
            "each producer gets a number of its own; without one kafka-python's, which"
            " is idempotent, sends nothing",
            scripts.asks_producer_ids,
        ),
        (
            "kafka-python and confluent-kafka see its two partitions",
            scripts.clients_see_partitions,
        ),
    )


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
            "With acks=0 there is no answer, not even an empty one: answer() returns"
            " None before it encodes anything.",
        ),
        ("records get the next offsets of their partition", scripts.asks_produce),
        (
            "the files have Kafka's names, and the batches in them",
            scripts.looks_at_files,
        ),
        ("kafka-python and confluent-kafka write", scripts.clients_write),
    )


# --- 4: Fetch and ListOffsets


def exercise_4():
    return stage(
        "consumers read.",
        (
            "Look for the batch that holds the offset: the first one whose last offset"
            " isn't smaller. It comes back whole, as it lies in the file, however long"
            " it is, and those after it until the next one would make it more than"
            " partition_max_bytes. At the end of the log records is b'', not None.",
            "high_watermark and last_stable_offset are the end offset. An offset below"
            " 0 or above the end is error 1; the end itself is none.",
            "A loop: take the event, read all partitions, answer if one has an error or"
            " they have min_bytes together; else wait. The event is an asyncio.Event"
            " that produce sets, and then replaces by a new one;"
            " asyncio.wait_for(event.wait(), seconds) raises TimeoutError when"
            " max_wait_ms is over, and then what there is is the answer.",
        ),
        ("Fetch gives whole batches from the offset on", scripts.asks_fetch),
        ("ListOffsets knows where a log begins and ends", scripts.asks_list_offsets),
        (
            "Fetch at the end waits, and answers when a record comes",
            scripts.asks_long_poll,
        ),
        (
            "Fetch waits for min_bytes of all its partitions together",
            scripts.asks_for_min_bytes,
        ),
        ("Fetch does not wait where there is an error", scripts.asks_in_vain),
        ("kafka-python and confluent-kafka read what they wrote", scripts.clients_read),
        java=(
            "Java's console consumer reads what the console producer wrote",
            scripts.console_round_trip,
        ),
    )


# --- 5: a restart after kill -9


def exercise_5():
    return stage(
        "what was acknowledged survives kill -9.",
        (
            "Everything that you know of a log must come from its file when the broker"
            " starts: which topics there are, where each batch begins, the end offset.",
            "batches(data) gives (header, bytes) of each whole batch; crc_matches says"
            " if it is undamaged. Where bytes can't be a batch, batches raises KafkaError."
            " Cut off what comes after the last good one with file.truncate.",
            "A file that is opened with 'a+b' writes at the end, wherever you have read."
            " flush() after each batch: what is in Python's own buffer dies with it.",
        ),
        ("topics, records and offsets are there again", restarts.survives_a_kill),
        ("half a batch at the end is cut off", restarts.survives_a_torn_tail),
        ("bytes that are no batch are cut off", restarts.survives_nonsense),
        ("zeros at the end are cut off", restarts.survives_zeros),
        ("a compacted log has its end where it was", restarts.survives_compaction),
        (
            "kafka-python reads on, before the kill and after it",
            restarts.python_goes_on,
        ),
        java=(
            "Kafka's own dump tool reads the file to its end",
            restarts.dump_tool_reads,
        ),
    )


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
        ("a committed offset is given back, to its group alone", scripts.asks_offsets),
        ("committed offsets survive kill -9", scripts.offsets_survive),
        ("kafka-python commits and asks", scripts.commits_python),
    )


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
            " session_timeout_ms (loop.call_later; cancel it while the member waits for"
            " your answer), is like one that comes: everyone joins again, and who waits"
            " in SyncGroup is answered 27 at once.",
        ),
        ("one member joins, is assigned and stays", groups.one_member),
        ("two members are in one generation", groups.two_members),
        ("the protocol is one that all members have", groups.common_protocol),
        ("who waits in SyncGroup hears of a newcomer", groups.third_member),
        ("a member that sends heartbeats stays", groups.beating_member),
        ("a member that waits for its answer stays", groups.patient_member),
        ("a member that falls silent is put out", groups.silent_member),
        ("confluent-kafka reads and commits as a member", groups.confluent_member),
        ("two kafka-python members have one partition each", groups.python_members),
    )
