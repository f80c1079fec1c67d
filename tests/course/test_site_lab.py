"""The lessons as a browser's tab has them: what needs TCP prints what it is stored
with.
"""

import ast

import pytest

pytest.importorskip("nbformat")
import nbformat

from minikafka.course.contents import contents
from minikafka.course.publishing.site_lab import (
    INSTEAD,
    NEITHER_TCP_NOR_JAVA,
    without_tcp,
)


def cells(number):
    notebook = nbformat.reads(without_tcp(contents()[number]), as_version=4)
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


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
