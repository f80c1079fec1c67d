"""A store outside Kafka, such as a database's table: a program's effects show there,
and outlive its crashes.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.clients.structs import ConsumerRecord, text
from minikafka.simulation.calls import recorded
from minikafka.simulation.environment import Environment
from minikafka.simulation.programs import never
from minikafka.trace import printable

WAY_MS = 1  # to the store, and the same back


class Row(NamedTuple):
    """A row that was written. topic, partition, offset: of the record that caused it,
    if one was given.
    """

    key: str | None
    value: Any
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class Table:
    """Rows in the order they were written; nothing makes them unique.

    A write is a blocking call: a crash may strike before it has any effect, or
    afterwards, before the program knows.
    """

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        self.name = name
        self.call_name = ("table", name)
        self.book = environment.book
        self._rows: list[Row] = []

    @recorded
    def add(self, record_or_key: Any, value: Any = None) -> None:
        """Write a row: the effect of a record (by default with the record's value), or
        a key with a value.
        """
        kernel = self._environment.kernel
        kernel.programs.enter("add")
        if isinstance(record_or_key, ConsumerRecord):
            record = record_or_key
            shown = text(record.value) if value is None else value
            row = Row(
                text(record.key), shown, record.topic, record.partition, record.offset
            )
        else:
            row = Row(text(record_or_key), value)
        kernel.wait(never, WAY_MS)
        self._rows.append(row)
        trace = self._environment.trace_of_writer()
        if trace:
            trace.emit(
                "EffectWritten",
                table=self.name,
                **{**row._asdict(), "value": text(row.value)},
            )
        kernel.wait(never, WAY_MS)

    def __contains__(self, record_or_key: Any) -> bool:
        """Whether there is a row for this record, or this key."""
        if isinstance(record_or_key, ConsumerRecord):
            place = (record_or_key.topic, record_or_key.partition, record_or_key.offset)
            return any(
                (row.topic, row.partition, row.offset) == place for row in self._rows
            )
        return any(row.key == text(record_or_key) for row in self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(list(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<table {printable(self.name)}: {len(self)} row(s)>"
