"""Levers on the stage, in JupyterLab: a click on a card changes the run, the frame
stays, and nothing breaks without a kernel.
"""

import pytest

from tests.browser.jupyter import AXE, Lesson, jupyter_lab
from tests.browser.levers import a_group_with_levers
from tests.chromium import running_chromium

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levers")
    with (
        running_chromium() as browser,
        jupyter_lab(folder) as server,
        browser.new_context(viewport={"width": 1366, "height": 900}) as context,
    ):
        opened = Lesson(context.new_page(), server, a_group_with_levers(folder))
        opened.open()
        opened.run_all()
        yield opened


def test_after_a_run_the_picture_has_come_into_view(lesson):
    frame = lesson.page.locator(".jp-OutputArea iframe").first
    lesson.page.wait_for_function(
        "frame => frame.getBoundingClientRect().top < 400", arg=frame.element_handle()
    )


def test_a_click_on_a_card_changes_the_run_from_that_moment_in_the_same_frame(lesson):
    picture = lesson.picture()
    for _ in range(8):
        picture.click("on")
    here, frame = (
        picture.step(),
        lesson.page.locator(".jp-OutputArea iframe").first.element_handle(),
    )
    picture.frame.locator("rect[data-act='freeze consumer A']").click()
    picture.frame.wait_for_selector("#ticks .flag", state="attached")
    assert picture.step() >= here and lesson.page.evaluate(
        "frame => frame.isConnected", frame
    )
    picture.focus("scrub")
    picture.press("End")
    picture.frame.wait_for_function(
        "document.getElementById('drawing').textContent.includes('frozen')"
    )
    said = (
        lesson.page.locator(".jp-OutputArea")
        .nth(1)
        .filter(has_text='cluster.freeze("consumer A")')
    )
    said.wait_for(state="attached")
    assert picture.violations() == []


def test_a_lever_that_is_pointed_at_has_its_effect_on_the_page_before_it_is_clicked(
    lesson,
):
    picture = lesson.picture()
    picture.focus("scrub")
    picture.press("Home")
    for _ in range(8):
        picture.press("ArrowRight")
    lever = picture.frame.locator("rect[data-act='slow consumer B']")
    lever.hover()
    lesson.page.wait_for_selector(
        ".minikafka-ahead [data-of*='slow consumer B']", state="attached"
    )
    shown = lever.evaluate(
        "lever => { lever.dispatchEvent(new MouseEvent('click', { bubbles: true }));"
        " return document.querySelector('#ticks').innerHTML }"
    )
    assert "processing_ms=400" in shown
    # and the kernel does the same
    said = lesson.page.locator(".jp-OutputArea").nth(1)
    said.filter(has_text='cluster.slow("consumer B"').wait_for(state="attached")


def test_a_reader_that_is_dragged_seeks_and_the_run_goes_on_from_there(lesson):
    picture = lesson.picture(1)
    picture.focus("scrub")
    picture.press("End")
    picture.frame.locator("[data-onto]").first.focus()
    for key in ("Enter", "ArrowLeft", "ArrowLeft", "Enter"):
        picture.press(key)
    picture.frame.wait_for_selector("#ticks .flag", state="attached")
    lesson.page.wait_for_selector(
        ".jp-OutputArea code:has-text('consumer.seek(TopicPartition')", state="attached"
    )
    said = "document.getElementById('sentence').textContent"
    picture.frame.wait_for_function(f"{said}.includes('seeks, and is now at offset')")


def test_a_byte_that_is_typed_is_read_again_and_the_focus_stays_on_it(lesson):
    picture = lesson.picture(2)
    picture.frame.locator("[data-act='byte 3']").click()
    picture.press("6")
    picture.press("3")
    said = picture.frame.locator("#sentence")
    said.filter(has_text="Produce has no version 99").wait_for()
    assert picture.frame.evaluate("document.activeElement.dataset.act") == "byte 3"
    lesson.page.wait_for_selector(
        ".jp-OutputArea code:has-text('frame[3] = 0x63')", state="attached"
    )
    assert picture.violations() == []


def test_a_number_in_a_sentence_plays_the_run_anew_and_has_a_name(lesson):
    picture = lesson.picture(3)
    field = lesson.page.locator(".minikafka-dials input")
    assert field.input_value() == "2"
    assert not lesson.page.locator(".minikafka-plain").is_visible()
    field.fill("7")
    field.press("Enter")
    lesson.page.wait_for_selector(
        ".jp-OutputArea code:has-text('run(seconds=7)')", state="attached"
    )
    ends = "document.getElementById('rows').textContent.includes('14.0')"
    picture.focus("scrub")
    picture.press("End")
    picture.click("text")
    picture.frame.wait_for_function(ends)
    lesson.page.evaluate(f"{AXE}\n;undefined")
    found = lesson.page.evaluate("axe.run('.minikafka-dials')")
    assert found["violations"] == []


def test_what_is_dragged_is_the_learners_prediction_in_the_kernel(lesson):
    picture = lesson.picture(4)
    picture.focus("scrub")
    picture.press("End")
    for key in ("End", "Enter"):
        picture.frame.locator("[role=slider]").press(key)
    content = "window.jupyterapp.shell.currentWidget.content"
    lesson.page.evaluate(
        f"() => {{ {content}.activeCellIndex = {content}.widgets.length - 1 }}"
    )
    lesson.command("notebook:insert-cell-below")
    lesson.page.evaluate(
        f"() => {content}.activeCell.model.sharedModel.setSource('print(q)')"
    )
    lesson.command("notebook:run-cell")
    said = lesson.page.locator(".jp-OutputArea pre").filter(has_text="You say 29.8 s.")
    said.wait_for()


def test_opened_again_without_a_kernel_it_plays_and_says_what_to_do(lesson):
    lesson.command("docmanager:save")
    lesson.restart_kernel()
    lesson.open()
    picture = lesson.picture()
    picture.focus("scrub")
    picture.press("Home")
    picture.expect_step(0)
    picture.click("on")
    picture.frame.locator("rect[data-act='crash consumer A']").click()
    picture.frame.wait_for_selector("#said.note")
    assert "Run this cell again" in picture.sentence()
    lesson.page.wait_for_function(
        "() => !document.querySelector('.jupyter-widgets:not([hidden])')"
    )
    assert "Error displaying widget" not in lesson.page.inner_text(".jp-Notebook")
    plain = lesson.page.locator(".minikafka-plain")
    assert plain.is_visible() and plain.inner_text().endswith("every 2 s.")
