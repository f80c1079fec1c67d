"""What a reader sees on the site's pages, beside the lessons and the front page."""

import re
import shutil
from html import unescape

import pytest

from minikafka.course.contents import contents, extras
from minikafka.course.publishing import (
    site,
    site_look,
    site_news,
    site_tables,
    title_pictures,
)
from minikafka.theatre.drawing import SMALLEST
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


def read(html):
    """Its lines, as text."""
    lines = unescape(re.sub("<.*?>", "", html)).splitlines()
    return [line for line in lines if line.strip()]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_every_cell_of_a_table_knows_the_name_of_its_column(name):
    html = site.reading(name)
    names = re.findall(r'<td data-label="(.*?)"', html)
    assert len(names) == html.count("<td") > 0
    assert all(name.strip() for name in names)


def test_tables_of_one_page_have_the_same_columns():
    for name in ("settings_on_monday", "client_defaults"):
        html = site.reading(name)
        assert html.count('measured">') == html.count("<table")
    columns = ("setting", "set it to", "because", "default", "lesson")
    assert sum(site_tables.WIDTHS[column] for column in columns) == 100


@pytest.mark.browser
def test_two_sinks_stand_beside_each_other_and_what_is_read_twice_is_orange(
    browser, tmp_path
):
    page = opened(browser, site.reading("kills_of_three_sinks"), tmp_path)
    rows, sums = page.locator(".pair table").all()
    beside, other = rows.bounding_box(), sums.bounding_box()
    assert beside["y"] == other["y"] and beside["x"] + beside["width"] < other["x"]
    ends = page.locator(".pair td:nth-child(3)").all_text_contents()
    assert set(ends) == {"equal"} and len(ends) == 16
    orange = "e => getComputedStyle(e).color"
    [marked] = page.locator("td strong").all()
    assert marked.text_content() == "pandas reads a batch twice"
    assert marked.evaluate(orange) != page.locator("td").first.evaluate(orange)


@pytest.mark.browser
@pytest.mark.parametrize("name", ["settings_on_monday", "client_defaults"])
def test_on_a_phone_a_settings_name_is_a_heading_as_wide_as_its_row(
    browser, tmp_path, name
):
    page = opened(browser, site.reading(name), tmp_path)
    page.set_viewport_size(PHONE)
    row = page.locator("tbody tr").first
    setting = row.locator("td").first
    assert setting.evaluate("e => getComputedStyle(e, '::before').content") == "none"
    lefts = [each.bounding_box()["x"] for each in (row, setting.locator("code"))]
    assert lefts[0] == lefts[1]


def default_of(setting, html):
    """The cells of a setting: whose it is, and how it is marked."""
    row = html.partition(f"<code>{setting}</code>")[2].partition("</tr>")[0]
    return re.findall('<td data-label="(.*?)"(?: class="(.*?)")?>', row)


def test_a_clients_default_is_marked_where_it_differs_from_javas():
    """And where all four have the same, a phone says so in one line."""
    html = site.reading("client_defaults").replace("<wbr>", "")
    assert default_of("enable.idempotence", html) == [
        ("Java 4.4", ""),
        ("librdkafka", "differs"),
        ("kafka-python", ""),
        ("minikafka", ""),
    ]
    for setting in ("acks", "request.timeout.ms", "auto.offset.reset"):
        cells = [("all four", ""), *[("all four", "again")] * 3]
        assert default_of(setting, html) == cells


def test_only_a_value_is_bold_not_what_is_said_of_it():
    html = site.reading("client_defaults").replace("<wbr>", "")
    assert "<b>consistent_random</b> (no key" in html
    assert "<b>300000</b> (5\N{NO-BREAK SPACE}min)" in html


