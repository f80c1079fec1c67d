"""`minikafka gallery DIR`: the lessons' pictures as a folder of static pages."""

import json
import re
import sys
from html.parser import HTMLParser

import pytest

from minikafka.__main__ import main
from minikafka.course.contents import contents
from minikafka.course.predictions import TITLE, explained
from minikafka.course.publishing import gallery, title_pictures
from minikafka.course.publishing.pictures_of_lessons import (
    Shown,
    has_pictures,
    leading_to_pictures,
    shown,
)
from minikafka.theatre import picture
from minikafka.theatre.drawing import WIDE
from tests.chromium import running_chromium
from tests.theatre import groups

pytestmark = pytest.mark.slow

FEW = ("00", "02", "04")
# what the lower edge of a thumbnail goes through
CUT_THROUGH = """() => {
  const cut = document.querySelector('#cut rect');
  const bottom = cut.y.baseVal.value + cut.height.baseVal.value;
  return [...document.querySelectorAll('g text, g rect')].filter(each => {
    const { y, height } = each.getBBox();
    return height < 50 && y < bottom - 3 && y + height > bottom + 5;
  }).map(each => each.textContent || each.outerHTML);
}"""
OF_SPARK = ("18", "19")


@pytest.fixture(scope="module")
def few():
    return {number: contents()[number] for number in FEW}


@pytest.fixture(scope="module")
def made(tmp_path_factory, few):
    """A gallery of three lessons; what the command said is in said.txt beside it."""
    folder = tmp_path_factory.mktemp("made") / "new" / "gallery"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "contents", lambda: few)
        assert main(["gallery", str(folder)]) == 0
    return folder


class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.found = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        found = [given[name] for name in ("href", "src") if given.get(name)]
        self.found += [link for link in found if not link.startswith("data:")]


def jumps_and_links(index):
    """The links to sections of the index, and the links to files."""
    links = Links(index).found
    inside = [link for link in links if link.startswith("#")]
    return inside, set(links) - set(inside)


def test_every_picture_has_its_page_and_its_still_and_the_index_names_them_all(made):
    pages = {path.name for path in made.glob("*.html")} - {"index.html"}
    stills = {path.name for path in made.glob("*.svg")}
    assert {name.removesuffix(".html") for name in pages} == {
        name.removesuffix(".svg") for name in stills
    }
    inside, elsewhere = jumps_and_links(made / "index.html")
    assert elsewhere == pages | stills
    assert inside == [f"#lesson-{number}" for number in FEW]
    assert {"00-story.html", "02-grow-run.html", "04-pay-map.html"} <= pages and len(
        pages
    ) == 10


def test_a_page_leads_to_the_index_and_to_its_neighbours_and_asks_what_the_lesson_asks(
    made,
):
    assert Links(made / "02-keyed-run.html").found == [
        "index.html",
        "02-rule-run.html",
        "02-use.html",
    ]
    assert Links(made / "00-story.html").found == ["index.html", "index.html"]
    page = (made / "02-keyed-run.html").read_text(encoding="utf-8")
    assert '"asks":true' in page and "<span>02 · Partitions and keys</span>" in page


def test_in_a_site_every_page_has_its_header_and_leads_into_the_lesson(few):
    lesson = few["00"]
    pictures = list(shown(lesson))
    made_pages = dict(gallery.pages(lesson, pictures, in_site=True))
    index = gallery.index([(lesson, pictures)], in_site=True)
    lesson_page = '<a href="../lessons/00_start_here.html">00 · Start here</a>'
    assert lesson_page in made_pages["00-story.html"]
    for page in (made_pages["00-story.html"], index):
        assert '<a class="brand" href="../index.html">minikafka</a>' in page
        assert page.count('<meta property="og:title"') == 1
    assert 'href="../' not in gallery.index([(lesson, pictures)])


