"""The essay "How Kafka loses an order": what its prose says is what its runs did, what
the ledger of claims knows, and what clients do by default.
"""

import html
import json
import re
import tomllib
from itertools import pairwise

import pytest

from minikafka.course import claims
from minikafka.course.experiments.essay_runs import (
    BACK,
    CASES,
    FROZEN_S,
    LATE,
    LOST,
    LUCK,
    PARTITIONS,
    TIMEOUTS_S,
    TWICE,
    WAITS,
    WELL,
)
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import essay, site
from minikafka.theatre.drawing import WIDE
from tests.browser.site import SUB_PATH, served
from tests.chromium import running_chromium
from tests.firefox import END, running_firefox
from tests.theatre.overlaps import problems

pytestmark = [pytest.mark.slow, pytest.mark.apart]

# how runs end without the switch, and with it
ENDS = {
    "key": ({WELL, LATE, LUCK}, set()),
    "batch": ({WELL, LATE, TWICE}, {WELL}),
    "commit": ({WELL, LOST}, {WELL, TWICE}),
    "rebalance": ({WELL, WAITS, TWICE}, {WELL, WAITS}),
    "watermark": ({WAITS, LOST}, {WAITS}),
    "fork": ({WELL, LOST}, {WAITS}),
    "gate": ({BACK}, {WAITS}),
    "sink": ({WELL, TWICE}, {WELL}),
}
VIEW_BOX, FONT_SIZE = re.compile('viewBox="([^"]*)"'), re.compile('font-size="([^"]*)"')
PHONES_DRAWING = 358  # pixels of a figure in a window of 390
# Each drawing's texts, with their places in the figure.
MEASURE = """
([name, drawings]) => {
  const box = [...document.querySelectorAll(`#${name} .drawing`)].find(each => each.checkVisibility());
  return drawings.map(drawing => {
    box.innerHTML = drawing;
    const { left, top, width, height } = box.firstElementChild.getBoundingClientRect();
    const texts = [...box.querySelectorAll('text')].map(text => {
      const edges = text.getBoundingClientRect();
      return [text.textContent, edges.left - left, edges.top - top, edges.right - left, edges.bottom - top];
    });
    return { width, height, texts, squeezed: [], outside: [] };
  });
}
"""
# In pixels, of all that is to be read in the figures.
SIZES = """
[...document.querySelectorAll('.case :is(text, i, p, a, output, button, label)')]
  .filter(each => each.checkVisibility())
  .map(each => {
    const size = parseFloat(getComputedStyle(each, each.matches('i') ? '::after' : null).fontSize);
    return each.matches('text') ? size * each.getScreenCTM().a : size;
  })
"""
CASE = {case.name: case for case in CASES}
KILOBYTE = 1024


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A site that is nothing but the essay."""
    root = tmp_path_factory.mktemp("host")
    folder = root / SUB_PATH.strip("/")
    folder.mkdir(parents=True)
    site.save(folder / essay.PATH, site.essay_page(essay.write(folder)))
    site.save(folder / "essay.js", site.own("essay.js"))
    return root


@pytest.fixture(scope="module")
def folder(root):
    return root / SUB_PATH.strip("/")


@pytest.fixture(scope="module")
def runs(folder):
    """Case -> the runs without its switch, and those with it."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in (folder / essay.FOLDER).iterdir()
    }


def test_the_prose_has_a_place_for_each_case_in_their_order():
    assert re.findall(r"<!-- case: (\w+) -->", essay.prose()) == list(CASE)
    assert len(re.findall("^## [1-8]. ", essay.prose(), re.MULTILINE)) == len(CASES)


def test_before_each_case_the_prose_says_what_to_move():
    tries = re.findall(
        r"^\*\*Try it:\*\* .*\n\n<!-- case: (\w+) -->", essay.prose(), re.M
    )
    assert tries == list(CASE)


@pytest.mark.parametrize("name", CASE)
def test_the_runs_of_a_case_end_as_the_prose_tells(runs, name):
    ends = tuple({run["kind"] for run in each} for each in runs[name])
    assert ends == ENDS[name]
    count = len(CASE[name].places)
    assert [len(each) for each in runs[name]] == [
        count,
        count * bool(CASE[name].switch),
    ]
    assert runs[name][False][CASE[name].first]["kind"] in (
        LOST,
        TWICE,
        LATE,
        BACK,
    )


