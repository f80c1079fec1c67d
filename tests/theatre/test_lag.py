"""The picture of a group's lag over time."""

from itertools import pairwise

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from minikafka.theatre.pictures.lag.sums import Rates
from tests.theatre.commit_traces import HERE, Commits, piling_up

pytestmark = pytest.mark.slow


def at(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def partition(scene, number=0):
    return scene["space"]["partitions"][number]


def test_tools_count_lag_from_the_committed_offset_and_a_reader_from_its_position():
    story = Commits().orders(10)
    story.at(1100).starts(0)
    story.poll("billing", 0, 0, 6)
    assert partition(picture("lag", story.events).scenes[-1])["lags"] == [10, 4]
    story.commit(6)
    assert partition(at(picture("lag", story.events), "OffsetCommitted"))["lags"] == [
        4,
        4,
    ]


def test_lag_without_a_commit_counts_from_the_start_of_the_log():
    story = Commits().orders(10)
    story.tell(
        "broker 1",
        "LogStartOffsetAdvanced",
        **HERE,
        log_start_offset=4,
        why="DeleteRecords",
    )
    assert partition(picture("lag", story.events).scenes[-1])["lags"] == [6, 6]


def test_lag_grows_while_nobody_reads_and_falls_after_somebody_does():
    pic = picture("lag", piling_up(), partitions=[2])
    crash, again = at(pic, "NodeCrashed"), at(pic, "PartitionsAssigned", -1)
    unread = [partition(scene) for scene in pic.scenes[crash["step"] : again["step"]]]
    assert all(each["unread"] for each in unread)
    assert all(a["lags"] <= b["lags"] for a, b in pairwise(unread))
    assert (
        partition(pic.scenes[-1])["lags"][0] < partition(again)["lags"][0]
        and not partition(again)["unread"]
    )
    assert "Nobody reads partition 2" in crash["sentence"]


def test_a_frozen_reader_keeps_its_partition_and_reads_nothing():
    story = Commits().orders(3)
    story.at(1000).starts(0)
    story.at(1100).tell("billing", "NodeFrozen")
    frozen = picture("lag", story.events).scenes[-1]
    assert (
        partition(frozen)["unread"]
        and partition(frozen)["owner"] == "billing"
        and frozen["trouble"]
    )
    story.at(1200).tell("billing", "NodeThawed")
    assert not partition(picture("lag", story.events).scenes[-1])["unread"]


def test_a_poll_is_told_whole_though_its_event_lists_the_first_records_only():
    story = Commits().orders(80)
    story.at(1000).starts(0)
    listed = [[offset, None, "order"] for offset in range(50)]
    story.tell("billing", "RecordsPolled", **HERE, records=listed, position=80)
    assert (
        picture("lag", story.events)
        .scenes[-1]["sentence"]
        .startswith("billing is handed 80 records")
    )


def test_a_slow_reader_is_a_chapter():
    story = Commits().orders(3)
    story.at(1000).starts(0)
    story.tell("billing", "ProcessingSlowed", processing_ms=300)
    assert picture("lag", story.events).scenes[-1]["chapter"] == "billing is slow"


def test_the_steps_end_at_the_cursor_and_share_one_scale():
    pic = picture("lag", piling_up())
    for width in (WIDE, NARROW):
        for scene, drawing in zip(pic.scenes, pic.drawings(width), strict=True):
            cursor = drawing.shapes["time/cursor"]["x"]
            steps = {
                key: shape
                for key, shape in drawing.shapes.items()
                if key.startswith("lag/") and "tip" in shape and "w" in shape
            }
            assert all(
                shape["x"] + shape["w"] <= cursor + 1 for shape in steps.values()
            ), scene["step"]
            assert all(shape["h"] <= 110 for shape in steps.values())
            lines = [
                shape
                for key, shape in drawing.shapes.items()
                if key.startswith("lines/")
            ]
            assert all(shape["x2"] <= cursor + 0.1 for shape in lines)
            assert drawing.bottom <= 340


def rates(pic, step=-1, width=WIDE):
    """What is said of the slopes."""
    shapes = pic.drawings(width)[step].shapes
    return " ".join(
        shape["text"] for key, shape in shapes.items() if key.startswith("name/rates")
    )


def a_line(story, reader="billing", seconds=40, written=2, read=1, every=1):
    """So many records a second, from now on."""
    begin, ends = story.now, [0, 0]
    for second in range(seconds):
        story.at(begin + 1000 * second).append(0, ends[0], *[("k", "v")] * written)
        ends[0] += written
        if second % every == every - 1:
            story.poll(reader, 0, ends[1], min(ends[1] + read * every, ends[0]))
            ends[1] = min(ends[1] + read * every, ends[0])
            story.commit(ends[1])
    return ends


def test_rates_are_slopes_and_said_in_words():
    story = Commits()
    story.topic()
    story.starts(0)
    a_line(story)
    pic = picture("lag", story.events)
    assert rates(pic) == "2 written a second, 1 committed: the lag grows by 1 a second."
    assert rates(pic, width=NARROW) == rates(pic)
    shapes = pic.drawings(WIDE)[-1].shapes
    slopes = {
        name: sum(
            shape["y"] - shape["y2"]
            for key, shape in shapes.items()
            if key.startswith(f"lines/{name}/")
        )
        for name in ("end", "committed")
    }
    assert slopes["end"] == pytest.approx(2 * slopes["committed"], rel=0.05)
    assert shapes["name/lag"]["text"] == "lag 40"
    assert [shapes[f"grid/{records}/number"]["text"] for records in (0, 20, 40)] == [
        "0",
        "20",
        "40",
    ]


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        (
            Rates(written=0.0092, done=0.0097, lost=0),
            "9.2 written a second, 9.7 committed: the lag falls by 0.5 a second.",
        ),
        (
            Rates(written=0.0089, done=0.0086, lost=0),
            "8.9 written a second, 8.6 committed: billing keeps up.",
        ),
        (
            Rates(written=0.020, done=0.010, lost=0),
            "20 written a second, 10 committed: the lag grows by 10 a second.",
        ),
    ],
)
def test_the_rates_that_are_told_add_up_to_the_change_that_is_told(speed, words):
    story = Commits().orders(5)
    story.at(1000).starts(0)
    play = picture("lag", story.events).play
    assert play.rates_in_words(speed, lag=20) == words