def test_the_index_names_each_pictures_lesson_and_has_a_row_that_jumps_to_them(
    made, few
):
    index = (made / "index.html").read_text(encoding="utf-8")
    for lesson in few.values():
        number, _, name = gallery.title(lesson).partition(" · ")
        jump = f'<a href="#lesson-{number}">{number} · {name}</a>'
        assert jump in index.partition('<ul class="cards"')[0]
        cards = [
            card
            for card in index.split("<li")[1:]
            if f'<p class="of">{number} · {name}</p>' in card
        ]
        assert cards and [f'id="lesson-{number}"' in card for card in cards] == [
            True,
            *[False] * (len(cards) - 1),
        ]
        assert all(f'<h2><a href="{number}-' in card for card in cards)


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_pictures_page_begins_where_the_sites_header_begins(few, tmp_path):
    pictures = list(shown(few["00"]))
    made_pages = dict(gallery.pages(few["00"], pictures, in_site=True))
    path = tmp_path / "page.html"
    path.write_text(made_pages["00-story.html"], encoding="utf-8")
    lefts = "all => all.map(e => Math.round(e.getBoundingClientRect().left))"
    with running_chromium() as browser:
        for width in (1280, 1700):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.goto(path.as_uri())
            edges = page.eval_on_selector_all(".brand, #gallery > a:first-child", lefts)
            assert len(edges) == 2 and len(set(edges)) == 1


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_pictures_page_has_its_title_and_on_a_phone_links_for_a_thumb(few, tmp_path):
    made_pages = dict(gallery.pages(few["04"], list(shown(few["04"])), in_site=True))
    path = tmp_path / "page.html"
    with running_chromium() as browser:
        page = browser.new_page()
        for name, text in made_pages.items():
            if not name.endswith(".html"):
                continue
            path.write_text(text, encoding="utf-8")
            page.set_viewport_size({"width": 1280, "height": 720})
            page.goto(path.as_uri())
            [title] = page.locator("h1").all()
            assert title.bounding_box()["height"] > 20
            page.set_viewport_size({"width": 390, "height": 660})
            for link in page.locator("#gallery > a").all():
                assert link.bounding_box()["height"] >= 44
            assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_box_of_words_is_as_high_as_a_caption_until_it_asks(few, tmp_path):
    """And then the whole picture is in the window."""
    made_pages = dict(gallery.pages(few["00"], list(shown(few["00"])), in_site=True))
    path = tmp_path / "page.html"
    path.write_text(made_pages["00-story.html"], encoding="utf-8")
    with running_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 1280, "height": 720}, reduced_motion="reduce"
        )
        page.goto(path.as_uri())
        page.keyboard.press("Home")
        before = page.locator("#sheet").bounding_box()["height"]
        page.keyboard.press("End")
        page.wait_for_selector("#ask:visible")
        assert before < page.locator("#sheet").bounding_box()["height"]
        stage = page.locator("#stage").bounding_box()
        assert stage["y"] >= 0 and stage["y"] + stage["height"] <= 720


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_on_a_phone_the_whole_picture_is_between_the_controls_and_the_verdict(
    few, tmp_path
):
    made_pages = dict(gallery.pages(few["00"], list(shown(few["00"])), in_site=True))
    path = tmp_path / "page.html"
    path.write_text(made_pages["00-story.html"], encoding="utf-8")
    with running_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 390, "height": 660}, reduced_motion="reduce"
        )
        page.goto(path.as_uri())
        page.wait_for_selector("#ask:visible")
        page.keyboard.press("1")
        page.keyboard.press("End")
        page.wait_for_selector("#verdict:visible")
        bar, drawing, sheet = (
            page.locator(each).bounding_box() for each in ("#bar", "#drawing", "#sheet")
        )
    assert 0 <= bar["y"] <= 8
    assert bar["y"] + bar["height"] <= drawing["y"]
    assert drawing["y"] + drawing["height"] <= sheet["y"]


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_in_a_lesson_on_a_phone_the_words_stand_below_the_controls(few, tmp_path):
    """The picture follows them, and what is left of the frame is at its end."""
    made_pages = dict(gallery.pages(few["00"], list(shown(few["00"])), in_site=True))
    (tmp_path / "00-story.html").write_text(
        made_pages["00-story.html"], encoding="utf-8"
    )
    lesson = tmp_path / "lesson.html"
    lesson.write_text(
        '<meta name="viewport" content="width=device-width">'
        '<iframe src="00-story.html" width="358" height="800"></iframe>',
        encoding="utf-8",
    )
    high = "document.querySelector('main').offsetHeight"
    with running_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 390, "height": 660}, reduced_motion="reduce"
        )
        page.goto(lesson.as_uri())
        frame = page.frame(url=re.compile("story"))
        heights = set()
        for key in ("Home", "End", "1"):
            frame.locator("#scrub").press(key)
            seen = [
                frame.locator(f"#{name}").evaluate("e => e.getBoundingClientRect().top")
                for name in ("bar", "sheet", "stage", "foot")
            ]
            assert seen == sorted(seen)
            heights.add(frame.evaluate(high))
        assert len(heights) == 1 and frame.is_hidden("#ask")


