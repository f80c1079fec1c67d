"""Every picture of every lesson in a browser: no text on another, no verdict too early,
nothing that axe-core finds.
"""

from functools import cache

import pytest

from minikafka import Cluster
from minikafka.course.experiments.lesson_19_checkpoints import RECORDED
from minikafka.theatre import picture
from tests.chromium import running_chromium
from tests.theatre.lessons import LESSONS, pictures
from tests.theatre.overlaps import Visit, visit

pytest.importorskip("playwright.sync_api")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [
    pytest.mark.first,
    pytest.mark.xdist_group("pictures of lessons"),
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
THEMES = ("light", "dark")

every_lesson = pytest.mark.parametrize("number", LESSONS)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """theme -> a page, of one browser; and a folder."""
    with running_chromium() as browser:
        yield {
            theme: browser.new_page(color_scheme=theme, reduced_motion="reduce")
            for theme in THEMES
        }


@pytest.fixture(scope="module")
def visited(pages, tmp_path_factory):
    """What was found on the pages of a lesson, which are opened once."""
    folder, axe = tmp_path_factory.mktemp("pictures"), axe_api.Axe()

    @cache
    def lesson(number: str) -> list[Visit]:
        shown = enumerate(pictures(number))
        return [
            visit(pages[THEMES[at % 2]], each.name, each.picture, folder, axe)
            for at, each in shown
        ]

    return lesson


@every_lesson
def test_no_two_texts_of_a_picture_overlap_and_none_leaves_it(visited, number):
    found = [line for each in visited(number) for line in each.overlaps]
    assert not found, "\n".join(found)


@every_lesson
def test_a_picture_stops_to_ask_and_gives_no_verdict_before_it_is_decided(
    visited, number
):
    found = [line for each in visited(number) for line in each.verdicts]
    assert not found, "\n".join(found)


@every_lesson
def test_question_handle_and_verdict_are_in_the_window_of_a_phone_and_of_a_laptop(
    visited, number
):
    found = [line for each in visited(number) for line in each.out_of_sight]
    assert not found, "\n".join(found)


@every_lesson
def test_axe_finds_nothing_in_a_picture(visited, number):
    found = [line for each in visited(number) for line in each.violations]
    assert not found, "\n".join(found)


def eight_with_long_names():
    """Eight members with names as machines give them, the last of which comes when the
    others read.
    """
    cluster = Cluster(seed=8)
    cluster.create_topic("orders-of-the-whole-world", partitions=16)
    shop = cluster.producer(client_id="shop")
    for number in range(8):
        name = f"billing-service-7d9f8b6c5-x{number}kq{number}"
        group = "billing-and-accounting"
        member = cluster.consumer(
            "orders-of-the-whole-world", group_id=group, client_id=name
        )
        if number == 7:
            cluster.run(seconds=8)
        cluster.start(list, member)
    for number in range(32):
        shop.send("orders-of-the-whole-world", partition=number % 16, value="20 euros")
        cluster.run(seconds=0.25)
    return picture("rebalance", cluster.trace)


def test_no_two_texts_overlap_in_a_rebalance_of_eight_members_with_long_names(
    pages, tmp_path
):
    crowd = eight_with_long_names()
    chapters = [step for step, scene in enumerate(crowd.scenes) if scene["chapter"]]
    found = visit(
        pages["light"], "eight members", crowd, tmp_path, more_steps=chapters
    ).overlaps
    assert not found, "\n".join(found)


def test_no_two_texts_overlap_in_the_checkpoint_of_lesson_19(pages, tmp_path):
    """The lesson's own picture needs Spark."""
    watched = RECORDED.play()
    for theme in THEMES:
        found = visit(
            pages[theme],
            "a checkpoint",
            watched,
            tmp_path,
            axe_api.Axe(),
            more_steps=range(len(watched.scenes) - 1),
        )
        assert not found.overlaps, "\n".join(found.overlaps)
        assert not found.violations, "\n".join(found.violations)
