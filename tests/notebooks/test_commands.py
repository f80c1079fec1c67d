"""What teachers and learners are told to type can be typed."""

import ast
import re
import shlex
from unittest import mock

import pytest

import tasks
from minikafka.__main__ import parser
from minikafka.course.contents import contents
from minikafka.course.places import NOTEBOOKS
from minikafka.course.spark import DELTA, PACKAGES
from tests.clients.operating import CHAPTERS

PAGES = [*NOTEBOOKS.glob("*.html"), *NOTEBOOKS.glob("teaching/*.md")]
OURS = re.compile(
    r"\bminikafka ((?:serve|demo|doctor|error|lesson \d|class|pipeline)\b[^`<\n]*)"
)
SPARK_SUBMIT = NOTEBOOKS / "from_notebook_to_spark_submit.md"
CONNECTOR = re.compile(r"org\.apache\.spark:spark-sql-kafka[\w.:-]+")
DELTA_NAMED = re.compile(r"io\.delta:delta-spark_[\w.:-]+\d")
TASKS = re.compile(r"tasks\.py (\w+)")


def told():
    """(page, words) of each command of ours."""
    for page in sorted(PAGES):
        for found in OURS.finditer(page.read_text(encoding="utf-8")):
            yield pytest.param(
                shlex.split(found[1], comments=True),
                id=f"{page.name}: {found[1].strip()[:40]}",
            )


@pytest.mark.parametrize("words", list(told()))
def test_a_command_is_one(words):
    parser().parse_args([word.rstrip(".,:;") for word in words])


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_a_task_is_one(page):
    assert set(TASKS.findall(page.read_text(encoding="utf-8"))) <= set(tasks.TASKS)


def test_sparks_connector_has_the_version_that_the_lessons_use():
    named = set(CONNECTOR.findall(SPARK_SUBMIT.read_text(encoding="utf-8")))
    assert named == {PACKAGES}
    for lesson in NOTEBOOKS.glob("*.ipynb"):
        assert set(CONNECTOR.findall(lesson.read_text(encoding="utf-8"))) <= named


def test_delta_has_the_version_that_the_extra_uses():
    told = "".join(path.read_text("utf-8") for path in NOTEBOOKS.glob("19_*.ipynb"))
    assert set(DELTA_NAMED.findall(told)) == {DELTA}


def test_the_python_of_the_page_about_spark_submit_is_python():
    text = SPARK_SUBMIT.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        ast.parse(block)


def options_of(command):
    """(tool, subcommand, options) of a command, without their values."""
    tool, *words = command.split()
    subcommand = "" if words[0].startswith("--") else words[0]
    options = {word for word in words if word.startswith("--")}
    return tool, subcommand, frozenset(options - {"--bootstrap-server"})


def test_an_operator_tries_every_command_of_lesson_16_on_both_kafkas():
    block = re.search(r"```\n(.*?)```", contents()["16"].section("at work").text, re.S)
    told = re.findall(r"^kafka-([\w-]+)\.sh( .*)", block[1], re.MULTILINE)
    assert len(told) == len(block[1].splitlines())
    operator = mock.MagicMock()
    for chapter in CHAPTERS:
        chapter(operator)
    tried = {options_of(each.args[0]) for each in operator.types.call_args_list}
    untried = [line for line in map("".join, told) if options_of(line) not in tried]
    assert not untried
