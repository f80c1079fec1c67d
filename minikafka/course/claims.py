"""The claims ledger, `notebooks/claims.toml`: what introductions to Kafka say, a
verdict on each, and the evidence.

Evidence names something that a test can find (a cell of a notebook, a test) or cites a
KIP or Kafka's documentation.
"""

import textwrap
import tomllib
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from minikafka.course import cards
from minikafka.course.places import NOTEBOOKS

LEDGER = NOTEBOOKS / "claims.toml"
MARK_OF = {"true": "right", "true with a condition": "half", "false": "wrong"}
VERDICTS = tuple(MARK_OF)
RUN_ON = ("minikafka", "Apache Kafka", "RabbitMQ", "cited")

_WIDTH = 100


@dataclass(frozen=True)
class Evidence:
    """on: what it ran on. where: `01#cell-id`, `tests/file.py::test_name`, or a
    citation.
    """

    on: str
    where: str


@dataclass(frozen=True)
class Claim:
    """text: as introductions say it. but: the condition, or what is true instead; empty
    when it is simply true.
    """

    id: str
    section: str
    lesson: str
    text: str
    verdict: str
    but: str
    evidence: tuple[Evidence, ...]


@cache
def ledger(path: Path = LEDGER) -> tuple[Claim, ...]:
    """Every claim, in the file's order."""
    claims = []
    for found in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
        evidence = tuple(Evidence(**each) for each in found.pop("evidence"))
        found.setdefault("but", "")
        claims.append(Claim(**found, evidence=evidence))
    return tuple(claims)


def on_apache_kafka(cells: Set[str]) -> bool:
    """Does a claim that one of these cells (`05#who-run`) is evidence for have evidence
    on Apache Kafka, too?
    """
    for claim in ledger():
        where = {evidence.where for evidence in claim.evidence}
        ran_on = {evidence.on for evidence in claim.evidence}
        if where & cells and "Apache Kafka" in ran_on:
            return True
    return False


def in_words() -> str:
    """The whole ledger in Markdown: a table for each section."""
    sections: dict[str, list[Claim]] = {}
    for claim in ledger():
        sections.setdefault(claim.section, []).append(claim)
    parts: list[str] = []
    for section, found in sections.items():
        rows = ["| you read | is it true? | tried on |", "|--|--|--|"]
        for claim in found:
            ran_on = ", ".join(_ran_on(claim))
            rows.append(f"| {claim.text} | {_verdict(claim)} | {ran_on} |")
        parts.append("\n".join([f"## {section}", "", *rows]))
    return "\n\n".join(parts)


def cards_of(claims: Iterable[Claim]) -> str:
    """The HTML of the cards for these claims, with their verdicts and where each was
    run.
    """
    made = []
    for claim in claims:
        ran_on = ", ".join(_ran_on(claim))
        body = cards.small(_verdict(claim)) + cards.small(f"ran on: {ran_on}")
        made.append(cards.card(MARK_OF[claim.verdict], claim.text, body))
    return "".join(made)


def _verdict(claim: Claim) -> str:
    return f"{claim.verdict}: {claim.but}" if claim.but else claim.verdict


def _ran_on(claim: Claim) -> list[str]:
    return sorted({evidence.on for evidence in claim.evidence}, key=RUN_ON.index)


def table(claims: Iterable[Claim]) -> str:
    """The claims as text: each with its verdict, then the condition, then what it ran
    on.
    """
    lines = []
    for claim in claims:
        lines += textwrap.wrap(f'"{claim.text}"', _WIDTH)
        ran_on = ", ".join(_ran_on(claim))
        verdict = f"{_verdict(claim)} [{ran_on}]"
        lines += textwrap.wrap(
            verdict, _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
    return "\n".join(lines)
