"""The commit point's picture: what comes next, what comes again, what is skipped."""

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre.commit_traces import HERE, Commits, commit_after, commit_first
from tests.theatre.drawn import assert_no_mark_after_the_cursor

pytestmark = pytest.mark.slow


def at(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def drawn(pic, scene, width=WIDE):
    return pic.drawings(width)[scene["step"]].shapes


def begun(records=3):
    """billing has the partition and has been handed record 0."""
    story = Commits().orders(records)
    story.at(1000).starts(0, 'auto_offset_reset is "earliest"')
    story.at(2000).poll("billing", 0, 0, 1)
    return story


def last(story):
    return picture("commit", story.events, table="payments").scenes[-1]


def test_the_committed_offset_stands_before_the_record_that_is_read_next_after_a_restart():
    pic = picture("commit", commit_after())
    for width in (WIDE, NARROW):
        noted = at(pic, "OffsetCommitted", 1)
        shapes = drawn(pic, noted, width)
        line, record = shapes["boundary/0/committed"], shapes["record/0/2"]
        assert (
            noted["space"]["committed"] == 2
            and record["x"] - 10 <= line["x"] <= record["x"]
        )
    again = at(pic, "PositionReset", 1)
    assert again["space"]["readers"][0]["next"] == again["space"]["committed"]
    assert pic.scenes[again["because"]]["kind"] == "OffsetCommitted"


def test_a_crash_between_writing_and_committing_makes_a_duplicate_at_that_record():
    pic = picture("commit", commit_after(crash_after_write=3))
    wrong = [scene for scene in pic.scenes if scene["chapter"] == "duplicate"]
    assert [scene["sentence"] for scene in wrong] == [
        "billing writes record 3 to payments again: it is there twice."
    ]
    assert (
        "Record 3 is in payments and not committed."
        in at(pic, "NodeCrashed")["sentence"]
    )
    shapes = drawn(pic, wrong[0])
    assert (
        shapes["effect/3/2"]["text"] == "again"
        and shapes["effect/3/2"]["line"] == "trouble"
    )
    assert shapes["lamp/twice/word"]["text"] == "one twice"
    assert drawn(pic, pic.scenes[-1])["lamp/skipped/word"]["text"] == "none lost"
    before = drawn(pic, pic.scenes[wrong[0]["step"] - 1])
    assert "lamp/twice/word" not in before and "effect/3/2" not in before


def test_a_crash_between_committing_and_writing_skips_that_record_where_the_next_reader_begins():
    pic = picture("commit", commit_first())
    begins = at(pic, "PositionReset", 1)
    assert begins["chapter"] == "lost" and begins["trouble"]
    assert "Record 2 is lost: committed, and never done." in begins["sentence"]
    assert list(pic.scenes[-1]["space"]["skipped"]) == ["2"]
    assert drawn(pic, begins)["effect/2/word"]["text"] == "lost"
    before = pic.scenes[begins["step"] - 1]
    assert (
        not before["space"]["skipped"]
        and span(pic, before, "lost") == "committed, not in payments"
    )


@pytest.mark.parametrize("run", [commit_after, commit_first])
def test_no_header_of_a_span_is_wider_than_the_span(run):
    pic = picture("commit", run())
    for width in (WIDE, NARROW):
        for drawing in pic.drawings(width):
            for name in ("again", "lost"):
                tab = drawing.shapes.get(f"span/{name}/tab")
                if tab:
                    assert tab["w"] <= drawing.shapes[f"span/{name}"]["w"]


def test_an_effect_that_no_client_writes_is_the_programs():
    pic = picture("commit", commit_first())
    writers = {
        scene["sentence"].split(" writes ")[0]
        for scene in pic.scenes
        if scene["kind"] == "EffectWritten"
    }
    assert "cluster" not in writers


def span(pic, scene, name):
    """What the picture calls a shaded span of a scene."""
    return drawn(pic, scene).get(f"span/{name}/name", {}).get("text")


def test_what_a_crash_would_repeat_or_lose_is_shaded_between_committed_offset_and_position():
    pic = picture("commit", commit_after())
    written = at(pic, "EffectWritten", 1)
    assert written["space"]["spans"] == {"lost": None, "again": [1, 2]}
    assert span(pic, written, "again") == "would be repeated if it stopped"
    shapes = drawn(pic, written)
    shaded, record = shapes["span/again"], shapes["record/0/1"]
    assert record["x"] - 5 <= shaded["x"] <= record["x"]
    assert (
        record["x"] + record["w"]
        <= shaded["x"] + shaded["w"]
        <= record["x"] + record["w"] + 5
    )
    assert at(pic, "OffsetCommitted", 1)["space"]["spans"] == {
        "lost": None,
        "again": None,
    }
    pic = picture("commit", commit_first())
    noted = at(pic, "OffsetCommitted", 1)
    assert noted["space"]["spans"] == {"lost": [1, 2], "again": None}
    assert span(pic, noted, "lost") == "would be lost if it stopped"
    begins = at(pic, "PositionReset", 1)
    assert begins["space"]["spans"] == {
        "lost": None,
        "again": None,
    }, "what would be lost is lost now"


def test_after_a_crash_the_span_comes_again_until_the_reader_is_where_the_group_was():
    pic = picture("commit", commit_after())
    shown = [
        span(pic, scene, "again")
        for scene in pic.scenes
        if scene["at"] >= at(pic, "NodeCrashed")["at"]
    ]
    assert shown[:4] == ["comes again"] * 4, "crash, restart, assignment, position"
    assert shown[4] == "repeated, not yet committed", "handed over again"
    assert shown[5] == "repeated, not yet committed", "written again"


def test_from_a_crash_until_it_reads_again_a_readers_lane_is_one_span_with_its_length():
    pic = picture("commit", commit_after())
    told = {}
    for scene in pic.scenes:
        lane = [
            shape["text"]
            for key, shape in drawn(pic, scene).items()
            if key.startswith("time/lane/billing/") and "text" in shape
        ]
        words = [text for text in lane if text == "crashed" or text.endswith("48 s")]
        told.setdefault(" ".join(words), []).append(scene["kind"])
    assert list(told) == ["", "crashed", "48 s"]
    assert told["crashed"][-1] == "PositionReset"


def test_nothing_committed_means_all_from_the_start_comes_again_and_an_expired_commit_means_nothing_is_known():
    story = begun()
    assert last(story)["space"]["spans"]["again"] == [0, 1]
    story.at(2100).commit(1)
    story.tell(
        "broker 1", "OffsetsExpired", group="billing", partitions=[["orders", 0]]
    )
    assert last(story)["space"]["spans"] == {"lost": None, "again": None}


def test_while_a_prediction_is_open_a_span_says_what_is_and_not_what_would_be():
    question = {
        "question": "What becomes of record 3?",
        "options": ["once", "twice"],
        "mine": None,
    }
    pic = picture(
        "commit",
        commit_after(),
        prediction=question,
        answer=2,
        surprise=lambda event: event.kind == "NodeCrashed",
    )
    stop, decided = pic.scenes[pic.prediction.stop], pic.prediction.decided
    assert span(pic, stop, "again") == "read, not committed"
    assert span(pic, pic.scenes[decided], "again") in (
        None,
        "comes again",
        "would be repeated if it stopped",
    )


def test_what_is_there_twice_is_told_with_its_cause_at_the_end():
    pic = picture("commit", commit_after())
    end = pic.scenes[-1]
    assert end["sentence"] == (
        "Record 3 is in payments twice: done, not yet committed, so it came again."
    )
    assert {"effect/3", "effect/3/2"} <= set(end["light"])
    assert any(key.endswith("/span") for key in drawn(pic, end))


def test_light_falls_once_on_the_first_that_is_lost_and_the_first_that_is_there_twice():
    for trace, kind, keys in (
        (commit_after, "EffectWritten", {"record/0/3", "effect/3/2", "lamp/twice"}),
        (
            commit_first,
            "PositionReset",
            {"record/0/2", "effect/2", "lamp/skipped", "boundary/0/committed"},
        ),
    ):
        pic = picture("commit", trace())
        lit, *_ = [scene for scene in pic.scenes[:-1] if "light" in scene]
        assert lit["kind"] == kind and lit["trouble"]
        assert keys <= {*pic.drawings(WIDE)[lit["step"]].outlined}


def test_a_record_is_named_by_its_key_and_never_twice_by_its_offset():
    story = Commits()
    story.topic()
    for offset in range(12):
        story.append(0, offset, (f"o-{offset}", "20 euros"))
    story.at(1000).starts(0)
    pic = picture("commit", story.events)
    wide, narrow = (drawn(pic, pic.scenes[-1], width) for width in (WIDE, NARROW))
    assert wide["record/0/11"]["text"] == "o-11" and not narrow["record/0/11"].get(
        "text"
    )
    assert wide["record/0/11"]["below"] == narrow["record/0/11"]["below"] == "11"


def test_no_sentence_tells_an_effect_before_it_happens():
    for trace in (commit_after, commit_first):
        said = [scene["sentence"] for scene in picture("commit", trace()).scenes]
        assert not [
            sentence
            for sentence in said
            if "come again" in sentence or "reads record" in sentence
        ]


def test_a_record_in_hand_that_is_not_committed_comes_again_and_nothing_is_wrong():
    story = begun()
    story.at(2100).crash()
    assert (
        "crashes, and forgets record 0, which it had in hand."
        in last(story)["sentence"]
    )
    assert not last(story)["space"]["skipped"]
    story.back(0)
    story.poll("billing", 0, 0, 1)
    assert "had been handed over before." in last(story)["sentence"]
    story.write(0)
    assert (
        last(story)["space"]["effects"] == {"0": [last(story)["number"]]}
        and not last(story)["trouble"]
    )


def test_a_commit_that_arrives_after_its_sender_crashed_skips_what_was_in_hand():
    story = begun()
    cause = story.at(2100).sends(1)
    story.crash()
    assert "Its commit of 1 may be on its way" in last(story)["sentence"]
    assert not last(story)["space"]["skipped"]
    story.at(2110).notes(1, cause=cause)
    assert not last(story)["space"]["skipped"] and last(story)["space"]["spans"][
        "lost"
    ] == [0, 1]
    story.back(1)
    assert (
        list(last(story)["space"]["skipped"]) == ["0"]
        and last(story)["chapter"] == "lost"
    )


def test_a_consumer_that_closes_with_a_commit_skips_what_it_had_not_done():
    story = begun()
    story.at(2100).commit(1, how="close")
    story.tell("billing", "ClientClosed")
    assert not last(story)["trouble"]
    story.starts(1, reader="billing 2")
    assert "Record 0 is lost" in last(story)["sentence"]
    asked = at(picture("commit", story.events), "CommitSent")["sentence"]
    assert (
        asked
        == "On closing, billing asks the coordinator to store offset 1 for the group."
    )


def test_what_a_zombie_still_writes_is_not_skipped():
    story = begun()
    story.at(2100).commit(1)
    story.at(2200).crash()
    story.back(1)
    assert last(story)["space"]["skipped"]
    story.write(0, reader="zombie")
    assert not last(story)["space"]["skipped"] and last(story)["space"]["effects"]


def test_a_reader_that_starts_at_the_end_skips_what_was_written_since_the_group_was_there():
    story = begun(records=5)
    story.at(2100).write(0)
    story.at(2200).commit(1)
    story.at(2300).tell("billing", "ClientClosed")
    story.at(700_000_000).tell(
        "broker 1", "OffsetsExpired", group="billing", partitions=[["orders", 0]]
    )
    assert (
        last(story)["chapter"] == "the commit expires"
        and last(story)["space"]["committed"] is None
    )
    story.at(700_001_000).tell(
        "billing 2",
        "PositionReset",
        **HERE,
        offset=5,
        why='auto_offset_reset is "latest"',
    )
    assert list(last(story)["space"]["skipped"]) == ["1", "2", "3", "4"]


def test_a_new_group_that_starts_at_the_end_skips_nothing():
    story = Commits().orders(5)
    story.at(1000).starts(5, 'auto_offset_reset is "latest"')
    assert not last(story)["trouble"] and not last(story)["space"]["skipped"]


def test_without_a_table_a_record_is_done_when_it_is_handed_over():
    story = begun()
    story.at(2100).crash()
    story.back(0)
    story.poll("billing", 0, 0, 1)
    told = picture("commit", story.events).scenes[-1]
    assert told["trouble"] and len(told["space"]["effects"]["0"]) == 2
    shapes = drawn(picture("commit", story.events), told)
    assert shapes["row/table"]["text"] == "read" and told["light"]


def test_other_groups_tables_and_partitions_are_not_shown():
    story = begun()
    story.at(2050).commit(1)
    story.tell(
        "audit", "CommitSent", group="audit", offsets=[["orders", 0, 3]], how="auto"
    )
    story.tell(
        "broker 1",
        "OffsetCommitted",
        group="audit",
        member="m",
        **HERE,
        offset=3,
        was=None,
    )
    story.poll("audit", 0, 0, 3)
    story.tell(
        "billing",
        "EffectWritten",
        table="payments",
        key="o-0",
        value="1",
        topic="orders",
        partition=1,
        offset=0,
    )
    story.tell(
        "billing", "CommitSent", group="billing", offsets=[["orders", 1, 9]], how="sync"
    )
    pic = picture("commit", story.events)
    assert [reader["name"] for reader in pic.scenes[-1]["space"]["readers"]] == [
        "billing"
    ]
    assert (
        pic.scenes[-1]["space"]["committed"] == 1
        and not pic.scenes[-1]["space"]["effects"]
    )
    assert (
        picture("commit", story.events, group="audit").scenes[-1]["space"]["committed"]
        == 3
    )


def test_a_commit_that_is_refused_says_the_error():
    story = begun()
    story.at(2100).sends(1)
    story.tell(
        "billing",
        "CommitFailed",
        group="billing",
        offsets=[["orders", 0, 1]],
        error="ILLEGAL_GENERATION",
    )
    assert last(story)["trouble"] and last(story)["chapter"] == "ILLEGAL_GENERATION"
    assert last(story)["space"]["committed"] is None


@pytest.mark.parametrize("trace", [commit_after, commit_first])
def test_nothing_later_than_the_cursor_is_drawn_and_all_fits(trace):
    pic = picture("commit", trace())
    for width in (WIDE, NARROW):
        for told, drawing in zip(pic.scenes, pic.drawings(width), strict=True):
            assert_no_mark_after_the_cursor(drawing)
            assert all(
                shape.get("of", 0) <= told["step"] for shape in drawing.shapes.values()
            )
            assert all(
                shape["x"] + shape.get("w", 0) <= width + 1
                for shape in drawing.shapes.values()
            )
            assert drawing.bottom <= (380 if width == WIDE else 420)


def test_a_long_partition_shows_the_effects_of_the_records_that_are_drawn():
    story = Commits().orders(60)
    story.at(7000).starts(0)
    for offset in range(0, 60, 10):
        story.at(7000 + offset * 100).poll("billing", 0, offset, offset + 10)
        for each in range(offset, offset + 10):
            story.write(each)
        story.commit(offset + 10)
    pic = picture("commit", story.events)
    shapes = drawn(pic, pic.scenes[-1])
    shown = {key.split("/")[2] for key in shapes if key.startswith("record/0/")}
    assert shown == {
        key.split("/")[1] for key in shapes if key.startswith("effect/")
    }, "each was done"
    assert "59" in shown and len(pic.scenes[-1]["space"]["effects"]) == 60


def test_the_text_of_a_scene_says_what_the_lamps_say():
    assert "5 written" in repr(
        picture("commit", commit_after()[:-4])
    ) or "6 written" in repr(picture("commit", commit_after()))
    assert "1 twice, 0 skipped" in repr(picture("commit", commit_after()))
    assert "nothing has happened" in repr(picture("commit", []))


def test_in_a_log_longer_than_the_page_the_records_that_went_wrong_are_drawn():
    story = Commits().orders(80)
    story.at(9000).starts(0)
    story.poll("billing", 0, 0, 22)
    for offset in range(20):
        story.write(offset)
    story.at(9100).commit(21)
    story.at(9200).crash()
    story.back(21)
    story.poll("billing", 0, 21, 80)
    for offset in (10, *range(21, 80)):
        story.write(offset)
    pic = picture("commit", story.events)
    for width in (WIDE, NARROW):
        shapes = drawn(pic, pic.scenes[-1], width)
        assert (
            shapes["effect/10/2"]["text"] == "2×"
            and shapes["effect/20/word"]["text"] == "lost"
        )


def test_a_member_that_reads_other_partitions_may_crash_unseen():
    story = begun()
    story.tell(
        "other",
        "PartitionsAssigned",
        group="billing",
        member="other",
        generation=1,
        partitions=[["orders", 1]],
        owned=[["orders", 1]],
    )
    before = last(story)
    story.crash("other")
    assert last(story) == before | {"of": last(story)["of"]}
