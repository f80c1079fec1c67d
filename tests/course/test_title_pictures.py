"""The picture at the top of a lesson is what the code draws today."""

import pytest

from minikafka.course import editions
from minikafka.course.contents import contents
from minikafka.course.experiments import lesson_17_picture, lesson_22_picture
from minikafka.course.on_call import plans
from minikafka.course.on_call.incident import Incident
from minikafka.course.publishing import title_pictures
from tests.chromium import running_chromium
from tests.kafka import ROOT

# words that are too small, that reach beyond the picture, or into others
ILLEGIBLE = """() => {
  const svg = document.querySelector('svg'), words = [...svg.querySelectorAll('text')];
  const { left, right, width } = svg.getBoundingClientRect();
  const boxes = words.map(each => each.getBoundingClientRect());
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  return words.filter((each, i) => parseFloat(getComputedStyle(each).fontSize) < 12
    || boxes[i].left < left - 1 || boxes[i].right > right + 1
    || boxes.some((other, j) => j !== i && meet(boxes[i], other))
  ).map(each => each.textContent).concat(width === 358 ? [] : [`${width} wide`]);
}"""


@pytest.mark.parametrize("name", title_pictures.ALL)
def test_the_picture_is_current(name):
    how = "python -m minikafka.course.publishing.title_pictures"
    assert (
        title_pictures.path(name).read_text(encoding="utf-8")
        == title_pictures.ALL[name]()
    ), how


def test_the_readme_moves_without_a_script_and_is_small():
    text = title_pictures.path("hero").read_text(encoding="utf-8")
    assert (
        len(text.encode()) < 300_000 and "@keyframes" in text and "<script" not in text
    )
    assert "notebooks/pictures/hero.svg" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.browser
def test_on_a_phone_every_word_of_a_lessons_picture_can_be_read(tmp_path):
    title_pictures.write_small(tmp_path)
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 660})
        for number in title_pictures.HOOKS:
            name = title_pictures.small(number)
            page.set_content((tmp_path / name).read_text(encoding="utf-8"))
            assert page.evaluate(ILLEGIBLE) == [], name


@pytest.mark.parametrize("number", title_pictures.HOOKS)
def test_the_notebook_shows_its_hook_with_an_alternative_text(number):
    text = editions.notebooks()[number].read_text(encoding="utf-8")
    alternative, _, _ = text.partition(f"](../notebooks/pictures/{number}.svg)")
    assert len(alternative.rpartition("![")[2]) > 40


def test_lesson_17s_offsets_are_those_that_its_query_has_planned():
    """The picture's run is the one that the notebook stores."""
    [cell] = [each for each in contents()["17"].code if each["id"] == "checkpoint"]
    [output] = cell["outputs"]
    assert lesson_17_picture.printed("".join(output["text"])) == (
        lesson_17_picture.RECORDED
    )


@pytest.mark.slow
def test_lesson_22s_curves_are_those_of_its_first_night():
    """A night runs some ten seconds, so the picture has what was measured in it."""
    night = Incident(plans.read(lesson_22_picture.NIGHT))
    measured = lesson_22_picture.recorded(night.world.samples)
    assert measured == lesson_22_picture.RECORDED
