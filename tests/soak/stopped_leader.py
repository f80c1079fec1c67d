"""Many transactions end while the leader of all their partitions stands still: `python
-m tests.soak.stopped_leader`.

Three brokers, each a process. 500 transactional ids write a record each into each of
100 partitions, which one broker leads; it is stopped (SIGSTOP), and all of them end,
four of five in a commit. Then it goes on; and another time it is killed, and started
again. What must hold: all transactions are complete, and a reader of committed records
finds each record of those that committed once, in order, and no other.
"""

import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from minikafka.server.embedded import Served
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch
from tests.clients.brokers import STEADY, overrides, until
from tests.conformance.raw import Connection, batch
from tests.soak.kill import Wrong, parser_of, report

TOPIC = "held"
PATIENCE_S = 600
ABORTED_EACH = 5
AGAIN = {
    Error.CONCURRENT_TRANSACTIONS,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.NOT_ENOUGH_REPLICAS,
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.NOT_LEADER_OR_FOLLOWER,
}
Producer = tuple[int, int]


class Held:
    """The cluster and its transactions."""

    def __init__(self, folder: str, transactions: int, partitions: int) -> None:
        self._folder, self._partitions = Path(folder), partitions
        properties = {
            "transaction.state.log.num.partitions": "6",
            "transaction.state.log.replication.factor": "1",
        }
        options = ("--brokers", "3", "--processes", *overrides(STEADY | properties))
        self.served = Served(data=folder, options=options)
        self._connections: dict[int, Connection] = {}
        any_broker = Connection(self.served.bootstrap.split(",")[0])

        def found() -> list[Any]:
            return any_broker.ask("Metadata", 9, topics=[]).brokers

        until(lambda: len(found()) == 3, "all three are known")
        self._addresses = {each.node_id: f"{each.host}:{each.port}" for each in found()}
        any_broker.close()
        self.leader = max(self._addresses)
        self.ids = list(self._coordinated_elsewhere(transactions))
        self.producers: dict[str, Producer] = {}
        assignments = [
            {"partition_index": number, "broker_ids": [self.leader]}
            for number in range(partitions)
        ]
        topic = {
            "name": TOPIC,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": assignments,
        }
        [created] = (
            self._at(1).ask("CreateTopics", 5, topics=[topic], timeout_ms=30_000).topics
        )
        assert created.error_code == 0, created

    def _at(self, broker: int) -> Connection:
        if broker not in self._connections:
            self._connections[broker] = Connection(self._addresses[broker])
        return self._connections[broker]

    def _coordinator(self, name: str) -> int:
        while (
            found := self._at(1).ask("FindCoordinator", 3, key=name, key_type=1)
        ).error_code:
            pass
        return int(found.node_id)

    def _coordinated_elsewhere(self, count: int) -> Iterator[str]:
        """Transactional ids whose coordinators go on."""
        number = 0
        while count:
            if self._coordinator(f"id-{number}") != self.leader:
                count -= 1
                yield f"id-{number}"
            number += 1

    def _again(self, broker: int, api: str, version: int, **body: Any) -> Any:
        """The first answer that doesn't ask for patience."""
        deadline = time.monotonic() + PATIENCE_S
        while (
            answer := self._at(broker).ask(api, version, **body)
        ).error_code in AGAIN:
            if time.monotonic() > deadline:
                raise Wrong(
                    f"{api} of {body} still hears {Error(answer.error_code).name}"
                )
        if answer.error_code:
            raise Wrong(f"{api} of {body} hears {Error(answer.error_code).name}")
        return answer

    # -- what happens

    def begin(self) -> None:
        """Each writes a record into each partition."""
        for name in self.ids:
            asked = {
                "transactional_id": name,
                "transaction_timeout_ms": 1000 * PATIENCE_S,
            }
            answer = self._again(self._coordinator(name), "InitProducerId", 5, **asked)
            self.producers[name] = answer.producer_id, answer.producer_epoch
            self._write(name, *self.producers[name])

    def _write(self, name: str, producer_id: int, epoch: int) -> None:
        of = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": 0}
        left = range(self._partitions)
        while left:
            data = [
                {
                    "index": number,
                    "records": batch(name.encode(), transactional=True, **of),
                }
                for number in left
            ]
            asked = {"transactional_id": name, "acks": -1, "timeout_ms": 30_000}
            topics = [{"name": TOPIC, "partition_data": data}]
            answer = (
                self._at(self.leader)
                .ask("Produce", 12, topic_data=topics, **asked)
                .responses[0]
            )
            errors = {
                each.index: each.error_code
                for each in answer.partition_responses
                if each.error_code
            }
            if set(errors.values()) - AGAIN:
                raise Wrong(f"{name} can't write: {errors}")
            left = [number for number in left if number in errors]

    def stop_leader(self) -> None:
        self._pid = int((self._folder / f"broker-{self.leader}.pid").read_text())
        os.kill(self._pid, signal.SIGSTOP)

    def end(self) -> None:
        """All of them, while nobody can write a marker. Their coordinators do without
        the one that is stopped.
        """
        for name in self.ids:
            producer_id, epoch = self.producers[name]
            of = {
                "transactional_id": name,
                "producer_id": producer_id,
                "producer_epoch": epoch,
            }
            self._again(
                self._coordinator(name),
                "EndTxn",
                5,
                committed=name in self.committed,
                **of,
            )

    def wait_until_it_is_missed(self) -> None:
        """The leader is taken for dead."""

        def leaders() -> set[int]:
            [topic] = self._at(1).ask("Metadata", 9, topics=[{"name": TOPIC}]).topics
            return {each.leader_id for each in topic.partitions}

        until(lambda: leaders() == {-1}, "no partition has a leader")

    def go_on(self, kill: bool) -> None:
        self._connections.pop(self.leader).close()
        os.kill(self._pid, signal.SIGKILL if kill else signal.SIGCONT)

    # -- what must hold

    @property
    def committed(self) -> list[str]:
        return [name for number, name in enumerate(self.ids) if number % ABORTED_EACH]

    def states(self) -> dict[str, int]:
        """How many transactions are in which state."""
        found: dict[str, int] = {}
        names: dict[int, list[str]] = {}
        for name in self.ids:
            names.setdefault(self._coordinator(name), []).append(name)
        for broker, theirs in names.items():
            answer = self._at(broker).ask(
                "DescribeTransactions", 0, transactional_ids=theirs
            )
            for each in answer.transaction_states:
                found[each.transaction_state] = found.get(each.transaction_state, 0) + 1
        return found

    def wait_until_complete(self) -> None:
        ended = {"CompleteCommit", "CompleteAbort"}
        try:
            until(lambda: set(self.states()) <= ended, seconds=PATIENCE_S)
        except AssertionError:
            raise Wrong(f"still {self.states()}") from None
        states = self.states()
        commits = len(self.committed)
        if states != {
            "CompleteCommit": commits,
            "CompleteAbort": len(self.ids) - commits,
        }:
            raise Wrong(f"{commits} were to commit, and {states}")

    def check(self) -> None:
        """Every record is there exactly once."""
        for number in range(self._partitions):
            if (found := self._read(number)) != self.committed:
                raise Wrong(f"in partition {number} a reader finds {found}")

    def _read(self, number: int) -> list[str]:
        at: dict[str, Any] = {"partition": number, "version": 11, "isolation_level": 1}
        answer = self._at(self.leader).fetch(TOPIC, **at)
        if answer.error_code or answer.last_stable_offset != answer.high_watermark:
            raise Wrong(f"partition {number}: {answer}")
        aborts = sorted(
            (each.first_offset, each.producer_id)
            for each in answer.aborted_transactions
        )
        return list(committed_values(answer.records, aborts))


