"""The rebalance's levers, and several pictures in one page. Re-runs come in as
functions.
"""

import json
import re
from html import unescape

import pytest

from minikafka.course.demo import Choices
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from minikafka.theatre.picture import Picture
from tests.theatre import groups
from tests.theatre.traces import retention

pytestmark = pytest.mark.slow

pytest.importorskip("ipywidgets")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    from minikafka.course.levers.on_stage import LiveRun

    seen = []

    def rerun(changes):
        if changes and changes[-1].at_ms > 30_000:
            raise ValueError("the run is over")
        seen.append(list(changes))
        return groups.classic("cooperative-sticky" if changes else "range")

    members = ["consumer A", "consumer B"]
    made = LiveRun(
        "rebalance",
        rerun,
        lambda change: f'cluster.{change.what}("{change.who}")',
        members,
    )
    made.seen = seen
    return made


def played(live):
    """What the page was sent last."""
    return json.loads(
        unescape(re.search(r'data-play="(.*?)"', live.stage.data.value)[1])
    )


def acts(drawing):
    return {shape["act"] for shape in drawing.shapes.values() if "act" in shape}


def test_levers_that_the_page_around_shows_are_known_on_a_phone_and_take_no_room(live):
    shown = live.picture
    apart = Picture(type(shown.play), shown.cast, shown.scenes)
    apart.levers_apart = True
    for here, there in zip(shown.drawings(PHONE), apart.drawings(PHONE), strict=True):
        assert acts(here) == acts(there) != set()
        assert here.bottom - there.bottom > 2 * 28
        for key, shape in there.shapes.items():
            assert ("act" in shape) == ("apart" in shape)
            assert "lever" not in key or "act" in shape
    assert apart.drawings(WIDE)[-1].shapes == shown.drawings(WIDE)[-1].shapes


def test_a_lever_runs_again_from_its_moment_and_prints_the_line_that_does_the_same(
    live,
):
    before = live.picture.digest
    live.press("freeze", "consumer B", 9500)
    assert (
        live.seen[-1] == [(9500, "freeze", "consumer B", "")]
        and live.picture.digest != before
    )
    assert (
        "cluster.freeze(&quot;consumer B&quot;)" in live.line.value
        and "9.500 s" in live.line.value
    )


def test_a_click_on_a_card_does_what_is_written_there_at_the_moment_that_is_shown(live):
    live.stage.clicked.value = json.dumps(
        {"act": "slow consumer A", "at": 7000, "turn": 1}
    )
    live.stage.clicked.value = json.dumps({"act": "add", "at": 8000, "turn": 2})
    assert live.changes == [
        (7000, "slow", "consumer A", ""),
        (8000, "add", "consumer C", ""),
    ]


def test_what_was_changed_later_is_undone_and_what_was_changed_at_that_moment_stays(
    live,
):
    for ms, what in (
        (5000, "add"),
        (12_000, "freeze"),
        (9000, "slow"),
        (9000, "freeze"),
    ):
        live.press(what, "consumer A", ms)
    assert [(change.at_ms, change.what) for change in live.changes] == [
        (5000, "add"),
        (9000, "slow"),
        (9000, "freeze"),
    ]
    live.reset()
    assert live.changes == [] and live.seen[-1] == []


def test_what_can_not_be_done_at_a_moment_is_said_and_the_picture_stays(live):
    before = live.picture
    live.press("leave", "consumer A", 31_000)
    assert (
        "the run is over" in live.line.value
        and live.picture is before
        and live.changes == []
    )
    assert played(live)["error"] == "the run is over"


def test_a_change_is_moved_to_another_moment_and_the_others_stay(live):
    live.press("freeze", "consumer B", 9500)
    live.press("leave", "consumer A", 12_000)
    assert [flag["act"] for flag in played(live)["flags"]] == ["move 0", "move 1"]
    live.press("move", "0", 13_000)
    assert live.seen[-1] == [
        (12_000, "leave", "consumer A", ""),
        (13_000, "freeze", "consumer B", ""),
    ]
    live.press("move", "1", 40_000)
    assert "the run is over" in live.line.value, "and it stays where it was"
    assert [change.at_ms for change in live.changes] == [12_000, 13_000]


