"""The page that makes a picture from nothing: what it says is run."""

import re
from pathlib import Path

import pytest

from minikafka import Cluster, theatre
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.picture import Picture

PAGE = Path(theatre.__file__).with_name("a_new_picture.md")


@pytest.fixture
def picture_of_the_page(monkeypatch):
    """The row of the page's picture is in the table while a test runs."""
    names: dict[str, object] = {}
    for code in re.findall("```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(code, names)
    monkeypatch.setitem(theatre.PLAYS, "safe", names["SafePlay"])


@pytest.fixture
def shown(picture_of_the_page) -> Picture:
    with Cluster(brokers=3, seed=4) as cluster:
        cluster.create_topic("orders", partitions=2, replication_factor=3)
        shop = cluster.producer(client_id="shop", acks="all")
        for number in range(6):
            shop.send("orders", key=f"k{number}", value=f"order {number}")
            cluster.run(seconds=0.1)
        cluster.run(seconds=2)
        return theatre.picture("safe", cluster.trace, seed=4)


def test_the_picture_of_the_page_tells_what_happened(shown):
    assert len(shown.scenes) > 6
    first, last = shown.scenes[0], shown.scenes[-1]
    assert first["sentence"] == "broker 1 has orders-1 up to offset 0."
    written = [log["written"] for log in last["space"]["logs"].values()]
    assert sum(written) == 6
    safe = [log["safe"] for log in last["space"]["logs"].values()]
    assert safe == written, "in the end every replica has all"


@pytest.mark.parametrize("width", LAYOUTS)
def test_it_is_drawn_for_every_width_and_nothing_leaves_it(shown, width):
    drawn = shown.drawings(width)
    last = drawn[-1].shapes
    assert {"written/orders-0", "safe/orders-0", "name/orders-1"} <= set(last)
    for drawing in drawn:
        for shape in drawing.shapes.values():
            assert shape["x"] >= 0 and shape["x"] + shape.get("w", 0) <= width


def test_it_plays_as_a_page_and_is_an_svg(shown):
    assert "The high watermark of orders-" in shown.page()
    assert shown.svg().startswith("<svg")
