"""Lesson 19's sinks and the ways its query is killed: a bank in a file that executors
write to, accounts that the driver adds to, and moments at which the plug is pulled.

The query runs in the notebook's own process, which can't be killed without the
notebook. So on the driver an error is raised at that moment: Spark stops there, and the
checkpoint is what it would be after kill -9. A task's process is really killed.
(`minikafka pipeline` kills a driver.)
"""

import atexit
import json
import os
import shutil
import signal
import sqlite3
import tempfile
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

# a row of a posting: where its record is in the topic, and what it says
COLUMNS = "part int, at int, posting_id text, account_id text, amount_cents int"
INSERT = "INSERT INTO postings VALUES (?, ?, ?, ?, ?)"
BY_OFFSET = f"{INSERT} ON CONFLICT (part, at) DO NOTHING"
BY_ID = (
    f"{INSERT} ON CONFLICT (posting_id) DO UPDATE"
    " SET account_id = excluded.account_id, amount_cents = excluded.amount_cents"
)

_ACCOUNTS = """
create table accounts (account_id text primary key, postings int, cents int);
create table notes (query text primary key, batch_id int);
"""


class PlugPulled(Exception):
    """Raised where the process is to end, as if somebody had pulled the plug."""


# what Spark says of a task whose process was killed
_CRASHED = "Python worker exited unexpectedly"


class Moment(NamedTuple):
    """When the plug is pulled: in this micro-batch, "before" its sink, "in" the middle
    of it, or "after" it. row: "in" is before this row, counted from 1.
    """

    batch_id: int
    when: str
    row: int = 5


class Fuse(NamedTuple):
    """Before which call of a sink its process ends: the number-th of this name, counted
    from 1. task: the one whose process it is, if the calls are those of executors.
    """

    call: str
    number: int = 1
    task: int = 0


class _Calls:
    def __init__(self, fuse: Fuse | None) -> None:
        self._fuse = fuse
        self._made: Counter[str] = Counter()

    def before(self, name: str) -> None:
        """Ends the process, if it is to end before this call."""
        self._made[name] += 1
        fuse = self._fuse
        if fuse is None or fuse[:2] != (name, self._made[name]):
            return
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            raise PlugPulled
        if task.partitionId() == fuse.task:
            os.kill(os.getpid(), signal.SIGKILL)


class _Doomed:
    """A database whose caller may be killed."""

    def __init__(self) -> None:
        self.fuse = None

    @property
    def fuse(self) -> Fuse | None:
        """Before which call the process ends, counted from when this was set."""
        return self._fuse

    @fuse.setter
    def fuse(self, fuse: Fuse | None) -> None:
        self._fuse, self._calls = fuse, _Calls(fuse)


