"""`minikafka lab`: the learner's folder, and what stands in it."""

import re

import pytest

from minikafka.course import lab, places
from minikafka.course.contents import contents

pytestmark = pytest.mark.slow


def test_a_folder_of_ones_own_has_what_the_lessons_link_to(tmp_path):
    new = lab.furnish(tmp_path)
    assert {path.parent for path in new} == {tmp_path / "my"}
    markdown = "".join(lesson.prose for lesson in contents().values())
    named = set(re.findall(r"\]\(\.\./notebooks/([\w./]+)\)", markdown))
    assert {"pictures/05.svg", "glossary.md"} <= named
    beside = tmp_path / "notebooks"
    assert {name for name in named if not (beside / name).exists()} == set()


def test_what_is_there_already_is_never_overwritten(tmp_path):
    mine = tmp_path / "my" / lab.FIRST_LESSON
    mine.parent.mkdir()
    mine.write_text("mine")
    assert mine not in lab.furnish(tmp_path)
    assert mine.read_text() == "mine"


def test_in_a_checkout_the_lessons_link_to_the_checkouts_own(monkeypatch, tmp_path):
    monkeypatch.setattr(places, "ROOT", tmp_path)
    lab.furnish(tmp_path)
    assert not (tmp_path / "notebooks").exists()
