"""The levers of the pipeline's picture, which change a run while it is shown."""

import pytest

from minikafka.course import levers

pytestmark = pytest.mark.slow

pytest.importorskip("ipywidgets")


@pytest.fixture(autouse=True)
def text_only(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")


def lamps(live):
    last = live.picture.scenes[-1]["space"]
    return [last["twice"], last["late"], last["lost"]]


def test_each_lever_runs_the_producer_again_and_prints_its_line_of_code():
    live = levers.pipeline()
    assert lamps(live)[0] > 1, (
        "an answer is lost, and what was in flight is written again"
    )
    live.controls["idempotence"].value = True
    assert lamps(live) == [0, 0, 0]
    assert live.line.value == "<code>cluster.producer(enable_idempotence=True)</code>"
    live.controls["lost"].value = "nothing"
    assert "faults=[Delay(&quot;shop&quot;, 1, extra_ms=10)]" in live.line.value


@pytest.mark.parametrize("lost", ["nothing", "a request", "an answer"])
@pytest.mark.parametrize("linger_ms", [0, 5, 20])
def test_idempotence_keeps_all_lamps_green(lost, linger_ms):
    assert lamps(levers.pipeline(lost=lost, linger_ms=linger_ms, idempotence=True)) == [
        0,
        0,
        0,
    ]


def test_each_lamp_can_be_made_red():
    assert lamps(levers.pipeline(lost="a request"))[1] > 0
    assert lamps(levers.pipeline(lost="a request", acks="0", in_flight=1))[2] > 0
    assert lamps(levers.pipeline(lost="an answer", in_flight=1)) == [1, 0, 0]


def test_a_batch_that_is_repeated_at_once_is_twice_and_in_order():
    assert lamps(levers.pipeline(lost="an answer", in_flight=1, linger_ms=5)) == [
        5,
        0,
        0,
    ]


def test_settings_that_exclude_each_other_are_refused_and_the_picture_stays():
    live = levers.pipeline(idempotence=True)
    before = live.picture
    live.controls["acks"].value = "1"
    assert "enable_idempotence needs acks" in live.line.value and live.picture is before
