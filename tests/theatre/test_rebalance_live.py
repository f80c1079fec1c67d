"""The rebalance's levers, and several pictures in one page. Re-runs come in as functions."""

import json
import re
import shutil

import pytest

from minikafka.theatre import picture
from minikafka.theatre.choices import Choices
from tests.theatre import groups
from tests.theatre.test_browser import chromium  # noqa: F401
from tests.theatre.traces import retention

pytest.importorskip("ipywidgets")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    from minikafka.theatre.live_rebalance import RebalanceLive

    seen = []

    def rerun(changes):
        if changes and changes[-1].at_ms > 30_000:
            raise ValueError("the run is over")
        seen.append(list(changes))
        return groups.classic("cooperative-sticky" if changes else "range")

    made = RebalanceLive(rerun, lambda change: f'cluster.{change.what}("{change.who}")', ["consumer A", "consumer B"])
    made.seen = seen
    return made


def test_a_lever_runs_again_from_its_moment_and_prints_the_line_that_does_the_same(live):
    before = live.picture.digest
    live.moment.value = 9.5
    live.who.value = "consumer B"
    live.press("freeze")
    assert live.seen[-1] == [(9500, "freeze", "consumer B")] and live.picture.digest != before
    assert "cluster.freeze(&quot;consumer B&quot;)" in live.line.value and "9.500 s" in live.line.value


def test_what_was_changed_later_is_undone(live):
    for second, what in ((5, "add"), (12, "freeze"), (9, "slow")):
        live.moment.value = second
        live.press(what)
    assert [(change.at_ms, change.what) for change in live.changes] == [(5000, "add"), (9000, "slow")]
    live.press("reset")
    assert live.changes == [] and live.seen[-1] == []


def test_an_added_member_gets_the_next_letter_and_can_be_chosen(live):
    live.moment.value = 5
    live.press("add")
    assert live.changes[-1].who == "consumer C" and "consumer C" in live.who.options


def test_what_can_not_be_done_at_a_moment_is_said_and_the_picture_stays(live):
    before = live.picture
    live.moment.value = 31
    live.press("remove")
    assert "the run is over" in live.line.value and live.picture is before and live.changes == []


def test_the_picture_opens_at_the_moment_of_the_change(live):
    live.moment.value = 9.5
    live.press("freeze")
    begin = json.loads(re.search(r'id="play">(.*?)</script>', live.picture.page(at_ms=9500), re.S).group(1))["begin"]
    scenes = live.picture.scenes
    assert scenes[begin]["at"] <= 9500 < scenes[begin + 1]["at"]
    assert f'"begin":{begin}' in live.stage.value


def test_its_text_is_all_there_is_under_nbval(live, monkeypatch):
    assert "application/vnd.jupyter.widget-view+json" in live._repr_mimebundle_()
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    assert live._repr_mimebundle_() == {"text/plain": repr(live)}


# -- choices


def choices():
    pictures = [picture("rebalance", groups.classic("range")), picture("log", retention())]
    return Choices([("protocol", ("one", "other"))], pictures, ["one()", "other()"], first=1)


def test_every_combination_needs_its_picture():
    with pytest.raises(ValueError, match="every combination"):
        Choices([("protocol", ("one", "other")), ("what", ("a", "b"))], choices().pictures, ["one()", "other()"])


@pytest.mark.browser
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_choice_shows_another_picture_and_its_code(chromium, tmp_path):  # noqa: F811
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    choices().save(tmp_path / "page.html")
    page = chromium.new_page(viewport={"width": 960, "height": 647}, reduced_motion="reduce")
    page.goto((tmp_path / "page.html").as_uri())
    assert page.text_content("#title") == "Partition 0 of orders" and page.text_content("#choices code") == "other()"
    page.click("#choices button:text('one')")
    page.wait_for_function("document.getElementById('title').textContent === 'Rebalance of group billing'")
    assert page.title() == "Rebalance of group billing" and page.text_content("#choices code") == "one()"
    assert page.get_attribute("#choices button:text('one')", "aria-pressed") == "true"
    assert axe.run(page).response["violations"] == []
    page.close()
