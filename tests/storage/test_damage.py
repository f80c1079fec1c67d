"""Damage to one file of a data folder never costs a record in silence: one file of each
kind, in every way.

`python -m tests.soak.damage` tries all files, with several seeds.
MINIKAFKA_DAMAGE_SEEDS asks for more seeds here.

What Apache Kafka 4.3.1 and this broker do with a folder of their own (`python -m
tests.soak.damage_on_both`: 40 records in small segments; one file damaged after a clean
stop, and after kill -9 with all checkpoints written). "Silent": records are gone, and
neither the log nor a reader's error says so.

    damage                              Apache Kafka                                here
    oldest segment: a bit               a reader's checksum fails                   the same
    oldest segment: halved, empty       7, 13 gone, silent                          7, 13 gone, told
    oldest segment: deleted             13 gone, silent                             13 gone, told
    oldest segment: garbage, zeros      starts, a reader sees CORRUPT_MESSAGE       refuses
    newest segment: a bit               clean stop: a reader's checksum fails       the same
                                        killed: 1 gone, silent                      1 gone, told
    newest segment: halved              clean stop: 4, killed: 2 gone, silent       2 gone, told
    newest segment: empty, deleted      4 gone, silent                              4 gone, told
    newest segment: garbage             clean stop: refuses                         the same
                                        killed: 4 gone, silent                      4 gone, told
    newest segment: garbage behind      all there                                   all there, told
    an index: garbage, deleted          all there                                   all there, garbage is told
    metadata log: a bit                 all there, or the topic is gone             refuses
    metadata log: halved                all there                                   refuses
    metadata log: deleted               the topic is gone                           refuses
    quorum-state: garbage / deleted     refuses / all there                         the same
    meta.properties: garbage, deleted   refuses                                     the same
    partition.metadata: garbage         refuses                                     all there, told
    partition.metadata: deleted         starts, the topic is empty, silent          all there
    a checkpoint: garbage / deleted     refuses / all there                         all there, garbage is told
"""

import os

import pytest

from tests.soak.damage import DAMAGES, STOPS, kind_of, run, table, written

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("MINIKAFKA_DAMAGE_SEEDS", "1")))


@pytest.mark.parametrize("stop", STOPS)
def test_a_damaged_file_is_refused_or_told_or_costs_nothing(stop):
    folders = {stop: written(stop)}
    cases = [
        (seed, *case) for seed in SEEDS for case in run(seed, folders, sample=True)
    ]
    verdicts, failed = table(cases)
    assert not failed, "\n".join(failed)
    assert set(verdicts) == {kind_of(path) for path in folders[stop].files()}
    assert {damage for _, _, _, damage, _ in cases} == set(DAMAGES)
    assert verdicts["log .log"]["told"] and verdicts["meta.properties"]["refused"]
