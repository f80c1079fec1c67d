"""The replica set: what each replica has, and the acknowledged record that is lost, at
the step where it is lost.
"""

from dataclasses import replace

import pytest

from minikafka.course.experiments.lesson_09_runs import (
    five_orders,
    one_stands_still,
    waited_s,
)
from minikafka.faults import Freeze
from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import NARROW, PHONE, WIDE
from minikafka.trace import Event
from tests.seeds import first_now
from tests.theatre import hostile, replicas
from tests.theatre.overlaps import faults_of
from tests.theatre.replicas import first, shapes

LOST = "an acknowledged record is lost"


lossy = replicas.drawn_once("replica-set", replicas.acks_1)


def test_with_acks_1_a_record_is_acknowledged_while_one_replica_has_it(lossy):
    told = [scene for scene in lossy.scenes if scene["kind"] == "RecordsAcknowledged"]
    assert (
        told[2]["sentence"]
        == "shop is told (acks=1): “done, offset 2”. At this moment 1 of 3"
        " replicas has it."
    )
    assert shapes(lossy, told[2])["told/2/0/answer"]["text"] == "✓"


def test_a_record_comes_from_its_producer_goes_to_followers_and_an_answer_comes_back(
    lossy,
):
    appended = first(lossy, "RecordsAppended")
    drawn = shapes(lossy, appended)
    asked = drawn["told/0/0"]
    record = drawn["record/1/0/0"]
    assert (record["x"], record["from_y"]) == (asked["x"], asked["y"])
    replicated = first(lossy, "RecordsReplicated")
    follower = replicated["node"].removeprefix("broker ")
    copied = shapes(lossy, replicated)[f"record/{follower}/0/0"]
    assert copied["from_y"] == record["y"]
    told = first(lossy, "RecordsAcknowledged")
    answer = shapes(lossy, told)["told/0/0/answer"]
    assert answer["from_y"] == record["y"] and answer["y"] == asked["y"]
    assert "told/0/0" not in shapes(lossy, told)


def test_the_election_of_a_leader_without_it_is_where_it_is_lost_and_the_truncation_where_it_ends(
    lossy,
):
    elected, cut = first(lossy, "LeaderElected"), first(lossy, "LogTruncated")
    assert (
        elected["chapter"] == LOST and elected["trouble"] and "2/0" in elected["light"]
    )
    assert (
        "doesn't have offset 2, “shipped”, although shop was told “done”"
        in elected["sentence"]
    )
    assert (
        "no replica has it any more" in cut["sentence"]
        and cut["trouble"]
        and "2/0" in cut["light"]
    )
    before = lossy.scenes[elected["step"] - 1]
    assert (
        before["space"]["lost"],
        elected["space"]["lost"],
        cut["space"]["lost"],
    ) == (0, 1, 1)
    assert (
        "lamp" not in shapes(lossy, before)
        and shapes(lossy, elected)["lamp"]["fill"] == "trouble"
    )
    assert "cut/1/2" in shapes(lossy, cut) and "record/1/2/0" not in shapes(lossy, cut)


def test_kip_101_another_record_takes_the_offset_in_the_next_epoch_and_has_its_leaders_colour(
    lossy,
):
    last = shapes(lossy, lossy.scenes[-1])
    assert last["record/1/1/0"]["fill"] == "actor1"
    assert [last[f"record/{row}/2/1"]["fill"] for row in (1, 2, 3)] == ["actor2"] * 3
    assert (
        last["told/2/1/answer"]["text"] == "✓"
        and last["told/2/0/answer"]["text"] == "✓"
        and last["told/2/0/answer"]["more"] == "shipped"
    )
    assert last["told/lost"]["text"] == "told ✓, cut by broker 1"
    record, place = last["record/1/2/1"], last["cut/1/2"]
    assert place["same"] == "2/0" and place["more"] == "shipped"
    assert place["y"] + place["h"] < record["y"] and "cut/1/2/line" not in last
    elected = shapes(lossy, first(lossy, "LeaderElected"))
    assert elected["told/lost"]["text"] == "told ✓, then lost"


def test_the_last_step_says_all_in_one_sentence(lossy):
    assert lossy.scenes[-1]["sentence"] == (
        "Shop was told (acks=1) that “shipped” was acknowledged when 1 of 3 replicas had"
        " it. Broker 2, which leads now, doesn't have it, and broker 1 had to drop it:"
        " 1 acknowledged record is lost."
    )


