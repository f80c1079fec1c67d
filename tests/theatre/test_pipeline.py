"""The producer's pipeline: what waits, what is in flight, what is written, and where
these disagree.
"""

from functools import cache

import pytest

from minikafka.faults import Cut, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import (
    LAYOUTS,
    LEAST_STRETCH,
    NARROW,
    WIDE,
    text_width,
)
from tests.theatre.traces import retention


def trace_of(*faults, values="abcde", every_ms=0, seconds=2, partitions=1, **config):
    """What happens to a shop that sends these values."""
    cluster = Cluster(seed=1, faults=faults)
    cluster.create_topic("orders", partitions=partitions)
    shop = cluster.producer(client_id="shop", **config)
    for value in values:
        shop.send("orders", value=value)
        cluster.run_ms(every_ms)
    cluster.run(seconds=seconds)
    return cluster.trace


def pipeline(*faults, **options):
    return picture("pipeline", trace_of(*faults, **options))


def turned_round():
    """Five batches are in flight, the first answer is lost, and all come back in the
    other order.
    """
    return trace_of(
        Lose("shop", 1, "Produce", answer=True), linger_ms=0, enable_idempotence=False
    )


def three_partitions():
    """Many records, three partitions, a bad network."""
    faults = [
        Lose("shop", 1, "Produce", chance_percent=30, answer=answer)
        for answer in (False, True)
    ]
    values = [f"order {number}" for number in range(40)]
    return trace_of(
        *faults,
        values=values,
        every_ms=1,
        partitions=3,
        partitioner="round_robin",
        linger_ms=2,
    )


def of_kind(pic, kind):
    return [scene for scene in pic.scenes if scene["kind"] == kind]


def words(space):
    """The log of partition 0, as letters."""
    return "".join(cell[2] for cell in space["logs"][0]["records"])


def lamps(space):
    return [space[name] for name in ("twice", "late", "lost")]


def lit(pic):
    return [scene for scene in pic.scenes if "light" in scene]


def told_done_and_lost():
    """With acks=0, a request is lost."""
    lose = Lose("shop", 1, "Produce", nth=2)
    return pipeline(lose, values="abc", every_ms=100, acks=0, linger_ms=0)


def in_the_light(pic, scene):
    return {*pic.drawings(920)[scene["step"]].outlined}


def test_records_wait_in_a_batch_leave_in_a_request_and_are_done_when_the_answer_comes():
    pic = pipeline(values="abc")
    space = {
        kind: of_kind(pic, kind)[-1]["space"]
        for kind in ("PartitionChosen", "BatchSent", "RecordsAppended")
    }
    assert [batch["count"] for batch in space["PartitionChosen"]["buffer"]] == [3]
    assert (
        space["BatchSent"]["buffer"] == []
        and space["BatchSent"]["in_flight"][0]["state"] == "on its way"
    )
    assert (
        space["RecordsAppended"]["in_flight"][0]["state"] == "written"
        and words(space["RecordsAppended"]) == "abc"
    )
    last = pic.scenes[-1]
    assert last["space"]["in_flight"] == [] and last["space"]["acknowledged"] == 3
    assert "linger_ms=5 has passed" in of_kind(pic, "BatchSent")[0]["sentence"]


def test_a_lost_answer_lights_the_first_lamp_at_the_step_that_writes_again():
    pic = pipeline(
        Lose("shop", 1, "Produce", answer=True), values="a", enable_idempotence=False
    )
    first, second = of_kind(pic, "RecordsAppended")
    assert lamps(pic.scenes[second["step"] - 1]["space"]) == [0, 0, 0]
    assert lamps(second["space"]) == [1, 0, 0] and words(second["space"]) == "aa"
    assert (
        second["trouble"]
        and "in the log twice now" in second["sentence"]
        and not first["trouble"]
    )
    assert pic.scenes[second["because"]]["kind"] == "BatchSent"


def test_after_a_lost_answer_the_batch_is_written_in_the_log_and_waits_in_the_buffer():
    pic = pipeline(Lose("shop", 1, "Produce", answer=True), values="a")
    [lost], [back] = of_kind(pic, "MessageLost"), of_kind(pic, "BatchRetried")
    assert (
        lost["space"]["in_flight"][0]["state"] == "answer lost"
        and words(lost["space"]) == "a"
    )
    assert back["space"]["in_flight"] == [] and back["space"]["buffer"][0][
        "state"
    ].startswith("not before 0.")
    assert "Shop can't tell" in back["sentence"]


