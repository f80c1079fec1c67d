"""The page of `minikafka watch` in Chromium, with real clients behind it."""

from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from minikafka.testing import Kafka
from minikafka.watching import command
from minikafka.watching.command import Watching
from minikafka.watching.server import PageServer
from tests.chromium import PATIENCE_MS, running_chromium
from tests.watching.answering import answering

pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

AXE = (Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")
WIDTHS = (1280, 390)
AROUND = 28  # the drawing
THEMES = ("light", "dark")
BEYOND = "document.documentElement.scrollWidth - innerWidth"
# words of the drawing that lie on others, or beyond it
OVERLAPS = """() => {
  const whole = document.querySelector('#picture svg').getBoundingClientRect();
  const boxes = [...document.querySelectorAll('#picture text')]
    .map(node => [node.textContent, node.getBoundingClientRect()]);
  const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
  const below = (a, b) => a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
  const found = [];
  boxes.forEach(([words, box], i) => {
    if (box.right > whole.right + 3) found.push(words);
    for (const [others, other] of boxes.slice(i + 1))
      if (!beside(box, other) && !below(box, other)) found.push(`${words} | ${others}`);
  });
  return found;
}"""


@contextmanager
def served(kafka):
    """The address of the page."""
    watching = Watching(kafka.bootstrap_servers, None)
    server = PageServer(0, watching.html, watching.news)
    with answering(server):
        yield server.address
    watching.stop()


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def kafka(monkeypatch):
    """Three brokers, and a group that is behind and has nobody who reads."""
    monkeypatch.setattr(command, "EVERY_S", 0.1)
    with Kafka(brokers=3) as kafka:
        topic = kafka.topic(partitions=4, name="orders.of-a-shop-with-a-long-name")
        settings = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
        producer = confluent_kafka.Producer(settings)
        for number in range(400):
            producer.produce(topic, str(number), partition=number % 4)
        assert producer.flush(60) == 0
        consumer = confluent_kafka.Consumer(
            settings | {"group.id": "billing", "client.id": "till"}
        )
        places = [
            confluent_kafka.TopicPartition(topic, number, 7) for number in range(4)
        ]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()
        yield kafka


@pytest.fixture
def open_page(browser):
    """Opens the page; what it finds."""
    opened = []

    def open_page(address, theme="light"):
        page = browser.new_page(color_scheme=theme, reduced_motion="reduce")
        page.set_default_timeout(PATIENCE_MS)
        opened.append(page)
        wrong = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda told: wrong.append(told.text))
        page.goto(address)
        page.wait_for_selector("#picture svg text")
        return page, wrong

    yield open_page
    for page in opened:
        page.close()


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_shows_the_lag_fits_each_window_and_axe_finds_nothing(
    kafka, open_page, theme
):
    with served(kafka) as address:
        page, wrong = open_page(address, theme)
        page.wait_for_selector("#problems.bad:has-text('nobody reads orders')")
        page.evaluate(AXE)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_selector(f"#picture svg[viewBox^='-2 -2 {width - AROUND} ']")
            assert page.evaluate(BEYOND) <= 0, width
            assert page.evaluate(OVERLAPS) == [], width
            found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
            assert [each["id"] for each in found["violations"]] == [], width
        assert wrong == []


def test_the_same_is_there_as_a_table(kafka, open_page):
    with served(kafka) as address:
        page, _ = open_page(address)
        page.click("#text")
        assert page.is_hidden("#picture")
        rows = page.locator("#rows tbody tr").all_inner_texts()
        assert len(rows) == 4 and all("93\tnobody" in row for row in rows)


def test_a_kafka_that_is_away_is_said_and_the_page_recovers(open_page):
    with Kafka() as kafka:
        kafka.topic()
        with served(kafka) as address:
            page, _ = open_page(address)
            kafka.broker(1).kill()
            page.wait_for_selector("#problems:has-text('Nobody answers')")
            kafka.broker(1).restart()
            page.wait_for_selector("#problems:has-text('All is well')")
            page.wait_for_selector("#picture:not(.away)")