SEEN = """
frame => {
  const { top, bottom } = frame.getBoundingClientRect(), inside = frame.contentDocument;
  const place = id => inside.getElementById(id).getBoundingClientRect();
  const ask = place('ask');
  return {
    frame: frame.offsetHeight, caption: place('sheet').height, stage: place('stage').top,
    above: Math.round(Math.min(innerHeight, bottom) - top - ask.bottom),
    covers: ask.top < place('bar').bottom, keys: place('keys').height,
  };
}
"""


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("width", [390, 980])
def test_in_a_lesson_a_question_lies_over_the_picture_where_it_is_seen(few, width):
    """So its room is in no caption, and the frame is as high all the time."""
    made_pages = dict(gallery.pages(few["00"], list(shown(few["00"])), in_site=True))
    words = "<p>words</p>" * 40
    with running_chromium() as browser:
        page = browser.new_page(
            viewport={"width": width, "height": 560}, reduced_motion="reduce"
        )
        page.set_content(
            '<meta name="viewport" content="width=device-width">'
            f"{words}<iframe style='width: 100%; border: 0'></iframe>{words}"
        )
        around = page.locator("iframe")
        around.evaluate(
            "(frame, text) => { frame.srcdoc = text; }", made_pages["00-story.html"]
        )
        frame = around.content_frame
        frame.locator("#ask").wait_for()
        frame.locator("#scrub").press("Home")
        before = around.evaluate(SEEN)
        assert before["keys"] == 0
        frame.locator("#scrub").press("End")
        assert frame.locator("#said").is_visible()
        for block in ("start", "end"):
            around.evaluate("(frame, block) => frame.scrollIntoView({ block })", block)
            page.wait_for_function(
                f"({SEEN})(document.querySelector('iframe')).above === 0"
            )
            asks = around.evaluate(SEEN)
            assert not asks["covers"]
            for part in ("frame", "caption", "stage"):
                assert asks[part] == before[part], part
        frame.locator("#options button").first.click()
        frame.locator("#scrub").press("End")
        frame.locator("#verdict").wait_for()
        told = around.evaluate(SEEN)
        assert told["frame"] == before["frame"] and told["caption"] > before["caption"]


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_question_that_is_answered_in_the_picture_does_not_lie_over_it():
    pictures = list(shown(contents()["10"]))
    made_pages = dict(gallery.pages(contents()["10"], pictures, in_site=True))
    with running_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 980, "height": 1000}, reduced_motion="reduce"
        )
        page.set_content('<iframe style="width: 100%"></iframe>')
        around = page.locator("iframe")
        around.evaluate(
            "(frame, text) => { frame.srcdoc = text; }", made_pages["10-cut-run.html"]
        )
        frame = around.content_frame
        frame.locator("#drag").wait_for()
        ask, stage = [frame.locator(part).bounding_box() for part in ("#ask", "#stage")]
        assert ask["y"] + ask["height"] <= stage["y"]


def test_the_last_picture_of_a_lesson_leads_on():
    lessons = list(contents().values())
    assert gallery.after(lessons[0], in_site=True) == (
        '<a href="../lessons/01_the_log.html">next: 01 · The log</a>'
    )
    for lesson, in_site in ((lessons[-1], True), (lessons[0], False)):
        assert "all pictures" in gallery.after(lesson, in_site)


def test_every_page_has_an_icon_that_fetches_nothing(made):
    for path in made.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert page.count('<link rel="icon" href="data:image/svg+xml,') == 1, path
        assert re.search('img-src [^;"]*data:', page), path


def test_nothing_is_fetched_from_elsewhere(made):
    for path in made.iterdir():
        addresses = re.findall(r"https?:[^\s'\"<)]*", path.read_text(encoding="utf-8"))
        # the name of SVG, no address
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path.name


def test_the_index_asks_and_does_not_answer(made, few):
    text = (made / "index.html").read_text(encoding="utf-8")
    assert (
        "Where does alice&#x27;s next record go?" in text
        and "02 · Partitions and keys" in text
    )
    assert "Two lines, either way round · 2" in text and gallery.HAS_LEVERS in text
    for lesson in few.values():
        for asked in lesson.predictions:
            assert not any(
                said in text
                for option, said in explained()[asked.question].items()
                if option != TITLE
            )


def test_a_picture_that_asks_is_known_by_the_moment_of_its_question():
    (story,) = shown(contents()["00"])
    assert gallery.still(story.picture) == story.picture.prediction.stop
    asks = story.picture.scenes[gallery.still(story.picture)]
    assert story.picture.sentence(asks) in story.picture.svg(2)