def test_an_idempotent_producers_repetition_is_recognised_and_all_lamps_stay_green():
    pic = pipeline(Lose("shop", 1, "Produce", answer=True), values="a")
    [known] = of_kind(pic, "DuplicateRecognized")
    assert "sequence number 0 is at offset 0" in known["sentence"]
    assert known["space"]["in_flight"][0]["state"] == "known"
    assert all(lamps(scene["space"]) == [0, 0, 0] for scene in pic.scenes)


def test_overtaking_turns_the_buffer_round_and_lights_the_second_lamp():
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, enable_idempotence=False)
    back = of_kind(pic, "BatchRetried")[-1]["space"]
    assert [batch["batch"] for batch in back["buffer"]] == [5, 4, 3, 2, 1]
    late = next(scene for scene in pic.scenes if scene["space"]["late"])
    assert (
        late["kind"] == "RecordsAppended"
        and "overtaken" in late["sentence"]
        and words(late["space"]) == "ed"
    )


def test_what_is_taken_back_says_in_front_of_whom_and_leaves_as_the_first():
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, enable_idempotence=False)
    first, *others = [scene["sentence"] for scene in of_kind(pic, "BatchRetried")]
    assert "in front of" not in first
    for value, words in zip("abcd", others, strict=True):
        assert f"in front of “{value}”," in words
    assert "All 5 are back, the last one in front." in others[-1]
    sent = [scene["sentence"] for scene in of_kind(pic, "BatchSent")]
    *again, last = [words for words in sent if "leaves again" in words]
    assert all("the first in the buffer" in words for words in again)
    assert "first" not in last


def test_a_sequence_number_stands_on_the_batch_and_the_copy_it_meets_is_lit():
    pic = pipeline(Lose("shop", 1, "Produce", answer=True), values="a")
    [known] = of_kind(pic, "DuplicateRecognized")
    [request] = known["space"]["in_flight"]
    assert request["batches"][0]["sequence"] == 0
    assert {"log/0/0", "batch/1"} <= set(known["light"])


def calm():
    """Nothing is lost, and all lamps have a line of their own."""
    return trace_of(values="abc")


LAMPS = {"once": "log", "order": "log", "lost": "told", "truth": "told"}


@pytest.mark.parametrize("run", [calm, turned_round, three_partitions])
@pytest.mark.parametrize("width", LAYOUTS)
def test_lamps_are_over_what_they_are_about_and_inside_the_page(run, width):
    for drawing in run_of(run).drawings(width):
        shapes = drawing.shapes
        for name, about in LAMPS.items():
            lamp = shapes.get(f"lamp/{name}")
            if lamp:
                caption = shapes[f"caption/{about}/name"]["y"]
                assert 0 <= lamp["x"] <= width - lamp["w"], name
                assert -15 < lamp["y"] - caption < 12, "beside it, or under it"


def test_where_all_goes_well_the_lamps_say_so_at_the_end_and_not_before():
    *before, end = run_of(calm).drawings(WIDE)
    lamps = {"lamp/once", "lamp/truth"}
    assert not any(lamps & drawing.shapes.keys() for drawing in before)
    assert lamps <= end.shapes.keys()


def test_no_word_of_a_batch_stands_on_its_records():
    """At the narrowest of each layout, where words keep their size."""
    for run in (turned_round, three_partitions):
        for width in (WIDE, NARROW):
            for drawing in run_of(run).drawings(width):
                for key, shape in drawing.shapes.items():
                    if key.startswith("batch/") and key.endswith("/state"):
                        batch = key.removesuffix("/state")
                        ends = [
                            (each["x"] + each.get("w", 0)) * LEAST_STRETCH
                            for name, each in drawing.shapes.items()
                            if name.startswith(f"{batch}/") and each["kind"] == "cell"
                        ]
                        begins = shape["x"] * LEAST_STRETCH - text_width(
                            shape["text"], 12.5
                        )
                        assert begins >= max(ends, default=0) - 1, key


@cache
def run_of(run):
    return picture("pipeline", run())


def test_with_sequence_numbers_the_buffer_keeps_its_order():
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, batch_size=1)
    back = of_kind(pic, "BatchRetried")[-1]["space"]
    assert [batch["batch"] for batch in back["buffer"]] == [1, 2, 3, 4, 5]