def test_the_last_step_lights_the_logs_and_keeps_the_lanes_that_tell_of_the_loss(
    lossy,
):
    [last] = lossy.drawings(WIDE)[-1:]
    assert {"record/1/1/0", "record/3/2/1", "cut/1/2", "told/2/0/answer"} <= last.lit
    lanes = {key.split("/")[2] for key in last.shapes if key.startswith("time/lane/")}
    assert lanes == {"told", "leader", "broker 1"}
    before = shapes(lossy, lossy.scenes[-2])
    assert {"time/lane/isr/name", "time/lane/leader/name"} <= set(before)


def test_on_a_phone_a_narrow_gap_still_says_how_long_nobody_led(lossy):
    last, words = lossy.scenes[-1], "time/lane/leader/bar/2/words"
    assert shapes(lossy, last, WIDE)[words]["text"] == "nobody leads, 2.0 s"
    assert shapes(lossy, last, PHONE)[words]["text"] == "2.0 s"


def test_who_waited_for_the_isr_is_told_for_how_long_and_for_whom():
    with one_stands_still(lambda cluster: cluster.freeze(1)) as cluster:
        pic = picture("replica-set", cluster.trace)
        seconds = waited_s(cluster.trace)
    assert pic.scenes[-1]["sentence"] == (
        f"“delivered” was acknowledged after {seconds:.1f} s: acks=all waits for the"
        " whole ISR, and broker 1 was in it until then."
    )
    live = picture("replica-set", cluster.trace, live=True)
    assert "after" not in live.scenes[-1]["sentence"]


def test_of_a_frozen_broker_the_picture_has_the_rows_that_change_and_what_9_s_are():
    """The controller counts from its last heartbeat, and not from when it froze."""
    with one_stands_still(lambda cluster: cluster.freeze(1)) as cluster:
        pic = picture("replica-set", cluster.trace)
    fenced, frozen = first(pic, "BrokerFenced"), first(pic, "NodeFrozen")
    before_s = 9 - (fenced["at"] - frozen["at"]) / 1000
    assert (
        f"for 9000 ms: its last heartbeat came {before_s:.1f} s before it was frozen,"
        in fenced["sentence"]
    )
    drawn = shapes(pic, pic.scenes[-1])
    lanes = {key.split("/")[2] for key in drawn if key.startswith("time/lane/")}
    assert lanes == {"told", "broker 1", "isr"}
    said = [shape.get("text", "") for shape in drawn.values()]
    spelt_out = [text for text in said if "in-sync replicas" in text]
    assert spelt_out == ["in-sync replicas (ISR): 1 2 3"]


def test_a_letter_stands_for_a_value_and_a_line_says_for_which(lossy):
    last = lossy.scenes[-1]
    wide, phone = shapes(lossy, last), shapes(lossy, last, PHONE)
    assert wide["record/1/1/0"]["more"] == "paid" and "names/0" not in wide
    assert phone["record/1/1/0"]["text"] == "p"
    assert phone["names/0"]["text"] == "c created · p paid · s shipped"


def test_the_number_of_an_order_needs_no_line_that_says_so():
    pic = picture("replica-set", five_orders([], acks=1).trace)
    phone = shapes(pic, pic.scenes[-1], PHONE)
    assert phone["record/1/4/0"]["text"] == "4" and "names/0" not in phone


def test_with_acks_all_the_same_crash_loses_nothing_that_was_acknowledged():
    pic = picture("replica-set", replicas.acks_all())
    assert all(
        scene["space"]["lost"] == 0 and scene["chapter"] != LOST for scene in pic.scenes
    )
    # it was cut all the same
    assert [scene for scene in pic.scenes if scene["kind"] == "LogTruncated"]
    assert "nothing acknowledged lost" in repr(pic)


def test_with_acks_all_an_unclean_election_loses_what_the_isr_of_one_had_acknowledged():
    pic = picture("replica-set", replicas.unclean())
    elected, cut = first(pic, "LeaderElected"), first(pic, "LogTruncated")
    assert (
        elected["chapter"] == LOST and "It was not in the ISR. " in elected["sentence"]
    )
    assert (
        "“paid”, although shop was told" in elected["sentence"]
        and "no replica has it any more" in cut["sentence"]
    )


def test_a_record_is_filled_in_a_log_whose_owner_knows_that_it_counts(lossy):
    appended = first(lossy, "RecordsAppended", "appends it at offset 0")
    assert shapes(lossy, appended)["record/1/0/0"]["fill"] == "paper"
    counts = first(lossy, "HighWatermarkAdvanced")
    drawn = shapes(lossy, counts)
    assert [drawn[f"record/{row}/0/0"]["fill"] for row in (1, 2, 3)] == [
        "actor1",
        "paper",
        "paper",
    ]
    assert "Consumers may read up to there" in counts["sentence"]


