"""The words under a map of runs never lie on each other."""

from itertools import combinations

import pytest

from minikafka.theatre import picture
from minikafka.theatre.strip import Ended, Mark, strip
from tests.chromium import running_chromium
from tests.theatre.commit_traces import commit_first

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
PLACES = """
all => all.map(node => node.getBoundingClientRect()).map(box => [box.left, box.right])
  .filter(([left, right]) => right > left)
"""


def mapped(*marks):
    """A picture under a map from 4 to 29 s, in which this happens."""
    moments = list(range(4000, 29_001, 1000))
    ended = Ended("nothing", ".", "nothing is lost")
    pic = picture("commit", commit_first())
    pic.strip = strip(
        "What is lost?",
        faults=["broker 3 is killed"],
        moments_ms=moments,
        rows=[[ended] * len(moments)],
        marks=[Mark(*mark) for mark in marks],
    )
    return pic


@pytest.mark.parametrize("width", [390, 760, 980])
@pytest.mark.parametrize(
    "marks",
    [
        [(8000, "broker 1 freezes"), (24_000, "it is back")],
        [(4500, "the shop begins"), (28_500, "it is at its end")],
        [(25_000, "one of many words"), (27_000, "another of many words")],
    ],
)
def test_words_under_a_map_never_lie_on_each_other(tmp_path, marks, width):
    mapped(*marks).save(tmp_path / "page.html")
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.goto((tmp_path / "page.html").as_uri())
        places = page.eval_on_selector_all("#strip .moments span", PLACES)
        assert len(places) >= len(marks)
        for one, other in combinations(places, 2):
            assert one[1] <= other[0] or other[1] <= one[0]
