"""What all pages of the site share: the head with the tags that other sites read when
somebody shares the page, the way to the other pages, and one style sheet.

Pictures that play have a look of their own; they get the tags and the way, too.
"""

import re
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import site_address, site_tables
from minikafka.theatre.page import colours
from minikafka.theatre.palette import ICON
from minikafka.theatre.text import escape

MADE_BY = '<meta name="generator" content="minikafka site">'
FRONT, FEED, NEWS = "index.html", "feed.xml", "changes.html"
ALIKE = "matrix.html"
IMAGES = "shared"  # the folder with a picture for each page that somebody shares
NAV = {
    f"{FRONT}#lessons": "lessons",
    "how_kafka_loses_an_order.html": "the essay",
    "gallery/index.html": "pictures",
    "playground.html": "playground",
    "lose_an_order.html": "game",
    "errors.html": "errors",
    "claims.html": "claims",
    "glossary.html": "glossary",
    "cheat_sheet.html": "cheat sheet",
}
MATRIX = NOTEBOOKS.parent / "build" / "matrix.md"  # which `make nightly` writes
# what the foot of a page leads to
MORE = {
    "client_bugs.html": "bugs in clients",
    ALIKE: "beside Apache Kafka",
    "known_differences.html": "known differences",
    "a_kafka_for_tests.html": "a Kafka for your tests",
    "client_defaults.html": "clients' defaults",
    "settings_on_monday.html": "settings on Monday",
    "what_is_promised.html": "what is promised",
    "the_larger_number.html": "the larger number",
    "kills_of_three_sinks.html": "three sinks, killed",
    "from_notebook_to_spark_submit.html": "to spark-submit",
    NEWS: "what changed",
}
# the folder of a page -> the entry that it belongs to
BELOW = {
    "lessons": f"{FRONT}#lessons",
    "gallery": "gallery/index.html",
    "evidence": "claims.html",
}


class Head(NamedTuple):
    """A page of the site. path: from the site's folder. description: a sentence or two,
    for those who haven't opened it. image: the name of its picture in IMAGES.
    """

    path: str
    title: str
    description: str
    image: str = "00"

    @property
    def up(self) -> str:
        """The way from the page to the site's folder."""
        return "../" * self.path.count("/")


def own(name: str) -> str:
    """The text of one of the course's files for pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(template: str, **parts: str) -> str:
    """One of the course's HTML files, with its parts. One pass: what a part holds is
    text, and never replaced again.
    """
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], own(template))


def with_code(text: str) -> str:
    """Escaped, with Markdown's `code` as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def page(
    head: Head,
    body: str,
    policy: str = "",
    made_by: str = MADE_BY,
    alone: bool = False,
) -> str:
    """One page with the site's look. policy: what else it may load. alone: it is part
    of no site, and leads nowhere.
    """
    html = filled(
        "site.html",
        title=escape(head.title),
        tags="" if alone else tags(head),
        icon=ICON,
        style=colours() + own("site_way.css") + own("site.css"),
        made_by=made_by,
        way="" if alone else way(head),
        body=site_tables.fitted(body),
        foot="" if alone else foot(head),
        policy=policy,
    )
    # they scroll, by keys too
    return re.sub("<(pre|table)(?=[ >])(?![^>]*tabindex)", r'<\1 tabindex="0"', html)


def tags(head: Head) -> str:
    """What search engines and other sites read. They want whole addresses, so what
    names one is there only if the site's address is known.
    """
    title, description = escape(head.title), escape(head.description)
    found = [
        f'<meta name="description" content="{description}">',
        '<meta property="og:site_name" content="minikafka">',
        '<meta property="og:type" content="website">',
        f'<meta property="og:title" content="{title}">',
        f'<meta property="og:description" content="{description}">',
    ]
    base = site_address.web_address()
    if base:
        url = base if head.path == FRONT else base + head.path
        image = f"{base}{IMAGES}/{head.image}.png"
        found += [
            f'<link rel="canonical" href="{url}">',
            f'<meta property="og:url" content="{url}">',
            f'<meta property="og:image" content="{image}">',
            '<meta property="og:image:width" content="1200">',
            '<meta property="og:image:height" content="630">',
            f'<meta property="og:image:alt" content="{title}">',
            '<meta name="twitter:card" content="summary_large_image">',
            '<link rel="alternate" type="application/atom+xml"'
            f' title="What changed in minikafka" href="{head.up}{FEED}">',
        ]
    return "\n".join(found)


def way(head: Head) -> str:
    """The header: the same entries on all pages, and where one is. On a phone a button
    opens them; that is the browser's own, and needs no script.
    """
    here = BELOW.get(head.path.partition("/")[0]) or head.path
    entries = []
    for path, words in NAV.items():
        current = "page" if path == head.path else "true" if path == here else ""
        entries.append(_entry(head.up + path, words, current))
    at_front = "page" if head.path == FRONT else ""
    brand = _entry(head.up + FRONT, "minikafka", at_front).replace(
        "<a ", '<a class="brand" ', 1
    )
    return (
        f'<nav class="way" aria-label="site">{brand}'
        '<button type="button" popovertarget="way">menu</button>'
        f'<div id="way" popover>{" ".join(entries)}{source("source")}</div></nav>'
    )


def _entry(path: str, words: str, current: str) -> str:
    is_here = f' aria-current="{current}"' if current else ""
    return f'<a href="{path}"{is_here}>{words}</a>'


def source(words: str) -> str:
    """A link to the project's repository, if it is known."""
    repository = site_address.repository()
    return f' <a href="{repository}">{words}</a>' if repository else ""


def foot_links() -> dict[str, str]:
    """MORE without the page that is made only where a night has passed."""
    is_made = MATRIX.exists()
    return {path: words for path, words in MORE.items() if is_made or path != ALIKE}


def foot(head: Head) -> str:
    """Where the header doesn't lead."""
    links = [_entry(head.up + path, words, "") for path, words in foot_links().items()]
    return (
        '<footer class="foot"><p>minikafka: a small, real Kafka in Python, and a'
        f" course that runs on it. Free, under Apache-2.0.</p><p>{' '.join(links)}"
        f"{source('the source')}</p></footer>"
    )


def with_contents(html: str, level: str = "h2") -> str:
    """The same page, with links to its sections, whose headings are h2 or h3, behind
    the first paragraph.
    """
    return html.replace("</p>", f"</p>{within(html, level)}", 1)


def within(html: str, level: str) -> str:
    """Links to the sections of a page, folded."""
    return (
        '<details class="within"><summary>On this page</summary>'
        f"<p>{_sections(html, level)}</p></details>"
    )


def contents_beside(html: str, level: str = "h2") -> str:
    """The same links for a wide window: beside the text, in sight."""
    return (
        '<nav class="aside" aria-label="on this page"><div><p>On this page</p>'
        f"{_sections(html, level)}</div></nav>"
    )


def _sections(html: str, level: str) -> str:
    heads = re.findall(rf'<{level} id="([^"]+)">(.*?)<a class="anchor-link"', html)
    return " ".join(f'<a href="#{name}">{words}</a>' for name, words in heads)


def around(html: str, head: Head) -> str:
    """A page that has a look of its own, as one of the site's: with tags and header."""
    style = f"<style>\n{own('site_way.css')}</style>\n</head>"
    put: list[tuple[str, Callable[[str], str]]] = [
        ("</title>", lambda end: f"{end}\n{tags(head)}"),
        ("</head>", lambda _: style),
        ("<body>", lambda begin: f"{begin}\n{way(head)}"),
    ]
    for mark, with_more in put:
        html = html.replace(mark, with_more(mark), 1)
    return html
