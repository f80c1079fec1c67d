"""The seven stages of lesson 23: the minimal Kafka passes them all, and each broken
broker hears what is wrong with it.
"""

from pathlib import Path

import pytest

from minikafka.course import lessons
from minikafka.course.experiments.lesson_23_kafka import MINIMAL_KAFKA, START
from minikafka.course.judging import kafka_clients
from minikafka.course.judging.conversation import folded
from minikafka.course.judging.learners_kafka import LearnersKafka
from tests.course.answers import verdict

pytestmark = [pytest.mark.first, pytest.mark.apart, pytest.mark.slow]

STAGES = range(1, 8)
SERVED = {1: 1, 2: 3, 3: 4, 4: 6, 5: 6, 6: 9, 7: 13}  # the first so many APIs
THREADED = Path(__file__).with_name("threaded_kafka.py")
SOURCE = MINIMAL_KAFKA.read_text(encoding="utf-8")


@pytest.fixture
def without_java(monkeypatch):
    monkeypatch.setattr(kafka_clients, "java", lambda: None)


@pytest.mark.parametrize("stage", STAGES)
def test_the_minimal_kafka_passes_a_stage_with_what_it_has_by_then(
    stage, without_java, tmp_path
):
    path = tmp_path / "my_kafka.py"
    by_then = f"dict([*self.APIS.items()][:{SERVED[stage]}])"
    line = "low, high, method = self.APIS[name]"
    assert line in SOURCE
    path.write_text(SOURCE.replace(line, line.replace("self.APIS", by_then)))
    found = verdict("23", stage, path)
    assert found.right, found
    assert ("left out, without Java" in str(found)) == (stage in (4, 5))


@pytest.mark.parametrize("stage", range(1, 6))
def test_a_kafka_that_is_written_otherwise_passes_too(stage, without_java):
    found = verdict("23", stage, THREADED)
    assert found.right, found


def test_the_next_stage_is_told_from_the_first_request_that_is_not_answered(
    without_java,
):
    found = verdict("23", 6, THREADED)
    assert found.headline == (
        "Not yet: FindCoordinator 1 was not answered: your Kafka hung up"
    )


@pytest.mark.java
@pytest.mark.parametrize("stage", [4, 5])
@pytest.mark.parametrize("path", [MINIMAL_KAFKA, THREADED], ids=["minimal", "threaded"])
def test_java_s_console_tools_and_dump_tool_judge_too(path, stage):
    """Also where there are no groups yet."""
    found = verdict("23", stage, path)
    assert found.right and "without Java" not in str(found), found


@pytest.mark.parametrize("stage", STAGES)
def test_a_file_that_is_as_it_was_given_is_not_attempted(stage):
    found = verdict("23", stage, START)
    assert not found.attempted
    assert str(found) == "Not attempted yet: my_kafka.py is still as it was given."


def test_what_is_no_file_is_told_in_a_line(tmp_path):
    assert "there is no file nowhere.py" in str(verdict("23", 1, "nowhere.py"))
    assert "should be the file's name" in str(verdict("23", 1, 5))
    path = tmp_path / "my_kafka.py"
    path.write_text("import nothing_that_is_there\n")
    found = str(verdict("23", 1, path))
    assert "it ended before it printed ready" in found
    assert "No module named 'nothing_that_is_there'" in found


def test_what_is_raised_is_shown_with_the_learners_own_lines(tmp_path, without_java):
    path = tmp_path / "my_kafka.py"
    path.write_text(SOURCE.replace('answer["base_offset"] =', 'answer["first"] ='))
    found = str(verdict("23", 3, path))
    assert "Produce 7 was not answered: your Kafka hung up" in found
    assert "in answer:  return" in found and "wire/schema.py" not in found
    assert "PartitionProduceResponse has no field first" in found