def test_a_followers_fetch_is_an_arrow_to_the_leader_and_says_what_it_has(lossy):
    fetched = first(lossy, "FollowerFetched", "Broker 2 fetches from offset 1")
    arrow = shapes(lossy, fetched)["node/2/asks"]
    assert arrow["y2"] < arrow["y"] and "has everything before" in fetched["sentence"]
    assert shapes(lossy, fetched)["node/2/says"]["text"] == "fetches from offset 1"


def test_the_isr_is_asked_for_and_decided_and_below_min_insync_replicas_acks_all_is_refused():
    pic = picture("replica-set", replicas.too_few_in_sync())
    refused = first(pic, "BatchRefused")
    assert "NOT_ENOUGH_REPLICAS" in refused["sentence"] and refused["trouble"]
    assert first(pic, "IsrAsked")["step"] < first(pic, "IsrExpanded")["step"]
    assert shapes(pic, refused)["node/3/chip/word"]["text"] == "not in ISR"
    assert pic.scenes[-1]["space"]["isr"] == [1, 2, 3]


def test_a_leader_that_was_cut_off_believes_in_its_epoch_until_it_hears_of_the_next():
    pic = picture("replica-set", replicas.cut_off())
    two = first(pic, "LeaderElected")
    old = pic.scenes[0]["space"]["leader"]
    assert shapes(pic, two)[f"node/{old}/words"]["text"].startswith(
        "cut off, thinks it l"
    )
    healed = shapes(pic, pic.scenes[-1])
    assert healed[f"node/{old}/words"]["text"].startswith("follows broker")


def test_what_brokers_alone_tell_is_enough_as_from_serve_with_real_clients():
    nodes = ("broker 1", "broker 2", "broker 3")
    seen = [event for event in replicas.acks_1() if event.node in nodes]
    pic = picture("replica-set", [Event.from_json(event.to_json()) for event in seen])
    told = first(pic, "ProduceAnswered", "offset 2")
    assert "The producer is told: “done, offset 2”" in told["sentence"]
    assert (
        first(pic, "LeaderElected")["chapter"] == LOST
        and pic.scenes[-1]["space"]["lost"] == 1
    )


def test_it_is_what_fits_when_a_leader_was_elected():
    assert fitting(replicas.acks_1()) == "replica-set"


def test_names_are_text_whatever_they_hold():
    name, key = hostile.NAMES[4], hostile.NAMES[10]
    pic = picture(
        "replica-set", replicas.crash(1, name=name, key=key, another=hostile.NAMES[3])
    )
    assert first(pic, "LeaderElected")["chapter"] == LOST
    assert all(row.isprintable() for rows in pic.table() for row in rows)
    assert "<script>hit" not in pic.page() and "<script>hit" not in pic.svg()


def test_only_a_live_picture_has_levers_and_they_fit_what_became_of_the_broker():
    def acts(scene):
        return {
            shape["act"]
            for shape in shapes(live, scene, NARROW).values()
            if "act" in shape
        }

    live = picture("replica-set", replicas.acks_1(), live=True)
    assert {"kill broker 1", "freeze broker 1"} <= acts(live.scenes[0])
    crashed = acts(first(live, "NodeCrashed"))
    assert (
        "restart broker 1" in crashed
        and "kill broker 1" not in crashed
        and "kill broker 2" in crashed
    )
    still = picture("replica-set", replicas.acks_1())
    assert not [
        shape
        for drawn in still.drawings(WIDE)
        for shape in drawn.shapes.values()
        if "act" in shape
    ]


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("theme", first_now(["light", "dark"]))
def test_no_two_texts_overlap_and_axe_finds_nothing(theme, chromium, tmp_path):
    name = "a shop with a long name " * 3
    shown = {
        "acks=1": (replicas.acks_1(), {}),
        "too few": (replicas.too_few_in_sync(), {"live": True}),
        "cut off": (replicas.cut_off(), {}),
        "unclean": (replicas.unclean(), {}),
        "names": (replicas.crash(1, name, key="x" * 40), {}),
    }
    pics = {}
    for each in shown if theme == "light" else ["acks=1"]:
        trace, options = shown[each]
        pics[each] = picture("replica-set", trace, **options)
    assert faults_of(pics, chromium, theme, tmp_path) == []


def test_a_controller_that_fences_the_broker_in_its_own_process_is_told_so():
    trace = []
    for event in five_orders([Freeze(1, 5030, 12_000)]).trace:
        if event.kind == "BrokerFenced":
            assert event.node == "broker 2"
            event = replace(event, detail={**event.detail, "broker": 2})
        trace.append(event)
    fenced = first(picture("replica-set", trace), "BrokerFenced")
    assert fenced["sentence"] == (
        "Broker 2 is the controller, too, and has had no heartbeat from the broker in"
        " its own process for 9000 ms, so it fences itself."
    )
