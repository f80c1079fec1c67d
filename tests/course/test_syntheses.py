"""The pages that bring lessons together: their tables are what the runs find, and what
they name is there.
"""

import re

import pytest

from minikafka.course import lab, settings_by_role
from minikafka.course.contents import contents
from minikafka.course.experiments import fences, promises
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import site, syntheses
from minikafka.wire.errors import Error
from tests.chromium import running_chromium
from tests.kafka import ROOT
from tests.seeds import first_now

pytestmark = pytest.mark.slow

TEXTS = {
    name: syntheses.path(name).read_text(encoding="utf-8") for name in syntheses.PAGES
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", syntheses.TABLES)
def test_a_table_is_what_its_runs_find(name):
    [written] = [
        tables[name]
        for tables in map(syntheses.tables, TEXTS.values())
        if name in tables
    ]
    assert written == syntheses.TABLES[name]()


def test_the_number_grows_in_each_of_the_four_places_and_the_old_boss_is_refused():
    for fence in fences.fences():
        assert fence.was < fence.then
        assert fence.hears


@pytest.mark.parametrize("name", TEXTS)
def test_error_codes_and_links_of_a_page_are_there(name):
    text = TEXTS[name]
    codes = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", text))
    assert codes <= set(Error.__members__)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (NOTEBOOKS / link.removeprefix("../notebooks/")).exists(), link
    assert f"notebooks/{name}.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{name}.md" in lab.LINKED
    proses = [lesson.prose for lesson in contents().values()]
    assert any(f"../notebooks/{name}.md" in prose for prose in proses)


@pytest.mark.parametrize(
    "advice", settings_by_role.advice(), ids=lambda advice: advice.name
)
def test_a_setting_has_its_default_and_a_lesson_that_speaks_of_it(advice):
    sources = "\n".join(cell["source"] for cell in advice.notebook.cells)
    told = (advice.name, advice.name.replace(".", "_"))
    assert any(name in sources for name in told)
    assert bool(advice.default) == (advice.of != "spark")


def test_what_a_producer_is_promised_gets_better_with_acks_and_never_worse():
    """Of the faults that cost acks=1 a record, acks=all with two in sync loses none."""
    best = [fault("all", 2) for fault in promises.WRITING]
    assert not [fate for fate in best if "lost" in fate or "twice" in fate]


@pytest.mark.browser
@pytest.mark.parametrize("width", first_now([390, 1200]))
def test_a_page_fits_its_reader(tmp_path, width):
    from tests.browser.jupyter import AXE

    pictures = tmp_path / "pictures"
    pictures.mkdir()
    drawn = (NOTEBOOKS / "pictures/the_larger_number.svg").read_bytes()
    (pictures / "the_larger_number.svg").write_bytes(drawn)
    with running_chromium() as browser:
        options = {"viewport": {"width": width, "height": 900}, "bypass_csp": True}
        page = browser.new_context(**options).new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        for name in TEXTS.keys() & site.READINGS.keys():
            path = tmp_path / f"{name}.html"
            path.write_text(site.reading(name), encoding="utf-8")
            page.goto(path.as_uri())
            page.evaluate(AXE)
            found = page.evaluate(
                "() => axe.run(document, { resultTypes: ['violations'] })"
            )
            assert [each["id"] for each in found["violations"]] == []
            assert page.evaluate("document.documentElement.scrollWidth") == width
        assert complaints == []