# (stage, how the minimal Kafka is broken: a text and its replacement, what is told)
BROKEN = {
    "a wrong correlation id": (
        1,
        [
            (
                "version, correlation_id, answer))",
                "version, correlation_id + 1, answer))",
            )
        ],
        ["ApiVersions, answer: correlation_id is 2, and the request's was 1"],
    ),
    "a version that is listed and not answered": (
        2,
        [("if low <= version <= high:", "if low <= version <= min(high, 4):")],
        ["Metadata 5 was not answered: your Kafka hung up", "Metadata version 5"],
    ),
    "an unknown version is hung up on": (
        1,
        [('elif name == "ApiVersions":', 'elif name == "Nothing":')],
        ["ApiVersions 99 was not answered: your Kafka hung up"],
    ),
    "an answer in another version": (
        2,
        [
            (
                'return b"".join(encode_response(name, version,',
                'return b"".join(encode_response(name, version or 1,',
            )
        ],
        ["ApiVersions, answer: not of version 0 (from byte", "should be nothing"],
    ),
    "the port is 9092, whatever it is": (
        2,
        [('"host": HOST, "port": self.port}', '"host": HOST, "port": 9092}')],
        ["Metadata, answer: port of broker 1 is 9092, and should be"],
    ),
    "another Kafka's id": (
        2,
        [('brokers = [{"node_id": NODE_ID', 'brokers = [{"node_id": 7')],
        ["Metadata, answer: controller_id is 1, and should be 7"],
    ),
    "a producer's number comes again after a restart": (
        5,
        [
            (
                'return {"producer_id": random.getrandbits(62)}',
                'self.last = getattr(self, "last", -1) + 1; return {"producer_id": self.last}',
            )
        ],
        ["producer_id is 0, and another producer has it already", "kill -9"],
    ),
    "a batch that is refused has a base offset": (
        3,
        [('"base_offset": -1}', '"base_offset": 0}')],
        ["Produce, answer: base_offset of orders-0 is 0, and should be -1"],
    ),
    "the base offset is always 0": (
        3,
        [
            (
                'answer["base_offset"] = log.append(batch)',
                'answer["base_offset"] = log.append(batch) * 0',
            )
        ],
        ["Produce, answer: base_offset of orders-0 is 0, and should be 1", "from byte"],
    ),
    "the base offset is not written into the batch": (
        3,
        [('base_offset.to_bytes(8, "big") + batch[8:]', "batch")],
        ["and should be"],
    ),
    "a batch is one offset": (
        3,
        [
            (
                "return base_offset\n",
                "self.next_offsets[-1] = base_offset + 1\n        return base_offset\n",
            )
        ],
        ["base_offset of orders-0 is 2, and should be 4"],
    ),
    "a damaged batch is stored": (
        3,
        [("elif not crc_matches(batch, read_header(batch)):", "elif False:")],
        ["error_code of orders-0 is 0 (NONE), and should be 2 (CORRUPT_MESSAGE)"],
    ),
    "a damaged batch is refused, and stored": (
        3,
        [
            (
                'answer["error_code"] = Error.CORRUPT_MESSAGE',
                'answer["error_code"] = Error.CORRUPT_MESSAGE\n'
                "                    log.file.write(batch)\n"
                "                    log.file.flush()",
            )
        ],
        ["has the damaged batch that was answered with error 2"],
    ),
    "acks=0 is answered": (
        3,
        [("if request.acks == 0:", "if False:")],
        ["Produce with acks=0 was answered"],
    ),
    "a byte of the records is changed": (
        4,
        [
            (
                "found += self.file.read(size)",
                "found += self.file.read(size)[:-1] + b'!'",
            )
        ],
        ["does not match its checksum (byte", "21, should be"],
    ),
    "the checksum is changed": (
        4,
        [
            (
                "found += self.file.read(size)",
                "found += (lambda b: b[:17] + b'1234' + b[21:])(self.file.read(size))",
            )
        ],
        ["does not match its checksum (byte 17 of the batch: 31"],
    ),
    "the high watermark is one short": (
        4,
        [('{"high_watermark": end,', '{"high_watermark": max(end - 1, 0),')],
        ["high_watermark of orders-0 from offset 0 is 9, and should be 10"],
    ),
    "Fetch does not wait": (
        4,
        [("or clock() >= deadline", "or True")],
        ["it came before there was a record: max_wait_ms"],
    ),
    "Fetch begins with the batch after": (
        4,
        [
            (
                "bisect(self.next_offsets, offset)",
                "bisect(self.next_offsets, offset) + (offset % 3 > 0)",
            )
        ],
        ["is empty, and there are some to read", "should go on with offset 1"],
    ),
    "Fetch begins with the batch after, where it is not the first": (
        4,
        [
            (
                "bisect(self.next_offsets, offset) :",
                "bisect(self.next_offsets, offset)"
                " + any(offset - end in (1, 2, 3, 4) for end in self.next_offsets) :",
            )
        ],
        ["should go on with offset 4, and there is a batch with 8 to 9"],
    ),
    "min_bytes is taken for 1": (
        4,
        [("size >= request.min_bytes", "size >= 1")],
        ["Fetch, answer: it came with 75 bytes, min_bytes was 76, and max_wait_ms"],
    ),
    "min_bytes is asked of one partition": (
        4,
        [("sum(len(answer", "max(len(answer")],
        ["one is due: the partitions have more than min_bytes together"],
    ),
    "Fetch waits, whatever the error": (
        4,
        [("if failed or size", "if size")],
        ["one is due: its partition doesn't exist, and an error ends the wait"],
    ),
    "partition_max_bytes is not looked at": (
        4,
        [("if found and len(found) + size > max_bytes:", "if False:")],
        ["records of orders-0 from offset 0 has", "partition_max_bytes was 1"],
    ),
    "nothing comes of a batch that is longer than partition_max_bytes": (
        4,
        [("if found and len(found)", "if len(found)")],
        ["records of orders-0 from offset 0 is empty, and there are some to read"],
    ),
    "zeros are taken for a batch": (
        5,
        [
            (
                "with suppress(KafkaError):  # these bytes are no batch",
                "if True:",
            ),
        ],
        ["it ended before it printed ready"],
    ),
    "what is no batch stops the broker": (
        5,
        [
            (
                "for header, batch in batches(self.file.read()):",
                "for header, batch in batches(self.file.read().replace(bytes(99), b'')):",
            ),
            ("with suppress(KafkaError):  # these bytes are no batch", "if True:"),
        ],
        ["after kill -9, 200 random bytes at the log's end: it ended before it"],
    ),
    "less than a header is kept": (
        5,
        [
            (
                "self.file.truncate(position)",
                "if self.file.seek(0, 2) - position > 61:\n"
                "            self.file.truncate(position)",
            )
        ],
        [
            "(started with 5 bytes of a batch at the log's end) is 330, and should be 325"
        ],
    ),
    "a batch takes as many offsets as it has records": (
        5,
        [
            (
                "self.next_offsets.append(header.next_offset)",
                "self.next_offsets.append(header.base_offset + header.records_count)",
            )
        ],
        ["ListOffsets, answer: offset of orders-0 is 2, and should be 3"],
    ),
    "the end is out of range": (
        4,
        [("0 <= asked.fetch_offset <= end", "0 <= asked.fetch_offset < end")],
        ["error_code of orders-0 from offset 0 is 1 (OFFSET_OUT_OF_RANGE), and should"],
    ),
    "the end offset is the last one": (
        4,
        [
            (
                'answer["offset"] = log.end_offset',
                'answer["offset"] = max(log.end_offset - 1, 0)',
            )
        ],
        ["ListOffsets, answer: offset of orders-0 is 1, and should be 2"],
    ),
    "what is written stays in Python's buffer": (
        5,
        [("self.file.flush()", "self.file")],
        ["and should be 4", "topic", "is empty"],
    ),
    "the torn tail is not cut": (
        5,
        [("self.file.truncate(position)", "position")],
        ["and should be", "there is a batch", "no record batch"],
    ),
    "the checksum is not looked at after a restart": (
        5,
        [("if not crc_matches(batch, header):\n                    break", "pass")],
        ["ListOffsets, answer: offset of orders-0 is 5, and should be 3"],
    ),
    "offsets are forgotten": (
        6,
        [('self.file.write("\\n"', 'str("\\n"')],
        ["OffsetFetch, answer: committed_offset of orders-0 is -1, and should be 5"],
    ),
    "groups are mixed up": (
        6,
        [
            ("key = request.group_id, topic.name,", 'key = "all", topic.name,'),
            (
                "(request.group_id, topic.name, partition)",
                '("all", topic.name, partition)',
            ),
        ],
        ["committed_offset of orders-0 is 7, and should be -1"],
    ),
    "the generation is not raised": (
        7,
        [("self.generation += 1", "self.generation = 1")],
        ["JoinGroup, answer: generation_id is 1, and should be 2"],
    ),
    "everybody gets what the leader gets": (
        7,
        [
            (
                'assignments.get(request.member_id, b"")',
                "next(iter(assignments.values()))",
            )
        ],
        ["SyncGroup, answer: assignment is another member's"],
    ),
    "nobody waits for the others": (
        7,
        [("if set(self.members) == set(self.joining):", "if True:")],
        ["Heartbeat (a second member has sent JoinGroup) is 22, and should be 27"],
    ),
    "an old generation may stay": (
        7,
        [("if generation != self.generation:", "if False:")],
        ["Heartbeat, answer: error_code is 0 (NONE), and should be 22"],
    ),
    "members never hear of a newcomer": (
        7,
        [
            (
                "if self.is_rebalancing:\n"
                "            return Error.REBALANCE_IN_PROGRESS",
                "pass",
            )
        ],
        ["Heartbeat (a second member has sent JoinGroup) is 0, and should be 27"],
    ),
    "heartbeats are no sign of life": (
        7,
        [
            (
                "self.start_timer(member_id)\n        return Error.NONE",
                "return Error.NONE",
            )
        ],
        ["the error code of a Heartbeat is 25, and should be 0: it is at most"],
    ),
    "commits of an old generation count": (
        7,
        [
            (
                "if error == Error.REBALANCE_IN_PROGRESS:",
                "if error in (Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION):",
            )
        ],
        ["OffsetCommit, answer: error_code of orders-0 is 0 (NONE), and should be 22"],
    ),
    "commits of a stranger count": (
        7,
        [
            (
                "if error == Error.REBALANCE_IN_PROGRESS:",
                "if error in (Error.REBALANCE_IN_PROGRESS, Error.UNKNOWN_MEMBER_ID):",
            )
        ],
        ["OffsetCommit, answer: error_code of orders-0 is 0 (NONE), and should be 25"],
    ),
    "a stranger may join by its own id": (
        7,
        [("if request.member_id and request.member_id not in group.members:", "if 0:")],
        ["one is due: a member id that nobody was ever given is refused: error 25"],
    ),
    "who waits in SyncGroup hears of no newcomer": (
        7,
        [("self.assignments.set_result(None)", "pass")],
        ["one is due: a third member came before the leader's SyncGroup"],
    ),
    "who waits in JoinGroup is silent": (
        7,
        [
            (
                "self.rebalance()\n        return joined",
                "self.start_timer(member_id)\n        self.rebalance()\n        return joined",
            )
        ],
        [
            "have sent JoinGroup; one that waits",
            "one waited for its JoinGroup's answer",
        ],
    ),
    "who waits in SyncGroup is silent": (
        7,
        [("group.stop_timer(request.member_id)  # it waits for us", "pass")],
        ["a member that waits for it isn't silent) is 27, and should be 0"],
    ),
    "the leader's first protocol, whatever the others have": (
        7,
        [
            (
                "return common_protocols(self.members)[0]",
                "return next(iter(self.members.values())).protocols[0].name",
            )
        ],
        ["protocol_name is 'sticky', and this member has no other than range"],
    ),
    "a member with other protocols is let in": (
        7,
        [
            (
                "if not common_protocols(group.members | {member_id: request}):",
                "if False:",
            )
        ],
        ["one is due: no protocol is common, and it is refused: error 23"],
    ),
}


