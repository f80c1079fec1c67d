"""The lessons as a browser's tab has them: what needs TCP prints what it is stored
with.
"""

import ast
import json
from xml.etree import ElementTree

import pytest

pytest.importorskip("nbformat")
import nbformat

from minikafka.course.contents import contents
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import site_address
from minikafka.course.publishing.site_lab import (
    INSTEAD,
    NEITHER_TCP_NOR_JAVA,
    for_a_tab,
    place_pictures,
)


def test_a_tab_shows_the_hook_pictures_though_btoa_knows_latin_1_only(tmp_path):
    place_pictures(tmp_path / "pictures")
    placed = sorted((tmp_path / "pictures").iterdir())
    originals = sorted((NOTEBOOKS / "pictures").glob("*.svg"))
    assert [path.name for path in placed] == [path.name for path in originals]
    beyond = 0
    for path, original in zip(placed, originals, strict=True):
        text = path.read_text(encoding="latin-1")
        assert text.isascii(), path.name
        same = (
            ElementTree.canonicalize(text),
            ElementTree.canonicalize(original.read_text(encoding="utf-8")),
        )
        assert same[0] == same[1], path.name
        beyond += not original.read_text(encoding="utf-8").isascii()
    assert beyond


def cells(number):
    notebook = nbformat.reads(for_a_tab(contents()[number]), as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


@pytest.mark.parametrize(("number", "cell"), [("00", "story"), ("12", None)])
def test_a_lessons_first_picture_is_there_before_python_if_it_needs_no_kernel(
    number, cell
):
    book = json.loads(for_a_tab(contents()[number]))
    shown = {each["id"]: each for each in book["cells"] if each.get("outputs")}
    assert list(shown) == ([cell] if cell else [])
    for each in shown.values():
        assert each["metadata"]["trusted"]
        [output] = each["outputs"]
        assert output["data"]["text/html"].startswith("<iframe ")


@pytest.mark.parametrize(
    ("number", "name", "printed"),
    [("10", "live-run", "each order once and in order: True"), ("00", "tcp", "")],
    ids=["brokers that are processes", "a client over TCP"],
)
def test_a_cell_that_needs_tcp_prints_what_it_is_stored_with(number, name, printed):
    source = cells(number)[name]
    assert source.startswith(INSTEAD)
    [call] = ast.parse(source).body
    assert call.value.func.id == "print" and printed in call.value.args[0].value


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [number for number in NEITHER_TCP_NOR_JAVA if number in contents()]
)
def test_no_cell_that_a_tab_runs_uses_a_client_of_another_library(number):
    roots = (
        "kafka",
        "subprocess",
        "pyspark",
        "minikafka.server",
        "minikafka.course.experiments.lesson_10_real",
    )
    used = [
        line
        for source in cells(number).values()
        for line in source.splitlines()
        if line.startswith(
            tuple(f"{word} {root}" for word in ("import", "from") for root in roots)
        )
    ]
    assert used == []


@pytest.mark.slow
@pytest.mark.parametrize("address", ["https://example.org/course/", ""])
def test_a_lesson_in_a_tab_leads_back_to_its_page_where_the_address_is_known(
    monkeypatch, address
):
    monkeypatch.setattr(site_address, "web_address", lambda: address)
    book = nbformat.reads(for_a_tab(contents()["01"]), as_version=4)
    begins = book.cells[0].source.splitlines()
    link = "[This lesson as a page](https://example.org/course/lessons/01_the_log.html)"
    assert begins[0] == "# 01 · The log"
    assert (link in begins) == bool(address)
