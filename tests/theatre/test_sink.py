"""Two sinks on one partition, killed between an order and its commit: what is there
twice, what is left out, and what two readers do in one sink.
"""

import json

import pytest

from minikafka.course.experiments.lesson_14_runs import two_sinks
from minikafka.course.experiments.lesson_14_sinks import (
    NOTING,
    PLAIN,
    added,
    fared,
    killed_at_each_moment,
    side_by_side,
    what_counts,
)
from minikafka.prediction import Prediction
from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, PHONE, WIDE
from minikafka.theatre.pace import way
from minikafka.theatre.picture import Picture
from tests.theatre import commit_traces
from tests.theatre.replicas import first, shapes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run():
    with side_by_side() as cluster:
        return tuple(cluster.trace)


@pytest.fixture(scope="module")
def pic(run):
    return picture("sink", run, seed=14)


def rows(scene, number):
    return [offset for offset, *_ in scene["space"]["sinks"][number]["rows"]]


def test_a_kill_between_effect_and_commit_does_an_order_twice_where_kafka_alone_has_the_offset(
    pic,
):
    *_, last = pic.scenes
    assert rows(last, 0) == [0, 1, 2, 2, 3, 4]
    assert rows(last, 1) == [0, 1, 2, 3, 4]
    sums = [sink["sum"] for sink in last["space"]["sinks"]]
    assert sums == ["60 cents", "50 cents"]
    drawn = shapes(pic, last)
    twice = drawn["sink/plain's database/row/3"]
    assert twice["text"] == "2"
    assert twice["line"] == "trouble"
    assert drawn["sink/plain's database/lamp/word"]["text"] == "order 2 twice"
    assert drawn["sink/noting's database/lamp/word"]["text"] == "each once"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_kill_crosses_the_process_out_and_leaves_its_sink_as_it_was(pic, width):
    killed = first(pic, "NodeCrashed")
    before = shapes(pic, pic.scenes[killed["step"] - 1], width)
    drawn = shapes(pic, killed, width)
    assert "reader/plain/cross/0" in drawn
    assert "reader/plain/cross/0" not in before
    assert drawn["reader/plain"]["line"] == "trouble"
    assert "reader/plain/hand/2/gone" in drawn
    kept = [key for key in before if key.startswith("sink/")]
    assert [before[key] for key in kept] == [drawn[key] for key in kept]


def test_what_is_in_the_sink_and_not_committed_is_a_bar_and_the_kill_is_within_it(pic):
    *_, last = pic.scenes
    plain, noting = (reader["spans"] for reader in last["space"]["readers"])
    begin, end, _, offset, _ = plain[2]
    [[killed, back, *_]] = last["space"]["readers"][0]["away"]
    assert offset == 2
    assert begin < end == killed < back
    assert [what for *_, what in plain] == ["done"] * 3 + ["again"] + ["done"] * 2
    assert [what for *_, what in noting] == ["done"] * 3 + ["known"] + ["done"] * 2
    bars = shapes(pic, last)
    again, once = bars["time/lane/plain/bar/4"], bars["time/lane/plain/bar/0"]
    assert again["fill"] == "trouble"
    assert again["w"] == pytest.approx(once["w"], abs=2)


def test_who_has_the_offset_in_the_database_leaves_the_order_out_and_commits_it(pic):
    known = next(scene for scene in pic.scenes if "not added" in scene["sentence"])
    assert known["kind"] == "OffsetCommitted"
    assert known["light"]
    assert rows(known, 1) == [0, 1, 2]
    assert known["space"]["committed"] == {PLAIN: 2, NOTING: 3}


def test_a_record_flies_from_the_log_into_a_hand_and_from_there_into_the_sink(pic):
    drawn = shapes(pic, first(pic, "EffectWritten"))
    record = drawn["record/0"]
    held = drawn["reader/noting/hand/0"]
    row = drawn["sink/noting's database/row/0"]
    assert (held["from_x"], held["from_y"]) == (record["x"], record["y"])
    assert (row["from_x"], row["from_y"]) == (held["x"], held["y"])
    assert record["same"] == held["same"] == row["same"]


def test_the_verdict_comes_within_15_s(run):
    asked = picture(
        "sink",
        run,
        prediction=Prediction("What?", ["50 and 50", "60 and 50", "60 and 60"]),
        surprise=lambda event: event.kind == "NodeRestarted",
        answer=what_counts,
    )
    found = asked.prediction
    assert found.answer == 2
    assert way(asked.stays(), found.stop, found.decided) < 15_000


def test_only_a_kill_between_effect_and_commit_does_harm_and_to_one_sink_only():
    found = killed_at_each_moment()
    signs = ["".join(cell.outcome.sign for cell in row) for row in found.rows]
    assert signs == ["." * 3 + "t" * 20 + "." * 7, "." * 30]
    assert fared(found.cell(0, 3200).rerun()).kind == "twice"


def beside_each_other(checks_late):
    def sink(consumer, accounts, wait):
        for record in consumer:
            last = accounts.noted("orders-0")
            wait(0.4)
            if checks_late:
                last = accounts.noted("orders-0")
            if last is None or record.offset > last:
                with accounts.transaction():
                    accounts.add("alice", int(record.value))
                    accounts.note("orders-0", record.offset)
            consumer.commit()

    return two_sinks(sink)