def test_commits_in_steps_have_the_rate_of_the_stairs():
    story = Commits()
    story.topic()
    story.starts(0)
    a_line(story, read=2, every=5)
    pic = picture("lag", story.events)
    assert {
        rates(pic, step) for step in range(len(pic.scenes) // 2, len(pic.scenes))
    } == {"2 written a second, 2 committed: billing keeps up."}


def test_who_waits_for_the_first_commit_sees_none():
    story = Commits().orders(5)
    story.at(1000).starts(0)
    pic = picture("lag", story.events)
    assert pic.drawings(WIDE)[-1].shapes["name/committed/value"]["text"] == "none"


def test_how_long_it_took_to_catch_up_is_said_and_lit():
    story = Commits().orders(60)
    story.at(10_000).starts(0)
    for number in range(1, 7):
        story.at(10_000 + 5000 * number).poll(
            "billing", 0, 10 * number - 10, 10 * number
        )
        story.at(story.now + 4000).commit(10 * number)
    pic = picture("lag", story.events)
    (lit,) = [scene for scene in pic.scenes if "light" in scene]
    assert (
        lit["sentence"]
        == "billing has caught up, 34 s after it began to read the backlog."
    )
    assert lit["space"]["caught_up"] == [[10_000, 44_000]]
    assert (
        pic.drawings(WIDE)[lit["step"]].shapes["caught/0/words"]["text"]
        == "caught up in 34 s"
    )


def test_a_lag_of_records_that_were_handed_over_long_ago_falls_at_once():
    story = Commits()
    story.topic()
    story.starts(0)
    story.commit(0)
    for offset in range(50):
        story.at(100 * offset).append(0, offset, ("k", "v"))
        story.poll("billing", 0, offset, offset + 1)
    story.commit(50)
    (lit,) = [
        scene for scene in picture("lag", story.events).scenes if "light" in scene
    ]
    assert (
        "falls from 50 to 0 at once" in lit["sentence"]
        and lit["chapter"] == "the lag falls"
    )


def test_the_same_records_again_without_a_commit_are_the_climax():
    story = Commits().orders(60)
    story.at(10_000).starts(0)
    for number in range(3):
        story.at(20_000 + 10_000 * number).poll("billing", 0, 0, 50)
        story.tell(
            "billing",
            "PositionReset",
            **HERE,
            offset=0,
            why="auto.offset.reset=earliest",
        )
    scenes = picture("lag", story.events).scenes
    assert [
        scene["at"]
        for scene in scenes
        if "the same 50 records again" in scene["sentence"]
    ] == [30_000]
    assert scenes[-1]["sentence"] == (
        "billing was handed the same 50 records 3 times before it could commit: the lag"
        " is still 60."
    )
    assert [scene["at"] for scene in scenes if "light" in scene] == [30_000]


def test_records_that_are_deleted_before_they_are_read_are_counted():
    story = Commits().orders(100)
    story.at(10_000).starts(0)
    story.poll("billing", 0, 0, 10)
    story.commit(10)
    for at, start in ((20_000, 40), (30_000, 70)):
        story.at(at).tell(
            "broker 1",
            "LogStartOffsetAdvanced",
            **HERE,
            log_start_offset=start,
            why="retention.ms",
        )
        story.tell(
            "billing",
            "PositionReset",
            **HERE,
            offset=start,
            why="gone",
            reason="out_of_range",
        )
    pic = picture("lag", story.events)
    lost = [scene for scene in pic.scenes if "lost" in scene["sentence"]]
    assert [scene["space"]["lost"] for scene in lost] == [30, 60] and all(
        scene["trouble"] for scene in lost
    )
    assert ["light" in scene for scene in lost] == [True, False]
    assert "60 records lost" in pic.play.scenario(pic.scenes[-1])
    assert pic.drawings(WIDE)[-1].shapes["lines/start/0"]["line"] == "trouble"


def test_members_have_the_colours_of_their_letters():
    pic = picture("lag", piling_up(), partitions=[2])
    readers = [
        drawing.shapes.get("lag/2/reader", {}).get("fill")
        for drawing in pic.drawings(WIDE)
    ]
    assert readers[-1] == "actor1" and set(readers) == {None, "actor1", "actor2"}


def test_what_waits_before_anybody_reads_is_not_filled():
    story = Commits().orders(30)
    shapes = picture("lag", story.events).drawings(WIDE)[-1].shapes
    assert {
        shape["fill"]
        for key, shape in shapes.items()
        if key.startswith("lag/0/") and "tip" in shape
    } == {"none"}


def test_hatched_is_where_nobody_reads():
    pic = picture("lag", piling_up(), partitions=[2])
    fills = {
        shape["fill"]
        for key, shape in pic.drawings(WIDE)[-1].shapes.items()
        if key.startswith("lag/") and "tip" in shape
    }
    assert fills == {"hatch", "actor1", "actor2"}


def test_another_groups_commits_and_readers_do_not_count():
    story = Commits().orders(5)
    story.at(1000).starts(0)
    story.tell(
        "audit", "CommitSent", group="audit", offsets=[["orders", 0, 5]], how="auto"
    )
    story.poll("audit", 0, 0, 5)
    story.tell(
        "broker 1",
        "OffsetCommitted",
        group="audit",
        member="m",
        **HERE,
        offset=5,
        was=None,
    )
    story.poll("billing", 0, 0, 1)
    story.commit(1)
    story.commit(2)
    pic = picture("lag", story.events)
    assert (
        list(pic.scenes[-1]["space"]["members"]) == ["billing"]
        and partition(pic.scenes[-1])["committed"] == 2
    )


def test_six_partitions_fit_the_height_of_a_laptop():
    story = Commits()
    story.topic(partitions=6)
    for number in range(6):
        story.at(100 * number).append(number, 0, ("a", "1"), ("b", "2"))
    for width in (WIDE, NARROW):
        assert (
            max(
                drawing.bottom
                for drawing in picture("lag", story.events).drawings(width)
            )
            <= 340
        )


def test_an_empty_trace_has_a_picture_that_says_so():
    assert "nothing has happened" in repr(picture("lag", []))


def test_who_reads_again_is_catching_up_only_while_the_lag_falls():
    story = Commits().orders(60)
    story.at(10_000).starts(0)
    a_line(story, seconds=30, written=3, read=1)
    assert (
        picture("lag", story.events).drawings(WIDE)[-1].shapes["caught/0/words"]["text"]
        == "behind"
    )
    faster = Commits().orders(200)
    faster.at(10_000).starts(0)
    for second in range(1, 11):
        faster.at(10_000 + 1000 * second).poll(
            "billing", 0, 10 * second - 10, 10 * second
        )
        faster.commit(10 * second)
    assert (
        picture("lag", faster.events)
        .drawings(WIDE)[-1]
        .shapes["caught/0/words"]["text"]
        == "catching up"
    )


def slow_then_dead():
    """One of two readers is slow, then it is killed; the other takes its partition."""
    story = Commits()
    story.topic(partitions=2)
    for number, name in enumerate("BC"):
        story.at(500).tell(
            name,
            "PartitionsAssigned",
            group="billing",
            member=name,
            generation=1,
            partitions=[["orders", number]],
            owned=[],
        )

    def read(owner, partition, begin, end):
        story.poll(owner, partition, begin, end)
        story.tell(
            "broker 1",
            "OffsetCommitted",
            group="billing",
            member="m",
            topic="orders",
            partition=partition,
            offset=end,
            was=0,
        )

    done = 0
    for second in range(1, 101):
        story.at(1000 * second)
        for partition in range(2):
            story.append(partition, 2 * second - 2, ("k", "v"), ("k", "v"))
        read("B", 0, 2 * second - 2, 2 * second)
        if second <= 20:
            done = 2 * second
            read("C", 1, done - 2, done)
        if second == 20:
            story.tell("C", "ProcessingSlowed", processing_ms=800)
        if second == 40:
            story.tell("C", "NodeCrashed")
        if second == 60:
            story.tell(
                "B",
                "PartitionsAssigned",
                group="billing",
                member="B",
                generation=2,
                partitions=[["orders", 1]],
                owned=[["orders", 0], ["orders", 1]],
            )
        if second > 60 and done < 2 * second:
            done, begin = min(done + 6, 2 * second), done
            read("B", 1, begin, done)
    return story.events


def test_what_it_costs_to_be_slow_is_beside_what_it_costs_to_be_dead():
    pic = picture("lag", slow_then_dead())
    shapes = pic.drawings(WIDE)[-1].shapes
    words = [shapes[f"caught/{row}/words"]["text"] for row in range(3)]
    assert words == [
        "C slow 20 s: lag 0 → 40",
        "C crashed 20 s: lag 40 → 80",
        "caught up in 20 s",
    ]
    heights = {shapes[f"caught/{row}/words"]["y"] for row in range(3)}
    assert len(heights) == 3
    assert "lines/lag/0" in shapes and "lines/end/0" not in shapes
    assert pic.scenes[-1]["sentence"].startswith(
        "The lag in short. C was slow for 20 s"
    )
    takes_over = at(pic, "PartitionsAssigned", -1)["sentence"]
    assert takes_over.endswith("It takes over C's partition 1.")


def test_what_is_said_of_the_slope_is_true_since_it_changed_who_reads():
    pic = picture("lag", slow_then_dead())
    said = {scene["at"]: rates(pic, step) for step, scene in enumerate(pic.scenes)}
    dead = [words for at, words in said.items() if 50_000 < at < 60_000 and words]
    assert dead and all("the lag grows by 2 a second" in words for words in dead)
    back = [words for at, words in said.items() if 60_000 <= at < 80_000 and words]
    assert back and all("the lag falls by 4 a second" in words for words in back)
    over = [words for at, words in said.items() if at >= 80_000]
    assert over[0] == "Billing has caught up: the lag is 0."
    assert over[-1].endswith("billing keeps up.")


def test_where_nothing_waits_the_lag_neither_grows_nor_falls():
    play = picture("lag", Commits().orders(5).events).play
    speed = Rates(written=0, done=0.005, lost=0)
    words = play.rates_in_words(speed, lag=0)
    assert words == "0 written a second, 5 committed: the lag is 0."
    still = play.rates_in_words(Rates(written=0, done=0, lost=0), lag=0)
    assert still == "0 written a second, 0 committed: the lag is 0."


def test_steps_that_merely_count_are_folded_and_the_lines_stay_fine():
    pic = picture("lag", slow_then_dead())
    assert len(pic.scenes) < 80
    slow = [scene for scene in pic.scenes if "C has been slow" in scene["sentence"]]
    assert len(slow) >= 10
    assert slow[-1]["sentence"].endswith("the lag of partition 1 went from 0 to 40.")
    drawings = pic.drawings(WIDE)
    assert drawings[slow[0]["step"]].shapes["lag/1/slow"]["text"] == "slow"
    lines = [key for key in drawings[-1].shapes if key.startswith("lines/lag/")]
    assert len(lines) > len(pic.scenes)


def test_who_has_nothing_to_read_is_seen_idle():
    story = Commits()
    story.topic(partitions=2)
    for number, name in enumerate("AB"):
        story.append(number, 0, *[("k", "v")] * 20)
        story.at(100).tell(
            name,
            "PartitionsAssigned",
            group="billing",
            member=name,
            generation=1,
            partitions=[["orders", number]],
            owned=[],
        )
    story.at(1000).commit(20)
    story.at(60_000).append(1, 20, ("k", "v"))
    for width in (WIDE, NARROW):
        shapes = picture("lag", story.events).drawings(width)[-1].shapes
        assert shapes["lag/0/idle/words"]["text"] == "idle"
        assert "lag/1/idle/pale" not in shapes


def test_the_last_sentence_says_why_the_lag_was_what_it_was():
    story = Commits()
    story.topic()
    story.starts(0)
    done = 0
    for second in range(30):
        story.at(1000 * second).append(0, second, ("k", "v"))
        story.poll("billing", 0, second, second + 1)
        if second % 10 == 9:
            done = second + 1
            story.commit(done)
    story.at(31_000).append(0, 30, ("k", "v"))
    assert picture("lag", story.events).scenes[-1]["sentence"] == (
        "At most 1 record waited for billing, but billing commits every 10 s: in"
        " between, the lag grew to 10."
    )
