"""Tables for wide and for narrow pages (site.css): on a phone each row is a block, in
which every cell names its column, and a table that is read by column is a small one
for every column.
"""

import re

from minikafka.theatre.text import escape

BAD = ("lost", "twice")  # what a cell that tells a record's fate may begin with
# The columns that name a case, in a table whose other columns are read downwards.
CASE = ("acks", "min.insync.replicas")
# The columns of tables that stand below each other on a page, in percent: by its
# text alone each table would have columns of its own.
WIDTHS = {
    "setting": 24,
    "set it to": 20,
    "because": 26,
    "default": 23,
    "lesson": 7,
    "default of": 31,
    "Java 4.4": 17,
    "librdkafka": 21,
    "kafka-python": 16,
    "minikafka": 15,
    "asked about": 22,
    "why": 39,
    "what differs": 39,
    "file": 32,
    "client": 24,
    "what it is": 44,
    "config": 46,
    "here": 12,
    "Apache Kafka": 22,
    "of": 20,
    "property": 54,
    "our answer": 46,
    "reason": 24,
    "configs": 76,
    "killed": 15,
    "just before it would": 45,
    "place": 10,
    "error code": 28,
    "who sees it": 24,
    "what to do": 38,
    "in the end": 40,
}


# the first column of tables whose rows share a cell if they have it in common
COMMON = "asked about"
# the first column of tables that compare clients with the first of them
COMPARED = "default of"
# what brackets may say behind a value that has another name there
OTHER_NAME = re.compile(r"\S+ \((all|latest|none)\)")
# columns, and letters in a line of a cell: up to here a table is one on a phone, too
FEW, SHORT = 3, 40
# letters in a column's name: up to here a phone shows the cells beside their names
NAME = 17
# the numbers of the old boss and of the new one, in a cell of their own
TWO_NUMBERS = re.compile(r"(?<=>)(\d), then (\d)<")
CLIENT = r"(?:librdkafka|kafka-python)"  # named behind Java, each on a line of its own
A_CLIENT = re.compile("kafka-python(?![^<]*>)")  # not within a tag
JOINT = re.compile("(?<=[a-zA-Z0-9])[_.]")
UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min)\b)")
LONG = re.compile(r"(?<![\w&/])[\w.]{16,}(?![^<]*>)")  # a name, not within a tag
CODE = 20  # letters of an error code: up to here it stays on its line


def fitted(html: str) -> str:
    """The same page, with tables and pictures that fit any width."""
    html = re.sub(r"<p>(?=<img )", '<p class="wide">', html)
    return re.sub(
        "<table>.*?</table>", lambda found: _table(found[0]), html, flags=re.DOTALL
    )


def _table(table: str) -> str:
    heads = re.findall(r"<th\b.*?>(.*?)</th>", table)
    labelled = _labelled(table)
    if tuple(map(_plain, heads[: len(CASE)])) != CASE:
        return labelled
    rows = [re.findall(r"<td>.*?</td>", row) for row in table.split("<tr>")[2:]]
    columns = range(len(CASE), len(heads))
    apart = "".join(_column(heads, rows, column) for column in columns)
    return f'<div class="together">{labelled}</div><div class="apart">{apart}</div>'


def _column(heads: list[str], rows: list[list[str]], column: int) -> str:
    """One column as a table of its own, beside the columns that name the case."""
    count = len(CASE)
    names = [*heads[:count], "in the end"]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    cases: dict[tuple[str, str], list[str]] = {}
    for acks, least, *rest in rows:
        cases.setdefault((acks, rest[column - count]), []).append(_plain(least))
    lines = [
        f"<tr>{acks}<td>{' or '.join(least)}</td>{end}</tr>\n"
        for (acks, end), least in cases.items()
    ]
    return _labelled(
        f"<table><caption>{heads[column]}</caption><thead>\n<tr>{head}</tr>\n</thead>"
        f"<tbody>\n{''.join(lines)}</tbody></table>"
    )


def _labelled(table: str) -> str:
    """Each cell with the name of its column, and long names that break where they have
    a joint.
    """
    if f"<th>{COMMON}</th>" in table:
        table = _grouped(table)
    head = table.partition("</thead>")[0]
    heads = [_plain(each) for each in re.findall(r"<th\b.*?>(.*?)</th>", head)]
    rows = re.split("(?=<tr)", table)
    of_cells = heads[1:] if COMMON in heads else heads
    labelled = "".join(_row(row, of_cells) for row in rows)
    if COMPARED in heads:
        labelled = re.sub("<tr>\\s*<td.*?</tr>", _compared, labelled, flags=re.DOTALL)
    labelled = re.sub(rf"; (?={CLIENT}: )", "<br>", labelled)
    labelled = TWO_NUMBERS.sub(r'<b class="old">\1</b> → <b>\2</b><', labelled)
    labelled = A_CLIENT.sub(r'<span class="whole">\g<0></span>', labelled)
    labelled = UNIT.sub("\N{NO-BREAK SPACE}", labelled)
    labelled = LONG.sub(_with_breaks, labelled)
    return labelled.replace("<table>", _begins(labelled, heads), 1)