def test_the_new_play_begins_at_the_moment_of_the_change_and_flags_it(live):
    live.press("freeze", "consumer A", 9500)
    begin, scenes = played(live)["begin"], live.picture.scenes
    assert scenes[begin]["at"] <= 9500 < scenes[begin + 1]["at"]
    assert played(live)["flags"] == [
        {"step": begin, "words": 'cluster.freeze("consumer A")', "act": "move 0"}
    ]


def test_a_run_again_is_drawn_in_the_layout_that_the_page_shows_and_no_other(live):
    def layouts():
        return [layout["width"] for layout in played(live)["layouts"]]

    live.press("freeze", "consumer A", 9500)
    assert layouts() == [*LAYOUTS], "the page has said nothing yet"
    live.stage.width.value = str(NARROW)
    assert layouts() == [NARROW] and played(live)["redrawn"]
    live.press("freeze", "consumer B", 9500)
    assert layouts() == [NARROW] and "redrawn" not in played(live)
    assert list(live.picture._drawings) == [NARROW]


def test_only_a_live_picture_has_levers_and_a_frozen_member_can_only_crash(live):
    def acts(picture, when=lambda space: True):
        shown = [scene["step"] for scene in picture.scenes if when(scene["space"])]
        return {
            shape["act"]
            for shape in picture.drawings(WIDE)[shown[-1]].shapes.values()
            if "act" in shape
        }

    def a_lives(space, life=""):
        return any(
            member["name"] == "consumer A" and member["life"] == life
            for member in space["members"]
        )

    def of_a(acts):
        return {act for act in acts if act.endswith("consumer A")}

    all_of_them = ("freeze", "slow", "leave", "crash", "cut")
    assert acts(picture("rebalance", groups.classic("range"))) == set()
    assert "add" in acts(live.picture)
    assert of_a(acts(live.picture, a_lives)) == {
        f"{what} consumer A" for what in all_of_them
    }
    frozen = acts(
        live.picture,
        lambda space: a_lives(space, "frozen") and space["members"][0]["inside"],
    )
    assert of_a(frozen) == {"crash consumer A"}


def test_its_text_is_all_there_is_under_nbval(live, monkeypatch, capsys):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    live._ipython_display_()
    assert "iframe" not in capsys.readouterr().out


# -- choices


def choices():
    pictures = [
        picture("rebalance", groups.classic("range")),
        picture("log", retention()),
    ]
    return Choices(
        [("protocol", ("one", "other"))], pictures, ["one()", "other()"], first=1
    )


def test_every_combination_needs_its_picture():
    with pytest.raises(ValueError, match="every combination"):
        Choices(
            [("protocol", ("one", "other")), ("what", ("a", "b"))],
            choices().pictures,
            ["one()", "other()"],
        )


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_choice_shows_another_picture_and_its_code(chromium, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    choices().save(tmp_path / "page.html")
    page = chromium.new_page(
        viewport={"width": 960, "height": 647}, reduced_motion="reduce"
    )
    page.goto((tmp_path / "page.html").as_uri())
    assert (
        page.text_content("#title") == "Partition 0 of orders"
        and page.text_content("#choices code") == "other()"
    )
    page.click("#choices button:text('one')")
    page.wait_for_function(
        "document.getElementById('title').textContent === 'Rebalance of group billing'"
    )
    assert (
        page.title() == "Rebalance of group billing"
        and page.text_content("#choices code") == "one()"
    )
    assert page.get_attribute("#choices button:text('one')", "aria-pressed") == "true"
    page.keyboard.press("ArrowRight")
    shown = page.text_content("#sentence")
    page.click("#link")
    again = chromium.new_page()
    again.goto(page.url)
    assert (
        again.text_content("#sentence") == shown
        and again.text_content("#choices code") == "one()"
    )
    again.close()
    assert axe.run(page).response["violations"] == []
    page.close()
