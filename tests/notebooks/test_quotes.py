"""The Python that a lesson gives to copy is a piece of a recipe, word for word."""

import re

import pytest

from minikafka.course.contents import contents
from minikafka.course.places import NOTEBOOKS

RECIPE = re.compile(r"\]\(\.\./notebooks/(recipes/\w+\.py)\)")
QUOTING = {
    f"{number}, {section.heading}": section.text
    for number, lesson in contents().items()
    for section in lesson.sections
    if RECIPE.search(section.text)
    and (section.heading.lower() == "at work" or "```python" in section.text)
}


@pytest.mark.parametrize("text", QUOTING.values(), ids=QUOTING)
def test_what_a_section_quotes_stands_in_a_recipe_that_it_links_to(text):
    recipes = [
        (NOTEBOOKS / name).read_text(encoding="utf-8") for name in RECIPE.findall(text)
    ]
    quotes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert quotes
    for quote in quotes:
        assert any(quote in recipe for recipe in recipes), quote
