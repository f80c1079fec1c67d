"""The picture at the top of a lesson is what the code draws today."""

import pytest

from minikafka.course import editions, hooks


@pytest.mark.parametrize("number", hooks.HOOKS)
def test_the_hook_picture_is_current(number):
    assert hooks.path(number).read_text(encoding="utf-8") == hooks.HOOKS[number](), "python -m minikafka.course.hooks"


@pytest.mark.parametrize("number", hooks.HOOKS)
def test_the_notebook_shows_its_hook_with_an_alternative_text(number):
    text = editions.notebooks()[number].read_text(encoding="utf-8")
    alternative, _, _ = text.partition(f"](../notebooks/pictures/{number}.svg)")
    assert len(alternative.rpartition("![")[2]) > 40
