"""The essay "How Kafka loses an order": prose that lies beside the notebooks, with eight
cases in it. A case is a picture in which one thing can be moved.

The runs are made when the site is built. A slider shows finished drawings, which one
file holds for every case, so the page needs no Python and answers immediately. The page
itself holds a first drawing for every case, so it can be read without scripts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.course.experiments.essay_runs import (
    BACK,
    CASES,
    FIRST_MESSAGES,
    LATE,
    LOST,
    LUCK,
    TIMEOUTS_S,
    TWICE,
    WAITS,
    WELL,
    Case,
    Sight,
)
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing.essay_figures import (
    batch,
    commit,
    fork,
    gate,
    key,
    rebalance,
    sink,
    watermark,
)
from minikafka.course.publishing.essay_figures.frame import Facts, Figure
from minikafka.theatre import svg
from minikafka.theatre.drawing import PHONE, WIDE
from minikafka.theatre.palette import PALETTE
from minikafka.theatre.text import escape

NAME = "how_kafka_loses_an_order"
PATH, FOLDER = f"{NAME}.html", "essay"
TITLE = "How Kafka loses an order"
DESCRIPTION = (
    "A shop, a customer, and eight ways in which an order gets lost, doubled or"
    " overtaken. Move one thing in each picture, and see what a small, real Kafka does."
)
WIDTHS = {"wide": WIDE, "phone": PHONE}
FIGURES = {
    "key": key.FIGURE,
    "batch": batch.FIGURE,
    "commit": commit.FIGURE,
    "rebalance": rebalance.FIGURE,
    "watermark": watermark.FIGURE,
    "fork": fork.FIGURE,
    "gate": gate.FIGURE,
    "sink": sink.FIGURE,
}
# What a kind is called beside its sign.
WORDS = {
    LOST: "lost",
    TWICE: "twice",
    LATE: "out of order",
    LUCK: "luck",
    BACK: "counted anyway",
    WAITS: "waits",
    WELL: "all well",
}
# Short labels under a slider whose places have long names.
MARKS = {
    "batch": [
        "none",
        *(
            # what they are is said once, below the one in the middle
            f"{order}\n{what} lost" if order == 1 else str(order)
            for what in ("answer", "order")
            for order in FIRST_MESSAGES
        ),
    ],
    "commit": [
        f"{where}\norder {order}"
        for order in range(2)
        for where in ("before", "between", "after")
    ],
    "gate": [f"{seconds} s" for seconds in TIMEOUTS_S],
    "sink": [
        f"{where}\norder {order}"
        for order in (1, 2)
        for where in ("before", "between", "after")
    ],
}
# An order's way: those who have it, and what lies between them (without a name), with
# the sections that are about each.
WAY = (
    ("shop", ()),
    ("", (1, 2)),
    ("Kafka", (5, 6)),
    ("", (7,)),
    ("billing", (3, 4)),
    ("", (8,)),
    ("database", ()),
)
# Where the way is drawn, its name, and which kinds of each case it shows.
WAYS = (
    ("hero", "An order’s way", ("kind",)),
    ("switched", "An order’s way, with all switches on", ("kind", "switched")),
)
SECTION = re.compile(r'<h2 id="([^"]*)">([0-9])\. (.*?)<')
# Paragraphs that stand out: what to move in a picture, and what helps.
STAND_OUT = {"try": "<strong>Try it:", "prevents": "<strong>What prevents it:"}
END = (
    '<p><a class="go first" href="lose_an_order.html">Now lose one yourself: the game'
    '</a><a class="go" href="index.html">The course</a></p>'
)


class Further(NamedTuple):
    """Where a case goes on. claims: those of the ledger that the prose rests on."""

    words: str
    path: str
    claims: tuple[str, ...]


FURTHER = {
    "key": Further(
        "Add the partition yourself, in lesson 00",
        "lessons/00_start_here.html",
        ("partitions-same-key", "partitions-order"),
    ),
    "batch": Further(
        "Lose messages, in lesson 03",
        "lessons/03_producers.html",
        ("producers-idempotent", "producers-order", "producers-retry"),
    ),
    "commit": Further(
        "Write those two lines, in lesson 04",
        "lessons/04_offsets_and_delivery.html",
        ("offsets-nothing-twice", "offsets-at-least-once", "log-new-reader"),
    ),
    "rebalance": Further(
        "Stop a consumer, in the playground",
        "playground.html#play=a-reader-dies",
        ("groups-takeover", "groups-fenced", "groups-once"),
    ),
    "watermark": Further(
        "Lose an acknowledged order, in a game",
        "lose_an_order.html",
        ("repl-acks-1", "repl-min-isr-enough", "failover-any-replica"),
    ),
    "fork": Further(
        "Cut a leader off, in lesson 10",
        "lessons/10_failover.html",
        ("failover-at-once", "failover-fenced"),
    ),
    "gate": Further(
        "Open the gate, in lesson 13",
        "lessons/13_idempotence_and_transactions.html",
        ("once-aborted", "once-others", "once-atomic"),
    ),
    "sink": Further(
        "Build such a sink, in lesson 14",
        "lessons/14_exactly_once_at_the_edges.html",
        ("edges-external", "edges-window"),
    ),
}


def prose() -> str:
    """The essay's Markdown. Comments in it mark where the cases belong."""
    return (NOTEBOOKS / f"{NAME}.md").read_text(encoding="utf-8")


