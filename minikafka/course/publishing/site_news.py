"""What changed, as a page and as a feed (Atom), from the project's CHANGELOG.md; and the
list of all pages for search engines. Both want whole addresses: a site whose address
isn't known has the page alone.
"""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from minikafka.course.places import ROOT
from minikafka.course.publishing import site_address
from minikafka.course.publishing.site_look import FEED, FRONT, NEWS
from minikafka.theatre.text import escape

PATH, TITLE = NEWS, "What changed for people who use minikafka"
DESCRIPTION = (
    "What changed in minikafka that you notice from outside: commands, what clients are"
    " answered, names that you import, lessons."
)
CHANGES, SITEMAP = ROOT / "CHANGELOG.md", "sitemap.xml"
NOT_LISTED = ("lab", "plays", "python")  # folders whose pages are parts of others
INSIDE = "game_stage.html"
_FEED = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<title>What changed in minikafka</title>
<id>{base}</id>
<link href="{base}"/>
<link rel="self" href="{base}{feed}"/>
<updated>{updated}</updated>
<author><name>minikafka</name></author>
{entries}
</feed>
"""
_ENTRY = """<entry>
<title>minikafka {version}</title>
<id>{page}#{version}</id>
<link href="{page}"/>
<updated>{updated}</updated>
<content type="text">{text}</content>
</entry>"""


def text() -> str:
    """The change log, in Markdown. A wheel has none."""
    return CHANGES.read_text(encoding="utf-8") if CHANGES.exists() else f"# {TITLE}\n"


def place(site: Path) -> None:
    """The feed and the list of pages, if the site's address is known."""
    base = site_address.web_address()
    if base:
        (site / FEED).write_text(feed(base), encoding="utf-8", newline="\n")
        (site / SITEMAP).write_text(sitemap(site, base), encoding="utf-8", newline="\n")


def feed(base: str) -> str:
    """An entry for each version. Its date is that of the last change to the log, since
    the log has none of its own.
    """
    _, *versions = text().split("\n## ")
    entries = []
    for each in versions:
        version, _, changes = each.partition("\n")
        entries.append(
            _ENTRY.format(
                version=escape(version.split()[0]),
                page=base + PATH,
                updated=changed_at(),
                text=escape(changes.strip()),
            )
        )
    return _FEED.format(
        base=base, feed=FEED, updated=changed_at(), entries="\n".join(entries)
    )


def changed_at() -> str:
    """When the log was last changed, as git knows it, or else the file system."""
    command = ["git", "log", "-1", "--format=%cI", "--", CHANGES.name]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
        found = done.stdout.strip()
    except OSError:
        found = ""
    if found:
        return found
    return datetime.fromtimestamp(CHANGES.stat().st_mtime, UTC).isoformat()


def sitemap(site: Path, base: str) -> str:
    """Every page that one can open by itself."""
    found = []
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name.partition("/")[0] not in NOT_LISTED and name != INSIDE:
            found.append(base if name == FRONT else base + name)
    urls = "\n".join(f"<url><loc>{escape(each)}</loc></url>" for each in found)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{urls}\n</urlset>\n"
    )
