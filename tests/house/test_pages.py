"""README, CONTRIBUTING and the page about the code name files, functions and lines that
are there.
"""

import ast
import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = "minikafka/README.md"
TESTING = "minikafka/testing/README.md"
PAGES = ["README.md", "CONTRIBUTING.md", CODE, TESTING]
MINIMAL_KAFKA = ROOT / "notebooks/solutions/minimal_kafka.py"
CHANGES = re.compile(r"^## Where a change begins\n(.*?)^## ", re.DOTALL | re.MULTILINE)
MADE_LATER = ("my/", ".cache/", "build/")  # by commands that the pages name
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
FILE = re.compile(r"[\w./*-]*(/|\.(py|md|toml|txt|csv|js|svg|ipynb|yml|yaml|html))")
NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


def text(page):
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def tracked():
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    return [f"/{name}" for name in done.stdout.splitlines()]


def named(quoted):
    """The files that may be meant: a page leaves out the folders that it has said."""
    pattern = quoted.replace("NN", "[0-9][0-9]") + ("*" if quoted.endswith("/") else "")
    return [path for path in tracked() if fnmatch(path, f"*/{pattern}")]


def prose(page):
    return FENCED.sub("", text(page))


def quoted_in(page):
    return QUOTED.findall(prose(page))


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_somewhere(page):
    folder = (ROOT / page).parent
    links = LINK.findall(QUOTED.sub("", prose(page)))
    assert links and [each for each in links if not (folder / each).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_file_that_is_named_is_there(page):
    files = [each for each in quoted_in(page) if FILE.fullmatch(each)]
    missing = [each for each in files if not named(each)]
    assert [each for each in missing if not each.startswith(MADE_LATER)] == []


def rows():
    [changes] = CHANGES.findall(text("CONTRIBUTING.md"))
    lines = [line for line in changes.splitlines() if line.startswith("| ")]
    return lines[1:]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.split(" | ")[0][2:])
def test_where_a_change_begins_the_files_have_what_the_row_names(row):
    words = QUOTED.findall(row)
    paths = [path for each in words if FILE.fullmatch(each) for path in named(each)]
    sources = [(ROOT / path[1:]).read_text("utf-8") for path in paths]
    names = [each for each in words if NAME.fullmatch(each) and not named(each)]
    missing = [each for each in names if not any(each in source for source in sources)]
    assert paths and missing == []


def test_the_walk_through_the_minimal_kafka_quotes_and_names_what_is_in_it():
    source = MINIMAL_KAFKA.read_text(encoding="utf-8")
    quotes = [lines for kind, lines in FENCED.findall(text(CODE)) if kind == "python"]
    assert len(quotes) == 3 and all(lines in source for lines in quotes)
    there = set()
    for each in ast.parse(source).body:
        if isinstance(each, ast.ClassDef):
            there |= {each.name, *(f"{each.name}.{name}" for name in members(each))}
    names = [each for each in quoted_in(CODE) if each.split(".")[0] in there]
    assert names and set(names) <= there


def members(cls):
    """Its methods, what stands in its body, and the attributes that its methods set."""
    for node in ast.walk(cls):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
