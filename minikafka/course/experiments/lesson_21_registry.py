"""A schema registry: who may write what into a topic, kept in a topic of its own.

Confluent's and Karapace work like this one: one partition, compacted, `_schemas`, is all
that they keep. What they know is that topic, read to its end. The keys and values of
its records are Confluent's. Clients ask over HTTP: lesson_21_http.py.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

from minikafka.course.experiments.lesson_21_compatibility import must_read, trouble

TOPIC = "_schemas"
MAGIC, HEADER = 0, struct.Struct(">bI")  # a zero byte, and the id: four bytes


class Log:
    """A topic of one partition as a registry needs it, by clients of any make that have
    kafka-python's names. consumer: assigned to the partition, at its beginning.
    """

    def __init__(self, topic: str, producer: Any, consumer: Any) -> None:
        self.topic, self.producer, self.consumer = topic, producer, consumer

    def append(self, key: Any, value: Any) -> None:
        """Writes a record, and waits until the broker has it."""
        key, value = json.dumps(key).encode(), json.dumps(value).encode()
        self.producer.send(self.topic, key=key, value=value).get()

    def rest(self) -> Iterator[tuple[Any, Any]]:
        """Key and value of each record from where it stands to the end."""
        [partition] = self.consumer.assignment()
        end = self.consumer.end_offsets([partition])[partition]
        while self.consumer.position(partition) < end:
            for records in self.consumer.poll(timeout_ms=100).values():
                for record in records:
                    yield json.loads(record.key), json.loads(record.value)


class Incompatible(Exception):
    """A schema that this subject refuses; its text says why."""


class Registry:
    """subjects: a name, such as orders-value, and the ids of its versions, oldest
    first. schemas: id -> what was registered. levels: a subject's own, or all others'
    by "".
    """

    def __init__(self, log: Log, level: str = "BACKWARD") -> None:
        self.log = log
        self.subjects: dict[str, list[int]] = {}
        self.schemas: dict[int, dict[str, Any]] = {}
        self.levels = {"": level}
        self.catch_up()

    def catch_up(self) -> None:
        """Reads what the topic has that it hasn't read: on its start, everything."""
        for key, value in self.log.rest():
            subject = key["subject"]
            if key["keytype"] == "CONFIG":
                self.levels[subject or ""] = value["compatibilityLevel"]
            else:
                schema = {"schemaType": "AVRO", **value}
                self.schemas[value["id"]] = schema
                self.subjects.setdefault(subject, []).append(value["id"])

    def register(self, subject: str, **schema: Any) -> int:
        """The id of this schema: the one that it has, or the next one. Raises
        Incompatible.
        """
        self.catch_up()
        known = self.version(subject, **schema)
        if known is not None:
            return self.subjects[subject][known - 1]
        if refusal := self.refuses(subject, **schema):
            raise Incompatible(refusal)
        same = [number for number in self.schemas if self._is(number, schema)]
        number = same[0] if same else max(self.schemas, default=0) + 1
        version = len(self.subjects.get(subject, [])) + 1
        named = {"subject": subject, "version": version}
        key = {"keytype": "SCHEMA", **named, "magic": 1}
        self.log.append(key, {**named, "id": number, **schema, "deleted": False})
        self.catch_up()
        return number

    def version(self, subject: str, **schema: Any) -> int | None:
        """The version that this schema is of a subject, from 1; None if it is none."""
        for place, number in enumerate(self.subjects.get(subject, []), 1):
            if self._is(number, schema):
                return place
        return None

    def refuses(self, subject: str, **schema: Any) -> str | None:
        """Why this schema can't be the subject's next version, or None."""
        level = self.levels.get(subject, self.levels[""])
        versions = [self.schemas[each] for each in self.subjects.get(subject, [])]
        for reader, writer in must_read(schema, versions, level):
            if reason := trouble(reader, writer):
                return f"{level}: {reason}"
        return None

    def set_level(self, subject: str, level: str) -> None:
        """What the next versions of a subject are held to; "" is all others."""
        key = {"keytype": "CONFIG", "subject": subject or None, "magic": 0}
        self.log.append(key, {"compatibilityLevel": level})
        self.catch_up()

    def _is(self, number: int, schema: dict[str, Any]) -> bool:
        """Whether the schema of this id is this one."""
        known = {"references": [], **self.schemas[number]}
        given = {"references": [], "schemaType": "AVRO", **schema}
        return all(known[name] == given[name] for name in given)


def framed(number: int, data: bytes) -> bytes:
    """A value as Confluent's serializers write it: magic byte, id, data."""
    return HEADER.pack(MAGIC, number) + data


def unframed(value: bytes) -> tuple[int, bytes]:
    """The schema's id, and the data behind it. Raises ValueError for what begins
    otherwise.
    """
    if len(value) < HEADER.size or value[0] != MAGIC:
        raise ValueError(f"no schema's id in front: it begins with {value[:5]!r}")
    _, number = HEADER.unpack_from(value)
    return number, value[HEADER.size :]