class Bank(_Doomed):
    """A table of postings in a database that survives the query: a file, which
    executors open, too. table: its columns and keys, in SQL.
    """

    def __init__(self, table: str = COLUMNS) -> None:
        super().__init__()
        folder = tempfile.mkdtemp(prefix="minikafka-bank-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.path = str(Path(folder, "bank.db"))
        self._ask(f"create table postings ({table})")

    def __repr__(self) -> str:
        return f"Bank: {len(self)} postings, {self.total()} cents in all"

    def __len__(self) -> int:
        return len(self.ids())

    @contextmanager
    def transaction(self) -> Iterator["Rows"]:
        """Rows written inside count when it ends, all together; if it ends with an
        error, or never, none of them counts.
        """
        self._calls.before("begin")
        database = sqlite3.connect(self.path, isolation_level=None, timeout=120)
        try:
            database.execute("begin immediate")
            yield Rows(database, self._calls)
            self._calls.before("commit")
            database.execute("commit")
            self._calls.before("end")
        finally:
            database.close()

    def _ask(self, sql: str) -> list[Any]:
        database = sqlite3.connect(self.path, timeout=120)
        try:
            with database:
                return list(database.execute(sql))
        finally:
            database.close()

    def ids(self) -> list[str]:
        """Every row's posting_id."""
        return [found for (found,) in self._ask("select posting_id from postings")]

    def total(self) -> int:
        """The sum of all amounts, in cents."""
        return sum(self.balances().values())

    def balances(self) -> dict[str, int]:
        """Account -> its balance in cents, summed over all postings."""
        summed = (
            "select account_id, sum(amount_cents) from postings group by account_id"
            " order by account_id"
        )
        return dict(self._ask(summed))

    def twice(self) -> int:
        """How many rows repeat a posting."""
        return len(self) - len(set(self.ids()))


class Rows:
    """A transaction of the bank that is still open."""

    def __init__(self, database: sqlite3.Connection, calls: _Calls) -> None:
        self._database, self._calls = database, calls

    def executemany(self, statement: str, rows: Iterable[Any]) -> None:
        """The statement for each row."""
        for row in rows:
            self._calls.before("row")
            self._database.execute(statement, tuple(row))


def each_partition(bank: Bank, statement: str) -> Callable[[Iterable[Any]], None]:
    """For foreachPartition: a task's rows in one transaction."""

    def write(rows: Iterable[Any]) -> None:
        with bank.transaction() as database:
            database.executemany(statement, rows)

    return write


class Accounts(_Doomed):
    """Balances in a database that survives the query; a driver adds to them."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._rows.executescript(_ACCOUNTS)

    def __repr__(self) -> str:
        return f"Accounts: {len(self.rows())}, {len(self)} postings"

    def __len__(self) -> int:
        return sum(count for _, count, _ in self.rows())

    def add(self, account_id: str, postings: int, cents: int) -> None:
        """Add this many postings and cents to the account."""
        self._calls.before("row")
        self._rows.execute(
            "insert into accounts values (?, ?, ?) on conflict (account_id) do update"
            " set postings = postings + excluded.postings,"
            " cents = cents + excluded.cents",
            (account_id, postings, cents),
        )

    def note(self, query: str, batch_id: int) -> None:
        """The newest micro-batch of this query that has been added."""
        self._calls.before("note")
        self._rows.execute(
            "insert or replace into notes values (?, ?)", (query, batch_id)
        )

    def noted(self, query: str) -> int | None:
        """The value last noted for this query, or None."""
        self._calls.before("noted")
        found = self._rows.execute(
            "select batch_id from notes where query = ?", (query,)
        ).fetchone()
        return found and int(found[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made inside count when it ends, all together; if it ends with an
        error, none of them counts.
        """
        self._calls.before("begin")
        self._rows.execute("begin")
        try:
            yield
            self._calls.before("commit")
        except BaseException:
            self._rows.execute("rollback")
            raise
        self._rows.execute("commit")
        self._calls.before("end")

    def balances(self) -> dict[str, int]:
        """Account -> its balance in cents."""
        return {account: cents for account, _, cents in self.rows()}

    def rows(self) -> list[tuple[str, int, int]]:
        """(account_id, postings, cents), by account."""
        return list(self._rows.execute("select * from accounts order by account_id"))


def balances_of(postings: dict[str, tuple[str, int]]) -> dict[str, int]:
    """The right balances: posting_id -> (account_id, cents), each counted once."""
    found: Counter[str] = Counter()
    for account, cents in postings.values():
        found[account] += cents
    return dict(sorted(found.items()))


def life(
    writer: Any,
    sink: Sink,
    moment: Moment | None = None,
    bank: Bank | Accounts | None = None,
) -> str:
    """One life of a query: until it has read what is there, or the plug is pulled.
    Returns what it did, in a line.

    writer: a DataStreamWriter with checkpoint and availableNow. bank: needed where the
    plug is pulled "in" its sink.
    """
    did: list[str] = []

    def doomed(frame: Any, batch_id: int) -> None:
        when = moment.when if moment and moment.batch_id == batch_id else ""
        if when == "before":
            did.append(f"plug pulled before batch {batch_id} is written")
            raise PlugPulled
        if when == "in":
            assert bank is not None and moment is not None
            did.append(f"plug pulled while batch {batch_id} is written")
            bank.fuse = Fuse("row", moment.row)
        sink(frame, batch_id)
        if when == "after":
            did.append(f"batch {batch_id} written; plug pulled before its commit")
            raise PlugPulled
        did.append(f"batch {batch_id} written and committed")

    try:
        until_it_ends(writer.foreachBatch(doomed))
    finally:
        if bank is not None:
            bank.fuse = None
    return "; ".join(did) or "nothing to do"


def until_it_ends(writer: Any) -> bool:
    """Starts a query and waits. Was its plug pulled?"""
    from pyspark.errors import StreamingQueryException

    try:
        writer.start().awaitTermination()
    except StreamingQueryException as error:
        if PlugPulled.__name__ not in str(error) and _CRASHED not in str(error):
            raise
        return True
    return False


def drill(
    writer: Any, sink: Sink, moments: Iterable[Moment], bank: Bank | Accounts
) -> list[str]:
    """A life for each moment, and one that nobody ends; a line for each."""
    return [life(writer, sink, moment, bank) for moment in (*moments, None)]


def write_once(
    bank: Accounts, query: str, batch_id: int, sums: list[tuple[str, int, int]]
) -> None:
    """Adds the sums of a micro-batch to the accounts, once, whenever the process is
    killed and started again.
    """
    with bank.transaction():
        noted = bank.noted(query)
        if noted is not None and batch_id <= noted:
            return
        for account_id, postings, cents in sums:
            bank.add(account_id, postings, cents)
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


def unlist_last(folder: str, checkpoint: str) -> int:
    """Takes away the newest list in a file sink's _spark_metadata, and its commit: what
    a query leaves that was killed when its files were written, and not yet listed.

    Returns the micro-batch's number.
    """
    newest = forget_last_commit(checkpoint)
    for name in (str(newest), f".{newest}.crc"):
        Path(folder, "_spark_metadata", name).unlink(missing_ok=True)
    return newest
