"""The recipe of lesson 14 against two programs in one sink, as its cell has it, in
SQLite.
"""

import re
import sqlite3
from contextlib import closing

import nbformat
import pytest

from minikafka.course import editions

pytestmark = pytest.mark.slow


def recipe():
    """The three statements: the table, the row of a partition, and order 17."""
    cells = nbformat.read(editions.notebooks()["14"], as_version=4).cells
    [text] = [each.source for each in cells if each.id == "two-explain"]
    blocks = re.findall("```sql\n(.*?)```", text, re.DOTALL)
    told = "".join(blocks).splitlines()
    note, table, seed = (line for line in told if not line.startswith("--"))
    return table, seed, note


def rows_changed(table, *statements):
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(table)
        return [database.execute(each).rowcount for each in statements]


def test_the_first_order_finds_a_row_and_an_order_that_comes_again_changes_none():
    table, seed, note = recipe()
    assert rows_changed(table, seed, note, note) == [1, 1, 0]


def test_a_program_that_starts_again_leaves_the_note_alone():
    table, seed, note = recipe()
    assert rows_changed(table, seed, note, seed, note) == [1, 1, 0, 0]


def test_without_the_row_every_order_is_taken_back():
    table, _, note = recipe()
    assert rows_changed(table, note) == [0]
