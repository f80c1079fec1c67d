"""Lesson 19's sink and the ways its query is killed: a bank on SQLite, and moments at
which the plug is pulled.

The query runs in the notebook's own process, which can't be killed without the
notebook. So the sink raises an error at that moment: Spark stops there, and the
checkpoint is what it would be after kill -9. (`minikafka pipeline` really kills a
process.)
"""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from minikafka.course.connect import Connection

# what foreachBatch takes: a DataFrame, and the micro-batch's number
Sink = Callable[[Any, int], None]

_TABLES = """
create table postings (posting_id text, account_id text, amount_cents integer);
create table notes (query text primary key, batch_id integer);
"""


class PlugPulled(Exception):
    """Raised where the process is to end, as if somebody had pulled the plug."""


class Moment(NamedTuple):
    """When the plug is pulled: in this micro-batch, "before" its sink, "in" the middle
    of it, or "after" it.
    """

    batch_id: int
    when: str


class Bank:
    """Postings in a database that survives the query. A posting adds its cents to an
    account.
    """

    def __init__(self) -> None:
        self._rows = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._rows.executescript(_TABLES)
        self.fuse: int | None = None  # after this many postings the plug is pulled

    def __repr__(self) -> str:
        return f"Bank: {len(self)} postings, {self.total()} cents in all"

    def __len__(self) -> int:
        return len(self.ids())

    def add(self, posting_id: str, account_id: str, amount_cents: int) -> None:
        """One row more, whatever is there already."""
        self._burn()
        self._rows.execute(
            "insert into postings values (?, ?, ?)",
            (posting_id, account_id, amount_cents),
        )

    def put(self, posting_id: str, account_id: str, amount_cents: int) -> None:
        """The row of this posting_id, in the place of one that is there already."""
        self._burn()
        self._rows.execute("delete from postings where posting_id = ?", (posting_id,))
        self._rows.execute(
            "insert into postings values (?, ?, ?)",
            (posting_id, account_id, amount_cents),
        )

    def _burn(self) -> None:
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise PlugPulled

    def note(self, query: str, batch_id: int) -> None:
        """The newest micro-batch of this query that is in the table."""
        self._rows.execute(
            "insert or replace into notes values (?, ?)", (query, batch_id)
        )

    def noted(self, query: str) -> int | None:
        """The value last noted for this query, or None."""
        found = self._rows.execute(
            "select batch_id from notes where query = ?", (query,)
        ).fetchone()
        return found and int(found[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made inside count when it ends, all together; if it ends with an
        error, none of them counts.
        """
        self._rows.execute("begin")
        try:
            yield
        except BaseException:
            self._rows.execute("rollback")
            raise
        self._rows.execute("commit")

    def ids(self) -> list[str]:
        """The posting_id of each row, in order of writing."""
        return [posting_id for posting_id, _, _ in self.rows()]

    def rows(self) -> list[tuple[str, str, int]]:
        """(posting_id, account_id, cents) of each row, in order of writing."""
        columns = "posting_id, account_id, amount_cents"
        found = self._rows.execute(f"select {columns} from postings order by rowid")
        return list(found)

    def total(self) -> int:
        """The sum of all amounts, in cents."""
        return sum(self.balances().values())

    def balances(self) -> dict[str, int]:
        """The balance of each account in cents, summed over all postings."""
        summed = (
            "select account_id, sum(amount_cents) from postings group by account_id"
            " order by account_id"
        )
        return dict(self._rows.execute(summed))

    def twice(self) -> int:
        """How many rows repeat another one."""
        return len(self) - len(set(self.ids()))


def balances_of(postings: dict[str, tuple[str, int]]) -> dict[str, int]:
    """The right balances: posting_id -> (account_id, cents), each counted once."""
    found: Counter[str] = Counter()
    for account, cents in postings.values():
        found[account] += cents
    return dict(sorted(found.items()))


def life(
    writer: Any, sink: Sink, moment: Moment | None = None, bank: Bank | None = None
) -> str:
    """One life of a query: until it has read what is there, or the plug is pulled.
    Returns what it did, in a line.

    writer: a DataStreamWriter with checkpoint and availableNow. bank: needed where the
    plug is pulled "in" its sink.
    """
    from pyspark.errors import StreamingQueryException

    did: list[str] = []

    def doomed(frame: Any, batch_id: int) -> None:
        when = moment.when if moment and moment.batch_id == batch_id else ""
        if when == "before":
            did.append(f"plug pulled before batch {batch_id} is written")
            raise PlugPulled
        if when == "in":
            assert bank is not None
            did.append(f"plug pulled while batch {batch_id} is written")
            bank.fuse = frame.count() // 2
        sink(frame, batch_id)
        if when == "after":
            did.append(f"batch {batch_id} written; plug pulled before its commit")
            raise PlugPulled
        did.append(f"batch {batch_id} written and committed")

    try:
        writer.foreachBatch(doomed).start().awaitTermination()
    except StreamingQueryException as error:
        if PlugPulled.__name__ not in str(error):
            raise
    finally:
        if bank is not None:
            bank.fuse = None
    return "; ".join(did) or "nothing to do"


def drill(writer: Any, sink: Sink, moments: Iterable[Moment], bank: Bank) -> list[str]:
    """A life for each moment, and one that nobody ends; a line for each."""
    return [life(writer, sink, moment, bank) for moment in (*moments, None)]


def write_once(
    bank: Bank, query: str, batch_id: int, postings: list[tuple[str, str, int]]
) -> None:
    """Adds the postings of a micro-batch to the bank, once, whenever the process is
    killed and started again.
    """
    with bank.transaction():
        noted = bank.noted(query)
        if noted is not None and batch_id <= noted:
            return
        for posting_id, account_id, amount_cents in postings:
            bank.add(posting_id, account_id, amount_cents)
        bank.note(query, batch_id)


def made_anew(kafka: "Connection", topic: str, partitions: int = 3) -> None:
    """Deletes a topic and makes one of its name."""
    admin = kafka.admin()
    try:
        admin.delete_topics([topic])
        while topic in admin.list_topics():
            time.sleep(0.05)
        admin.create_topics(
            {topic: {"num_partitions": partitions, "configs": {"retention.ms": "-1"}}}
        )
        admin.wait_for_topics([topic], 120_000)
    finally:
        admin.close()


def checkpoint_of(checkpoint: str) -> tuple[dict[int, dict[int, int]], set[int]]:
    """The content of a checkpoint's two folders: micro-batch -> partition -> the offset
    where it ends; and which are committed.

    For a query that reads one topic.
    """
    offsets = {}
    for number in _numbers(checkpoint, "offsets"):
        [ends] = json.loads(
            Path(checkpoint, "offsets", str(number)).read_text().splitlines()[-1]
        ).values()
        offsets[number] = {int(partition): offset for partition, offset in ends.items()}
    return offsets, set(_numbers(checkpoint, "commits"))


def _numbers(checkpoint: str, folder: str) -> list[int]:
    return sorted(
        int(path.name)
        for path in Path(checkpoint, folder).glob("[0-9]*")
        if path.name.isdigit()
    )


def forget_last_commit(checkpoint: str) -> int:
    """Takes away the newest file in commits/: what a query leaves that was killed just
    before it wrote that file.

    Returns the micro-batch's number.
    """
    newest = _numbers(checkpoint, "commits")[-1]
    for name in (str(newest), f".{newest}.crc"):
        Path(checkpoint, "commits", name).unlink(missing_ok=True)
    return newest