def verdict_on(name, tmp_path):
    """The verdict on one of the broken files above."""
    return verdict_on_changed(*BROKEN[name][:2], tmp_path)


def verdict_on_changed(stage, changes, tmp_path):
    """On the minimal Kafka with these texts replaced."""
    source = SOURCE
    for before, after in changes:
        assert before in source
        source = source.replace(before, after)
    path = tmp_path / "my_kafka.py"
    path.write_text(source)
    return verdict("23", stage, path)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_broker_hears_what_is_wrong(name, tmp_path, without_java):
    words = BROKEN[name][2]
    found = verdict_on(name, tmp_path)
    assert not found.right and any(each in found.headline for each in words), found
    assert "does not hold yet: " in str(found)
    assert "the conversation (> asks, < answers):" in str(found)


def test_kills_stand_in_the_conversation(tmp_path, without_java):
    said = str(verdict_on("less than a header is kept", tmp_path))
    assert "does not hold yet: half a batch at the end is cut off" in said
    mark = "--- kill -9, 5 bytes of a batch at the log's end, started again ---"
    assert mark in said
    assert "what is wrong stands in no single frame of these" in said


def test_heartbeats_that_repeat_stand_there_once():
    beat = ["> Heartbeat  generation_id=1", "< Heartbeat  error_code=0"]
    lines = ["> JoinGroup", *beat * 61, "> LeaveGroup"]
    assert folded(lines) == [
        "> JoinGroup",
        beat[0],
        f"{beat[1]}   (61 times)",
        "> LeaveGroup",
    ]