def sights(case: Case) -> Iterator[tuple[bool, int, Sight]]:
    """All its runs: without the switch and with it, at each place."""
    for on in (False, True) if case.switch else (False,):
        for place in range(len(case.places)):
            yield on, place, case.run(place, on)


def told(
    sight: Sight, figure: Figure, facts: Facts, every: Sequence[Facts]
) -> dict[str, str]:
    """A run as the page's script shows it: its sentence, and a drawing for each width.
    every: the facts of all runs of its case.
    """
    alt = f"{sight.says} {figure.words(facts)}."
    found = {"kind": sight.kind, "word": WORDS[sight.kind], "says": sight.says}
    for name, width in WIDTHS.items():
        found[name] = svg.bare(figure.draw(facts, every, width), alt)
    return found


def write(folder: Path) -> dict[str, dict[str, Any]]:
    """The data of all cases, a file each; returns the run that each shows at first,
    with what the longest one takes, and how that run ends with its switch on.
    """
    (folder / FOLDER).mkdir()
    first = {}
    for case in CASES:
        runs: list[list[dict[str, str]]] = [[], []]
        figure = FIGURES[case.name]
        shown = [(on, sight, figure.read(sight.trace)) for on, _, sight in sights(case)]
        every = [facts for _, _, facts in shown]
        for on, sight, facts in shown:
            runs[on].append(told(sight, figure, facts, every))
        text = json.dumps(runs, separators=(",", ":"), ensure_ascii=False)
        (folder / FOLDER / f"{case.name}.json").write_text(text, encoding="utf-8")
        first[case.name] = runs[False][case.first] | _room(runs[False] + runs[True])
        switched = runs[bool(case.switch)][case.first]
        first[case.name]["switched"] = switched["kind"]
    return first


def _room(runs: list[dict[str, str]]) -> dict[str, Any]:
    """The longest sentence, and the height of the highest drawing as a part of its
    width: what a case needs so that nothing below it jumps.
    """
    high = {name: max(_height(run[name]) for run in runs) for name in WIDTHS}
    return {"high": high, "longest": max((run["says"] for run in runs), key=len)}


def _height(drawing: str) -> float:
    """As a part of the width."""
    _, width, height = drawing.split('viewBox="')[1].split('"')[0].rsplit(" ", 2)
    return round(int(height) / int(width), 4)


def way(html: str, kinds: Sequence[Sequence[str]], name: str) -> str:
    """An order's way, with the eight places as links. html: of the prose. kinds: what
    happens to an order at each place, perhaps before and after. name: for those who
    don't see it.
    """
    section = {int(number): (id_, name) for id_, number, name in SECTION.findall(html)}
    parts = []
    for who, numbers in WAY:
        links = "".join(
            f'<a href="#{section[number][0]}">{_signs(kinds[number - 1])}'
            f" <span><strong>{number}.</strong> {section[number][1]}</span>"
            f" <em>{WORDS[kinds[number - 1][-1]]}</em></a>"
            for number in numbers
        )
        start = f"<div><b>{who}</b>" if who else '<div class="leg">'
        parts.append(f"{start}{links}</div>")
    return (
        f'<div class="road" role="navigation" aria-label="{name}">'
        f"{''.join(parts)}</div>{_key([kind for each in kinds for kind in each])}"
    )