@pytest.mark.parametrize(("checks_late", "times"), [(False, 2), (True, 1)])
def test_two_readers_write_to_one_sink_and_one_of_them_by_a_note_that_is_old(
    checks_late, times
):
    accounts = beside_each_other(checks_late)
    trace = accounts.cluster.trace
    pic = picture("sink", trace)
    *_, last = pic.scenes
    assert accounts.balances() == {"alice": 20 * times}
    assert added(trace) == times
    assert rows(last, 0) == [0] * times
    drawn = shapes(pic, last)
    assert drawn["sink/accounts"]["w"] == WIDE
    stood = shapes(pic, first(pic, "NodeFrozen"))
    assert stood["reader/A/life/word"]["text"] == "stands still"


def test_the_end_says_which_order_is_twice_and_why(pic):
    assert pic.scenes[-1]["sentence"] == (
        "Order 2 is in plain's database twice (60 cents, not 50), because plain was"
        " killed before its commit; noting's database has order 2 once (50 cents),"
        " because offset 2 is noted in it."
    )
    two = picture("sink", beside_each_other(checks_late=False).cluster.trace)
    assert two.scenes[-1]["sentence"] == (
        "Order 0 is in accounts twice (40 cents, not 20), because A stood still for"
        " 60 s with it in hand while B did it, and Kafka refused only A's commit, not"
        " its write."
    )
    late = picture("sink", beside_each_other(checks_late=True).cluster.trace)
    assert "Each order is once in accounts (20 cents)." in late.scenes[-1]["sentence"]


@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_rows_of_a_sink_with_two_writers_say_who_wrote_them(width):
    two = picture("sink", beside_each_other(checks_late=False).cluster.trace)
    drawn = shapes(two, two.scenes[-1], width)
    rows = [drawn[f"sink/accounts/row/{number}"] for number in range(2)]
    assert [row["more"] for row in rows] == ["by B", "by A"]
    assert [row["line"] for row in rows] == ["actor2", "trouble"], "B did it first"


@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_whose_commit_is_refused_has_committed_nothing_and_its_write_is_enlarged(width):
    two = picture("sink", beside_each_other(checks_late=False).cluster.trace)
    *_, last = two.scenes
    drawn = shapes(two, last, width)
    assert drawn["time/lane/A/number"]["text"] == "refused"
    assert drawn["time/lane/B/number"]["text"] == "committed 1"
    assert "commit refused" in drawn["reader/A/state"]["text"]
    again = drawn["time/lane/A/close/bar/0"]
    assert again["fill"] == "trouble"
    assert drawn["time/lane/A/close/bar/0/words"]["text"] == "0 again"
    assert drawn["time/close/what"]["text"].endswith("113 ms")
    before = shapes(two, first(two, "OffsetCommitted"), width)
    assert before["time/lane/A/number"]["text"] == ""
    assert "time/close" not in before


def test_the_note_that_a_reader_goes_by_is_in_its_hand_and_is_old_when_it_writes():
    two = picture("sink", beside_each_other(checks_late=False).cluster.trace)
    stood, *_, last = [s for s in two.scenes if "reader/A/note" in shapes(two, s)]
    assert stood["kind"] == "RecordsPolled"
    drawn = shapes(two, last)
    said = "has read, 60 s ago: offset done: none"
    assert drawn["reader/A/note/word"]["text"] == said
    assert drawn["sink/accounts/noted/offset/word"]["text"] == "offset done: 0"
    joins = drawn["reader/A/note/old"]
    assert drawn["reader/A/note"]["y"] < joins["y"] < joins["y2"]
    assert joins["y2"] == drawn["sink/accounts/noted/offset"]["y"]
    assert "reader/A/note/old" not in shapes(two, stood), "nothing is noted yet"
    assert "reader/A/note" in last["light"] and "reader/B/note" not in drawn


def test_where_nothing_is_written_at_the_end_nothing_is_enlarged(pic):
    late = picture("sink", beside_each_other(checks_late=True).cluster.trace)
    for each in (pic, late):
        assert "time/close" not in shapes(each, each.scenes[-1])


def test_on_a_phone_a_sinks_name_and_all_its_orders_are_there(pic):
    drawn = shapes(pic, pic.scenes[-1], PHONE)
    for number in range(6):
        assert f"sink/plain's database/row/{number}" in drawn
    name = drawn["sink/plain's database/name"]
    assert name["text"] == "plain's database" and "room" not in name, "it isn't cut"


def test_a_trace_of_a_table_and_one_without_any_sink_are_drawn_too():
    told = picture("sink", commit_traces.commit_after())
    assert told.scenes
    assert not picture("sink", []).scenes


def test_drawn_again_from_its_json_it_is_the_same(pic):
    told = json.loads(json.dumps([pic.cast, pic.scenes]))
    again = Picture(type(pic.play), *told, seed=14)
    assert again.svg() == pic.svg()
    assert again.digest == pic.digest
