"""The page "Bugs in Kafka clients", from `tests/client_bugs/bugs.toml`. It shows the very
programs that the tests run, and what they printed.
"""

from minikafka.course.client_bugs import Bug, Report, bugs
from minikafka.course.publishing.site_look import with_code
from minikafka.theatre.text import escape

PATH, TEMPLATE = "client_bugs.html", "site_bugs.html"
TITLE = "Bugs in Kafka clients, and programs that show them"
DESCRIPTION = (
    "Lost records, double reads, logins that fail, with healthy brokers: bugs that were"
    " reported in public, and a small program that shows each one."
)


def parts() -> dict[str, str]:
    """The parts that site_bugs.html leaves open."""
    return {
        "title": TITLE,
        "count": str(len(bugs())),
        "index": "\n".join(map(_line, bugs())),
        "sections": "\n".join(map(_section, bugs())),
    }


def _line(bug: Bug) -> str:
    """A bug in the table of all."""
    link = f'<a href="#{bug.id}">{escape(bug.title)}</a>'
    cells = (link, escape(bug.client), escape(bug.until))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _section(bug: Bug) -> str:
    """One bug: what one notices, and in which versions. Folded: why, what to do, and the
    program with what it prints.
    """
    reports = ", ".join(map(_report, bug.reports))
    parts = [
        f'<section id="{bug.id}">',
        f'<h2>{escape(bug.title)}<a class="anchor-link" href="#{bug.id}">¶</a></h2>',
        f"<p>{with_code(bug.notices)}</p>",
        f'<p class="of">{_versions(bug)}</p>',
        "<details><summary>Why, and what to do</summary>",
        f"<p>{with_code(bug.why)}</p>",
        f"<p><b>What to do.</b> {with_code(bug.mend)}</p>",
        f'<p class="of">In public: {reports}.</p>',
        "</details>",
        "<details><summary>The program, and what it prints</summary>",
    ]
    if bug.setup:
        parts.append(f"<p><b>The set-up.</b> {with_code(bug.setup)}</p>")
    parts += [
        '<div class="run">',
        f"<pre>{escape(bug.code)}</pre>",
        "<div>",
        _printed(bug, bug.old, "old"),
        _printed(bug, bug.mended, "mended"),
        f'<p class="of"><code>python -m tests.client_bugs {bug.id}</code></p>',
        "</div></div>",
        "</details>",
        "</section>",
    ]
    return "\n".join(parts)


def _versions(bug: Bug) -> str:
    words = f"{bug.client}, since {bug.since}, fixed in {bug.until}."
    name = bug.package.rpartition(":")[2]
    if name not in bug.client:
        words += f" The program uses {name}, which contains the same version of it."
    return escape(words)


def _printed(bug: Bug, version: str, kind: str) -> str:
    return (
        f'<p class="of">With {version} it prints</p>\n'
        f'<pre class="{kind}">{escape(bug.printed(version))}</pre>'
    )


def _report(report: Report) -> str:
    link = f'<a href="{escape(report.url)}">{escape(report.name)}</a>'
    return f"{link} (<time>{report.date}</time>)" if report.date else link
