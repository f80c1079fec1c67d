"""The page "What is said of Kafka": every claim of `notebooks/claims.toml` with its
verdict, and links to the evidence: the lesson's cell, or the test's source on a page of
its own.

It is complete without a script; the script brings the filters.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from minikafka.course import claims
from minikafka.course.claims import Claim
from minikafka.course.contents import contents, extras
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing.site_look import within
from minikafka.theatre.text import escape

PATH, TEMPLATE = "claims.html", "site_claims.html"
TITLE = "What is said of Kafka, and what is true of it"
DESCRIPTION = (
    "Sentences that introductions to Kafka repeat, each with a verdict: true, true with"
    " a condition, or false, and the test that shows it."
)
TESTS = "evidence"
_ROOT = NOTEBOOKS.parent


def parts() -> dict[str, str]:
    """The parts that site_claims.html leaves open."""
    ledger = claims.ledger()
    lessons = sorted({claim.lesson for claim in ledger})
    listed = "\n".join(_section(topic) for topic in topics())
    return {
        "count": str(len(ledger)),
        "verdicts": _options(claims.VERDICTS),
        "lessons": _options(lessons),
        "topics": _options(topics()),
        "sections": f"{within(listed, 'h2')}\n{listed}",
    }


def topics() -> list[str]:
    """The ledger's sections, each once, in the order in which they begin."""
    return list(dict.fromkeys(claim.section for claim in claims.ledger()))


def tested() -> dict[str, str]:
    """Each file with tests that are evidence -> its page."""
    found = {}
    for claim in claims.ledger():
        for evidence in claim.evidence:
            path, is_test, _ = evidence.where.partition("::")
            if is_test:
                found[path] = page_of(path)
    return found


def page_of(path: str) -> str:
    """tests/course/test_claims.py -> evidence/tests_course_test_claims.html"""
    name = path.removesuffix(".py").replace("/", "_")
    return f"{TESTS}/{name}.html"


def source(path: str) -> str:
    """A file of tests as a page's body. Each function can be linked to."""
    text = (_ROOT / path).read_text(encoding="utf-8")
    begins = dict(_functions(text))
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        shown = escape(line)
        name = begins.get(number)
        if name is not None:
            shown = f'<span id="{name}">{shown}</span>'
        lines.append(shown)
    code = "\n".join(lines)
    file = Path(path).name
    return (
        "<style>:target { background: var(--said); } h1, p { overflow-wrap: anywhere; }</style>\n"
        f"<h1>{escape(file)}</h1>\n"
        f'<p>In the project: <code>{escape(path)}</code>. <a href="../{PATH}">The'
        f" claims</a> that it is evidence for link to its functions.</p>\n"
        f"<pre>{code}</pre>"
    )


def _functions(text: str) -> Iterator[tuple[int, str]]:
    """The first line of each function of a module, and its name."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.name


def _options(values: Iterable[str]) -> str:
    """The HTML options of a filter."""
    items = [f"<option>{escape(value)}</option>" for value in values]
    return "".join(items)


def _section(topic: str) -> str:
    articles = []
    for claim in claims.ledger():
        if claim.section == topic:
            articles.append(_article(claim))
    listed = "\n".join(articles)
    name = _anchor(topic)
    link = f'<a class="anchor-link" href="#{name}">¶</a>'
    return (
        f'<section>\n<h2 id="{name}">{escape(topic)}{link}</h2>\n{listed}\n</section>'
    )


def _anchor(topic: str) -> str:
    return topic.lower().replace(" ", "-")


def _article(claim: Claim) -> str:
    """One claim, with what the filters ask of it."""
    mark = claims.MARK_OF[claim.verdict]
    but = f": {escape(claim.but)}" if claim.but else ""
    topic = escape(claim.section)
    text = escape(claim.text)
    link = _link_to_lesson(claim.lesson)
    items = list(_evidence(claim))
    listed = "\n".join(items)
    return (
        f'<article id="{claim.id}" data-lesson="{claim.lesson}"'
        f' data-verdict="{claim.verdict}" data-topic="{topic}">\n'
        f"<h3>{text}</h3>\n"
        f'<p class="{mark}"><strong>{claim.verdict}</strong>{but}</p>\n'
        f'<p class="of">{link}, {_ran_on(claim)}</p>\n'
        f"<details><summary>evidence ({len(items)})</summary>\n"
        f"<ul>\n{listed}\n</ul></details>\n</article>"
    )


def _link_to_lesson(lesson: str) -> str:
    stem = contents()[lesson].path.stem
    return f'<a href="lessons/{stem}.html">lesson {lesson}</a>'


def _ran_on(claim: Claim) -> str:
    on = {evidence.on for evidence in claim.evidence}
    on.discard("cited")
    if not on:
        return "from documentation only"
    ran = [name for name in claims.RUN_ON if name in on]
    listed = " and ".join(ran)
    return f"tried on {listed}"


def _evidence(claim: Claim) -> Iterator[str]:
    """One item for each place; evidence that ran on several is listed once."""
    places: dict[str, list[str]] = {}
    for evidence in claim.evidence:
        places.setdefault(evidence.where, []).append(evidence.on)
    for where, on in places.items():
        ran_on = ", ".join(on)
        place = _place(where)
        if ran_on != "cited":
            place += f" ({escape(ran_on)})"
        yield f"<li>{place}</li>"


def _place(where: str) -> str:
    """A cell, a test, or a citation."""
    lesson, _, cell = where.partition("#")
    path, _, name = where.partition("::")
    shown = (contents() | extras()).get(lesson)
    if cell and shown:
        link = f"lessons/{shown.path.stem}.html#cell-id={cell}"
        words = f"lesson {lesson}".replace("_", " ")
        return f'<a href="{link}">{words}, cell {escape(cell)}</a>'
    if name:
        words = name.removeprefix("test_").replace("_", " ")
        return f'<a href="{page_of(path)}#{name}">{escape(words)}</a>'
    return escape(where)
