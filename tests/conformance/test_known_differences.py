"""The page of known differences has what the tests know."""

from tests.conformance.known_differences import PAGE, text


def test_the_page_is_as_the_tables_of_the_tests_say():
    assert PAGE.read_text(encoding="utf-8") == text(), (
        "python -m tests.conformance.known_differences writes it again"
    )