def test_at_the_end_the_way_shows_the_first_runs_with_their_switches_on(runs):
    ends = {
        name: runs[name][bool(case.switch)][case.first]["kind"]
        for name, case in CASE.items()
    }
    waiting = {name for name, kind in ends.items() if kind == WAITS}
    assert waiting == {"rebalance", "watermark", "fork", "gate"}
    assert {name for name, kind in ends.items() if kind == TWICE} == {"commit"}
    assert ends["key"] == LATE and ends["batch"] == ends["sink"] == WELL


def test_with_four_partitions_alice_is_lucky(runs):
    well = [
        count
        for count, run in zip(PARTITIONS, runs["key"][False], strict=True)
        if run["kind"] == WELL
    ]
    assert well == [2, 4]


def test_what_has_no_answer_is_sent_again_the_last_first(runs):
    says = {
        place: run["says"]
        for place, run in zip(CASE["batch"].places, runs["batch"][False], strict=True)
    }
    assert says["order 0 itself"].startswith("The log holds 4 3 2 1 0:")
    assert says["the answer to order 2"].startswith("The log holds 0 1 2 3 4 4 3 2:")


def test_a_consumer_is_evicted_45_seconds_after_its_last_heartbeat(runs):
    evicted = [
        seconds
        for seconds, run in zip(FROZEN_S, runs["rebalance"][True], strict=True)
        if "evicted" in run["says"]
    ]
    assert evicted == [44, 46, 50, 60]


def test_an_open_transaction_is_aborted_when_the_coordinator_looks(runs):
    for seconds, run in zip(TIMEOUTS_S, runs["gate"][True], strict=True):
        looks_at = seconds // 10 * 10 + 10  # seconds; every ten
        assert f"wait for {looks_at} s" in run["says"]


@pytest.mark.parametrize("name", essay.FURTHER)
def test_what_the_prose_says_rests_on_the_ledger_of_claims(name):
    known = {claim.id for claim in claims.ledger()}
    assert essay.FURTHER[name].claims and known.issuperset(essay.FURTHER[name].claims)


def test_defaults_that_the_prose_names_are_those_that_the_clients_have():
    text = (NOTEBOOKS / "client_defaults.toml").read_text(encoding="utf-8")
    default = {each["name"]: each for each in tomllib.loads(text)["setting"]}
    idempotence, isolation = default["enable.idempotence"], default["isolation.level"]
    assert (idempotence["java"], idempotence["librdkafka"]) == ("true", "false")
    assert isolation["java"] == isolation["kafka-python"] == "read_uncommitted"
    assert isolation["librdkafka"] == "read_committed"
    for client in ("java", "librdkafka", "kafka-python"):
        assert "all" in default["acks"][client]
    assert default["session.timeout.ms"]["java"].startswith("45000")


def test_the_page_weighs_less_than_300_kb_until_a_picture_is_moved(folder):
    first = (essay.PATH, "essay.js")
    kilobytes = sum((folder / name).stat().st_size for name in first) / KILOBYTE
    print(f"the essay: {kilobytes:.0f} kB")
    for path in sorted((folder / essay.FOLDER).iterdir()):
        print(f"{path.name}: {path.stat().st_size / KILOBYTE:.0f} kB")
    assert kilobytes < 300


# -- the figures


@pytest.mark.parametrize("name", CASE)
@pytest.mark.parametrize("width", essay.WIDTHS)
def test_a_figure_is_equally_high_in_all_its_runs(runs, name, width):
    boxes = {VIEW_BOX.search(run[width])[1] for each in runs[name] for run in each}
    assert len(boxes) == 1


@pytest.fixture(scope="module")
def shapes():
    """(case, width) -> the shapes of each of its runs, by their keys."""
    found = {}
    for case in CASES:
        figure = essay.FIGURES[case.name]
        every = [figure.read(sight.trace) for _, _, sight in essay.sights(case)]
        for width in essay.WIDTHS.values():
            drawings = [figure.draw(facts, every, width) for facts in every]
            found[case.name, width] = [drawing.shapes for drawing in drawings]
    return found


@pytest.mark.parametrize("name", CASE)
@pytest.mark.parametrize("width", essay.WIDTHS.values())
def test_the_axis_and_the_names_of_lanes_are_the_same_in_all_runs(shapes, name, width):
    always = [
        {
            key: (shape["x"], shape["y"], shape.get("text"))
            for key, shape in run.items()
            if key.startswith("axis") or key.endswith("/name/words")
        }
        for run in shapes[name, width]
    ]
    assert all(each == always[0] for each in always)