def test_each_card_asks(made):
    index = (made / "index.html").read_text(encoding="utf-8")
    told = re.findall("</h2><p>(.*?)</p>", index)
    assert len(told) == len(list(made.glob("*.svg")))
    assert [words for words in told if "?" not in words] == []


def test_the_cards_that_need_a_question_of_their_own_are_there():
    cells = {
        f"{n}-{cell['id']}" for n, each in contents().items() for cell in each.code
    }
    assert gallery.QUESTIONS.keys() <= cells


def test_a_thumbnail_shows_what_is_drawn_and_not_what_the_card_says(made):
    """Near enough to read: a card is 300 pixels wide or more."""
    for path in made.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        _, _, width, height = map(float, re.search('viewBox="(.*?)"', text)[1].split())
        assert width <= 378 and height == round(width / 2), path.name
    story = (made / "00-story.svg").read_text(encoding="utf-8")
    assert "created" in story and "A third partition" not in story
    assert "Topic orders grows" not in story
    keys = (made / "02-keyed-run.svg").read_text(encoding="utf-8")
    assert "olivia" in keys


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_thumbnail_cuts_through_no_word_and_no_small_box(made, tmp_path):
    title_pictures.write_small(tmp_path)
    with running_chromium() as browser:
        page = browser.new_page()
        cards = [*made.glob("*.svg"), *tmp_path.glob("*-card.svg")]
        assert len(cards) > len(contents())
        for path in cards:
            page.set_content(path.read_text(encoding="utf-8"))
            assert page.evaluate(CUT_THROUGH) == [], path.name


@pytest.mark.parametrize(
    ("name", "stops", "was"),
    [
        ("04-line-run", "", "commit"),
        ("12-fields", "123 bytes", "in about five of six bytes"),
        ("19-kill", "The plug is pulled", "more: some rows are there twice"),
    ],
)
def test_where_a_lessons_picture_asks_nothing_the_gallerys_does(name, stops, was):
    """And its lesson still shows the cell: else nobody would see the question."""
    number, _, cell = name.partition("-")
    [each] = [each for each in shown(contents()[number]) if each.cell == cell]
    assert each.picture.prediction is None
    pic = gallery.without_levers(each)
    asked = pic.prediction
    assert gallery.line(each) == asked.question
    assert asked.options[asked.answer - 1] == was
    assert stops in pic.scenes[asked.stop]["sentence"]
    assert asked.stop < asked.decided
    assert len(asked.because) == len(asked.options)


def test_levers_that_would_reach_nobody_are_left_out():
    live = Shown(
        "06",
        "levers",
        "",
        picture("rebalance", groups.classic(), live=True),
        levers=True,
    )
    plain = gallery.without_levers(live)
    assert (acts(live.picture), acts(plain)) == (True, False)
    assert plain.scenes == live.picture.scenes


def acts(of):
    return any("act" in shape for shape in of.drawings(WIDE)[-1].shapes.values())


def test_it_needs_nothing_of_jupyter(tmp_path, monkeypatch, capsys, few):
    monkeypatch.setattr(gallery, "contents", lambda: few)
    monkeypatch.setattr(gallery, "find_spec", lambda name: None)
    for name in (
        "ipywidgets",
        "IPython",
        "nbformat",
        "nbclient",
        "jupyterlab",
        "plotly",
        "kafka",
    ):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["gallery", str(tmp_path)]) == 0
    assert "the pictures with levers are left out" in capsys.readouterr().out
    assert (
        not (tmp_path / "04-pay-map.html").exists()
        and (tmp_path / "04-number-run.html").exists()
    )


def test_it_says_how_far_it_is_and_may_write_over_what_it_wrote(
    made, few, monkeypatch, capsys
):
    monkeypatch.setattr(gallery, "contents", lambda: few)
    assert main(["gallery", str(made)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "00 · Start here ... 1 picture",
        "02 · Partitions and keys ... 4 pictures",
    ]
    assert lines[-1] == f"10 pictures, and a list of them: {made / 'index.html'}"


def a_file(folder):
    (folder / "site").write_text("hello")


def somebodys_site(folder):
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("<h1>My cats</h1>")


def below_a_file(folder):
    (folder / "site").symlink_to(folder / "file" / "site")
    (folder / "file").write_text("hello")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (a_file, "is a file: name a folder"),
        (somebodys_site, "holds other files"),
        (below_a_file, "can't write to"),
    ],
)
def test_a_folder_that_can_not_be_used_is_explained_before_anything_runs(
    tmp_path, capsys, monkeypatch, prepare, said
):
    prepare(tmp_path)
    monkeypatch.setattr(gallery, "shown", lambda lesson: pytest.fail("a lesson runs"))
    before = sorted(tmp_path.rglob("*"))
    assert main(["gallery", str(tmp_path / "site")]) == 1
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_without_lessons_it_says_where_they_are(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gallery, "contents", dict)
    assert main(["gallery", str(tmp_path)]) == 1
    assert "notebooks/" in capsys.readouterr().err


