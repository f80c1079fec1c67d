"""Requests for several topics and partitions, for none, and for what isn't there: what
lesson 23's task says about them, and real clients seldom ask in a check.
"""

import pytest

from minikafka.course.judging import kafka_clients
from tests.course.test_lesson_23_checks import verdict_on_changed

pytestmark = [pytest.mark.first, pytest.mark.apart, pytest.mark.slow]


@pytest.fixture(autouse=True)
def without_java(monkeypatch):
    monkeypatch.setattr(kafka_clients, "java", lambda: None)


LOG = "log = self.logs.get((topic.name, partition.index))\n"
ASKED_LOG = "log = self.logs.get((topic.name, asked.partition_index))\n"
FETCHED_LOG = "log = self.logs.get((topic, asked.partition))\n"
FOLDERS = '        for each in folder.glob("*-*"):\n'
SKIPS_EMPTY = """\
            if not has_records(folder, each.name[:-1]):
                continue
"""
HAS_RECORDS = """

def has_records(folder, name):
    return any(each.stat().st_size for each in folder.glob(name + "*/*"))
"""

# (stage, how the minimal Kafka is broken, what is told)
BROKEN = {
    "what isn't served has no answer, and no end": (
        1,
        [
            ('raise ValueError(f"{name} version {version}")', "return None"),
            ("= self.APIS[name]", "= self.APIS.get(name, (1, 0, None))"),
        ],
        "DescribeGroups 0 isn't in your list, and the connection stays open",
    ),
    "what isn't served has an empty answer": (
        1,
        [
            ('raise ValueError(f"{name} version {version}")', "return frame[4:8]"),
            ("= self.APIS[name]", "= self.APIS.get(name, (1, 0, None))"),
        ],
        "DescribeGroups 0 isn't in your list, and was answered",
    ),
    "the list beside error 35 is short": (
        1,
        [
            (
                '            answer["error_code"] = Error.UNSUPPORTED_VERSION',
                '            answer["api_keys"] = answer["api_keys"][:2]\n'
                '            answer["error_code"] = Error.UNSUPPORTED_VERSION',
            )
        ],
        "ApiVersions, answer to version 99: InitProducerId isn't in the list",
    ),
    "an empty list asks for all topics": (
        2,
        [("if request.topics is not None:", "if request.topics:")],
        "the number of topics where none is asked for is 2, and should be 0",
    ),
    "the first topic is answered": (
        2,
        [("for each in request.topics]", "for each in request.topics[:1]]")],
        "Metadata, answer: the topic orders isn't in it",
    ),
    "a topic that isn't there has partitions": (
        2,
        [('"partitions": partitions})', '"partitions": partitions or [{}]})')],
        "Metadata, answer: nobody isn't there, and has partitions",
    ),
    "the first partition is written": (
        3,
        [("in topic.partition_data:", "in topic.partition_data[:1]:")],
        "Produce, answer: orders-1 was asked for, and isn't in it",
    ),
    "the first topic is written": (
        3,
        [("in request.topic_data:", "in request.topic_data[:1]:")],
        "Produce, answer: payments-1 was asked for, and isn't in it",
    ),
    "a record for an unknown topic ends the connection": (
        3,
        [(LOG, f"assert (topic.name, 0) in self.logs\n                {LOG}")],
        "Produce 7 was not answered: your Kafka hung up",
    ),
    "a fetch from an unknown topic ends the connection": (
        4,
        [(FETCHED_LOG, f"assert (topic, 0) in self.logs\n        {FETCHED_LOG}")],
        "Fetch 6 was not answered: your Kafka hung up",
    ),
    "the offsets of an unknown topic end the connection": (
        4,
        [
            (
                ASKED_LOG,
                f"assert (topic.name, 0) in self.logs\n                {ASKED_LOG}",
            )
        ],
        "ListOffsets 3 was not answered: your Kafka hung up",
    ),
    "the last stable offset is left out": (
        4,
        [(', "last_stable_offset": end}', "}")],
        "last_stable_offset of orders-0 from offset 0 is -1, and should be 0",
    ),
    "empty topics are forgotten": (
        5,
        [
            (FOLDERS, f"{FOLDERS}{SKIPS_EMPTY}"),
            ("\n\nclass Log:", HAS_RECORDS + "\n\nclass Log:"),
        ],
        "the list of all topics is ['orders'], and should be ['orders', 'orders-eu']",
    ),
    "names are cut at each dash": (
        5,
        [
            (
                'topic, _, partition = each.name.rpartition("-")',
                'topic, partition = each.name.split("-")',
            )
        ],
        "after kill -9: it ended before it printed ready HOST:PORT",
    ),
    "one partition's batches are found again": (
        5,
        [
            (
                "                self.remember(header, position)\n",
                '                "-0/" in self.file.name and self.remember(header, position)\n',
            )
        ],
        "base_offset of orders-1 is 0, and should be 3",
    ),
    "the first partition is committed": (
        6,
        [
            (
                "in topic.partitions:\n                key",
                "in topic.partitions[:1]:\n                key",
            )
        ],
        "OffsetCommit, answer: orders-1 was asked for, and isn't in it",
    ),
    "all groups' offsets are one's": (
        6,
        [(" if key[0] == request.group_id]", "]")],
        "OffsetFetch, answer: committed_offset of orders-0 is 7, and should be -1",
    ),
    "a committed 0 is none": (
        6,
        [("offset = offsets.get(key, -1)", "offset = offsets.get(key) or -1")],
        "OffsetFetch, answer: committed_offset of orders-0 is -1, and should be 0",
    ),
    "the coordinator is nowhere": (
        6,
        [
            (
                'return {"node_id": NODE_ID, "host": HOST, ',
                'return {"node_id": NODE_ID, "host": "", ',
            )
        ],
        "FindCoordinator, answer: host is , and should be 127.0.0.1",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_broker_hears_what_is_missing(name, tmp_path):
    stage, changes, words = BROKEN[name]
    found = verdict_on_changed(stage, changes, tmp_path)
    assert not found.right and words in found.headline, found


def test_the_list_beside_error_35_may_be_that_of_kafka(tmp_path):
    """Apache Kafka lists ApiVersions alone there."""
    error = '            answer["error_code"] = Error.UNSUPPORTED_VERSION'
    alone = (
        '            answer["api_keys"] = [\n'
        '                each for each in answer["api_keys"] if each["api_key"] == 18\n'
        "            ]\n"
    )
    found = verdict_on_changed(1, [(error, alone + error)], tmp_path)
    assert found.right, found


REWRITES_THE_FILE = """\
        everything = [[*key, offset] for key, offset in self.offsets.items()]
        self.file.truncate(0)
        self.file.write("\\n".join(map(json.dumps, everything)))
"""


def test_committed_offsets_may_be_written_anew_each_time(tmp_path):
    appends = (
        "        line = json.dumps([*key, offset])\n"
        '        self.file.write("\\n" + line)  # a torn line ends here\n'
    )
    found = verdict_on_changed(6, [(appends, REWRITES_THE_FILE)], tmp_path)
    assert found.right, found
