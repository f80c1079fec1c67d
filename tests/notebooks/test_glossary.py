"""The glossary: one plain sentence a term, and no lesson uses a term before the lesson
that introduces it.
"""

import re
from functools import cache
from itertools import pairwise

import pytest

from minikafka.course.contents import contents, extras
from minikafka.course.places import NOTEBOOKS

ROW = re.compile(
    r"^\| (?P<forms>[^|]+) \| (?P<lesson>\d\d) \| (?P<meaning>[^|]+) \|$", re.MULTILINE
)


def glossary():
    """term -> (all its forms, lesson, meaning), in the file's order, a table at a
    time.
    """
    text = (NOTEBOOKS / "glossary.md").read_text(encoding="utf-8")
    rows = [match.groupdict() for match in ROW.finditer(text)]
    forms = [[form.strip(" `") for form in row["forms"].split(",")] for row in rows]
    return {
        names[0]: (names, row["lesson"], row["meaning"])
        for names, row in zip(forms, rows, strict=True)
    }


TERMS = glossary()


def prose(number):
    """What a learner reads in a lesson: no code, no table of defaults, no links'
    addresses, nothing of "Read on".
    """
    text = re.sub(
        r"\*\*Read on:\*\*.*?(?=\n\n|\Z)", "", contents()[number].prose, flags=re.DOTALL
    )
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    # a setting and its values
    text = re.sub(r"^\| `[\w.]+` \|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[[^\]]*\]\(\d\d_\w+\.ipynb\)", " ", text)  # a lesson's title
    return re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text)


def uses(forms, text, of_lesson):
    """The sentences that use a term, but for those that name the lesson which explains
    it, or a later one.
    """
    # the longest term wins: "group leader" is no "leader"
    longer = [
        other for names, _, _ in TERMS.values() for other in names if other not in forms
    ]
    longer = [
        other
        for other in longer
        if any(re.search(rf"\b{re.escape(form)}\b", other) for form in forms)
    ]
    for other in longer:
        text = re.sub(
            rf"\b{re.escape(other)}(?:s|es)?\b", " ", text, flags=re.IGNORECASE
        )
    used = re.compile(
        "|".join(rf"(?<![\w-]){re.escape(form)}(?:s|es)?(?!\w)" for form in forms),
        re.IGNORECASE,
    )
    sentences = re.split(r"(?<=[.?!])\s+|(?<=[.?!]\))\s+|\n\s*\n|\n(?=[-|#])", text)
    return [
        each
        for each in sentences
        if used.search(each) and not points_on(each, of_lesson)
    ]


def points_on(sentence, of_lesson):
    return any(
        number >= of_lesson for number in re.findall(r"lessons? (\d\d)", sentence)
    )


@cache
def too_early():
    """lesson -> term -> the sentences that use it before the lesson that introduces
    it.
    """
    found = {}
    for number in contents():
        text = prose(number)
        for term, (forms, lesson, _) in TERMS.items():
            if number < lesson and uses(forms, text, lesson):
                found.setdefault(number, {})[term] = uses(forms, text, lesson)
    return found


def test_the_terms_are_in_alphabetical_order_each_in_one_sentence():
    assert len(TERMS) >= 75
    names = [name.lower().replace("-", " ") for name in TERMS]
    assert sum(after < before for before, after in pairwise(names)) == 1, (
        "two tables, each sorted"
    )
    for term, (_, _, meaning) in TERMS.items():
        assert meaning.endswith(".") and len(meaning.split()) <= 35, term


@pytest.mark.parametrize("number", contents())
def test_no_lesson_uses_a_term_before_the_lesson_that_introduces_it(number):
    found = {
        term: sentences[0] for term, sentences in too_early().get(number, {}).items()
    }
    assert not found, (
        "explain it, say it otherwise, or name the lesson that explains it"
    )


@pytest.mark.parametrize(
    ("sentence", "used"),
    [
        ("The leader answers.", True),
        ("Two leaders answer.", True),
        ("The group leader answers.", False),
        ("The leader (lesson 02) answers.", False),
        ("A leader-election happens.", True),
        ("The ringleader answers.", False),
    ],
)
def test_a_use_is_a_word_of_its_own_in_a_sentence_that_does_not_point_on(
    sentence, used
):
    assert bool(uses(["leader"], sentence, "02")) == used


@pytest.mark.parametrize("number", contents())
def test_a_term_stands_in_bold_or_italics_in_the_lesson_that_introduces_it(number):
    """Or in an extra notebook beside it."""
    beside = [found.prose for name, found in extras().items() if name[:2] == number]
    prose = "\n".join([contents()[number].prose, *beside])
    set_off = " ".join(re.findall(r"(?<!\*)\*{1,2}([^*\n]+)\*{1,2}", prose))
    missing = {
        term
        for term, (forms, lesson, _) in TERMS.items()
        if lesson == number
        and not re.search("|".join(map(re.escape, forms)), set_off, re.IGNORECASE)
    }
    assert not missing, "explain it where it first stands, in bold or italics"
