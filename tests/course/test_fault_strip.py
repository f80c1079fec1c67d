"""The map of faults under the picture of its runs, as lesson 09 shows it."""

import pytest

from minikafka.course import levers
from minikafka.course.experiments.lesson_09_runs import SENT, fared, five_orders
from minikafka.faults import Crash, Freeze
from minikafka.simulation.fault_map import fault_map
from minikafka.theatre.drawing import LAYOUTS

pytestmark = pytest.mark.slow

FREEZE = Freeze(2, at_ms=5000, for_ms=3000)


@pytest.fixture(scope="module")
def found():
    faults = [Crash(1, restart_after_ms=20_000), FREEZE]
    return fault_map(
        five_orders, faults, fared, [5000, 5030], processes=1, keeps_traces=True
    )


@pytest.fixture
def live(found, monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "html")
    shown = levers.faults(found, marks=SENT)
    shown.sent = []
    monkeypatch.setattr(shown.stage, "send", shown.sent.append)
    return shown


def test_the_strip_says_how_each_run_ended(live):
    strip = live.picture.data()["strip"]
    assert strip["faults"] == ["broker 1 is killed", "broker 2 freezes for 3 s"]
    assert strip["cells"][1] == [["nothing", ".", "nothing", True]] * 2
    assert strip["cells"][0][1][:2] == ["waited", "w"]
    assert strip["marks"][0] == [0, "order 0"]


def test_a_cell_that_is_pointed_at_plays_its_run_from_the_fault_on(live):
    live.press("cell 0/1")
    [play] = live.sent
    assert play["cell"] == "0/1"
    assert play["flags"][0]["words"] == "broker 1 is killed"
    at_ms = [step["at"] for step in play["steps"] if "at" in step]
    assert at_ms[0] <= 5030


def test_a_cell_taken_from_its_neighbours_is_run_when_it_is_pointed_at(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "html")
    found = fault_map(five_orders, [FREEZE], fared, [5000, 5001, 5030], processes=1)
    shown = levers.faults(found, marks=SENT)
    sent = []
    monkeypatch.setattr(shown.stage, "send", sent.append)
    assert shown.picture.data()["strip"]["cells"][0][1][3] is False
    shown.press("cell 0/1")
    assert sent[0]["ended"] == {"0/1": ("nothing", ".", "nothing", True)}
    assert shown.found.rows[0][1].is_run


def test_a_page_that_has_said_how_wide_it_is_gets_one_layout(live):
    live.press("cell 0/1")
    live.stage.width.value = "560"
    live.press("cell 0/0")
    widths = [[layout["width"] for layout in play["layouts"]] for play in live.sent]
    assert widths == [list(LAYOUTS), [560]]


def test_a_pinned_fault_happens_in_every_run_until_it_is_taken_out(live):
    live.press("pin 1/0")
    strip = live.sent[-1]["strip"]
    assert strip["also"] == ["broker 2 freezes for 3 s at 5.000 s"]
    assert strip["cells"][0][1][:3] == ["lost", "l", str(live.found.rows[0][1].outcome)]
    live.press("unpin 0")
    assert live.sent[-1]["strip"]["also"] == []
    assert live.sent[-1]["strip"]["cells"][0][1][0] == "waited"


def test_a_page_without_a_kernel_holds_every_run_that_was_made(live):
    strip = live.alone().data()["strip"]
    assert sorted(strip["runs"]) == ["0/0", "0/1", "1/0", "1/1"]
    assert max(map(len, strip["runs"].values())) < 20_000
