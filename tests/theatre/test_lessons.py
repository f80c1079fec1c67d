"""What holds for every picture of every lesson: it is data, it is small, and it keeps
its surprise.
"""

import html
import json
import re

import pytest

from minikafka.course.contents import contents
from minikafka.course.predictions import TITLE, explained
from minikafka.course.publishing import gallery
from minikafka.theatre.picture import Picture
from tests.theatre.lessons import (
    LESSONS,
    known_at_the_stop,
    layouts,
    page_before,
    pictures,
    texts_before_the_answer,
)
from tests.theatre.overlaps import problems
from tests.theatre.spoilers import (
    IN_THE_FRAME,
    ON_THE_PAGE,
    told_in_a_frame,
    told_on_the_page,
)

pytestmark = [
    pytest.mark.first,
    pytest.mark.xdist_group("pictures of lessons"),
    pytest.mark.slow,
]

MOST_BYTES = 400_000

every_lesson = pytest.mark.parametrize("number", LESSONS)


def predicted(number):
    """(picture, what was asked, the sentences on its options) of each picture that
    asks.
    """
    asked = {plain(each.question): each for each in contents()[number].predictions}
    for each in pictures(number):
        if each.picture.prediction:
            found = asked[each.picture.prediction.question]
            yield each, found, explanations(found)


def explanations(asked):
    return {
        plain(option): plain(said)
        for option, said in explained()[asked.question].items()
        if option != TITLE
    }


def plain(text):
    return text.replace("`", "")


@every_lesson
def test_every_picture_is_the_one_that_the_lesson_stores(number):
    stored = {}
    for cell in contents()[number].code:
        if "nbval-ignore-output" not in cell["metadata"].get("tags", []):
            digests = re.findall(r"scenes ([0-9a-f]{12})", json.dumps(cell["outputs"]))
            stored |= {cell["id"]: digests[0]} if digests else {}
    assert {each.cell: each.picture.digest for each in pictures(number)} == stored


@every_lesson
def test_a_picture_is_drawn_anew_from_its_json_in_any_order(number):
    for each in pictures(number):
        cast, scenes = json.loads(json.dumps([each.picture.cast, each.picture.scenes]))
        again = Picture(
            type(each.picture.play), cast, scenes, prediction=each.picture.prediction
        )
        assert again.digest == each.picture.digest
        for drawings in reversed(layouts(each.picture)):
            for step in [len(scenes) - 1, *reversed(range(0, len(scenes), 5))]:
                drawn = again.drawing(step, drawings[step].width)
                assert drawn.shapes == drawings[step].shapes, (
                    f"{each.name}, step {step}"
                )


@every_lesson
def test_a_page_is_small_and_names_no_address(number):
    for each in pictures(number):
        page = each.picture.page()
        assert len(page.encode()) < MOST_BYTES, each.name
        # SVG's name
        assert set(re.findall(r"https?:[^\s'\"<)]*", page)) == {
            "http://www.w3.org/2000/svg"
        }, each.name


@every_lesson
def test_no_frame_before_the_answer_tells_it(number):
    told = []
    for each, asked, said in predicted(number):
        prediction = each.picture.prediction
        right = prediction.options[prediction.answer - 1]
        others = [option for option in prediction.options if option != right]
        page = (
            f"{page_before(number, asked)} {prediction.question}"
            f" {' '.join(prediction.options)}"
        )
        for text, where in texts_before_the_answer(each).items():
            found = told_in_a_frame(text, right, others, said, page)
            told += [
                f"{where}: {word!r} in {text!r}"
                for word in found
                if (each.name, word) not in IN_THE_FRAME
            ]
    assert not told, "\n".join(told)


@every_lesson
def test_what_has_happened_at_the_stop_does_not_decide_the_answer(number):
    for each, _, _ in predicted(number):
        prediction = each.picture.prediction
        assert prediction.answer, (
            f"{each.name}: {prediction.answer_words!r} is none of the options"
        )
        assert prediction.question not in known_at_the_stop, each.name
        assert prediction.decided > prediction.stop, each.name


@every_lesson
def test_the_page_before_a_question_does_not_answer_it(number):
    answers = {
        each.picture.prediction.question: each.picture.prediction.options[
            each.picture.prediction.answer - 1
        ]
        for each, _, _ in predicted(number)
    }
    told = []
    for asked in contents()[number].predictions:
        cell = f"{number}-{asked.cell}"
        found = told_on_the_page(
            page_before(number, asked),
            answers.get(plain(asked.question)),
            explanations(asked),
        )
        told += [
            f"{cell}: {words!r}" for words in found if (cell, words) not in ON_THE_PAGE
        ]
    assert not told, "\n".join(told)


@every_lesson
def test_the_gallerys_index_answers_no_question_either(number):
    text = re.sub(
        "<[^>]+>",
        " ",
        html.unescape(gallery.index([(contents()[number], pictures(number))])),
    )
    for asked in contents()[number].predictions:
        found = told_on_the_page(text, None, explanations(asked))
        assert all(
            (f"{number}-{asked.cell}", words) in ON_THE_PAGE for words in found
        ), (asked.cell, found)


@every_lesson
def test_a_pictures_text_form_asks_and_does_not_tell(number):
    for each, _, said in predicted(number):
        prediction, text = each.picture.prediction, repr(each.picture)
        assert prediction.question in text and all(
            option in text for option in prediction.options
        )
        assert "You said" not in text and "It was" not in text
        assert not any(sentence in text for sentence in said.values()), each.name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A's session is over: 45 s have passed.", {"45"}),
        ("Wait about 45 s.", {"about 45 s", "45"}),
        ("The coordinator gives it a grace.", {"grace"}),
        (
            "It waits, and only then puts A out.",
            {"and only then puts", "only then puts a", "then puts a out"},
        ),
        ("A is killed. About 4 s later P0 waits.", set()),
    ],
)
def test_what_tells_an_answer_is_found(text, told):
    said = {
        "about 45 s": "The coordinator has grace, and only then puts A out.",
        "under a second": "Nobody looks.",
    }
    page = (
        "A is killed: P0 waits. The coordinator puts A out. How long until somebody"
        " reads it?"
    )
    assert told_in_a_frame(text, "about 45 s", ["under a second"], said, page) == told


def test_texts_in_one_place_and_outside_are_found():
    texts = [
        ["left", 0, 10, 40, 24],
        ["above", 0, -2.5, 20, 9],
        ["on it", 38, 11, 90, 25],
        ["next", 89.5, 10, 99, 24],
    ]
    shown = {
        "width": 100,
        "height": 60,
        "texts": texts,
        "squeezed": ["too wide"],
        "outside": ["a rect"],
    }
    assert problems("here", shown) == [
        "here: 'too wide' is wider than its box",
        "here: a rect is outside of the window",
        "here: 'above' leaves the drawing",
        "here: 'left' and 'on it' overlap by 2 x 13 px",
    ]
