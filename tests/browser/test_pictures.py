"""Pictures in a browser: in JupyterLab they play, keep their keys, survive save and
restart; axe finds nothing.
"""

import pytest

from minikafka import Cluster
from tests.browser.jupyter import (
    Lesson,
    Picture,
    jupyter_lab,
    learners_folder,
    screenshot,
)
from tests.chromium import running_chromium
from tests.clients.brokers import until
from tests.seeds import first_now

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(1200)]

ASKS_NOTHING = 2  # lesson 02's third picture: it plays to its end without a stop


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as running:
        yield running


@pytest.fixture(scope="module")
def lesson(browser, tmp_path_factory):
    """Lesson 02 as the learner has it, open in JupyterLab, all cells run."""
    folder = tmp_path_factory.mktemp("learner")
    notebook = learners_folder(folder, "02")
    with (
        jupyter_lab(folder) as server,
        browser.new_context(viewport={"width": 1366, "height": 768}) as context,
    ):
        opened = Lesson(context.new_page(), server, notebook)
        opened.open()
        opened.run_all()
        assert opened.errors() == []
        yield opened


def that_plays(lesson):
    """It is brought into sight again and again: a notebook that is laid out moves."""
    until(
        lambda: lesson.picture(ASKS_NOTHING).step() > 1, "the picture plays by itself"
    )
    return lesson.picture(ASKS_NOTHING)


def test_a_picture_that_is_seen_plays_steps_back_and_pauses(lesson):
    picture = that_plays(lesson)
    picture.click("back")
    assert picture.frame.locator("#go").inner_text() == "play", "a step back pauses"
    here, said = picture.step(), picture.sentence()
    picture.click("back")
    picture.expect_step(here - 1)
    assert picture.sentence() != said


def test_the_slider_is_moved_by_the_keyboard(lesson):
    picture = lesson.picture(ASKS_NOTHING)
    picture.focus("scrub")
    picture.press("Home")
    picture.expect_step(0)
    picture.press("ArrowRight")
    picture.press("ArrowRight")
    picture.expect_step(2)
    picture.press("ArrowLeft")
    picture.expect_step(1)


def test_keys_reach_the_picture_and_not_the_notebook(lesson):
    """In command mode `x` would delete the cell and the arrows would leave it."""
    picture = lesson.picture(ASKS_NOTHING)
    cells, active = lesson.cell_count(), lesson.active_cell()
    picture.focus("back")
    picture.press("Home")
    for key in ("ArrowRight", "x", "d", "d", "ArrowRight", "ArrowDown", "m"):
        picture.press(key)
    picture.expect_step(2)
    assert (lesson.cell_count(), lesson.active_cell()) == (cells, active)


def test_a_prediction_stops_the_picture_before_the_surprise_until_it_is_made(lesson):
    picture = lesson.picture()
    picture.focus("go")
    picture.press("End")
    assert picture.asks() and picture.step() < picture.last()
    picture.answer()
    picture.press("End")
    picture.expect_step(picture.last())
    assert not picture.asks()
    assert "You said" in picture.frame.locator("#verdict").inner_text()


def test_shift_enter_in_a_picture_runs_the_notebooks_next_cell(lesson):
    """As it does beside the picture: after a prediction the focus is in the frame."""
    picture = lesson.picture()
    content = "window.jupyterapp.shell.currentWidget.content"
    lesson.page.evaluate(f"() => {{ {content}.activeCellIndex = 2 }}")
    cells = lesson.cell_count()
    picture.focus("go")
    lesson.page.keyboard.press("Shift+Enter")
    lesson.page.wait_for_function(f"() => {content}.activeCellIndex === 3")
    assert lesson.cell_count() == cells


def test_axe_finds_nothing_serious_inside_the_frame(lesson):
    assert lesson.picture().violations() == []


@pytest.mark.parametrize("theme", first_now(["dark", "light"]))
@pytest.mark.parametrize("width", [960, 700])
def test_a_picture_follows_the_theme_and_fits_its_cell(lesson, theme, width):
    lesson.theme(theme)
    lesson.room_for_pictures(width)
    picture = lesson.picture()
    followed = "theme => document.documentElement.dataset.theme === theme"
    picture.frame.wait_for_function(followed, arg=theme)
    screenshot(lesson.page, f"jupyterlab-{theme}-{width}")
    assert picture.overflow() <= 0
    assert picture.violations() == []


def test_a_saved_notebook_plays_after_a_restart_and_without_a_run(lesson):
    lesson.command("docmanager:save")
    lesson.restart_kernel()
    lesson.open()
    picture = that_plays(lesson)
    picture.focus("go")
    picture.press("Home")
    picture.press("ArrowRight")
    picture.press("ArrowRight")
    picture.expect_step(2)
    picture.press("ArrowLeft")
    picture.expect_step(1)
    picture.click("go")
    picture.wait_until_past(1)


def log_picture():
    """Six records, a reader that goes back."""
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=1)
    producer = cluster.producer(client_id="shop")
    for number in range(6):
        producer.send("orders", key="alice", value=f"order {number}")
        cluster.run(seconds=1)
    consumer = cluster.consumer(
        "orders", auto_offset_reset="earliest", client_id="billing"
    )
    consumer.poll(timeout_ms=1000)
    return cluster.play("log")


def partitioner_picture():
    """Keys to three partitions, and a fourth one."""
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=3)
    producer = cluster.producer(client_id="shop")
    for partitions in (3, 4):
        if partitions > 3:
            cluster.create_partitions("orders", partitions)
            cluster.run(seconds=400)
        for name in ("alice", "bob", "carol", "dan"):
            producer.send("orders", key=name, value="paid")
        cluster.run(seconds=1)
    return cluster.play("partitioner")


@pytest.mark.parametrize("width", [960, 700])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [log_picture, partitioner_picture])
def test_a_saved_page_plays_fits_and_is_accessible(
    browser, tmp_path, make, scheme, width
):
    path = tmp_path / "picture.html"
    make().save(path)
    with browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme
    ) as context:
        page = context.new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if request.url.startswith("http")
                else None
            ),
        )
        page.goto(path.as_uri())
        picture = Picture(page)
        assert picture.violations() == []
        picture.focus("scrub")
        picture.press("End")
        picture.expect_step(picture.last())
        assert picture.violations() == []
        assert picture.overflow() <= 0
        screenshot(
            page, f"saved-{make.__name__.removesuffix('_picture')}-{scheme}-{width}"
        )
        assert complaints == [], (
            "the page needs nothing from elsewhere and raises nothing"
        )


def test_the_table_of_a_picture_is_accessible_too(browser, tmp_path):
    path = tmp_path / "picture.html"
    log_picture().save(path)
    with browser.new_context(viewport={"width": 960, "height": 800}) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        picture = Picture(page)
        picture.press("End")
        picture.click("text")
        assert page.locator("#rows tbody tr").count() == picture.last() + 1
        assert picture.violations() == []
