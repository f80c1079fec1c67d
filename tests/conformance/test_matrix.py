"""MATRIX.md has what the tests that ask both state, and what came of their last run."""

import pytest

from minikafka.course.publishing import site
from tests.chromium import running_chromium
from tests.collected import collected
from tests.conformance import matrix
from tests.conformance.matrix import (
    HOLDS,
    ON_PURPOSE_BEGINS,
    SKIPPED_BEGINS,
    Row,
)

pytestmark = pytest.mark.slow

# what can't be asked of Apache Kafka, wherever the tests run
CANNOT = ("Apache Kafka has telemetry",)
TEXT = matrix.FILE.read_text(encoding="utf-8")
ROWS = matrix.read(TEXT)


def asked(rows):
    """Of each test what the matrix says of it, but for results."""
    return {row.test: Row(row.behaviour, row.kips, row.test) for row in rows}


def test_each_behaviour_that_both_are_asked_for_has_its_row_and_no_other_has():
    assert asked(ROWS) == asked(matrix.rows(collected(matrix.PATHS)))


def test_each_behaviour_was_run_and_did_not_fail():
    """One that fails does so by itself, too. Where a test is left out on purpose, its
    row has the reason, and this is one of CANNOT.
    """
    for row in ROWS:
        ours, theirs = row.results
        assert ours == HOLDS or ours.startswith(ON_PURPOSE_BEGINS), row
        if theirs != HOLDS:
            assert theirs.removeprefix(SKIPPED_BEGINS) in CANNOT, row


def test_it_is_written_as_the_command_writes_it():
    assert matrix.text(ROWS) == TEXT


@pytest.mark.parametrize(
    ("name", "case", "row"),
    [
        (
            "test_kip_98_and_447_it_holds",
            "Apache Kafka-x",
            Row("it holds", "KIP-98, KIP-447", "f.py::test_kip_98_and_447_it_holds"),
        ),
        ("test_it_holds", "x", None),
    ],
    ids=["named", "not named"],  # else this test would be a behaviour itself
)
def test_a_test_that_names_a_side_is_a_behaviour_and_one_without_is_none(
    name, case, row
):
    case = matrix.Collected(f"f.py::{name}", case, "", "", "", ())
    assert matrix.row_of(case) == row


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_its_page_leaves_what_is_asked_for(tmp_path, width):
    from tests.browser.jupyter import AXE

    (tmp_path / "matrix.html").write_text(site.matrix_page(), encoding="utf-8")
    with running_chromium() as browser:
        options = {"viewport": {"width": width, "height": 900}, "bypass_csp": True}
        page = browser.new_context(**options).new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((tmp_path / "matrix.html").as_uri())
        seen = page.locator("tbody tr:visible")
        assert seen.count() == len(ROWS)
        page.fill("#words", "kip-932 joins")
        wanted = [
            row for row in ROWS if "KIP-932" in row.kips and "joins" in row.behaviour
        ]
        assert seen.count() == len(wanted)
        page.click("#all")
        assert page.inner_text("#told") == f"all {len(ROWS)} behaviours"
        page.evaluate(AXE)
        found = page.evaluate(
            "() => axe.run(document, { resultTypes: ['violations'] })"
        )
        assert [each["id"] for each in found["violations"]] == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide == width and complaints == []