def test_what_leaves_on_a_broken_connection_is_lost_before_the_producer_knows():
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, enable_idempotence=False)
    states = [
        request["state"]
        for request in of_kind(pic, "BatchSent")[4]["space"]["in_flight"]
    ]
    assert states == ["lost"] * 5


def test_acks_0_lights_the_third_lamp_when_the_request_is_lost_and_has_no_lane_of_answers():
    pic = told_done_and_lost()
    [lost] = of_kind(pic, "MessageLost")
    assert (
        lamps(lost["space"]) == [0, 0, 1]
        and "Nobody will ever know" in lost["sentence"]
    )
    assert lost["space"]["acknowledged"] == 2
    assert (
        words(pic.scenes[-1]["space"]) == "ac"
        and pic.scenes[-1]["space"]["in_flight"] == []
    )
    assert "time/lane/answers" not in pic.drawings(920)[-1].shapes


def test_a_record_that_failed_and_is_written_after_that_is_not_lost():
    pic = pipeline(Cut("shop", 1, at_ms=19, for_ms=200_000), values="a", seconds=300)
    [failed], [written] = of_kind(pic, "SendFailed"), of_kind(pic, "RecordsAppended")
    assert (
        lamps(failed["space"]) == [0, 0, 1]
        and "within delivery_timeout_ms" in failed["sentence"]
    )
    assert (
        "The program was told that it failed" in written["sentence"]
        and written["trouble"]
    )
    assert lamps(written["space"]) == [0, 0, 0]


def test_a_lost_answer_travels_back_as_far_as_the_cut_and_vanishes():
    pic = pipeline(Lose("shop", 1, "Produce", answer=True), values="a")
    for width in (920, 560):
        sent, written, lost, back = (
            pic.drawings(width)[of_kind(pic, kind)[0]["step"]].shapes
            for kind in ("BatchSent", "RecordsAppended", "MessageLost", "BatchRetried")
        )
        door, message, cut = (
            lost["wire/door"]["x"],
            "wire/1/message",
            lost["wire/cut"]["x"],
        )
        assert (
            sent[message]["x"] < written[message]["x"] < door
            and written[message + "/word"]["text"] == "ok"
        )
        assert (
            cut < lost[message]["x"] < written[message]["x"]
            and lost[message]["line"] == "trouble"
        )
        assert message not in back and "wire/cut" in back and "wire/cut" not in written


def test_the_wait_for_an_answer_that_got_lost_is_as_long_as_it_was_and_named():
    lost = Lose("shop", 1, "Produce", answer=True)
    pic = pipeline(lost, values="ab", every_ms=200, enable_idempotence=False)
    [first, again, *_] = [scene for scene in pic.scenes if scene["kind"] == "BatchSent"]
    shapes = pic.drawings(WIDE)[-1].shapes
    [words] = [
        shape["text"]
        for key, shape in shapes.items()
        if key.startswith("time/lane/requests/") and key.endswith("/span/words")
    ]
    assert words == f"no answer for {again['at'] - first['at']} ms"


def test_a_lost_request_gets_as_far_as_the_cut_and_a_new_connection_is_whole():
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, enable_idempotence=False)
    lost = pic.drawings(920)[of_kind(pic, "BatchSent")[4]["step"]].shapes
    for number in range(1, 6):
        message = lost[f"wire/{number}/message"]
        assert message["x"] + message["w"] < lost["wire/cut"]["x"]
    again = next(
        scene
        for scene in of_kind(pic, "BatchSent")
        if scene["chapter"] == "tried again"
    )
    assert (
        not again["space"]["cut"]
        and "wire/cut" not in pic.drawings(920)[again["step"]].shapes
    )


def test_what_waits_too_long_behind_a_cut_is_shown_at_the_cut():
    pic = pipeline(Cut("shop", 1, at_ms=23, for_ms=180_000), values="a", seconds=40)
    back = of_kind(pic, "BatchRetried")[0]
    assert words(back["space"]) == "a" and back["space"]["cut"]
    assert [each[2] for each in back["space"]["stuck"]] == ["answer lost"]
    assert pic.drawings(920)[back["step"]].shapes["wire/1/message"]["line"] == "trouble"
    assert not pic.scenes[back["step"] - 1]["space"]["stuck"]


