"""The ledger as a page: made from its file, with evidence that is there, and with
filters for eyes, ears and keys.
"""

import os
import re
from html.parser import HTMLParser

import pytest

from minikafka.course import claims
from minikafka.course.contents import contents, extras
from minikafka.course.publishing import site, site_claims, site_look
from tests.chromium import running_chromium
from tests.collected import collected
from tests.seeds import first_now

pytestmark = pytest.mark.slow

LEDGER = claims.ledger()
# the mark of the tests that need it
NEEDED = {"Apache Kafka": ("java", "spark"), "RabbitMQ": ("rabbitmq",)}
MEASURES = "tests/bench/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    site.write_claims(folder)
    return folder


class Page(HTMLParser):
    """Its links and the names of its places."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "a":
            self.links.append(given["href"])
        if "id" in given:
            self.ids.append(given["id"])


def test_the_page_has_each_claim_with_its_verdict_its_condition_and_all_its_evidence(
    folder,
):
    html = (folder / site_claims.PATH).read_text(encoding="utf-8")
    articles = re.findall(r'<article id="(.+?)"(.+?)</article>', html, re.S)
    by_topic = [
        claim.id
        for topic in site_claims.topics()
        for claim in LEDGER
        if claim.section == topic
    ]
    assert [id for id, _ in articles] == by_topic
    shown = dict(articles)
    for claim in LEDGER:
        for text in (claim.text, claim.verdict, claim.but):
            assert site.escape(text) in shown[claim.id]
        places = {evidence.where for evidence in claim.evidence}
        assert shown[claim.id].count("<li>") == len(places)


def test_every_link_of_the_page_leads_to_a_test_s_line_or_to_a_lesson_s_cell(folder):
    tests = {path.name: Page(path) for path in (folder / site_claims.TESTS).iterdir()}
    cells = {
        lesson.path.stem: {f"cell-id={cell['id']}" for cell in lesson.cells}
        for lesson in (contents() | extras()).values()
    }
    known = {path.partition("#")[0] for path in (*site_look.NAV, *site_look.MORE)}
    page = Page(folder / site_claims.PATH)
    for link in page.links:
        path, _, place = link.partition("#")
        if not path:
            assert place in page.ids, link
        elif path.startswith(f"{site_claims.TESTS}/"):
            assert place in tests[path.partition("/")[2]].ids, link
        elif path.startswith("lessons/"):
            stem = path.removeprefix("lessons/").removesuffix(".html")
            assert stem in cells and (not place or place in cells[stem]), link
        else:
            assert path in known


def test_every_test_that_is_evidence_is_collected_and_runs_on_what_the_ledger_says():
    """What measures isn't a test, and is found by its name (test_claims.py)."""
    wanted = {
        (evidence.on, evidence.where)
        for claim in LEDGER
        for evidence in claim.evidence
        if "::" in evidence.where and not evidence.where.startswith(MEASURES)
    }
    marks = {}
    for case in collected(sorted({where.split("::")[0] for _, where in wanted})):
        marks.setdefault(case.where, set()).update(case.marks)
    if not os.environ.get("CI"):  # a package may be missing that a whole file needs
        there = {where.split("::")[0] for where in marks}
        wanted = {each for each in wanted if each[1].split("::")[0] in there}
    assert [where for _, where in wanted if where not in marks] == []
    assert [
        (on, where)
        for on, where in sorted(wanted)
        if on in NEEDED and not marks[where] & {*NEEDED[on]}
    ] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", first_now([390, 1200]))
def test_the_filters_leave_what_is_asked_for(folder, width):
    from tests.browser.jupyter import AXE

    with running_chromium() as browser:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, bypass_csp=True
        )
        page = context.new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((folder / site_claims.PATH).as_uri())
        seen = page.locator("article:visible")
        assert seen.count() == len(LEDGER)
        chosen = [
            claim.id
            for claim in LEDGER
            if (claim.lesson, claim.verdict) == ("05", "false")
        ]
        if width == 390:
            assert not page.is_visible("#verdict")
            page.click("#more")
        page.focus("#verdict")
        page.keyboard.type("false")  # a list is asked by its first letters
        page.keyboard.press("Tab")
        page.keyboard.type("05")
        assert seen.evaluate_all("found => found.map(each => each.id)") == chosen
        told = page.inner_text("#told")
        assert told == f"{len(chosen)} of {len(LEDGER)} claims"
        page.click("#all")
        page.fill("#words", "Sticky FEWER")
        assert seen.count() == 0 and page.locator("section:visible").count() == 0
        page.fill("#words", "sticky moves as few")
        assert seen.get_attribute("id") == "groups-sticky"
        page.evaluate("location.hash = 'torn-tail'")
        page.wait_for_function(f"told.textContent === 'all {len(LEDGER)} claims'")
        page.evaluate(AXE)
        found = page.evaluate(
            "() => axe.run(document, { resultTypes: ['violations'] })"
        )
        assert [each["id"] for each in found["violations"]] == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide == width and complaints == []


@pytest.mark.browser
def test_the_page_and_the_tests_pages_work_without_their_script_within_a_phone(folder):
    with running_chromium() as browser:
        options = {"viewport": {"width": 390, "height": 900}}
        page = browser.new_context(**options, java_script_enabled=False).new_page()
        page.goto((folder / site_claims.PATH).as_uri())
        assert page.locator("article:visible").count() == len(LEDGER)
        assert page.locator("#filters:visible").count() == 0
        page = browser.new_context(**options).new_page()
        for its_page in site_claims.tested().values():
            page.goto((folder / its_page).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.browser
def test_on_a_phone_search_stays_in_sight_and_a_button_opens_the_other_filters(folder):
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 660})
        page.goto((folder / site_claims.PATH).as_uri())
        page.evaluate("scrollTo(0, 5000)")
        box = page.locator("#filters").bounding_box()
        assert box["y"] == 0 and box["height"] < 80
        page.click("#more")
        assert page.is_visible("#verdict") and not page.is_visible("#all")
        page.select_option("#verdict", "false")
        page.click("#all")
        page.click("#more")
        assert not page.is_visible("#topic")
        page.fill("#words", "zombie")
        assert page.locator("article:visible").count() < 30
        wide = "document.documentElement.scrollWidth"
        assert page.evaluate(wide) == 390
