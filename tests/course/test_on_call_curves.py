"""Lesson 22's curves: drawn once in each cell that plays a night, again while time
passes, and not at all where outputs are text.
"""

import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from minikafka.course.on_call import live, plans
from minikafka.course.on_call.incident import Incident
from minikafka.course.on_call.strip import Mark, strip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def cell(monkeypatch):
    """A notebook's cell: what it displays, and how often that is drawn again."""
    told = SimpleNamespace(kernel=True, execution_count=1, shown=[])

    class Handle:
        def __init__(self, bundle):
            self.bundles = [bundle]

        def update(self, bundle, raw):
            assert raw
            self.bundles.append(bundle)

    def display(bundle, raw=False, display_id=False):
        if display_id:
            assert raw
            told.shown.append(Handle(bundle))
            return told.shown[-1]
        return None

    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setattr("IPython.get_ipython", lambda: told)
    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    monkeypatch.setattr(live, "PAUSE_S", 0)
    return told


def texts(page):
    """The words of a drawing."""
    return [each.text for each in ElementTree.fromstring(page).iter("text")]


def test_a_cell_has_one_drawing_that_grows_and_the_next_cell_another(cell):
    night = Incident(plans.read("quiet-night"))
    night.wait(minutes=1)
    night.ask("kafka-topics --list")
    [first] = cell.shown
    pages = [bundle["text/html"] for bundle in first.bundles]
    assert len(pages) > 15  # each sample since midnight
    ends = [texts(page)[texts(page).index("00:00") + 1] for page in pages]
    assert ends == sorted(ends) and ends[0] == "00:00:10" and ends[-1] == "00:03:30"
    assert "you were called" not in pages[0] and "you were called" in pages[-1]
    cell.execution_count = 2
    night.act("kubectl scale deployment/billing --replicas 4")
    assert len(cell.shown) == 2
    last = cell.shown[1].bundles[-1]
    assert "--replicas 4</title>" in last["text/html"]
    assert "lag of billing 0" in last["text/plain"]
    assert "lag of billing" in texts(last["text/html"])


def test_nothing_is_drawn_where_outputs_are_text(cell, monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    night = Incident(plans.read("quiet-night"))
    night.wait(minutes=1)
    night.report()
    assert cell.shown == []


def test_the_curve_of_accepted_orders_falls_when_none_are_and_words_are_escaped(cell):
    night = Incident(plans.read("quiet-night"))
    night.wait(minutes=1)
    samples = list(night.world.samples)
    stopped = [each._replace(accepted=0) for each in samples[:6]]
    end_ms = samples[-1].at_ms
    later = [each._replace(at_ms=end_ms + each.at_ms) for each in stopped]
    page = strip([*samples, *later], 120_000, [Mark(150_000, "a < b & c")])
    root = ElementTree.fromstring(page)
    assert [each.text for each in root.iter("title")] == [
        "a < b & c",
        "you were called",
    ]
    accepted, *_ = root.iter("polyline")
    heights = [float(point.split(",")[1]) for point in accepted.get("points").split()]
    assert heights[-1] == max(heights) > min(heights)  # y grows downwards
