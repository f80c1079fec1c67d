"""The picture at the top of a lesson is what the code draws today."""

import pytest

from minikafka.course import editions
from minikafka.course.publishing import title_pictures
from tests.kafka import ROOT


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


@pytest.mark.parametrize("number", title_pictures.HOOKS)
def test_the_notebook_shows_its_hook_with_an_alternative_text(number):
    text = editions.notebooks()[number].read_text(encoding="utf-8")
    alternative, _, _ = text.partition(f"](../notebooks/pictures/{number}.svg)")
    assert len(alternative.rpartition("![")[2]) > 40