def test_what_was_written_when_it_is_stopped_is_a_gallery(
    tmp_path, capsys, monkeypatch, few
):
    def stopped(lesson):
        if lesson.number == "02":
            raise KeyboardInterrupt
        return shown(lesson)

    monkeypatch.setattr(gallery, "contents", lambda: few)
    monkeypatch.setattr(gallery, "shown", stopped)
    assert main(["gallery", str(tmp_path)]) == 130
    assert "stopped" in capsys.readouterr().err
    assert jumps_and_links(tmp_path / "index.html") == (
        ["#lesson-00"],
        {"00-story.html", "00-story.svg"},
    )


def test_only_the_cells_that_lead_to_a_picture_are_run():
    cells = [
        {"id": id_, "metadata": {"tags": tags}, "source": source}
        for id_, tags, source in [
            ("imports", [], "from somewhere import Cluster"),
            ("aside", [], "cluster = Cluster()\nprint(cluster)"),
            ("helper", [], "def orders(of):\n    number = 3\n    return of, number"),
            ("number", [], "number = 4"),
            ("machine", ["nbval-ignore-output"], "cluster = Cluster()\ncluster.play()"),
            ("shows", [], "cluster = orders(Cluster())\ncluster.play()"),
            ("after", [], "cluster = None"),
        ]
    ]
    assert [cell["id"] for cell in leading_to_pictures(cells)] == [
        "imports",
        "helper",
        "shows",
    ]


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_index_and_a_page_are_read_by_everybody(made):
    pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    complaints = []
    with running_chromium() as browser:
        for theme, width in (("light", 1200), ("dark", 400)):
            page = browser.new_page(
                color_scheme=theme, viewport={"width": width, "height": 800}
            )
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "console",
                lambda message: (
                    complaints.append(message.text) if message.type == "error" else None
                ),
            )
            page.goto((made / "index.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert axe.run(page).response["violations"] == []
            sizes = "all => all.map(e => [e.offsetTop, e.offsetHeight])"
            rows = dict(page.eval_on_selector_all(".cards li", sizes))
            for row in page.eval_on_selector_all(".cards li", sizes):
                assert rows[row[0]] == row[1]
            assert len(rows) == {1200: 4, 400: 10}[width]
            with page.expect_navigation():
                page.click("text=A fifth partition")
            page.keyboard.press("End")
            assert page.is_visible(
                "#ask"
            ) and "From 4 to 5 partitions" in page.inner_text("#question")
            assert axe.run(page).response["violations"] == []
            with page.expect_navigation():
                page.click("text=all pictures")
            assert page.inner_text("h1") == "Kafka in pictures that play"
        broken = page.eval_on_selector_all(
            "img", "all => all.filter(e => e.complete && !e.naturalWidth).length"
        )
    assert complaints == [] and broken == 0


@pytest.mark.parametrize("number", OF_SPARK)
def test_what_spark_did_plays_from_its_recording(number):
    """Without Spark, and as the lesson's cell shows it where it has a picture."""
    lesson = contents()[number]
    [each] = shown(lesson)
    assert each.recorded and has_pictures(lesson)
    [cell] = [cell for cell in lesson.code if cell["id"] == each.cell]
    stored = re.findall(r"scenes ([0-9a-f]{12})", json.dumps(cell["outputs"]))
    assert stored in ([], [each.picture.digest])
    names = [name for name, _ in gallery.pages(lesson, [each])]
    assert names == [f"{each.name}.html", f"{each.name}.svg"]


def test_a_recording_asks_what_the_lesson_asks_and_the_index_does_not_tell():
    lesson = contents()["18"]
    [each] = shown(lesson)
    asked = each.picture.prediction
    assert asked.question in [known.question for known in lesson.predictions]
    assert asked.answer and asked.decided > asked.stop
    assert gallery.still(each.picture) == asked.stop
    index = gallery.index([(lesson, [each])])
    assert asked.question in index
    assert not any(sentence in index for sentence in asked.because)