@pytest.mark.browser
def test_on_a_phone_defaults_stand_below_each_other_and_equal_ones_once(
    browser, tmp_path
):
    page = opened(browser, site.reading("client_defaults"), tmp_path)
    row = page.locator("tbody tr").filter(has_text="request.timeout.ms")
    assert row.locator("td:visible").count() == 5
    page.set_viewport_size(PHONE)
    assert row.locator("td:visible").count() == 2
    left = "e => parseFloat(getComputedStyle(e).paddingLeft)"
    values = page.locator("td + td:visible").all()
    assert {value.evaluate(left) for value in values} == {104}
    bold = page.locator("td.differs b").first
    assert bold.evaluate("e => getComputedStyle(e).fontWeight") == "600"


def test_known_differences_stand_beside_what_was_asked_about():
    html = site.differences_page()
    answers = html.partition('<h2 id="Answers">')[2].partition("<h2")[0]
    asked = re.findall('<th rowspan="(.)" scope="rowgroup">(.*?)</th>', answers)
    assert ("4", "produce checks the shape of a batch") in asked
    assert len(asked) == len(set(asked))
    assert sum(int(rows) for rows, _ in asked) == answers.count("<td") / 2
    heads = re.findall("<th>(.*?)</th>", html.partition("</thead>")[0])
    assert heads == ["asked about", "why", "what differs"]


def test_a_letter_of_the_glossary_leads_to_the_first_term_that_begins_with_it():
    html = site.reading("glossary")
    letters = re.findall('<a href="#(.)">(.)</a>', html)
    led_to = re.findall(r'<tr id="(.)">\s*<td[^>]*>(?:<code>)?(.)', html)
    assert len(letters) > 20 and [name for name, _ in led_to] == sorted(
        name for name, _ in letters
    )
    for name, begins in letters + led_to:
        assert begins.lower() == name


def test_a_long_name_in_a_table_breaks_at_its_joints():
    html = site_tables.fitted(
        "<table><thead><tr><th>a</th></tr></thead><tr><td><code>INVALID_TXN_STATE_ERROR"
        "</code> <code>__cluster_metadata</code>"
        ' <a href="a_page_with_a_long_name.html">short_name</a></td></tr></table>'
    )
    assert "INVALID_<wbr>TXN_<wbr>STATE_<wbr>ERROR" in html
    assert "__cluster_<wbr>metadata" in html
    assert '<a href="a_page_with_a_long_name.html">short_name</a>' in html


@pytest.mark.browser
def test_on_a_phone_each_row_is_a_block_whose_cells_are_named(browser, tmp_path):
    page = opened(browser, site.reading("settings_on_monday"), tmp_path)
    first = page.locator("tbody tr").first.locator("td")
    said = "e => getComputedStyle(e, '::before').content"
    tops = "all => all.map(e => e.getBoundingClientRect().top)"
    assert first.nth(1).evaluate(said) == "none"
    assert len(set(first.evaluate_all(tops))) == 1
    page.set_viewport_size(PHONE)
    assert first.nth(1).evaluate(said) == '"set it to"'
    *below, lesson = first.evaluate_all(tops)
    assert below == sorted(set(below)) and lesson == below[0]


@pytest.mark.browser
@pytest.mark.parametrize("name", ["settings_on_monday", "the_larger_number"])
def test_on_a_phone_the_cells_of_a_row_align_beside_their_names(
    browser, tmp_path, name
):
    page = opened(browser, site.reading(name), tmp_path)
    page.set_viewport_size(PHONE)
    padding = "all => all.map(e => getComputedStyle(e).paddingLeft)"
    cells = page.locator("td:not(:first-child, [data-label=lesson]):visible")
    assert set(cells.evaluate_all(padding)) == {"104px"}
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.browser
def test_on_a_phone_the_old_number_is_dashed_and_the_larger_one_solid(
    browser, tmp_path
):
    page = opened(browser, site.reading("the_larger_number"), tmp_path)
    page.set_viewport_size(PHONE)
    border = "all => all.map(e => getComputedStyle(e).borderStyle)"
    for row in page.locator("table >> nth=0").locator("tbody tr").all():
        numbers = row.locator("td:nth-child(3) b")
        assert numbers.evaluate_all(border) == ["dashed", "solid"]
        was, now = map(int, numbers.all_text_contents())
        assert was < now


