"""Each request about a transaction, in each state of its coordinator, with an epoch
that fits and with others, while the markers of the last transaction can't be written:
minikafka and Apache Kafka say the same (KIP-98, KIP-890).

A table. Of each cell a transactional id of its own is brought into the state and asked
once; what it hears, and where it stands when all markers are written, is what counts.
"""

import itertools
from functools import partial

import pytest

from minikafka.wire.errors import Error
from tests.conformance.raw import batch
from tests.conformance.slow_markers import SlowMarkers
from tests.kafka import APACHE_KAFKA, MINIKAFKA

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]

SOON = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.CONCURRENT_TRANSACTIONS,
)
SHORT_MS, LONG_MS = 300, 600_000
V1, V2 = 1, 2
ADDS = {V1: 3, V2: 5}  # versions of AddPartitionsToTxn
ENDS = {V1: 4, V2: 5}  # of EndTxn


class Id:
    """A transactional id on the wire."""

    def __init__(self, kafka, name):
        self.kafka, self.name = kafka, name
        self.producer = (-1, -1)

    def ask(self, api, version, producer=None, **more):
        """The answer, of the coordinator."""
        producer_id, epoch = producer or self.producer
        of = {
            "transactional_id": self.name,
            "producer_id": producer_id,
            "producer_epoch": epoch,
        }
        return self.kafka.coordinator.ask(api, version, **of, **more)

    def init(self, producer=(-1, -1), timeout_ms=LONG_MS):
        answer = self.ask(
            "InitProducerId", 5, producer, transaction_timeout_ms=timeout_ms
        )
        return answer.error_code, answer.producer_id, answer.producer_epoch

    def add(self, producer, version, verify=False):
        """`slow` joins, or is asked for."""
        topics = [{"name": "slow", "partitions": [0]}]
        of = dict(
            zip(
                ("transactional_id", "producer_id", "producer_epoch"),
                (self.name, *producer),
                strict=True,
            )
        )
        if version < 4:
            asked = {
                f"v3_and_below_{name}": value
                for name, value in (of | {"topics": topics}).items()
            }
        else:
            asked = {"transactions": [of | {"verify_only": verify, "topics": topics}]}
        answer = self.kafka.coordinator.ask("AddPartitionsToTxn", version, **asked)
        if version < 4:
            [result] = answer.results_by_topic_v3_and_below
        else:
            [result] = answer.results_by_transaction[0].topic_results
        return (result.results_by_partition[0].partition_error_code,)

    def add_offsets(self, producer, version):
        return (
            self.ask(
                "AddOffsetsToTxn", version, producer, group_id="billing"
            ).error_code,
        )

    def end(self, producer, version, committed):
        answer = self.ask("EndTxn", version, producer, committed=committed)
        return answer.error_code, answer.producer_id, answer.producer_epoch

    def commit_offset(self, producer, version):
        place = {"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}
        of = {
            "transactional_id": self.name,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }
        asked = {
            "group_id": "billing",
            "topics": [{"name": "fast", "partitions": [place]}],
        }
        answer = self.kafka.groups.ask("TxnOffsetCommit", version, **of, **asked)
        return (answer.topics[0].partitions[0].error_code,)

    def send(self, producer, version):
        records = batch(
            b"x",
            transactional=True,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=0,
        )
        answer = self.kafka.coordinator.produce(
            "fast", records, version=version, transactional_id=self.name
        )
        return (answer.error_code,)

    def state(self):
        """As administrators see it: the state, the producer id, the epoch."""
        asked = self.kafka.coordinator.ask(
            "DescribeTransactions", 0, transactional_ids=[self.name]
        )
        [one] = asked.transaction_states
        return one.transaction_state, one.producer_id, one.producer_epoch

    def must(self, ask, *args, **more):
        """The answer when the coordinator is not busy; it is no error."""
        while (answer := ask(*args, **more))[0] in SOON:
            pass
        assert answer[0] == 0, Error(answer[0]).name
        return answer[1:]

    # -- how it gets into a state

    def begin(self, version, timeout_ms=LONG_MS):
        """Open, with an epoch that is not the first one."""
        self.must(self.init)
        self.producer = self.must(self.init, timeout_ms=timeout_ms)
        if version:
            self.must(self.add, self.producer, ADDS[version])

    def end_it(self, version, committed, timeout_ms=LONG_MS):
        self.begin(version, timeout_ms)
        self.must(self.end, self.producer, ENDS[version], committed)

    def time_out(self):
        self.begin(V2, SHORT_MS)

    def fence(self):
        self.begin(V2)
        assert self.init()[0] == Error.CONCURRENT_TRANSACTIONS


# -- the table

BEFORE = {"Empty": partial(Id.begin, version=0)}
BEFORE |= {
    f"Ongoing, v{version}": partial(Id.begin, version=version) for version in (V1, V2)
}
WHILE, ENDED = {}, {}
for _version, _committed in itertools.product((V1, V2), (True, False)):
    _how = partial(Id.end_it, version=_version, committed=_committed)
    _word = "Commit" if _committed else "Abort"
    WHILE[f"Prepare{_word}, v{_version}"] = ENDED[f"Complete{_word}, v{_version}"] = (
        _how
    )
WHILE |= {"PrepareAbort, timed out": Id.time_out, "PrepareAbort, fenced": Id.fence}
ENDED |= {"CompleteAbort, timed out": Id.time_out, "CompleteAbort, fenced": Id.fence}
# what is brought there while all markers are written at once; WHILE: while they can't
# be
BEFORE |= ENDED

PRODUCERS = {
    "its epoch": lambda producer_id, epoch: (producer_id, epoch),
    "one less": lambda producer_id, epoch: (producer_id, epoch - 1),
    "one more": lambda producer_id, epoch: (producer_id, epoch + 1),
    "another id": lambda producer_id, epoch: (producer_id + 100_000, epoch),
}
REQUESTS = {
    "InitProducerId 5": Id.init,
    "AddPartitionsToTxn 3": partial(Id.add, version=3),
    "AddPartitionsToTxn 5": partial(Id.add, version=5),
    "AddPartitionsToTxn 5, verifying": partial(Id.add, version=5, verify=True),
    "AddOffsetsToTxn 3": partial(Id.add_offsets, version=3),
    "AddOffsetsToTxn 4": partial(Id.add_offsets, version=4),
    "TxnOffsetCommit 3": partial(Id.commit_offset, version=3),
    "TxnOffsetCommit 5": partial(Id.commit_offset, version=5),
    "EndTxn 4, commit": partial(Id.end, version=4, committed=True),
    "EndTxn 4, abort": partial(Id.end, version=4, committed=False),
    "EndTxn 5, commit": partial(Id.end, version=5, committed=True),
    "EndTxn 5, abort": partial(Id.end, version=5, committed=False),
    "Produce 11": partial(Id.send, version=11),
    "Produce 12": partial(Id.send, version=12),
}
ASKED = {
    (request, which): (ask, of)
    for request, ask in REQUESTS.items()
    for which, of in PRODUCERS.items()
}
ASKED["InitProducerId 5", "no id"] = (Id.init, lambda *_: (-1, -1))


def said(answer, before):
    """An answer, or a state, as it can be compared: ids are new or not."""
    first, *ids = answer
    words = [first if isinstance(first, str) else Error(first).name]
    if ids:
        producer_id, epoch = ids
        words += [
            (
                "no id"
                if producer_id < 0
                else "its id"
                if producer_id == before
                else "a new id"
            ),
            epoch,
        ]
    return tuple(words)


def table(kind, folder):
    """Of each cell what it hears, and where it stands in the end."""
    found, ids = {}, {}
    with SlowMarkers(kind, folder) as kafka:

        def bring(states):
            for (state, how), (request, which) in itertools.product(
                states.items(), ASKED
            ):
                one = ids[state, request, which] = Id(
                    kafka, f"{state}: {request}, {which}"
                )
                how(one)
            for (state, *_), one in ids.items():
                if state in states:
                    while not state.startswith(one.state()[0]):
                        pass

        bring(BEFORE)
        kafka.freeze()
        bring(WHILE)
        for cell, one in ids.items():
            ask, of = ASKED[cell[1:]]
            _, producer_id, epoch = one.state()
            found[cell] = (
                producer_id,
                said(ask(one, of(producer_id, epoch)), producer_id),
            )
        kafka.thaw()
        for cell, one in ids.items():
            while (state := one.state())[0].startswith("Prepare"):
                pass
            producer_id, answer = found[cell]
            found[cell] = answer, said(state, producer_id)
    return found


@pytest.mark.compares
def test_kip_890_each_request_in_each_state_is_answered_as_by_apache_kafka(tmp_path):
    ours, theirs = (table(kind, tmp_path / kind) for kind in (MINIKAFKA, APACHE_KAFKA))
    assert len({answer for answer, _ in theirs.values()}) > 10
    differ = {
        cell: (ours[cell], theirs[cell])
        for cell in theirs
        if ours[cell] != theirs[cell]
    }
    assert not differ, "\n".join(
        f"{cell}: {here}, there {there}" for cell, (here, there) in differ.items()
    )
