"""The transaction timeline: requests, states, markers, the last stable offset, a
zombie, and two readers.
"""

import pytest

from minikafka.coordinators.transaction_states import STEPS
from minikafka.course.experiments.lesson_13_runs import pays
from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import LEAST_STRETCH, NARROW, PHONE, WIDE, text_width
from minikafka.theatre.pictures.transaction.play import STATES
from minikafka.trace import Event
from tests.seeds import first_now
from tests.theatre import replicas, transactions
from tests.theatre.overlaps import faults_of
from tests.theatre.replicas import first, shapes

pytestmark = pytest.mark.slow

zombie = replicas.drawn_once("transaction", transactions.zombie)
too_slow = replicas.drawn_once("transaction", transactions.too_slow)


def kinds(pic, kind):
    return [scene for scene in pic.scenes if scene["kind"] == kind]


def logs(scene):
    return scene["space"]["logs"]


def test_the_states_are_those_of_the_coordinators_table_that_a_log_may_hold(zombie):
    told = [
        scene["space"]["state"] for scene in kinds(zombie, "TransactionStateChanged")
    ]
    begun = [
        "Empty",
        "Ongoing",
        "Ongoing",
        "Ongoing",
        "PrepareCommit",
        "CompleteCommit",
    ]
    another = [
        "Ongoing",
        "PrepareAbort",
        "CompleteAbort",
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "CompleteCommit",
    ]
    assert told == begun + another
    named = {state for states in STATES for state in states}
    assert named == {becomes.word for _, _, becomes in STEPS} - {
        "Dead",
        "PrepareEpochFence",
    }


def test_a_value_stands_whole_where_there_is_room_for_it():
    pic = picture("transaction", transactions.zombie(value="alice+20"))
    drawn = pic.drawings(WIDE)[-1].shapes
    said = [
        shape["text"]
        for key, shape in drawn.items()
        if key.startswith("record/") and "alice" in shape.get("text", "")
    ]
    assert len(said) > 1
    assert set(said) == {"alice+20"}


def test_kip_98_every_request_of_a_transaction_is_a_step_in_its_order(zombie):
    commits = first(zombie, "TransactionStateChanged", "PrepareCommit")["step"]
    asked = [
        scene["sentence"]
        for scene in kinds(zombie, "RequestSent")
        if scene["step"] < commits
    ]
    begun = [
        next(number for number, each in enumerate(asked) if f": {api}, to" in each)
        for api in (
            "InitProducerId",
            "AddPartitionsToTxn",
            "Produce",
            "TxnOffsetCommit",
            "EndTxn",
        )
    ]
    assert begun == sorted(begun) and any("AddOffsetsToTxn" in each for each in asked)
    drawn = shapes(zombie, first(zombie, "RequestSent", "EndTxn"))
    assert drawn["producer/0/asks/words"]["text"] == "EndTxn"
    assert drawn["producer/0/asks"]["y2"] < drawn["producer/0/asks"]["y"]
    drawn = shapes(zombie, first(zombie, "RequestSent", ": Produce,"))
    assert drawn["producer/0/asks"]["y2"] > drawn["producer/0/asks"]["y"]


def test_a_decision_stands_before_any_partition_has_its_marker(zombie):
    decided, written = (
        first(zombie, "TransactionStateChanged", "PrepareCommit"),
        kinds(zombie, "MarkerWritten")[:2],
    )
    assert decided["step"] < written[0]["step"]
    assert [log["joined"] for log in logs(decided)] == ["joined", "joined"]
    assert sorted(log["joined"] for log in logs(written[0])) == ["joined", "marker"]
    assert [log["joined"] for log in logs(written[1])] == ["marker", "marker"]
    assert (
        first(zombie, "TransactionStateChanged", "CompleteCommit")["step"]
        > written[1]["step"]
    )


def test_the_last_stable_offset_is_the_one_that_the_leader_tells(zombie, too_slow):
    for pic, run in (
        (zombie, transactions.zombie()),
        (too_slow, transactions.too_slow()),
    ):
        told = kinds(pic, "LastStableOffsetAdvanced")
        assert told
        for scene in told:
            event = next(event for event in run if event.id == tuple(scene["event"]))
            assert (
                logs(scene)[event.detail["partition"]]["last_stable_offset"]
                == event.detail["last_stable_offset"]
            )