@pytest.mark.browser
def test_on_a_phone_a_table_stays_one_where_its_few_cells_are_short(browser, tmp_path):
    page = opened(browser, site.reading("kills_of_three_sinks"), tmp_path)
    page.set_viewport_size(PHONE)
    tops = "all => all.map(e => e.getBoundingClientRect().top)"
    rows = page.locator("tbody tr").all()
    assert len(rows) == 20
    for row in rows:
        assert len(set(row.locator("td").evaluate_all(tops))) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_what_clients_do_without_you_is_a_line_for_every_client():
    [told] = re.findall("Java: true<br>.*?</td>", site.reading("settings_on_monday"))
    lines = re.sub("</?(span|td).*?>", "", told).split("<br>")
    assert lines == ["Java: true", "librdkafka: false", "kafka-python: true"]


@pytest.mark.browser
def test_on_a_phone_what_is_promised_is_a_small_table_for_every_fault(
    browser, tmp_path
):
    page = opened(browser, site.reading("what_is_promised"), tmp_path)
    together = page.locator(".together table")
    faults = together.locator("th").all_inner_texts()[2:]
    fates = together.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    assert len(faults) == 5
    assert not page.locator(".apart").is_visible()
    page.set_viewport_size(PHONE)
    assert not together.is_visible()
    for number, fault in enumerate(faults):
        apart = page.locator(".apart table").nth(number)
        assert apart.locator("caption").inner_text() == fault
        rows = apart.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
        )
        told = [
            (acks, each, fate)
            for acks, least, fate in rows
            for each in least.split(" or ")
        ]
        assert sorted(told) == sorted((*row[:2], row[2 + number]) for row in fates)
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
        assert apart.locator("th, td").evaluate_all(cut) == 0


@pytest.mark.browser
def test_four_runs_are_told_once_by_a_figure_or_on_a_phone_by_a_table(
    browser, tmp_path
):
    page = opened(browser, site.reading("the_larger_number"), tmp_path)
    figure, table = page.get_by_role("img"), page.locator("table").first
    assert figure.is_visible()
    assert not table.is_visible()
    answers = table.locator("td:last-child code").all_text_contents()
    assert len(answers) == 3
    assert all(answer in figure.get_attribute("alt") for answer in answers)
    page.set_viewport_size(PHONE)
    assert table.is_visible()
    assert not figure.is_visible()


def test_what_changed_is_told_by_theme_and_a_page_that_it_names_is_a_link():
    html = site.news_page()
    themes = re.findall('<h3 id="(.*?)">', html)
    assert len(themes) >= 5
    for theme in themes:
        assert f'<a href="#{theme}">' in html.partition("<h2")[0]
    items = " ".join(re.findall("<li>.*</li>", html))
    linked = set(re.findall('<a href="(.*?)"', items))
    assert {"errors.html", "client_bugs.html", "the_larger_number.html"} <= linked
    assert linked <= {*site_look.NAV, *site_look.MORE}


@pytest.mark.browser
def test_what_changed_leaves_room_between_changes_and_is_for_users(browser, tmp_path):
    page = opened(browser, site.news_page(), tmp_path)
    bottom = "e => getComputedStyle(e).marginBottom"
    assert page.locator("main li").first.evaluate(bottom) == "12px"
    assert "make test" not in page.locator("main").text_content()


def test_each_change_begins_with_its_subject_and_has_at_most_two_sentences():
    changes = re.findall("^- (.*)", site_news.text(), re.MULTILINE)
    assert len(changes) > 50
    for change in changes:
        assert change.startswith("**"), change
        assert len(re.findall(r"[.?!]\W? (?=[A-Z`])", change)) <= 1, change


