"""The page "error, cause, command": all messages of `notebooks/errors.toml`, one
section each, with an anchor of its own.

Each is folded to one line, and complete without a script; the script brings a box that
hides what is not asked for.
"""

import re
from importlib.resources import files

from minikafka.course import errors
from minikafka.course.contents import contents
from minikafka.theatre.text import escape
from minikafka.wire.errors import Error

PATH, TEMPLATE = "errors.html", "site_errors.html"
TITLE = "Error, cause, command"
DESCRIPTION = (
    "Paste a message that a Kafka client printed: what it means, its likeliest causes,"
    " the command that shows which one it is, and the cure."
)
_SCRIPT = "errors.js"


def parts() -> dict[str, str]:
    """The parts that site_errors.html leaves open."""
    entries = errors.entries()
    sections = [_section(entry) for entry in entries]
    return {
        "yours": escape(errors.YOURS),
        "sections": "\n".join(sections),
        "count": str(len(entries)),
        "others": "|".join(errors.other_errors()),
        "numbers": "|".join(map(" ".join, errors.numbers().items())),
        "next": escape(errors.NEXT),
        "script": script(),
    }


def script() -> str:
    """The search box, as it is in the page."""
    text = files(__package__).joinpath(_SCRIPT).read_text(encoding="utf-8")
    return f"\n{text}"


def _section(entry: errors.Entry) -> str:
    """One message, folded to a line. In it: what it means, its causes, and how to bring
    it about.
    """
    begins, *more = re.split(r"(?<=\.) ", entry.means, maxsplit=1)
    parts = [
        f'<section id="{entry.id}" {_found_by(entry)}>',
        f"<details><summary><h2>{escape(entry.name)}</h2>"
        f"<i>{_codes(entry)}</i><span>{escape(begins)}</span></summary>",
        *(f"<p>{escape(words)}</p>" for words in more),
        _printed(entry),
        _others(entry),
        "<ol>",
        *map(_cause, entry.causes),
        "</ol>",
        _provoked(entry),
        f'<p>{_lesson(entry)} <a href="#{entry.id}">Link to this message</a></p>',
        "</details></section>",
    ]
    return "\n".join(parts)


def _codes(entry: errors.Entry) -> str:
    """The numbers that brokers send for it, where its names are Kafka's."""
    names = [name for name in entry.phrases if name in Error.__members__]
    return ", ".join(str(Error[name].value) for name in names)


def _printed(entry: errors.Entry) -> str:
    printed = escape(entry.provocation.printed)
    return f'<p class="also">{escape(entry.says)} says:</p>\n<pre>{printed}</pre>'


def _others(entry: errors.Entry) -> str:
    """The same error in other clients' words."""
    told = []
    for other in entry.others:
        words = escape(other.words)
        client = escape(other.says)
        told.append(f"<code>{words}</code> ({client})")
    listed = ", ".join(told)
    return f'<p class="also">Also: {listed}.</p>'


def _cause(cause: errors.Cause) -> str:
    """Why, the command that shows it, and what mends it."""
    parts = [
        f"<li><h3>{escape(cause.why)}</h3><dl>",
        _described("Ask", _commands(cause.shows)),
        _described("Look for", _words(cause.look)),
    ]
    if cause.mends:
        parts.append(_described("Mend", _commands(cause.mends)))
    if cause.sets:
        parts.append(_described("Set", _commands(cause.sets)))
    if cause.note:
        parts.append(_described("Note", _words(cause.note)))
    if cause.then:
        parts.append(_described("Then", _commands(cause.then)))
    parts.append("</dl></li>")
    return "".join(parts)


def _described(term: str, text: str) -> str:
    return f"<dt>{term}</dt><dd>{text}</dd>"


def _words(text: str) -> str:
    """A page of the course that it names is a link."""
    html = re.sub(r"notebooks/(\w+)\.md", _page, escape(text))
    return f"<p>{html}</p>"


def _page(found: re.Match[str]) -> str:
    name = found[1]
    return f'<a href="{name}.html">{name.replace("_", " ")}</a>'


def _commands(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _provoked(entry: errors.Entry) -> str:
    """How to provoke it, folded away: a reader on call has it already."""
    server = entry.server
    ours = entry.on_minikafka
    parts = ["<details><summary>How to provoke it</summary>"]
    if entry.needs:
        parts += ["<p>With this package:</p>", _commands(_pip(entry.needs))]
    if server and server.keys:
        parts += ["<p>Its broker's keys:</p>", _commands(server.keys)]
    if ours is None and entry.asks != "nobody":
        parts += _broker(server)
    parts += [f"<p>{_who(entry)}:</p>", _commands(entry.provocation.code)]
    if server and server.kill:
        parts += ["<p>Broker 2 is killed by:</p>", _commands(server.kill)]
    if ours:
        parts += ["<p>The same with minikafka:</p>", _commands(ours.code)]
        parts += ["<p>It says:</p>", _commands(ours.printed)]
    parts.append("</details>")
    return "\n".join(parts)


def _broker(server: errors.Server | None) -> list[str]:
    """How to start one that says it."""
    ours = server.minikafka if server else "minikafka serve"
    parts = ["<p>The broker:</p>", _commands(ours)] if ours else []
    if server and server.properties:
        kind = "Apache Kafka with" if not ours else "or Apache Kafka with"
        parts.append(f"<p>{kind} {_these(server.properties)}:</p>")
        parts.append(_commands("\n".join(server.properties)))
    return parts


def _these(lines: tuple[str, ...]) -> str:
    return "this property" if len(lines) == 1 else "these properties"


def _who(entry: errors.Entry) -> str:
    if entry.provocation.language == "python":
        return "The program"
    are_several = "\n" in entry.provocation.code
    return "The commands" if are_several else "The command"


def _pip(requirement: str) -> str:
    return f'pip install "{requirement}"'


def _lesson(entry: errors.Entry) -> str:
    stem = contents()[entry.lesson].path.stem
    more = f" {entry.see} has the reasons." if entry.see else ""
    link = f'<a href="lessons/{stem}.html">Lesson {entry.lesson}</a>'
    return f"{link} explains it.{more}"


def _found_by(entry: errors.Entry) -> str:
    """The words that errors.js searches, as `minikafka error` does."""
    phrases = "|".join(errors.all_phrases(entry))
    rare = " ".join(sorted(errors.rare_words(entry)))
    symptom = " data-symptom" if entry.symptom else ""
    return f'data-phrases="{phrases}" data-rare="{rare}"{symptom}'