def test_no_step_has_the_last_stable_offset_before_the_step_that_says_it():
    pic = picture("transaction", pays().trace)
    said = {}
    for scene in kinds(pic, "LastStableOffsetAdvanced"):
        place = 1 if "payments-1" in scene["sentence"] else 0
        said[place] = scene["step"]
    for place, step in said.items():
        shown = [logs(scene)[place]["last_stable_offset"] for scene in pic.scenes]
        assert shown[:step] == [0] * step
        assert shown[step:] == [2] * (len(shown) - step)
    # a marker that isn't replicated opens nothing yet
    marker = first(pic, "MarkerWritten", "payments-0")
    assert logs(marker)[0]["is_held"]
    drawn = shapes(pic, marker)
    assert drawn["log/payments-0/stable"]["text"] == "shut: last stable offset 0"


def test_an_open_transaction_holds_the_last_stable_offset_back_for_records_of_others_too(
    zombie,
):
    plain = first(zombie, "RecordsAppended", "outside any transaction")
    assert [record[1] for record in logs(plain)[0]["records"]][2:] == ["20", "plain"]
    aborts = first(zombie, "TransactionStateChanged", "PrepareAbort")
    assert logs(aborts)[0]["last_stable_offset"] == 2 < logs(aborts)[0]["end"]
    for width in (WIDE, NARROW):
        drawn = shapes(zombie, aborts, width)
        assert drawn["log/payments-0/stable"]["text"] == "shut: last stable offset 2"
        gate = drawn["log/payments-0/gate"]["x"]
        assert gate < drawn["record/payments-0/3"]["x"]
        assert drawn["log/payments-0/behind"]["fill"] == "hatch"


def test_only_a_reader_of_committed_records_waits_and_for_others_records_too(zombie):
    aborts = first(zombie, "TransactionStateChanged", "PrepareAbort")
    assert aborts["space"]["waits"] == [[], [[0, 2], [0, 3]]]
    drawn = shapes(zombie, aborts)
    assert drawn["reader/1/wait"]["text"] == "2 wait"
    assert "reader/1/waits/0/3" in drawn and "reader/0/wait" not in drawn
    # what is aborted is not waited for any longer
    ended = first(zombie, "TransactionStateChanged", "CompleteAbort")
    assert ended["space"]["waits"] == [[], [[0, 3]]]
    assert zombie.scenes[-1]["space"]["waits"] == [[], []]


def test_a_record_comes_from_its_producer_and_a_marker_from_the_coordinator(zombie):
    drawn = shapes(zombie, zombie.scenes[-1])
    producer = drawn["producer/1/disc"]
    record = drawn["record/payments-0/5"]
    assert abs(record["from_x"] - producer["x"]) < 20
    assert abs(record["from_y"] - producer["y"]) < 20
    marker = drawn["record/payments-0/6"]
    assert marker["from_y"] <= drawn["state/PrepareCommit"]["y"]
    handed = drawn["reader/0/4"]
    assert (handed["from_x"], handed["from_y"]) == (record["x"], record["y"])


def test_when_it_is_decided_one_sees_that_and_what_is_still_open(zombie):
    decided = first(zombie, "TransactionStateChanged", "PrepareCommit")
    drawing = zombie.drawings(WIDE)[decided["step"]]
    assert set(drawing.outlined) == {
        "state/PrepareCommit",
        "record/payments-0/0",
        "record/payments-1/0",
    }


def test_an_aborted_record_stays_in_the_log_and_a_marker_has_an_offset(zombie):
    records = logs(zombie.scenes[-1])[0]["records"]
    assert [[record[0], record[3]] for record in records] == [
        [0, "committed"],
        [1, "COMMIT"],
        [2, "aborted"],
        [3, ""],
        [4, "ABORT"],
        [5, "committed"],
        [6, "COMMIT"],
    ]
    drawn = shapes(zombie, zombie.scenes[-1])
    assert drawn["record/payments-0/2/cross"]["line"] == "trouble"
    assert (
        drawn["record/payments-0/0"]["fill"] == "actor1"
        and drawn["record/payments-0/5"]["fill"] == "actor2"
    )