def test_who_tries_again_behind_a_cut_asks_for_connections_until_it_gives_up():
    pic = pipeline(Cut("shop", 1, at_ms=23, for_ms=180_000), values="a", seconds=240)
    tries = [
        scene for scene in pic.scenes if "open another connection" in scene["sentence"]
    ]
    given_up = next(scene for scene in pic.scenes if scene["chapter"] == "given up")
    assert [scene["at"] // 30_000 for scene in tries] == [1, 2, 3]
    assert tries[-1]["step"] + 1 == given_up["step"], "and then it has nothing to send"
    assert all(scene["space"]["cut"] for scene in tries)
    assert not pic.scenes[-1]["space"]["cut"], "the network is whole again"


def test_what_waits_too_long_leaves_the_rows_of_the_others_free():
    for cut_ms in (19, 22):
        pic = pipeline(
            Cut("shop", 1, at_ms=cut_ms, for_ms=180_000),
            linger_ms=0,
            batch_size=1,
            seconds=40,
        )
        back = of_kind(pic, "BatchRetried")[0]
        assert len(back["space"]["stuck"]) == 1 and len(back["space"]["in_flight"]) == 4
        for width in (920, 560):
            shapes = pic.drawings(width)[back["step"]].shapes
            rows = [
                shape["y"] for key, shape in shapes.items() if key.endswith("/message")
            ]
            assert len(set(rows)) == len(rows) == 5


def test_told_failed_and_written_turns_the_lamp_of_the_truth_red_at_that_step():
    for cut_ms, kind, held in (
        (23, "SendFailed", "But the log holds it"),
        (19, "RecordsAppended", "told that it"),
    ):
        pic = pipeline(
            Cut("shop", 1, at_ms=cut_ms, for_ms=200_000), values="a", seconds=300
        )
        scene, *_ = lit(pic)
        assert scene["kind"] == kind and held in scene["sentence"]
        assert in_the_light(pic, scene) == {"told/0", "log/0/0", "lamp/truth"}
        assert [
            each["space"]["untrue"] for each in pic.scenes[: scene["step"] + 1]
        ] == [0] * scene["step"] + [1]
        shapes = pic.drawings(920)[scene["step"]].shapes
        assert (
            shapes["lamp/truth/word"]["text"] == "one told wrong"
            and shapes["told/0"]["more"] == "✗"
        )
        assert pic.summary(scene).endswith("none lost, 1 told wrong)")


def test_told_done_and_lost_turns_the_lamp_of_the_truth_red_and_done_before_it_is_written_does_not():
    pic = told_done_and_lost()
    scene, last = lit(pic)
    assert last == pic.scenes[-1], "it closes in the same light"
    assert scene["kind"] == "MessageLost" and {
        "told/1",
        "lamp/truth",
        "lamp/lost",
    } <= in_the_light(pic, scene)
    before = pic.scenes[: scene["step"]]
    assert any(told[2] == "done" for each in before for told in each["space"]["told"])
    assert (
        all(each["space"]["untrue"] == 0 for each in before)
        and pic.scenes[-1]["space"]["untrue"] == 1
    )


def test_light_falls_on_the_two_copies_and_on_who_overtook_whom_once_each_and_at_the_end():
    pic = pipeline(
        Lose("shop", 1, "Produce", answer=True), values="a", enable_idempotence=False
    )
    twice = {"log/0/0", "log/0/1", "lamp/once"}
    assert [in_the_light(pic, scene) for scene in lit(pic)] == [twice, twice]
    pic = pipeline(Lose("shop", 1, "Produce"), linger_ms=0, enable_idempotence=False)
    assert [in_the_light(pic, scene) for scene in lit(pic)] == [
        {f"batch/{number}" for number in range(1, 6)},
        {"log/0/0", "log/0/1", "lamp/order"},
        {"log/0/1", "log/0/2", "log/0/3", "log/0/4", "lamp/order"},
    ]


def test_what_the_program_was_told_stands_by_every_record_that_it_sent():
    pic = pipeline(values="abc")
    told = [scene["space"]["told"] for scene in pic.scenes]
    assert told[-1] == [[n, letter, "done", False] for n, letter in enumerate("abc")]
    assert {each[2] for scene in told[:-1] for each in scene} == {""}


def test_a_full_batch_says_so():
    pic = pipeline(values="abcdefgh", linger_ms=100, batch_size=100)
    full = of_kind(pic, "BatchFilled")[0]
    assert (
        "is full: 4 records" in full["sentence"]
        and full["space"]["buffer"][0]["state"] == "full"
    )


def test_records_of_somebody_else_are_in_the_log_without_a_letter():
    cluster = Cluster(seed=1)
    cluster.create_topic("orders")
    shop, other = (
        cluster.producer(client_id="shop"),
        cluster.producer(client_id="other"),
    )
    for value in "ab":
        shop.send("orders", value=value).get()
        other.send("orders", value="x").get()
    shop.send("orders", value="c").get()
    pic = picture("pipeline", cluster.trace)
    assert pic.title == "shop's pipeline to orders"
    assert [cell[2] for cell in pic.scenes[-1]["space"]["logs"][0]["records"]] == [
        "a",
        None,
        "b",
        None,
        "c",
    ]
    assert "other writes one record." in [scene["sentence"] for scene in pic.scenes]
    assert (
        picture("pipeline", cluster.trace, producer="other").scenes[-1]["space"]["sent"]
        == 2
    )


def test_a_topic_that_is_made_anew_begins_with_an_empty_log():
    with Cluster(seed=1) as cluster:
        cluster.create_topic("orders")
        shop = cluster.producer(client_id="shop")
        shop.send("orders", value="a").get()
        cluster.delete_topic("orders")
        shop.send("orders", value="b").get()
        pic = picture("pipeline", cluster.trace)
    assert [scene["space"]["logs"] for scene in of_kind(pic, "TopicDeleted")] == [[]]
    assert words(pic.scenes[-1]["space"]) == "b" and pic.drawings(920)[-1].bottom > 0


def test_crashes_and_freezes_are_told():
    cluster = Cluster(seed=1)
    cluster.create_topic("orders")
    shop = cluster.producer(client_id="shop", linger_ms=0)
    shop.send("orders", value="a").get()
    shop.send("orders", value="b")
    cluster.crash(1)
    cluster.run(seconds=1)
    cluster.restart(1)
    cluster.run(seconds=3)
    pic = picture("pipeline", cluster.trace)
    [crash], [back] = of_kind(pic, "NodeCrashed"), of_kind(pic, "NodeRestarted")
    assert crash["space"]["in_flight"][0][
        "state"
    ] == "lost" and "broker 1 crashed" in pic.play.scenario(crash)
    assert (
        back["sentence"] == "broker 1 is back."
        and words(pic.scenes[-1]["space"]) == "ab"
    )


def test_a_shop_that_crashes_loses_what_waits_in_its_buffer_and_counts_its_batches_anew():
    cluster = Cluster(seed=1)
    cluster.create_topic("orders")
    shop = cluster.producer(client_id="shop", linger_ms=1000)
    shop.send("orders", value="a").get()
    shop.send("orders", value="b")
    cluster.crash(shop)
    cluster.restart(shop)
    shop.send("orders", value="c").get()
    pic = picture("pipeline", cluster.trace)
    [crash] = of_kind(pic, "NodeCrashed")
    assert crash["space"]["buffer"] == [] and lamps(crash["space"]) == [0, 0, 1]
    last = pic.scenes[-1]["space"]
    assert (
        words(last) == "ac" and lamps(last) == [0, 0, 1] and last["acknowledged"] == 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [920, 560])
def test_many_batches_records_and_partitions_stay_inside_the_page(width):
    long = [f"customer {number} ordered {number * 7}" for number in range(150)]
    lossy = [
        Lose("shop", 1, "Produce", chance_percent=30, answer=answer)
        for answer in (False, True)
    ]
    for partitions, options in (
        (1, {}),
        (3, {"partitioner": "round_robin"}),
        (8, {"partitioner": "round_robin"}),
    ):
        pic = pipeline(
            *lossy,
            values=long,
            every_ms=1,
            partitions=partitions,
            linger_ms=1,
            enable_idempotence=False,
            **options,
        )
        for drawing in pic.drawings(width):
            assert all(
                shape["x"] + shape.get("w", 0) <= width + 1
                for shape in drawing.shapes.values()
            )
            assert width == 560 or drawing.bottom <= 400


def test_it_fits_what_was_sent_again_and_read_by_nobody():
    cluster = Cluster(seed=1, faults=[Lose("shop", 1, "Produce")])
    cluster.create_topic("orders")
    cluster.producer(client_id="shop").send("orders", value="a").get()
    assert fitting(cluster.trace) == "pipeline"
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    consumer.poll(timeout_ms=1000)
    assert fitting(cluster.trace) == "log"


def test_a_trace_without_a_producer_is_drawn_all_the_same():
    assert picture("pipeline", []).scenes == []
    pic = picture("pipeline", retention())
    assert (
        pic.scenes[-1]["space"]["logs"][0]["end"] == 17
        and pic.drawings(920)[-1].bottom > 0
    )
