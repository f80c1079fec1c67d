"""Tables of Markdown for wide and for narrow pages: on a phone each row is a card, in
which every cell names its column.
"""

import re

from minikafka.theatre.text import escape

STYLE = """<style>
table { max-width: none; }
td.bad { color: var(--trouble); font-weight: bold; }
.wide { overflow-x: auto; max-width: none; }
.wide img { min-width: 640px; }
@media (max-width: 760px) {
  table, tbody, tr, td { display: block; max-width: none; }
  thead { display: none; }
  tr { border-top: 2px solid var(--rule); padding: 8px 0; }
  td { border: 0; padding: 2px 0; overflow-wrap: anywhere; }
  td::before { content: attr(data-of) ": "; color: var(--quiet); font-weight: normal; }
}
</style>
"""
BAD = ("lost", "twice")  # what a cell that tells a record's fate may begin with


def fitted(html: str) -> str:
    """The same page, with tables and pictures that fit any width."""
    html = re.sub(r"<p>(?=<img )", '<p class="wide" tabindex="0">', html)
    return STYLE + re.sub(
        "<table>.*?</table>", lambda found: _labelled(found[0]), html, flags=re.DOTALL
    )


def _labelled(table: str) -> str:
    """Each cell with the name of its column."""
    heads = [_plain(head) for head in re.findall("<th.*?>(.*?)</th>", table, re.DOTALL)]
    rows = re.split("(?=<tr>)", table)
    return "".join(_row(row, heads) for row in rows)


def _row(row: str, heads: list[str]) -> str:
    names = iter(heads)

    def begins(found: re.Match[str]) -> str:
        is_bad = found[1].startswith(BAD)
        mark = ' class="bad"' if is_bad else ""
        return f'<td data-of="{escape(next(names))}"{mark}>{found[1]}'

    return re.sub(r"<td>(\w*)", begins, row)


def _plain(html: str) -> str:
    return re.sub("<.*?>", "", html)
