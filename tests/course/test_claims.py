"""The ledger of claims: complete, and every piece of evidence is there."""

import re

import nbformat
import pytest

from minikafka.course import claims, editions, places

pytestmark = pytest.mark.slow

ROOT = claims.LEDGER.parents[1]


@pytest.mark.parametrize("claim", claims.ledger(), ids=lambda claim: claim.id)
def test_a_claim_has_a_verdict_a_condition_and_evidence_that_exists(claim):
    assert claim.verdict in claims.VERDICTS
    assert bool(claim.but) == (claim.verdict != "true"), (
        "a condition, unless it is simply true"
    )
    assert claim.lesson in editions.notebooks() and claim.evidence
    for evidence in claim.evidence:
        assert evidence.on in claims.RUN_ON
        if evidence.on != "cited":
            assert exists(evidence.where), evidence.where


def exists(where):
    lesson, _, cell = where.partition("#")
    if cell:
        beside = {path.stem: path for path in places.extras()}
        book = nbformat.read((editions.notebooks() | beside)[lesson], as_version=4)
        return cell in {each.id for each in book.cells}
    path, _, name = where.partition("::")
    return (
        re.search(
            rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        )
        is not None
    )


def test_claims_have_ids_of_their_own():
    ids = [claim.id for claim in claims.ledger()]
    assert len(ids) == len(set(ids))


def test_the_table_says_what_each_claim_ran_on():
    text = claims.table(claim for claim in claims.ledger() if claim.id == "log-offsets")
    assert text.splitlines()[-1] == "    true [minikafka, Apache Kafka]"