def test_the_newcomer_stays_in_view_however_many_heartbeats_there_are(
    tmp_path, without_java
):
    said = str(verdict_on("members never hear of a newcomer", tmp_path))
    beats = [line for line in said.splitlines() if "< Heartbeat" in line]
    assert len(beats) <= 2 and beats[-1].endswith("<- here")
    assert "> JoinGroup" in said


def test_the_bytes_of_a_number_are_all_of_them(tmp_path, without_java):
    said = str(verdict_on("a damaged batch is stored", tmp_path))
    assert "(CORRUPT_MESSAGE) (from byte 24: 00 00, should be 00 02)" in said
    said = str(verdict_on("everybody gets what the leader gets", tmp_path))
    assert "is another member's: 11 bytes, and should be 11 bytes" in said
    assert "(from byte 10 of it: 30, should be 31)" in said


def test_a_file_that_does_not_run_main_is_told_so(tmp_path):
    path = tmp_path / "my_kafka.py"
    path.write_text(SOURCE.replace("asyncio.run(main())", "main()"))
    said = str(verdict("23", 1, path))
    assert "it ended before it printed ready HOST:PORT" in said
    assert "the file came to its end, and nothing listens: does it run main()?" in said
    assert "Fatal" not in said


def test_a_process_does_not_outlive_its_trial():
    with LearnersKafka(MINIMAL_KAFKA) as kafka:
        kafka.start()
        process = kafka._process
    assert process.poll() is not None and not kafka.data.exists()


def test_a_process_ends_when_who_started_it_is_gone():
    with LearnersKafka(MINIMAL_KAFKA) as kafka:
        kafka.start()
        kafka._process.stdin.close()
        assert kafka._process.wait(60) == 1


def test_every_stage_has_three_hints():
    for stage in STAGES:
        assert len(lessons.lesson("23")._exercise(stage).hints) == 3
