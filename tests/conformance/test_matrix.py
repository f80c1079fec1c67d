"""What the tests that ask both state, and what came of them, is a page of the site."""

from types import SimpleNamespace

import pytest

from minikafka.course.publishing import site, site_look
from tests.chromium import running_chromium
from tests.conformance import matrix
from tests.conformance.matrix import HOLDS, ON_PURPOSE, Row

pytestmark = pytest.mark.slow


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


def case(where, parameters="", says="", marks=()):
    return matrix.Collected(where, parameters, says, "", "", marks)


def report(nodeid, outcome="passed", properties=()):
    return SimpleNamespace(
        nodeid=nodeid,
        when="call",
        failed=outcome == "failed",
        skipped=outcome == "skipped",
        longrepr=("f.py", 1, "Skipped: no Java"),
        user_properties=properties,
    )


def a_run():
    """One test of each kind, and what is written of it."""
    run = matrix.Run()
    for each in (
        report("f.py::test_it_holds[minikafka-1]"),
        report("f.py::test_it_holds[Apache Kafka-1]@clients/f", "failed"),
        report("f.py::test_kip_932_alike[a_b]", properties=[(ON_PURPOSE, "so")]),
        report("f.py::test_kip_932_alike[c|d]@clients/f", "skipped"),
    ):
        run.pytest_runtest_logreport(each)
    return run.found(
        [
            case("f.py::test_it_holds", "minikafka-1"),
            case("f.py::test_it_holds", "Apache Kafka-1"),
            case("f.py::test_kip_932_alike", "a_b", marks=("compares",)),
            case("f.py::test_kip_932_alike", "c|d", marks=("compares",)),
            case("f.py::test_never_run", "minikafka", "KIP-98."),
        ]
    )


def test_a_row_says_what_came_of_each_side():
    found = {(row.behaviour, row.kips): row.results for row in a_run()}
    assert found == {
        ("it holds", ""): (HOLDS, matrix.FAILS),
        ("a b", "KIP-932"): (f"{HOLDS}; differs on purpose: so", HOLDS),
        ("c|d", "KIP-932"): ("not asked: no Java",) * 2,
        ("never run", "KIP-98"): (matrix.NOT_RUN,) * 2,
    }


@pytest.mark.parametrize("has_run", [True, False])
def test_only_after_a_night_pages_lead_to_it(tmp_path, monkeypatch, has_run):
    monkeypatch.setattr(site_look, "MATRIX", tmp_path / "matrix.md")
    if has_run:
        site_look.MATRIX.write_text(matrix.text(a_run()), encoding="utf-8")
    for html in (site.front(), site.differences_page()):
        assert ('href="matrix.html"' in html) == has_run


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_its_page_leaves_what_is_asked_for(tmp_path, monkeypatch, width):
    from tests.browser.jupyter import AXE

    rows = a_run()
    monkeypatch.setattr(site_look, "MATRIX", tmp_path / "matrix.md")
    site_look.MATRIX.write_text(matrix.text(rows), encoding="utf-8")
    (tmp_path / "matrix.html").write_text(site.matrix_page(), encoding="utf-8")
    with running_chromium() as browser:
        options = {"viewport": {"width": width, "height": 900}, "bypass_csp": True}
        page = browser.new_context(**options).new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto((tmp_path / "matrix.html").as_uri())
        seen = page.locator("tbody tr:visible")
        assert page.is_visible("summary") and seen.count() == 0
        page.fill("#words", "kip-932 c|d")
        assert seen.count() == 1
        page.click("#all")
        assert page.inner_text("#told") == f"all {len(rows)} behaviours"
        page.evaluate(AXE)
        found = page.evaluate(
            "() => axe.run(document, { resultTypes: ['violations'] })"
        )
        assert [each["id"] for each in found["violations"]] == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide == width and complaints == []