def committed_values(records: bytes, aborts: list[tuple[int, int]]) -> Iterable[str]:
    """What a consumer of committed records keeps."""
    aborting: set[int] = set()
    for header, data in batches(records):
        while aborts and aborts[0][0] <= header.base_offset:
            aborting.add(aborts.pop(0)[1])
        if header.control:
            aborting.discard(header.producer_id)
        elif header.producer_id not in aborting:
            yield from (
                record.value.decode()
                for record in decode_batch(data)
                if record.value is not None
            )


def hold(transactions: int, partitions: int, kill: bool) -> str:
    """What happened, in a line. Errors: Wrong."""
    with tempfile.TemporaryDirectory(prefix="minikafka-held-") as folder:
        held = Held(folder, transactions, partitions)
        with held.served:
            times = [time.monotonic()]

            def lap(do: Any, *args: Any) -> None:
                do(*args)
                times.append(time.monotonic())

            lap(held.begin)
            held.stop_leader()
            lap(held.end)
            held.wait_until_it_is_missed()
            times[-1] = time.monotonic()
            lap(lambda: (held.go_on(kill), held.wait_until_complete()))
            held.check()
            if "Traceback" in held.served.said():
                raise Wrong(held.served.said())
    begun, ended, complete = (
        f"{after - before:.1f} s" for before, after in itertools.pairwise(times)
    )
    how = "killed and started again" if kill else "went on"
    return (
        f"{transactions} transactions of {partitions} partitions: begun in {begun},"
        f" ended without a leader in {ended}, complete {complete} after it {how}; every"
        " record is there once"
    )


def main() -> int:
    parser = parser_of("stopped_leader", __doc__, transactions=500, partitions=100)
    args = parser.parse_args()
    return max(
        report("stopped_leader", hold, args.transactions, args.partitions, kill)
        for kill in (False, True)
    )


if __name__ == "__main__":
    sys.exit(main())
