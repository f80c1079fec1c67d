"""What a reader sees on the site's pages, beside the lessons and the front page."""

import re

import pytest

from minikafka.course.publishing import site, site_tables
from tests.chromium import running_chromium

WITH_TABLES = (
    "settings_on_monday",
    "client_defaults",
    "what_is_promised",
    "the_larger_number",
)
PHONE, WIDE = {"width": 390, "height": 660}, {"width": 1280, "height": 720}


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as browser:
        yield browser


def opened(browser, html, tmp_path, **options):
    """A new page that shows this HTML from a file."""
    path = tmp_path / "page.html"
    path.write_text(html, encoding="utf-8")
    page = browser.new_context(viewport=WIDE, **options).new_page()
    page.goto(path.as_uri())
    return page


@pytest.mark.parametrize("name", WITH_TABLES)
def test_every_cell_of_a_table_knows_the_name_of_its_column(name):
    html = site.reading(name)
    names = re.findall(r'<td data-label="(.*?)"', html)
    assert len(names) == html.count("<td") > 0
    assert all(name.strip() for name in names)


def test_tables_of_one_page_have_the_same_columns():
    for name in ("settings_on_monday", "client_defaults"):
        html = site.reading(name)
        assert html.count('class="measured"') == html.count("<table")
    columns = ("setting", "set it to", "because", "without you it is", "lesson")
    assert sum(site_tables.WIDTHS[column] for column in columns) == 100


@pytest.mark.browser
def test_on_a_phone_each_row_is_a_block_whose_cells_are_named(browser, tmp_path):
    page = opened(browser, site.reading("settings_on_monday"), tmp_path)
    first = page.locator("tbody tr").first.locator("td")
    said = "e => getComputedStyle(e, '::before').content"
    tops = "all => all.map(e => e.getBoundingClientRect().top)"
    assert first.first.evaluate(said) == "none"
    assert len(set(first.evaluate_all(tops))) == 1
    page.set_viewport_size(PHONE)
    assert first.first.evaluate(said) == '"setting"'
    assert first.evaluate_all(tops) == sorted(set(first.evaluate_all(tops)))