def test_only_the_reader_of_everything_is_handed_what_is_aborted_and_neither_a_marker(
    zombie,
):
    read = {
        name: [record[2] for record in found]
        for name, found in zombie.scenes[-1]["space"]["readers"]
    }
    assert sorted(read["uncommitted"]) == ["10 euros", "10 euros", "20", "30", "plain"]
    assert sorted(read["committed"]) == ["10 euros", "10 euros", "30", "plain"]
    drawn = shapes(zombie, zombie.scenes[-1])
    assert [key for key in drawn if key.endswith("/cross")] == [
        "record/payments-0/2/cross",
        "reader/0/2/cross",
    ]


def test_a_reader_of_committed_records_that_is_handed_an_aborted_one_has_it_crossed_out():
    broken = [
        (
            Event(each.id, each.at, "committed", each.kind, each.cause, each.detail)
            if each.kind == "RecordsPolled" and each.node == "uncommitted"
            else each
        )
        for each in transactions.zombie()
    ]
    pic = picture("transaction", broken)
    drawn = shapes(pic, pic.scenes[-1])
    [crossed] = [key for key in drawn if key.startswith("reader/1/") and "cross" in key]
    assert drawn[crossed]["line"] == "trouble"


def test_offsets_of_a_group_are_pending_until_the_transaction_commits(zombie):
    pending, counts = (
        first(zombie, "OffsetPending"),
        first(zombie, "PendingOffsetCommitted"),
    )
    assert pending["space"]["offsets"] == ["copy", "orders-0", 1, "pending"]
    decided = first(zombie, "TransactionStateChanged", "PrepareCommit")
    assert pending["step"] < decided["step"] < counts["step"]
    assert counts["space"]["offsets"][3] == "counts"


def test_a_zombie_knows_nothing_until_it_asks_and_is_fenced_by_its_epoch(zombie):
    came, fenced = (
        first(zombie, "TransactionStateChanged", "has an older one"),
        first(zombie, "ProducerFenced"),
    )
    assert came["space"]["producers"] == [["shop", 0, "zombie"], ["another", 2, "idle"]]
    assert (
        fenced["space"]["producers"][0] == ["shop", 0, "fenced"] and fenced["trouble"]
    )
    assert "shop is refused: its epoch is 0, and 2 is the newest" in fenced["sentence"]
    assert shapes(zombie, fenced)["producer/0/chip/word"]["text"] == "fenced"


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(too_slow):
    aborted = first(too_slow, "TransactionStateChanged", "longer than its timeout")
    assert aborted["trouble"] and aborted["space"]["epoch"] == 1
    assert first(too_slow, "ProducerFenced")["step"] > aborted["step"]
    assert "reader/0" not in shapes(too_slow, aborted)


def test_what_brokers_alone_tell_is_enough_for_logs_and_states(zombie):
    seen = [
        Event.from_json(event.to_json())
        for event in transactions.zombie()
        if event.node.startswith("broker ")
    ]
    last = picture("transaction", seen).scenes[-1]["space"]
    assert [[record[0], record[3]] for record in last["logs"][0]["records"]] == [
        [record[0], record[3]] for record in logs(zombie.scenes[-1])[0]["records"]
    ]
    assert (last["state"], last["epoch"], last["producers"]) == (
        "CompleteCommit",
        2,
        [],
    )


def test_it_is_the_picture_of_a_run_with_transactions():
    assert fitting(transactions.too_slow()) == "transaction"
    assert (
        picture("transaction", transactions.zombie(), transactional_id="other").scenes
        == []
    )


def test_no_future_is_drawn(zombie):
    early = shapes(zombie, first(zombie, "RecordsAppended"))
    assert "producer/1" not in early and "record/payments-0/1" not in early
    assert (
        early["state/Ongoing"]["line"] == "ink"
        and early["state/PrepareCommit"]["line"] == "rule"
    )


