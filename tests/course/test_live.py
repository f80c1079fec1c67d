"""Live controls, those of the partitioner: each change runs the same calls again."""

import pytest

from minikafka.course.levers import partitioner

pytest.importorskip("ipywidgets")


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    return partitioner(keys="alice bob", partitions=2, then=3)


def test_a_control_runs_the_calls_again_and_prints_the_line_that_does_the_same(live):
    before = live.picture.digest
    live.controls["then"].value = 5
    assert live.picture.digest != before
    assert (
        live.line.value
        == "<code>cluster.create_partitions(&quot;orders&quot;, 5)</code>"
    )
    live.controls["keys"].value = "zoe"
    assert "zoe" in repr(live) and "zoe" in live.stage.data.value


def test_what_makes_no_sense_is_said_and_the_picture_stays(live):
    before = live.picture.digest
    live.controls["partitions"].value = 4
    assert (
        "a topic never loses partitions" in live.line.value
        and live.picture.digest == before
    )


def test_its_text_is_stable(live):
    assert repr(live) == repr(partitioner(keys="alice bob", partitions=2, then=3))


def shown(live, monkeypatch):
    from IPython.core import display_functions

    published = []
    monkeypatch.setattr(
        display_functions,
        "publish_display_data",
        lambda data, *_, **__: published.append(data),
    )
    monkeypatch.setattr("IPython.display.display", display_functions.display)
    live._ipython_display_()
    return published


def test_the_frame_is_an_output_of_its_own_so_that_it_plays_without_a_kernel(
    live, monkeypatch
):
    monkeypatch.setattr(
        "IPython.core.interactiveshell.InteractiveShell.initialized", lambda: True
    )
    frame, *_ = shown(live, monkeypatch)
    assert (
        "iframe" in frame["text/html"]
        and "application/vnd.jupyter.widget-view+json" not in frame
    )


def test_text_is_all_there_is_under_nbval(live, monkeypatch):
    monkeypatch.setattr(
        "IPython.core.interactiveshell.InteractiveShell.initialized", lambda: True
    )
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    assert shown(live, monkeypatch) == [{"text/plain": repr(live)}]