def _with_breaks(name: re.Match[str]) -> str:
    if name[0].isupper() and len(name[0]) <= CODE:
        return name[0]
    return JOINT.sub(r"\g<0><wbr>", name[0])


def _grouped(table: str) -> str:
    """Rows that begin with the same cell, beside one that holds it for all of them."""
    head, *rows = re.findall("<tr>.*?</tr>", table, re.DOTALL)
    groups: dict[str, list[str]] = {}
    for row in rows:
        begins, _, rest = row.partition("</td>")
        groups.setdefault(begins.partition("<td>")[2], []).append(rest)
    shown = [head, "</thead>\n<tbody>"]
    for name, (first, *others) in groups.items():
        span = len(others) + 1
        shown.append(f'<tr><th rowspan="{span}" scope="rowgroup">{name}</th>{first}')
        shown += [f"<tr>{each}" for each in others]
    return "\n".join(["<table>\n<thead>", *shown, "</tbody>\n</table>"])


def _row(row: str, heads: list[str]) -> str:
    names = iter(heads)

    def begins(found: re.Match[str]) -> str:
        is_bad = found[1].startswith(BAD)
        mark = ' class="bad"' if is_bad else ""
        return f'<td data-label="{escape(next(names))}"{mark}>{found[1]}'

    return re.sub(r"<td>(\w*)", begins, row)


def _compared(row: re.Match[str]) -> str:
    """A row of clients' defaults: values that differ from the first client's are bold.
    On a phone one cell speaks for all four if they have the same.
    """
    name, *cells = re.findall('<td data-label="(.*?)">(.*?)</td>', row[0], re.DOTALL)
    values = [_value(text, of_first=cells[0][1]) for _, text in cells]
    shown = [f'<td data-label="{name[0]}">{name[1]}</td>']
    are_same = len(set(values)) == 1
    for number, (client, text) in enumerate(cells):
        differs = _begin(values[number]) != _begin(values[0])
        marks = "differs" * differs + "again" * (are_same and number > 0)
        if differs:
            text = f"<b>{_begin(text)}</b>{text.removeprefix(_begin(text))}"
        label = "all four" if are_same else client
        shown.append(f'<td data-label="{label}" class="{marks}">{text}</td>')
    return "\n".join(["<tr>", *shown, "</tr>"]).replace(' class=""', "")


def _value(text: str, of_first: str) -> str:
    """A default as it is compared, whatever it is called there."""
    words = _plain(text)
    if words.endswith("(as Java)"):
        return _plain(of_first)
    found = OTHER_NAME.fullmatch(words)
    return found[1] if found else words


def _begin(words: str) -> str:
    """A default, without what is said of it."""
    return re.split("[ ,]", words, maxsplit=1)[0]


def _begins(table: str, heads: list[str]) -> str:
    """The table's begin: how a phone shows it, what its bold means, and columns as wide
    as WIDTHS says. What they leave stays empty, so that a table with a column less
    looks like its neighbours.
    """
    cells = "<br>".join(re.findall("<td.*?>(.*?)</td>", table, re.DOTALL))
    lines = [_plain(line) for line in re.split("<br ?/?>", cells)]
    is_small = len(heads) <= FEW and max(map(len, lines)) <= SHORT
    has_short_names = max(map(len, heads[1:]), default=0) <= NAME
    classes = ["fits"] * is_small
    if len(heads) > FEW and has_short_names:
        classes.append("aligned")
    columns = ""
    if WIDTHS.keys() >= set(heads):
        classes.append("measured")
        columns = "".join(f'<col style="width: {WIDTHS[head]}%">' for head in heads)
        if sum(WIDTHS[head] for head in heads) < 100:
            columns += "<col>"
        columns = f"<colgroup>{columns}</colgroup>"
    note = "<caption>In bold: a value other than Java's.</caption>" * (
        COMPARED in heads
    )
    marks = f' class="{" ".join(classes)}"' if classes else ""
    return f"<table{marks}>{note}{columns}"


def _plain(html: str) -> str:
    return re.sub("<.*?>", "", html)
