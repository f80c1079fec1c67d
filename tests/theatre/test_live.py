"""Live controls: a re-run comes in as a function."""

import pytest

from tests.theatre.traces import Story

pytest.importorskip("ipywidgets")


def rerun(keys, counts, rule):
    story = Story()
    story.topic(partitions=counts[0])
    for number, key in enumerate(keys):
        hashed = sum(map(ord, key or ""))
        story.at(number).choose(hashed % counts[-1], counts[-1], key, rule, hashed=hashed)
    return story.events


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    from minikafka.theatre.live import partitioner

    return partitioner(rerun, keys="alice bob", partitions=2, then=3, seed=7)


def test_a_control_runs_the_calls_again_and_prints_the_line_that_does_the_same(live):
    before = live.picture.digest
    live.controls["then"].value = 5
    assert live.picture.digest != before
    assert live.line.value == "<code>cluster.create_partitions(&quot;orders&quot;, 5)</code>"
    live.controls["keys"].value = "zoe"
    assert "zoe" in repr(live) and "iframe" in live.stage.value


def test_what_makes_no_sense_is_said_and_the_picture_stays(live):
    before = live.picture.digest
    live.controls["partitions"].value = 4
    assert "a topic never loses partitions" in live.line.value and live.picture.digest == before


def test_its_text_is_stable_and_is_all_there_is_under_nbval(live, monkeypatch):
    from minikafka.theatre.live import partitioner

    assert repr(live) == repr(partitioner(rerun, keys="alice bob", partitions=2, then=3, seed=7))
    assert "application/vnd.jupyter.widget-view+json" in live._repr_mimebundle_()
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    assert live._repr_mimebundle_() == {"text/plain": repr(live)}
