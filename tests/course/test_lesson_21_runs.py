"""What lesson 21 runs: schemas by trial, a source that is killed, a word count that is
restored.
"""

import json
from collections import Counter
from random import Random

import pytest
from avro.compatibility import (
    ReaderWriterCompatibilityChecker,
    SchemaCompatibilityType,
)
from avro.schema import parse

from minikafka.course.experiments.lesson_21_compatibility import (
    LEVELS,
    must_read,
    samples,
    trouble,
)
from minikafka.course.experiments.lesson_21_connect import copies, twice
from minikafka.course.experiments.lesson_21_registry import Incompatible, unframed
from minikafka.course.experiments.lesson_21_schemas import (
    CHANGES,
    OLD,
    SUBJECT,
    Topic,
    changes_tried,
    fields,
)
from minikafka.course.experiments.lesson_21_word_counts import Counting, logs

pytestmark = pytest.mark.slow

TYPES = ("string", "long", "int", "double", ["null", "long"], ["long", "null"], "bytes")
DEFAULTS = {"string": "", "long": 0, "int": 0, "double": 0.0, "bytes": ""}


def reads(reader, writer):
    one, other = ({"schema": json.dumps(each)} for each in (reader, writer))
    return trouble(one, other) is None


def avro_says_so(reader, writer):
    """Avro's own library proves it from the two schemas."""
    checker = ReaderWriterCompatibilityChecker()
    parsed = [parse(json.dumps(each)) for each in (reader, writer)]
    return (
        checker.get_compatibility(*parsed).compatibility
        == SchemaCompatibilityType.compatible
    )


def a_schema(chance):
    """An order of one to three fields, some with a default."""
    made = {}
    for name in chance.sample(("customer", "cents", "coupon"), chance.randint(1, 3)):
        kind = chance.choice(TYPES)
        first = kind[0] if isinstance(kind, list) else kind
        default = None if first == "null" else DEFAULTS[first]
        made[name] = (kind, default) if chance.random() < 0.4 else kind
    return fields(**made)


def test_what_the_trial_finds_is_what_avros_own_library_proves():
    chance = Random(21)
    pairs = [(a_schema(chance), a_schema(chance)) for _ in range(300)]
    pairs += [(new, OLD) for new in CHANGES.values()]
    pairs += [(OLD, new) for new in CHANGES.values()]
    for reader, writer in pairs:
        assert reads(reader, writer) == avro_says_so(reader, writer), (reader, writer)
    assert {reads(*pair) for pair in pairs} == {True, False}


def test_the_table_of_changes_has_both_ways_of_each():
    rows = [line.split()[-2:] for line in changes_tried().splitlines()[1:]]
    assert len(rows) == len(CHANGES)
    assert rows[0] == ["fails", "works"] and rows[1] == ["works", "works"]


def test_samples_have_each_branch_of_each_union_and_every_kind():
    schema = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
            {"name": "more", "type": {"type": "map", "values": "long"}},
            {"name": "size", "type": {"type": "enum", "name": "S", "symbols": ["a"]}},
            {"name": "hash", "type": {"type": "fixed", "name": "H", "size": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "date"}},
        ],
    }
    found = list(samples(schema))
    assert [each["tags"] for each in found] == [[None], ["text"]]
    assert found[0]["hash"] == b"\0\0" and found[0]["size"] == "a"


@pytest.mark.parametrize(
    ("level", "pairs"),
    {
        "NONE": [],
        "BACKWARD": ["new reads 2"],
        "FORWARD": ["2 reads new"],
        "FULL": ["new reads 2", "2 reads new"],
        "BACKWARD_TRANSITIVE": ["new reads 1", "new reads 2"],
        "FORWARD_TRANSITIVE": ["1 reads new", "2 reads new"],
    }.items(),
)
def test_a_level_says_who_must_read_whom(level, pairs):
    found = must_read("new", ["1", "2"], level)
    assert [f"{reader} reads {writer}" for reader, writer in found] == pairs
    assert level.partition("_")[0] in LEVELS


def test_a_schema_that_is_refused_gets_no_id_and_no_record():
    topic = Topic()
    topic.send(OLD, customer="alice", cents=1)
    with pytest.raises(Incompatible, match="BACKWARD: a reader of"):
        topic.send(CHANGES["a new field"], customer="bob", cents=1, coupon="MAY")
    assert topic.registry.subjects == {SUBJECT: [1]}
    assert topic.another_registry().schemas.keys() == {1}
    assert len(topic.cluster.records("orders")) == 1


@pytest.mark.parametrize("value", [b"", b"\0\0", b"{}", b"\1\0\0\0\1data"])
def test_a_value_without_an_id_in_front_is_refused(value):
    with pytest.raises(ValueError, match="no schema id in front"):
        unframed(value)


def copy(file, worker):
    position = worker.position()
    for line in file.lines_from(position):
        worker.producer.send("lines", value=line)
        position += 1
        if worker.time_to_store():
            worker.store(position)
    worker.store(position)


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [({}, 35, 45), ({"every_s": 5}, 1, 6), ({"exactly_once": True}, 0, 0)],
)
def test_a_source_that_is_killed_sends_again_what_it_sent_since_it_stored_its_position(
    settings, least, most
):
    lines = copies(copy, **settings)
    assert list(dict.fromkeys(lines)) == [f"line {number}" for number in range(150)]
    assert least <= twice(lines) <= most


@pytest.mark.parametrize("seed", range(8))
def test_a_word_count_that_is_killed_and_rebalanced_at_random_equals_the_oracle(seed):
    chance, words, oracle = Random(seed), Counting(), Counter()
    names = iter("ABCDEFGHIJ")
    instances = [words.instance(next(names))]
    for _ in range(6):
        text = [chance.choice(("to be", "or not", "to be or")) for _ in range(5)]
        words.write(*text)
        oracle.update(" ".join(text).split())
        what = chance.choice(("dies", "is killed", "comes", "works"))
        if what == "dies":
            words.works(*instances)
            words.write("to")
            oracle["to"] += 1
            for each in instances[1:]:
                words.kill(each)
            words.dies_before_its_commit(instances[0])
            instances = [words.instance(next(names))]
        elif what == "is killed":
            words.works(*instances)
            words.kill(instances.pop(chance.randrange(len(instances))))
            instances.append(words.instance(next(names)))
        elif what == "comes" and len(instances) < 3:
            instances.append(words.instance(next(names)))
        words.works(*instances)
        assert words.counts(*instances) == oracle


def test_servers_lines_are_in_order_each_and_not_together():
    lines = logs()
    assert lines != sorted(lines) and len(lines) == 9
    for server in ("web-0", "web-1", "web-2"):
        own = [line for line in lines if server in line]
        assert own == sorted(own)
