"""A log with transactions against the plainest model of one: cut, crashed, restarted
and compared after every step.
"""

from random import Random

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.internal_records import encode_end_transaction
from tests.seeds import seeds
from tests.storage.logs import Now, append, open_log, recovered

PRODUCERS = 1, 2, 3
CONFIG = {"segment_bytes": 400, "index_interval_bytes": 100}


class Model:
    """What was appended, by offset: None, ("of", producer) or ("end", producer,
    committed).
    """

    def __init__(self):
        self.entries = []

    def transactions(self):
        """(first offsets by producer of those that are open; those that aborted, as an
        index has them).
        """
        ongoing, aborted = {}, []
        for offset, entry in enumerate(self.entries):
            match entry:
                case ("of", producer):
                    ongoing.setdefault(producer, offset)
                case ("end", producer, committed) if producer in ongoing:
                    first = ongoing.pop(producer)
                    if not committed:
                        aborted.append(
                            (
                                producer,
                                first,
                                offset,
                                min(ongoing.values(), default=offset + 1),
                            )
                        )
        return ongoing, aborted


class Both:
    """The log and its model, in step."""

    def __init__(self, seed):
        self.random, self.disk, self.model = Random(seed), MemoryDisk(), Model()
        self.log = open_log(self.disk, **CONFIG)

    def plain(self):
        append(self.log, "plain")
        self.model.entries.append(None)

    def send(self):
        producer = self.random.choice(PRODUCERS)
        known = self.log.producers.producers.get(producer)
        sequence = known.last_sequence + 1 if known else 0
        append(
            self.log,
            "x",
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=True,
        )
        self.model.entries.append(("of", producer))

    def end(self):
        producer, committed = self.random.choice(PRODUCERS), self.random.random() < 0.4
        self.log.append(
            bytearray(encode_end_transaction(committed, producer, 0, 1, 1000)),
            0,
            Now(1000),
        )
        self.model.entries.append(("end", producer, committed))

    def cut(self):
        self.log.truncate_to(
            max(0, self.log.log_end_offset - self.random.randrange(12))
        )
        del self.model.entries[self.log.log_end_offset :]

    def flush(self):
        self.log.flush()

    def restart(self):
        clean = self.random.random() < 0.5
        if clean:
            self.log.close()
        else:
            self.disk.crash()
        self.log = recovered(
            self.disk, clean=clean, recovery_point=self.log.recovery_point, **CONFIG
        )

    def step(self):
        kinds = [self.plain, self.send, self.send, self.send, self.end, self.end]
        (
            self.random.choice(kinds)
            if self.random.random() < 0.93
            else self.random.choice(RARE)(self)
        )()

    def compare(self):
        ongoing, aborted = self.model.transactions()
        end = self.log.log_end_offset
        assert end == len(self.model.entries)
        stable = min(ongoing.values(), default=None)
        assert self.log.producers.first_unstable_offset(end) == stable
        start, stop = sorted(
            self.random.randint(0, end if stable is None else stable) for _ in range(2)
        )
        if start < stop:
            found = [tuple(each) for each in self.log.aborted_transactions(start, stop)]
            wanted = sorted(
                (each for each in aborted if each[2] >= start and each[1] < stop),
                key=lambda each: each[1],
            )
            assert found == wanted, (start, stop)


RARE = [
    lambda both: both.cut,
    lambda both: both.flush,
    lambda both: both.restart,
    lambda both: both.restart,
]


@pytest.mark.parametrize("seed", seeds(range(30)))
def test_open_and_aborted_transactions_are_those_that_the_log_holds(seed):
    both = Both(seed)
    for _ in range(150):
        both.step()
        both.compare()
    assert len(both.model.transactions()[1]) > 3