@pytest.mark.parametrize("name", CASE)
def test_no_text_is_below_12_5_px_on_a_phone(runs, name):
    for run in [run for each in runs[name] for run in each]:
        wide = int(VIEW_BOX.search(run["phone"])[1].split()[2])
        sizes = [float(size) for size in FONT_SIZE.findall(run["phone"])]
        assert min(sizes) * PHONES_DRAWING / wide >= 12.5


def test_the_figure_of_the_watermark_strikes_out_what_each_broker_had_cut(shapes):
    place = CASE["watermark"].places.index("5.06 s")
    shown = shapes["watermark", WIDE][place]
    struck = {key.split("/")[1] for key in shown if key.endswith("/strike")}
    assert struck == {"1", "3"}
    assert shown["logs/leads"]["y"] == shown["logs/2"]["y"]


def test_the_gate_is_closed_only_for_those_who_heed_it(shapes):
    """Closed, it stands across the reader's way."""
    closed = [
        "gate" in run and run["gate"]["y"] + run["gate"]["h"] > run["reader/way"]["y"]
        for run in shapes["gate", WIDE]
    ]
    count = len(TIMEOUTS_S)
    assert closed == [False] * count + [True] * count


def test_a_payment_that_the_unique_key_rejects_is_in_the_figure(shapes):
    rejected = {
        seconds: run["order/second/said"]["text"]
        for seconds, run in zip(
            FROZEN_S, shapes["rebalance", WIDE][len(FROZEN_S) :], strict=True
        )
        if "order/second/strike" in run
    }
    # who gets the order once more depends on how far the rebalance was
    assert rejected == {44: "A is rejected", 46: "B is rejected"} | {
        seconds: "A is rejected" for seconds in (50, 60)
    }


def test_kip_98_what_the_broker_recognises_and_drops_is_beside_the_log(shapes):
    places = CASE["batch"].places
    idempotent = shapes["batch", WIDE][len(places) :]
    run = idempotent[places.index("the answer to order 2")]
    log = [key for key in run if re.fullmatch(r"log/\d", key)]
    dropped = [
        shape["text"]
        for key, shape in run.items()
        if re.fullmatch(r"dropped/\d/words", key)
    ]
    assert (len(log), dropped) == (5, ["2", "3", "4"])


def test_an_open_transaction_is_as_long_in_the_figure_as_it_was(shapes):
    bars = [run["open"]["w"] for run in shapes["gate", WIDE][: len(TIMEOUTS_S)]]
    assert bars[0] == bars[1]  # 10 and 15 s end when the coordinator looks after 20
    steps = {round(after - before, 1) for before, after in pairwise(bars[1:])}
    assert max(steps) - min(steps) <= 0.2  # of rounding


def test_a_transaction_is_aborted_at_the_first_look_after_its_timeout(shapes):
    for run in shapes["gate", WIDE]:
        aborted = round(run["open"]["x"] + run["open"]["w"])
        looks = [
            shape["x"] for key, shape in run.items() if re.match(r"look/\d+$", key)
        ]
        assert aborted == round(min(x for x in looks if x >= run["late"]["x"]))


def test_what_gets_lost_ends_with_a_cross(shapes):
    """A lost answer breaks the connection, so those behind it don't arrive either."""
    places = CASE["batch"].places
    shown = shapes["batch", WIDE]
    answer = shown[places.index("the answer to order 2")]
    assert crossed(answer) == {f"sent/{order}/answer" for order in (2, 3, 4)}
    order = shown[places.index("order 1 itself")]
    assert crossed(order) == {"sent/0/answer"} | {
        f"sent/{order}/way" for order in (1, 2, 3, 4)
    }


def crossed(run):
    return {key.removesuffix("/cross") for key in run if key.endswith("/cross")}


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api")
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def page(root, browser, request):
    """The essay in a window of this width and height."""
    width, height = request.param
    with served(root) as address:
        page = browser.new_page(
            viewport={"width": width, "height": height}, has_touch=width < 500
        )
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/{essay.PATH}")
        yield page
        page.close()
    assert errors == []


