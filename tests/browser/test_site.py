"""`make site`: the course as static files, in Chromium, from a file server under a
sub-path, without a network.
"""

import json
import re
import shutil
import struct
import zlib
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Error as PlaywrightError

from minikafka.course.client_bugs import bugs
from minikafka.course.lessons import solutions
from minikafka.course.publishing import (
    fault_game,
    game_levels,
    shared_pictures,
    site,
    site_bugs,
    site_look,
    site_news,
)
from minikafka.course.publishing.site_look import NAV
from tests.browser.jupyter import AXE
from tests.browser.site import (
    ALIVE,
    MEGABYTE,
    SUB_PATH,
    Links,
    Notebook,
    Tab,
    playground,
    served,
    size,
)
from tests.browser.site_here import ADDRESS, REPOSITORY, written
from tests.chromium import running_chromium
from tests.simulation import lesson_traces, scenario

pytestmark = [
    pytest.mark.first,
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not shutil.which("npm"), reason="needs npm, once, to fetch Pyodide"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FLAGS = (
    "document.querySelector('#stage iframe').contentDocument.querySelectorAll('#ticks"
    " .flag').length"
)
STANDING_ASIDE = Path(__file__).with_name("standing_aside.py")
FIELDS = "summary:has-text('more:')"
BEYOND = "() => document.documentElement.scrollWidth - innerWidth"
WIDTHS = (390, 526, 760, 948, 1280)
NO_STACK_SWITCHING = "delete WebAssembly.Suspending; delete WebAssembly.promising;"


@pytest.fixture(scope="module")
def here():
    """Lesson -> its digests here, when the site is written."""
    return {}


@pytest.fixture(scope="module")
def root(tmp_path_factory, here):
    """The folder that the file server serves; the site is in some/where."""
    root = tmp_path_factory.mktemp("host")
    here.update(written(root / SUB_PATH.strip("/")))
    return root


@pytest.fixture(scope="module")
def folder(root):
    return root / SUB_PATH.strip("/")


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def tab(root, browser):
    with served(root) as address:
        tabs = []

        def new(before=""):
            tabs.append(Tab(browser, address, before))
            return tabs[-1]

        yield new
        for each in tabs:
            each.close()
        assert [each.outside for each in tabs] == [[] for _ in tabs]


def test_the_whole_folder_fits_sixty_megabytes_and_the_gallery_ten(folder):
    print(
        f"the site: {size(folder):.1f} MB; the gallery:"
        f" {size(folder / 'gallery'):.1f} MB"
    )
    assert size(folder) <= 60 and size(folder / "gallery") <= 10


# what a page's script reads from its address
READ = re.compile(r"\d+|play=[a-z-]+")


def pages_of(folder):
    """Each page of the site that isn't JupyterLite's, with its links."""
    return {
        path: Links(path)
        for path in folder.rglob("*.html")
        if "lab" not in path.relative_to(folder).parts
    }


def test_every_link_leads_to_a_file_of_the_site_or_is_meant_to_leave_it(folder):
    pages = pages_of(folder)
    assert len(pages) > 40
    reports = {report.url for bug in bugs() for report in bug.reports}
    wrong = []
    for path, links in pages.items():
        for link in links.found:
            if link.startswith(("data:", ADDRESS)) or link in ("#", REPOSITORY):
                continue
            if path.name == site_bugs.PATH and link in reports:
                continue
            there = urlsplit(urljoin(path.as_uri(), link))
            target = Path(unquote(there.path))
            known = pages.get(target)
            if (
                urlsplit(link).scheme
                or not target.is_file()
                or (
                    known
                    and there.fragment
                    and there.fragment not in known.ids
                    and not READ.fullmatch(there.fragment)
                )
            ):
                wrong.append((path.name, link))
    assert wrong == []


def test_every_page_that_is_opened_by_itself_says_what_it_is_and_has_a_picture(folder):
    found = {}
    for path in pages_of(folder):
        name = path.relative_to(folder).as_posix()
        if name in INSIDE or name.startswith("plays/"):
            continue
        page = path.read_text(encoding="utf-8")
        assert page.count('<nav class="way"') == 1, name
        found[name] = told = tags_of(page)
        assert 40 <= len(told["description"]) <= 400, name
        assert told["og:description"] == told["description"], name
        assert told["og:title"] in unescape(page.partition("<body>")[0]), name
        image = folder / told["og:image"].removeprefix(ADDRESS)
        size, colours = png(image)
        assert size == (shared_pictures.WIDTH, shared_pictures.HEIGHT), name
        assert colours > 20, name  # a blank one has one
    assert len({told["og:title"] for told in found.values()}) == len(found)
    listed = (folder / site_news.SITEMAP).read_text(encoding="utf-8")
    urls = set(re.findall("<loc>(.*?)</loc>", listed))
    assert urls == {told["og:url"] for told in found.values()}
    [feed] = [path for path in folder.glob("*.xml") if path.name == site_look.FEED]
    entries = ElementTree.parse(feed).getroot().findall("{*}entry")
    assert [each.findtext("{*}title") for each in entries][-1] == "minikafka 0.1.0"


def tags_of(page):
    """The names and contents of a page's tags."""
    head = page.partition("</head>")[0]
    found = re.findall(r'<meta (?:name|property)="(.*?)" content="(.*?)">', head)
    names = [name for name, _ in found]
    assert len(names) == len(set(names))
    return {name: unescape(content) for name, content in found}


def png(path):
    """The size of a PNG file, and how many different bytes its picture has."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    parts, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            parts += data[at + 8 : at + 8 + length]
        at += 12 + length
    return (width, height), len(set(zlib.decompress(parts)))


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(site.Problem, match="holds other files"):
        site.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


PAGES = [
    "index.html",
    "how_kafka_loses_an_order.html",
    "playground.html",
    "lose_an_order.html",
    "glossary.html",
    "cheat_sheet.html",
    "errors.html",
    "client_bugs.html",
    "changes.html",
    "claims.html",
    *(["matrix.html"] if site_look.MATRIX.exists() else []),
    "recipes.html",
    "a_kafka_for_tests.html",
    "known_differences.html",
    "the_larger_number.html",
    "what_is_promised.html",
    "settings_on_monday.html",
    "client_defaults.html",
    "kills_of_three_sinks.html",
    "from_notebook_to_spark_submit.html",
    "gallery/index.html",
    "gallery/05-who-run.html",
    "lessons/05_consumer_groups.html",
]
# in a frame of another page, and looked at with it
INSIDE = {"game_stage.html"}
BUTTON = "nav.way > button"


def test_every_page_beside_the_front_page_is_among_those_that_are_looked_at(folder):
    there = {path.name for path in folder.glob("*.html")}
    assert there - INSIDE == {path for path in PAGES if "/" not in path}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_nothing_that_axe_finds_serious_fits_each_window_and_has_no_error(
    tab, path
):
    one = tab()
    page = one.open(path)
    assert serious(page) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BEYOND) <= 0, width
    here = page.locator("nav.way [aria-current]:visible")
    assert here.count() == (path in NAV or "/" in path or path == "index.html")
    page.set_viewport_size({"width": 390, "height": 660})
    assert not page.is_visible("#way")
    page.click(BUTTON)
    low = page.locator("nav.way :is(a, button)").evaluate_all(
        "all => all.filter(n => n.getBoundingClientRect().height < 44).length"
    )
    assert page.is_visible("#way") and low == 0
    assert one.errors == [] and one.warned == []


@pytest.mark.parametrize("size", [(1280, 720), (390, 660)])
def test_the_front_pages_verdict_and_next_step_stay_on_the_screen(tab, size):
    page = tab().open("index.html")
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.locator(".lane").nth(2).click()
    for step in ("#read", "#then-more a"):
        assert_on_screen(page, "#told", step)
        if step == "#read":
            page.click(step)
            page.wait_for_selector("#then-more:not([hidden])")


def assert_on_screen(page, *selectors):
    for selector in selectors:
        box = page.locator(selector).first.bounding_box()
        height = page.viewport_size["height"]
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, selector


def test_the_cheat_sheet_prints_on_one_page(tab):
    page = tab().open("cheat_sheet.html")
    printed = page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_the_glossary_leaves_the_terms_that_are_asked_for(tab):
    page = tab().open("glossary.html")
    page.fill("#words", "zombie")
    terms = page.locator("tbody tr:visible td:first-child").all_text_contents()
    assert "zombie" in " ".join(terms) and len(terms) < 10
    page.click("#all")
    assert page.locator("tbody tr:visible").count() > 100
    assert not page.is_visible("#all")
    page.fill("#words", "zombie")
    page.click(".letters a >> nth=0")
    assert page.locator("tbody tr:visible").count() > 100


def serious(page):
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        each["id"]
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def test_the_front_page_is_answered_by_a_click_and_shows_the_order_that_was_read(tab):
    one = tab()
    page = one.open("index.html")
    page.locator(".lane").nth(2).click()
    page.click("#read")
    page.wait_for_selector("#then-more:not([hidden])")
    got = page.locator(".got .record").evaluate_all(
        "all => all.map(n => n.dataset.value)"
    )
    assert got == ["paid", "created"]
    assert page.locator('[data-partition="0"] .record').get_attribute("data-value") == (
        "paid"
    )
    assert "nothing wrong" in page.text_content("#told")
    assert serious(page) == []
    page.click("#again")
    assert page.locator(".got .record").count() == 0
    assert page.locator(".hand .record").count() == 1
    assert one.errors == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_record_of_the_front_page_leaves_its_partition(tab, width):
    page = tab().open("index.html")
    page.set_viewport_size({"width": width, "height": 900})
    beyond = """() => [...document.querySelectorAll('.place, .lane b')].filter(each => {
      const inner = each.getBoundingClientRect();
      const outer = each.closest('.lane').getBoundingClientRect();
      return inner.width && (inner.left < outer.left || inner.right > outer.right);
    }).length"""
    assert page.evaluate(beyond) == 0
    covered = """() => [...document.querySelectorAll('.lane')].filter(lane => {
      const name = lane.querySelector('b').getBoundingClientRect();
      const place = lane.querySelector('.place').getBoundingClientRect();
      return name.right > place.left && name.bottom > place.top
        && lane.querySelector('b').scrollWidth > place.left - name.left;
    }).length"""
    assert page.evaluate(covered) == 0


def test_the_playgrounds_first_play_steps_without_python_and_tells_its_numbers(tab):
    one = tab(before=NO_STACK_SWITCHING)
    page = one.open("playground.html#play=a-broker-dies")
    inside = page.frame_locator("#stage iframe")
    inside.locator("#scrub").press("End")
    behind = page.locator("#watched div", has_text="under-replicated").locator("dd")
    behind.filter(has_text=re.compile("^[1-9]")).wait_for()
    page.click("a[href='#play=two-readers']")
    inside.locator("#title", has_text="Rebalance of group billing").wait_for()
    inside.locator('#drawing [data-act="crash consumer A"]:visible').first.click()
    inside.locator("#sentence", has_text="lacks WebAssembly").wait_for()
    assert one.errors == []


def test_the_playground_is_live_and_every_click_changes_the_picture(tab):
    one = tab()
    page = playground(one)
    inside = page.frame_locator("#stage iframe")
    for number, act in enumerate(["freeze consumer A", "add", "crash consumer B"]):
        inside.locator("body").press("ArrowRight")
        inside.locator(f'#drawing [data-act="{act}"]:visible').first.click()
        page.wait_for_function(f"n => {FLAGS} > n", arg=number, timeout=60_000)
    megabytes = one.loaded / MEGABYTE
    print(f"live after {megabytes:.1f} MB")
    assert megabytes <= 20
    assert 'cluster.crash("consumer B")' in page.text_content("#code")
    page.click("a[href='#play=a-broker-dies']")
    inside.locator('#drawing [data-act="kill broker 3"]').first.wait_for()
    page.click("a[href='#play=a-third-joins']")
    inside.locator('#drawing [data-act="crash consumer B"]').first.wait_for()
    inside.locator("#scrub").press("End")
    inside.locator("#text").click()
    inside.locator("tbody tr").nth(3).wait_for()
    assert one.errors == [] and serious(page) == []


def test_on_a_phone_the_levers_are_buttons_below_the_picture_and_nowhere_else(tab):
    one = tab()
    one.page.set_viewport_size({"width": 390, "height": 660})
    page = one.open("playground.html")
    page.wait_for_selector(ALIVE, timeout=240_000)
    inside = page.frame_locator("#stage iframe")
    for button in ("consumer B", "freeze"):
        page.locator("#reach").get_by_role("button", name=button).click()
    page.wait_for_function(f"() => {FLAGS} > 0", timeout=60_000)
    assert 'cluster.freeze("consumer B")' in page.text_content("#code")
    assert inside.locator("#drawing [data-act]").count() > 0
    assert inside.locator("#drawing [data-act]:visible").count() == 0
    page.click("a[href='#play=a-broker-dies']")
    page.locator("#reach").get_by_role("button", name="broker 2", exact=True).wait_for()
    assert inside.locator("#drawing [data-act]:visible").count() == 0
    assert one.errors == [] and serious(page) == []


def test_a_click_needs_no_python_where_one_has_pointed_before(tab):
    one = tab()
    one.page.add_init_script("""Worker = class extends Worker {
      constructor(...given) {
        super(...given);
        this.addEventListener('message', ({ data }) => {
          if (!data.foreseen) return;
          this.terminate();
          document.body.classList.add('without-python');
        });
      }
    }""")
    page = playground(one)
    inside = page.frame_locator("#stage iframe")
    inside.locator("body").press("ArrowRight")
    lever = inside.locator('#drawing [data-act="freeze consumer A"]:visible').first
    lever.hover()
    page.wait_for_selector(".without-python", timeout=60_000)
    lever.click()
    page.wait_for_function(f"() => {FLAGS} > 0")
    assert 'cluster.freeze("consumer A")' in page.text_content("#code")


def test_a_broker_of_three_is_killed_by_a_click(tab):
    one = tab()
    page = playground(one)
    page.click(FIELDS)
    page.select_option("#shows", "the replicas")
    act = (
        page.frame_locator("#stage iframe")
        .locator('#drawing [data-act="kill broker 2"]')
        .first
    )
    act.wait_for(timeout=120_000)
    assert page.input_value("#brokers") == "3"
    act.click()
    page.wait_for_function(f"() => {FLAGS} > 0", timeout=120_000)
    assert "cluster.crash(2)" in page.text_content("#code")
    assert one.errors == [] and serious(page) == []


def test_the_picture_is_the_one_that_was_chosen_last(tab):
    one = tab()
    page = playground(one)
    page.click(FIELDS)
    page.select_option("#shows", "the replicas")
    page.select_option("#shows", "the controllers")
    page.frame_locator("#stage iframe").locator(
        '#drawing [data-act="kill broker 2"]'
    ).first.wait_for(timeout=120_000)
    assert page.input_value("#shows") == "the controllers"
    assert (
        page.frame_locator("#stage iframe").locator("h1").text_content()
        == "The controller quorum"
    )
    assert one.errors == []


def test_a_link_to_a_moment_opens_the_same_moment_for_others(tab):
    page = playground(tab())
    inside = page.frame_locator("#stage iframe")
    page.click(FIELDS)
    page.select_option("#protocol", "cooperative-sticky")
    page.wait_for_function(
        "() =>"
        " document.querySelector('#code').textContent.includes('cooperative-sticky')",
        timeout=60_000,
    )
    for _ in range(3):
        inside.locator("body").press("ArrowRight")
    inside.locator('#drawing [data-act="freeze consumer A"]:visible').first.click()
    page.wait_for_function(f"() => {FLAGS} > 0", timeout=60_000)
    inside.locator("body").press("ArrowRight")
    page.click("#link")
    other = playground(tab(), page.evaluate("location.hash"))
    there = other.frame_locator("#stage iframe")
    for element in ("#time", "#sentence", "#number", "#scenario"):
        assert (
            there.locator(element).text_content()
            == inside.locator(element).text_content()
        )
    assert other.text_content("#code") == page.text_content("#code")


def test_a_browser_without_stack_switching_is_told_so_and_the_gallery_plays(tab):
    one = tab(before=NO_STACK_SWITCHING)
    page = one.open("playground.html")
    page.wait_for_function(
        "() => document.querySelector('#status').textContent.includes('lacks"
        " WebAssembly')"
    )
    assert "gallery" in page.text_content("#status")
    one.open("gallery/index.html")
    page.locator("li a").first.click()
    number = page.locator("#number")
    page.keyboard.press("Home")
    number.filter(has_text="1 of").wait_for()
    page.keyboard.press("ArrowRight")
    number.filter(has_text="2 of").wait_for()


def lost_here(fault):
    """How many orders the first puzzle loses by it."""
    question = {"do": "try", "settings": {"also": [fault]}}
    return len(json.loads(fault_game.answer(json.dumps(question)))["lost"])


def test_an_order_is_lost_by_a_click_and_whoever_opens_the_link_loses_it_too(tab):
    one = tab()
    page = one.open("lose_an_order.html")
    verdict = page.locator("#verdict")
    cell = page.frame_locator("#stage iframe").locator('[data-key="2/9"]')
    cell.click()
    verdict.filter(has_text="are gone").wait_for(timeout=240_000)
    assert "Broker 1 woke after broker 2 had taken over" in verdict.text_content()
    lost = lost_here("freeze~1~5025~12000")
    assert cell.text_content() == f"−{lost}"
    picture = page.frame_locator("#stage iframe")
    assert "lost" in picture.locator("#drawing").get_attribute("aria-label")
    assert page.text_content("#tries") == f"1 try (2 is good) −{lost}"
    other_cell = page.frame_locator("#stage iframe").locator('[data-key="0/9"]')
    other_cell.click()
    verdict.filter(has_text="Nothing lost").wait_for()
    cell.click()  # whose run is there already
    verdict.filter(has_text="are gone").wait_for()
    assert page.get_by_role("button", name="the next puzzle").is_visible()
    page.click("#link")
    link, code = page.evaluate("location.hash"), page.text_content("#code")
    assert one.errors == [] and serious(page) == []
    page.get_by_role("button", name="free play").click()
    cell.click()
    verdict.filter(has_text="are gone").wait_for(timeout=240_000)
    page.click("#keep")
    pinned = picture.locator(".pinned button")
    pinned.wait_for()
    assert pinned.text_content() == "broker 1 freezes for 12 s at 5.025 s ✕"
    page.get_by_role("button", name="today").click()
    goal = page.locator("#goal", has_text="lose order")
    goal.wait_for()
    assert goal.text_content() in {each.goal for each in game_levels.days()}
    assert one.errors == []

    other = tab()
    there = other.open(f"lose_an_order.html{link}")
    there.locator("#verdict", has_text="with the same result").wait_for(timeout=240_000)
    assert there.text_content("#code") == code
    assert other.errors == []


PYTHON = """async at => {
  const { loadPyodide } = await import(`${at}/python/pyodide.mjs`);
  const lockFileURL = `${at}/python/lab-lock.json`;
  const { packages } = await (await fetch(lockFileURL)).json();
  window.python = await loadPyodide({ lockFileURL, packages: Object.keys(packages) });
}"""


@pytest.fixture(scope="module")
def python(root, browser):
    """Runs code with Python in a page; its value comes back as JSON. Where a machine is
    short of memory, Linux ends pages first: what was asked is asked of a new page then,
    once.
    """
    with served(root) as address:
        tabs = []

        def fresh():
            if tabs:
                tabs.pop().close()
            tabs.append(Tab(browser, address))
            # a page that isn't there has no policy, either
            page = tabs[-1].open("wheel.html")
            page.evaluate(PYTHON, address)

        def asked(code):
            return json.loads(
                tabs[-1].page.evaluate(
                    "code => window.python.runPythonAsync(code)", code
                )
            )

        def run(code):
            try:
                return asked(code)
            except PlaywrightError as error:
                if "crashed" not in error.message:
                    raise
                fresh()
                return asked(code)

        fresh()
        yield run
        tabs.pop().close()


def test_a_run_with_faults_has_the_same_trace_in_the_browser(python):
    source = Path(scenario.__file__).read_text(encoding="utf-8")
    code = (
        "import json\nnames = {'__name__': 'scenario', '__file__':"
        f" '/scenario.py'}}\nexec({source!r}, names)\n"
    )
    assert python(code + "json.dumps(names['digest'](7))") == scenario.digest(7)


MAPPED = """
import json
from minikafka.course.experiments.lesson_09_runs import every_moment
from minikafka.course.levers.fault_strip import ended

def colours():
    found = every_moment(1)
    return [[list(ended(cell)) for cell in row] for row in found.rows]
"""


def test_a_map_of_all_faults_has_the_same_colours_in_the_browser(python):
    names = {}
    exec(MAPPED, names)
    here = names["colours"]()
    kinds = {kind for row in here for kind, *_ in row}
    assert kinds == {"nothing", "waited", "lost"}
    assert python(MAPPED + "\njson.dumps(colours())") == here


def test_an_endless_loop_is_ended_in_a_tab_while_programs_stand_aside(python):
    ended = python(STANDING_ASIDE.read_text(encoding="utf-8"))
    assert ["never ends" in over for over in ended] == [True, True]


@pytest.mark.parametrize("number", lesson_traces.LESSONS)
def test_every_trace_of_a_simulated_lesson_is_the_same_in_the_browser(
    python, here, number
):
    source = Path(lesson_traces.__file__).read_text(encoding="utf-8")
    code = (
        f"import json\nnames = {{}}\nexec({source!r},"
        f" names)\njson.dumps(names['digests']({number!r}))"
    )
    traces, pictures = python(code)
    assert len(traces) > 0
    assert (traces, pictures) == (here.get(number) or lesson_traces.digests(number))


@pytest.mark.parametrize(
    "name", ["00_start_here", "02_partitions_and_keys", "06_rebalancing", "10_failover"]
)
def test_a_lesson_runs_from_top_to_bottom_in_a_tab(tab, name):
    book = Notebook(tab(), f"{name}.ipynb")
    shown = book.run_all()
    assert [text for text in shown if text.startswith("error")] == []
    assert sum(bool(text) for text in shown) >= 3


def test_the_logo_of_a_lesson_in_a_tab_leads_back_to_the_sites_lessons(tab):
    one = tab()
    Notebook(one, "01_the_log.ipynb")
    with one.context.expect_page() as opened:
        one.page.click("#jp-NotebookLogo")
    opened.value.wait_for_url("**/index.html#lessons")
    assert opened.value.locator("#lessons").is_visible()


def test_an_exercise_is_judged_in_a_tab_and_a_reload_keeps_the_learners_copy(tab):
    book = Notebook(tab(), "02_partitions_and_keys.ipynb")
    exercise, check = (
        book.cell("def my_partition("),
        book.cell("check(1, my_partition)"),
    )
    book.run(book.cell("from minikafka import Cluster"))
    book.write(
        exercise, "def my_partition(key, all_partitions, available):\n    return 0"
    )
    book.run(exercise)
    assert "Not yet" in book.run(check)
    book.write(
        exercise,
        "def my_partition(key, all_partitions, available):\n    while True:\n       "
        " pass",
    )
    book.run(exercise)
    assert "A loop that never ends?" in book.run(check)
    mine = "from minikafka.clients.partitioners import murmur2\n" + solutions("02")["1"]
    book.write(exercise, mine)
    book.run(exercise)
    assert "Right:" in book.run(check)
    book.save()
    book.reload()
    assert book.source(exercise) == mine


def test_a_byte_that_is_typed_in_a_tab_is_read_again_by_its_python(tab):
    one = tab()
    book = Notebook(one, "12_wire_protocol.ipynb")
    cell = book.cell("lesson_12_frames import levers")
    assert "ApiKey 0 Produce" in book.run(cell)
    picture = book.picture()
    picture.locator("[data-act='byte 1']").click()
    for digit in "03":
        picture.locator("[data-act='byte 1']").press(digit)
    said = picture.locator("#sentence")
    said.filter(has_text="takes this for API 3 Metadata").wait_for(timeout=60_000)
    drawing = picture.locator("#drawing")
    for words in ("3 Metadata", "Metadata request", "the client notices"):
        drawing.get_by_text(words, exact=True).wait_for()
    line = one.page.locator(".jp-OutputArea code", has_text="frame[1] = 0x03")
    line.wait_for(state="attached")
    assert one.errors == []