@pytest.mark.browser
def test_what_changed_is_folded_but_for_the_first_theme(browser, tmp_path):
    page = opened(browser, site.news_page(), tmp_path)
    shown = "all => all.map(e => e.checkVisibility())"
    lists = page.locator("main details:has(h3) ul")
    assert lists.evaluate_all(shown) == [True] + [False] * (lists.count() - 1)
    page.click(".aside a >> nth=1")
    assert lists.nth(1).is_visible()
    page.set_viewport_size(PHONE)
    page.click(".within summary")
    page.click(".within a >> nth=-1")
    assert lists.last.is_visible()


def test_recipes_that_have_not_met_our_faults_here_are_there_to_copy(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(site, "RECIPES", tmp_path / "recipes.md")
    table, *sections = site.recipes_page().partition("<main>")[2].split("<h2")
    paths = sorted(site.OF_RECIPES.glob("*.py"))
    for path, section in zip(paths, sections, strict=True):
        assert f'href="recipes/{path.name}"' in table
        assert f'href="recipes/{path.name}"' in section
        assert f"python {path.name} localhost:9092" in section
        assert "SETTINGS" in section
    shared = [
        section for section in sections if "Each partition has a worker" in section
    ]
    assert len(shared) == 1


@pytest.mark.parametrize(
    "make", [site.testing_page, site.differences_page, site.news_page]
)
def test_a_long_page_begins_with_links_to_its_sections(make):
    html = make()
    begins = html.partition("<h2")[0]
    linked = re.findall('<a href="#(.+?)">', begins.partition('class="within"')[2])
    assert len(linked) >= 4
    assert all(f'id="{name}"' in html for name in linked)


def spark_page():
    return site.reading("from_notebook_to_spark_submit")


@pytest.mark.browser
@pytest.mark.parametrize("make", [site.testing_page, spark_page])
def test_code_is_coloured_copied_by_a_button_and_has_the_sections_beside_it(
    browser, tmp_path, make
):
    permissions = ["clipboard-read", "clipboard-write"]
    page = opened(browser, make(), tmp_path, permissions=permissions)
    blocks = page.locator(".highlight pre").count()
    assert page.locator(".block > button").count() == blocks > 10
    printed = page.locator("main pre").filter(has_text="appended to topic-1-0")
    assert printed.count() == (make is site.testing_page)
    assert page.locator(".block").filter(has=printed).count() == 0
    page.locator(".block > button").first.click()
    page.get_by_role("button", name="copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre").first.text_content().strip()
    colour = "e => getComputedStyle(e).color"
    colours = {
        page.locator(f".highlight .{kind}").first.evaluate(colour)
        for kind in ("kn", "nf", "s2", "c1")
    }
    assert len(colours) == 4
    page.evaluate("scrollTo(0, 3000)")
    contents = page.locator(".aside > div")
    assert 0 <= contents.bounding_box()["y"] < 100
    assert not page.is_visible(".within")
    text = page.locator("main > p").first.bounding_box()
    assert text["x"] + text["width"] < contents.bounding_box()["x"]
    page.set_viewport_size(PHONE)
    assert page.is_visible(".within") and not page.is_visible(".aside")
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.locator("pre.line").evaluate_all(cut) == 0
    assert page.locator("pre.line").count() > 0


@pytest.mark.browser
@pytest.mark.parametrize("make", [site.testing_page, spark_page])
def test_on_a_phone_a_button_that_copies_lies_on_its_code_and_short_code_stays_whole(
    browser, tmp_path, make
):
    page = opened(browser, make(), tmp_path)
    page.set_viewport_size(PHONE)
    ends = "all => all.map(e => e.getBoundingClientRect().bottom)"
    codes = page.locator(".block pre")
    room = "e => parseFloat(getComputedStyle(e).paddingBottom)"
    for code in codes.all():
        last = code.text_content().rstrip().split("\n")[-1]
        is_wrapped = code.get_attribute("class") == "line"
        assert (code.evaluate(room) == 44) == (len(last) > 30 and not is_wrapped)
    for button, code in zip(
        page.locator(".block > button").evaluate_all(ends),
        codes.evaluate_all(ends),
        strict=True,
    ):
        assert 0 < code - button < 10
    assert not any("\n\n\n" in code for code in codes.all_text_contents())
    parts = "all => Math.max(...all.map(e => e.getClientRects().length))"
    assert page.locator("p code.whole").evaluate_all(parts) == 1


def test_a_command_of_the_cheat_sheet_is_a_line_of_its_own():
    html = re.sub("</?i>", "", site.cheat_sheet())
    lines = re.findall("<span>(.*?)</span>", html)
    assert "python -m kafka.admin -b H topics list" in lines
    assert "kafka-topics.sh --list" in lines


@pytest.mark.browser
def test_the_cheat_sheet_stands_between_the_sites_header_and_foot(browser, tmp_path):
    page = opened(browser, site.cheat_sheet(), tmp_path)
    lefts = "all => all.map(e => Math.round(e.getBoundingClientRect().left))"
    edges = page.locator(".brand, h1, .foot p").evaluate_all(lefts)
    assert len(edges) == 4 and len(set(edges)) == 1


@pytest.mark.browser
def test_the_two_columns_of_the_cheat_sheet_end_level(browser, tmp_path):
    page = opened(browser, site.cheat_sheet(), tmp_path)
    bottoms = "all => all.map(e => e.getBoundingClientRect().bottom)"
    lasts = page.locator(".columns section:last-child")
    left, right = lasts.evaluate_all(bottoms)
    assert abs(left - right) < 40


@pytest.mark.browser
def test_on_a_phone_a_command_goes_on_below_but_not_behind_a_flag_and_values_are_named(
    browser, tmp_path
):
    page = opened(browser, site.cheat_sheet(), tmp_path)
    page.set_viewport_size(PHONE)
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.locator("pre").evaluate_all(cut) == 0
    parts = "all => all.map(e => e.getClientRects().length)"
    assert set(page.locator("pre i").evaluate_all(parts)) == {1}
    assert {"-t orders", "--time -1", "--list"} <= set(
        page.locator("pre i").all_text_contents()
    )
    said = "all => all.map(e => getComputedStyle(e, '::before').content)"
    row = page.locator(".settings tr").nth(1).locator("td")
    assert row.evaluate_all(said) == ["none", '"default: "', '"change it when: "']


def test_a_lesson_links_to_its_sections_and_each_heading_to_itself(tmp_path):
    html = site.lesson_page(contents()["01"], tmp_path, live=True)
    heads = re.findall('<h2 id="(.+?)">', html)
    folded = html.partition('<details class="within">')[2].partition("</details>")[0]
    assert re.findall('href="#(.+?)"', folded) == heads
    for head in heads:
        assert f'<a class="anchor-link" href="#{head}">' in html


@pytest.mark.browser
def test_a_lesson_begins_below_the_sites_name_and_has_its_sections_beside_it(
    browser, tmp_path
):
    html = site.lesson_page(contents()["22"], tmp_path, live=True)
    page = opened(browser, html, tmp_path)
    lefts = [page.locator(each).bounding_box()["x"] for each in (".brand", "h1")]
    assert lefts[0] == lefts[1]
    rail = page.locator(".aside > div")
    page.locator("h2").last.scroll_into_view_if_needed()
    assert rail.is_visible() and rail.bounding_box()["y"] >= 0
    assert not page.locator(".within").is_visible()
    page.set_viewport_size(PHONE)
    assert not rail.is_visible() and page.locator(".within").is_visible()


@pytest.mark.browser
def test_a_long_line_goes_on_below_but_for_a_row_of_a_table(browser, tmp_path):
    html = site.lesson_page(contents()["22"], tmp_path, live=True)
    page = opened(browser, html, tmp_path)
    cut = page.eval_on_selector_all(
        "pre", "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert cut == page.locator("pre.table").count() == 1
    assert "CURRENT-OFFSET" in page.locator("pre.table").text_content()


@pytest.mark.parametrize("number", ["03", "10"])
def test_a_lesson_asks_in_words_and_folds_the_code_that_asks(number, tmp_path):
    lesson = contents()[number]
    html = site.lesson_page(lesson, tmp_path, live=True)
    _, *asked = html.split('<div class="asked">')
    assert len(asked) == len(lesson.predictions) >= 3
    for shown, each in zip(asked, lesson.predictions, strict=True):
        words, _, code = shown.partition("</div>")
        said = [each.question, *each.options]
        assert read(words) == [line.replace("`", "") for line in said]
        folded, _, open_code = code.partition("</details>")
        assert "predict" in folded and "The question as code" in folded
        assert "predict" not in open_code.partition("</pre>")[0]


@pytest.mark.parametrize("number", ["00", "10", "18"])
def test_what_a_lesson_imports_is_folded_and_nothing_else(number, tmp_path):
    html = site.lesson_page(contents()[number], tmp_path, live=True)
    folded = html.partition('<details class="setup">')[2].partition("</details>")[0]
    setup = contents()[number].code[0]["source"]
    assert "import" in setup
    assert read(folded) == ["Set-up", *filter(str.strip, setup.splitlines())]
    assert html.count('class="setup"') == 1


def test_the_line_that_shows_a_question_is_folded_with_its_code():
    asks, others = site.parted("q1 = predict(why, answers)\nq1\nrun()")
    assert asks == "q1 = predict(why, answers)\nq1" and others == "run()"


@pytest.mark.browser
def test_a_phone_shows_a_question_of_a_lesson_whole(browser, tmp_path):
    html = site.lesson_page(contents()["10"], tmp_path, live=True)
    page = opened(browser, html, tmp_path)
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        right = "all => all.map(e => e.getBoundingClientRect().right)"
        ends = page.locator(".asked, .asked li").evaluate_all(right)
        assert ends
        assert max(ends) <= size["width"]


def test_a_lesson_begins_with_what_it_asks_then_the_way_in_then_its_picture(tmp_path):
    for number in ("04", "10"):
        html = site.lesson_page(contents()[number], tmp_path, live=True)
        below = html.partition("</h1>")[2]
        places = [below.index(each) for each in ("?", "run this", "<img ")]
        assert places == sorted(places)
    extra = extras()["04_extra_in_a_terminal"]
    assert "<img " not in site.lesson_page(extra, tmp_path, live=False)


@pytest.mark.browser
def test_a_phone_shows_a_lessons_picture_in_a_drawing_of_its_own(browser, tmp_path):
    lessons, pictures = tmp_path / "lessons", tmp_path / "pictures"
    for folder in (lessons, pictures):
        folder.mkdir()
    shutil.copy(title_pictures.path("10"), pictures)
    small = pictures / title_pictures.small("10")
    small.write_text(title_pictures.HOOKS["10"](SMALLEST), encoding="utf-8")
    html = site.lesson_page(contents()["10"], tmp_path, live=True)
    page = opened(browser, html, lessons, bypass_csp=True)
    image = page.locator(".opening img")
    for size, name in ((WIDE, "10.svg"), (PHONE, small.name)):
        page.set_viewport_size(size)
        page.wait_for_function(
            "name => document.querySelector('.opening img').currentSrc.endsWith(name)",
            arg=f"/{name}",
        )
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    assert image.evaluate("e => e.naturalWidth <= e.clientWidth")


@pytest.mark.browser
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_a_map_of_faults_is_cells_that_fit_the_screen(browser, tmp_path, size):
    lesson = extras()["10_extra_rolling_restart"]
    html = site.lesson_page(lesson, tmp_path, live=True)
    page = opened(browser, html, tmp_path)
    page.set_viewport_size(size)
    rows = page.locator(".map .runs")
    assert rows.count() == 6
    right = "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
    assert page.locator(".map i").evaluate_all(right) < size["width"] - 16
    assert rows.nth(1).text_content() == "·" * 13 + "l" * 8 + "·" * 5
    [(name, cells)] = page.locator(".map").first.evaluate_all(
        """all => all.map(map => ['.name', '.runs'].map(part =>
            map.querySelector(part).getBoundingClientRect().top))"""
    )
    assert (name < cells - 10) == (size == PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