@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "width"), [((1280, 720), "wide"), ((390, 660), "phone")], indirect=["page"]
)
def test_no_two_texts_of_a_figure_overlap_and_none_leaves_it(page, width, runs):
    found = []
    for name, states in runs.items():
        for on, each in enumerate(states):
            drawings = [run[width] for run in each]
            for place, shown in enumerate(page.evaluate(MEASURE, [name, drawings])):
                found += problems(f"{name} {place}, switch {on}", shown)
    assert found == []


@pytest.mark.browser
@pytest.mark.parametrize("page", [(390, 660), (820, 720), (981, 720)], indirect=True)
def test_no_text_of_a_figure_is_below_12_5_px_in_any_window(page):
    assert min(page.evaluate(SIZES)) >= 12.5


@pytest.mark.browser
@pytest.mark.parametrize("page", [(1280, 720), (390, 660)], indirect=True)
def test_a_slider_and_a_switch_show_the_run_that_they_choose(page, runs):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for case in CASES:
        figure = page.locator(f"#{case.name}")
        figure.scroll_into_view_if_needed()
        slider = figure.get_by_role("slider")
        last = len(case.places) - 1
        slider.focus()
        slider.press("End")
        figure.get_by_text(runs[case.name][False][last]["says"], exact=True).wait_for()
        assert slider.get_attribute("aria-valuetext") == case.places[last]
        drawn(figure, runs[case.name][False][last]).wait_for()
        if case.switch:
            figure.get_by_role("switch").click()
            says = runs[case.name][True][last]["says"]
            figure.get_by_text(says, exact=True).wait_for()
            drawn(figure, runs[case.name][True][last]).wait_for()


@pytest.mark.browser
@pytest.mark.parametrize("page", [(1280, 720)], indirect=True)
def test_a_mark_tells_how_a_place_ended_only_after_somebody_was_there(page, runs):
    figure = page.locator("#commit")
    kinds = [run["kind"] for run in runs["commit"][False]]
    figure.scroll_into_view_if_needed()
    figure.get_by_text(runs["commit"][False][0]["says"], exact=True).wait_for()
    marked = [kinds[0], *[""] * (len(kinds) - 1)]
    assert marks(figure) == marked
    slider = figure.get_by_role("slider")
    slider.focus()
    slider.press("End")
    figure.get_by_text(runs["commit"][False][-1]["says"], exact=True).wait_for()
    assert marks(figure) == [*marked[:-1], kinds[-1]]
    figure.get_by_role("switch").click()
    figure.get_by_text(runs["commit"][True][-1]["says"], exact=True).wait_for()
    page.wait_for_function(
        "document.querySelectorAll('#commit .slide .sign').length === 1"
    )
    assert marks(figure)[:-1] == [""] * (len(kinds) - 1)


def marks(figure):
    """The kinds that the marks under the slider show, from its left to its right."""
    return figure.locator(".slide i").evaluate_all(
        "marks => marks.map(mark => mark.dataset.kind)"
    )


def drawn(figure, run):
    """The drawing of a run, where it is seen."""
    [words] = re.findall('aria-label="([^"]*)"', run["wide"])
    return figure.get_by_role("img", name=html.unescape(words), exact=True)


@pytest.mark.browser
def test_without_scripts_it_is_an_article_with_pictures(root, browser):
    with (
        served(root) as address,
        browser.new_context(java_script_enabled=False) as context,
    ):
        page = context.new_page()
        page.goto(f"{address}/{essay.PATH}")
        assert page.locator(".drawing.wide:visible svg").count() == len(CASES)
        assert page.locator(".moves:visible").count() == 0
        assert page.locator("article table").is_visible()


@pytest.mark.nightly
@pytest.mark.firefox
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 660)])
def test_firefox_shows_the_same_runs(root, runs, width, height):
    with served(root) as address, running_firefox() as page:
        page.resize(width, height)
        page.goto(f"{address}/{essay.PATH}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for case in CASES:
            says = f"document.querySelector('#{case.name} .says span').innerText"
            says += ".replaceAll('\u00a0', ' ')"
            last = runs[case.name][False][-1]["says"]
            page.evaluate(f"document.querySelector('#{case.name} input').focus()")
            page.press(END)
            page.wait_for(f"{says} === {json.dumps(last)}")
            if case.switch:
                last = runs[case.name][True][-1]["says"]
                page.evaluate(f"document.querySelector('#{case.name} button').click()")
                page.wait_for(f"{says} === {json.dumps(last)}")
    assert page.errors == []
