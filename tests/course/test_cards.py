"""What a notebook shows as a card says the same as its text."""

import html
import re

import pytest

from minikafka import lesson, predict
from minikafka.course import cards
from minikafka.course.judging.verdicts import Verdict


@pytest.fixture(autouse=True)
def pictures(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)


def words(page):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", page)))


def test_a_verdict_shows_its_headline_its_lines_and_a_mark_with_a_word():
    page = Verdict(
        "Not yet: <b> is lost", False, lines=("smallest case: a & b",)
    )._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in page and 'aria-label="wrong"' in page
    assert "Not yet: <b> is lost" in words(page) and "smallest case: a & b" in words(
        page
    )
    assert (
        'aria-label="right"' in Verdict("Right.", True)._repr_mimebundle_()["text/html"]
    )
    assert (
        'aria-label="open"'
        in Verdict("Stub.", False, attempted=False)._repr_mimebundle_()["text/html"]
    )


def test_of_a_long_headline_only_the_first_sentence_is_bold():
    first, story = "Right: you can go back to sleep.", "A certificate ended at 00:05. "
    said = Verdict(f"{first} {story * 8}", True)
    page = said._repr_mimebundle_()["text/html"]
    assert re.search("<b>(.*?)</b>", page).group(1) == first
    assert str(said).strip() in words(page)


def test_every_question_of_an_exit_ticket_has_its_own_mark():
    right = [question.right for question in lesson("05")._module.EXIT_TICKET]
    found = lesson("05").exit_ticket(right[0], right[1] % 3 + 1, None)
    assert found.marks == ("right", "wrong", "open", "open", "open")
    assert found._repr_mimebundle_()["text/html"].count('aria-label="right"') == 1


def test_what_holds_in_part_is_neither_right_nor_wrong():
    """A rung that holds before the next one is written, and a ticket half answered."""
    first_right = lesson("05")._module.EXIT_TICKET[0].right
    for said in (
        Verdict("So far, so good: Scram.final is the next.", False, partly=True),
        lesson("05").exit_ticket(first_right),
    ):
        page = said._repr_mimebundle_()["text/html"]
        assert re.search('aria-label="([a-z]+)"', page).group(1) == "half"


def test_claims_predictions_and_progress_say_as_cards_what_they_say_as_text():
    for said in (
        lesson("04").claims(),
        lesson("04").progress(),
        predict("`a` or b?", ["a", "b"], mine=1).settle(2),
        lesson("05").hint(1),
    ):
        bundle = said._repr_mimebundle_()
        assert bundle["text/plain"] == str(said)
        shown = words(bundle["text/html"])
        assert all(
            word in shown
            for word in re.findall("[a-z]{4,}", str(said))
            if word != "lesson"
        )


def test_text_is_all_there_is_under_nbval(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    for shown in (
        Verdict("Right.", True),
        lesson("04").claims(),
        predict("?", ["a", "b"]),
    ):
        assert set(shown._repr_mimebundle_()) == {"text/plain"}


def test_marks_stand_out_from_their_colour():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in parts
        )
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for _, colour in cards.MARKS.values():
        assert 1.05 / (luminance(colour) + 0.05) >= 4.5