def test_names_are_text_whatever_they_hold():
    hit = "</script><script>hit()</script>"
    pic = picture("transaction", transactions.zombie(name=hit, value=hit))
    assert "<script>hit" not in pic.page() and "<script>hit" not in pic.svg()


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("theme", first_now(["light", "dark"]))
def test_no_two_texts_overlap_and_axe_finds_nothing(theme, chromium, tmp_path):
    runs = {"zombie": transactions.zombie(), "too slow": transactions.too_slow()}
    runs["long names"] = transactions.zombie(
        name="shop " * 30, topic="t" * 200, value="10 euros " * 20
    )
    pics = {
        name: picture("transaction", runs[name])
        for name in (runs if theme == "light" else ["zombie"])
    }
    assert faults_of(pics, chromium, theme, tmp_path) == []


def test_a_commit_of_milliseconds_is_enlarged_beside_the_whole_and_not_before_it_begins():
    pic = picture("transaction", pays().trace)
    decided = first(pic, "TransactionStateChanged", "PrepareCommit")
    before = pic.scenes[decided["step"] - 1]
    assert "time/close" not in shapes(pic, before)
    for width in (WIDE, NARROW, PHONE):
        drawn = shapes(pic, pic.scenes[-1], width)
        frame = drawn["time/close"]
        whole_ms = pic.scenes[-1]["at"] - decided["at"]
        assert drawn["time/close/what"]["text"].endswith(f"{whole_ms} ms")
        inside = [
            key for key in drawn if key.startswith("time/lane/") and "close" in key
        ]
        for key in inside:
            assert frame["x"] <= drawn[key]["x"] <= frame["x"] + frame["w"], key
        bar = drawn["time/lane/coordinator/close/bar/0"]
        ground = drawn["time/lane/coordinator/close/ground"]
        assert bar["w"] == pytest.approx(ground["w"], abs=0.1)


def test_the_end_says_when_readers_heard_of_the_decision(too_slow):
    pic = picture("transaction", pays().trace)
    assert pic.scenes[-1]["sentence"] == (
        "PrepareCommit decided for 2 partitions, but each opens once its own marker is"
        " copied: committed got “alice -20” after 2 s, “bob +20” 5 ms later."
    )
    assert too_slow.scenes[-1]["sentence"].endswith(
        "Aborted, because its producer took longer than its timeout: 1 record stays in"
        " the log, crossed out, and a reader of committed records gets none of that."
    )


def test_on_a_phone_a_readers_name_is_whole_before_its_records():
    pic = picture("transaction", pays().trace)
    name = shapes(pic, pic.scenes[-1], PHONE)["reader/0/name"]
    assert name["room"] > text_width(name["text"], 13, bold=True) / LEAST_STRETCH


def test_the_picture_is_not_higher_than_a_small_screen(zombie):
    for width in (WIDE, NARROW):
        assert max(drawing.bottom for drawing in zombie.drawings(width)) <= 520


def test_a_record_has_its_lane_under_its_partition_and_shows_how_much_later_it_came():
    pic = picture("transaction", pays().trace)
    for width in (WIDE, NARROW, PHONE):
        drawn = shapes(pic, pic.scenes[-1], width)
        names = {
            shape["y"]: shape["text"]
            for key, shape in drawn.items()
            if key.startswith("time/lane/") and key.endswith("/name")
        }
        assert [names[y] for y in sorted(names)] == [
            "state",
            "payments-0",
            "alice -20",
            "payments-1",
            "bob +20",
        ]
        first_one, other = (f"time/lane/read {n}%2F0/close/bar" for n in range(2))
        waits, later = drawn[f"{first_one}/0"], drawn[f"{other}/1"]
        assert later["fill"] == "ink" and later["w"] > 10
        assert later["x"] == pytest.approx(waits["x"] + waits["w"], abs=0.2)
        assert f"{first_one}/1" not in drawn
        assert drawn[f"{other}/1/words"]["text"].startswith("5 ms")
        # each record is read right after its partition has opened
        for place, end in enumerate((waits, later)):
            opens = f"time/lane/log payments-{place}/close/1"
            assert drawn[f"{opens}/text"]["text"] == "opens"
            assert drawn[opens]["x"] < end["x"] + end["w"]
        assert drawn["time/lane/log payments-1/close/1"]["x"] > later["x"]
    wide = shapes(pic, pic.scenes[-1])
    assert "each partition opened on its own" in wide["reader/1/later"]["text"]
    assert "reader/1/later" not in shapes(pic, pic.scenes[-1], PHONE)