def _signs(kinds: Sequence[str]) -> str:
    """What happens at a place; smaller what happened there before."""
    *before, now = dict.fromkeys(kinds)
    was = "".join(
        f'<i class="was" data-kind="{kind}">{_sign(kind)}</i>' for kind in before
    )
    return f'{was}<i data-kind="{now}">{_sign(now)}</i>'


def _key(kinds: Sequence[str]) -> str:
    """What the signs in an order's way mean."""
    words = "".join(
        f'<span data-kind="{kind}">{_sign(kind)} {WORDS[kind]}</span>'
        for kind in dict.fromkeys(kinds)
    )
    return f'<p class="key">{words}</p>'


def _sign(kind: str) -> str:
    return f'<svg class="sign" aria-hidden="true"><use href="#is-{kind}"/></svg>'


def figure(case: Case, shown: dict[str, Any]) -> str:
    """A case's picture, under it what can be moved. Without scripts it stands still,
    and nothing can be moved.
    """
    drawings = "\n".join(
        f'<div class="drawing {name}" style="--high:{shown["high"][name]}">'
        f"{shown[name]}</div>"
        for name in WIDTHS
    )
    switch = ""
    if case.switch:
        name = escape(case.switch)
        if "=" in name:
            name = f"<code>{name}</code>"
        switch = (
            f'<button type="button" role="switch" aria-checked="false">{name}</button>'
        )
    place = case.places[case.first]
    further = FURTHER[case.name]
    known = " ".join(
        f'<a href="claims.html#{claim}">{number}</a>'
        for number, claim in enumerate(further.claims, start=1)
    )
    return f"""<figure class="case" id="{case.name}"
 data-places="{escape(json.dumps(list(case.places)))}"
 data-marks="{escape(json.dumps(MARKS.get(case.name, list(case.places))))}">
{drawings}
<div class="verdict" data-longest="{escape(shown["longest"])}">
<p class="says" role="status" data-kind="{shown["kind"]}"><b>{_sign(shown["kind"])}
{shown["word"]}</b> <span>{escape(shown["says"])}</span></p></div>
<div class="moves" hidden><label><span>{_moves(case.moves)}</span>
<output>{escape(place)}</output>
<span class="slide"><input type="range" min="0" max="{len(case.places) - 1}"
 value="{case.first}" aria-valuetext="{escape(place)}"></span></label>
{switch}</div>
<figcaption><a href="{further.path}">{escape(further.words)}</a>
<span>How we know: claims {known}</span></figcaption>
</figure>"""


def body(first: Mapping[str, Any], from_markdown: Any) -> str:
    """The page's own part. first: what write() returns; from_markdown: Markdown to
    HTML.
    """
    html = from_markdown(prose())
    for place, name, shown in WAYS:
        kinds = [[first[case.name][kind] for kind in shown] for case in CASES]
        html = html.replace(f"<!-- {place} -->", way(html, kinds, name))
    html = html.replace("<!-- end -->", END)
    for name, begin in STAND_OUT.items():
        html = html.replace(f"<p>{begin}", f'<p class="{name}">{begin}')
    for case in CASES:
        html = html.replace(
            f"<!-- case: {case.name} -->", figure(case, first[case.name])
        )
    return html


def _moves(words: str) -> str:
    """What a slider moves; a setting's name is code."""
    said = escape(words)
    return f"<code>{said}</code>" if "." in words else said


def style() -> str:
    """The classes that drawings use, in the page's own colours."""
    rules = [
        f".f-{name}{{fill:var(--{name})}}.l-{name}{{stroke:var(--{name})}}"
        for name in PALETTE
    ]
    return (
        "".join(rules)
        + ".f-none{fill:none}.l-none{stroke:none}.f-hatch{fill:url(#hatch)}"
    )
