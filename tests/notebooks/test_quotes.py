"""The Python that a lesson gives to copy is a piece of a recipe, word for word."""

import re

import pytest

from minikafka.course.contents import contents
from minikafka.course.places import NOTEBOOKS

RECIPE = re.compile(r"\]\(\.\./notebooks/(recipes/\w+\.py)\)")
QUOTING = [
    number
    for number, lesson in contents().items()
    if (at_work := lesson.section("at work")) and RECIPE.search(at_work.text)
]


@pytest.mark.parametrize("number", QUOTING)
def test_what_a_lesson_quotes_stands_in_a_recipe_that_it_links_to(number):
    text = contents()[number].section("at work").text
    recipes = [
        (NOTEBOOKS / name).read_text(encoding="utf-8") for name in RECIPE.findall(text)
    ]
    quotes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert quotes
    for quote in quotes:
        assert any(quote in recipe for recipe in recipes), quote
