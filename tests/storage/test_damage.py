"""Damage to one file of a data folder never costs a record in silence: one file of each kind, in every way.

`python -m tests.soak.damage` tries all files, with several seeds. MINIKAFKA_DAMAGE_SEEDS asks for more seeds here.

What Apache Kafka 4.3.1 did with a folder of its own: 40 records in three segments, a clean stop, one file damaged.

    damage                               Apache Kafka                             here
    old segment: a bit in a batch        the reader's checksum fails              the same
    old segment: halved, or empty        starts; 9, or 17 records gone, silent    starts, the gap is told
    old segment: deleted                 starts, 17 records gone, a warning       starts, the gap is told
    old segment: garbage                 starts, every read fails                 refuses
    newest segment: halved               starts, 6 records gone, silent           starts, told
    newest segment: deleted              starts, 6 records gone, a warning        starts, told
    old .index: garbage                  starts, 17 records not found, silent     starts, all there, the index is new
    old .index: deleted                  starts, all there                        the same
    metadata log: a bit                  refuses                                  the same
    metadata log: halved, or deleted     starts, without the topic                refuses
    quorum-state: garbage / deleted      refuses / starts                         the same
    meta.properties: garbage / deleted   refuses / refuses                        the same
    partition.metadata: garbage          refuses                                  starts, told
    partition.metadata: deleted          starts, the topic is empty, "-stray"     starts, all there
    a checkpoint: garbage                refuses                                  starts, told; epochs are begun anew
    foo.index beside the log             refuses (NumberFormatException)          leaves it alone
"""

import os

import pytest

from tests.soak.damage import DAMAGES, STOPS, kind_of, run, table, written

SEEDS = range(int(os.environ.get("MINIKAFKA_DAMAGE_SEEDS", "1")))


@pytest.mark.parametrize("stop", STOPS)
def test_a_damaged_file_is_refused_or_told_or_costs_nothing(stop):
    folders = {stop: written(stop)}
    cases = [(seed, *case) for seed in SEEDS for case in run(seed, folders, sample=True)]
    verdicts, failed = table(cases)
    assert not failed, "\n".join(failed)
    assert set(verdicts) == {kind_of(path) for path in folders[stop].files()}
    assert {damage for _, _, _, damage, _ in cases} == set(DAMAGES)
    assert verdicts["log .log"]["told"] and verdicts["meta.properties"]["refused"]
