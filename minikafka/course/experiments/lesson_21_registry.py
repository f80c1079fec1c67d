"""A schema registry: who may write what into a topic, kept in a topic of its own.

Confluent's and Karapace work like this one: one partition, compacted, `_schemas`, is all
that they keep. What they know is that topic, read to its end. The keys and values of
its records are Confluent's. Clients ask over HTTP: lesson_21_http.py.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

from minikafka.course.experiments.lesson_21_compatibility import (
    Schema,
    must_read,
    trouble,
)

TOPIC = "_schemas"
MAGIC = 0
HEADER = struct.Struct(">bI")  # the magic byte, and the id: four bytes
PLAIN = {"schemaType": "AVRO", "references": []}  # unless a schema says otherwise


class Log:
    """A topic of one partition as a registry needs it, by clients of any make that have
    kafka-python's names. consumer: assigned to the partition, at its beginning.
    """

    def __init__(self, topic: str, producer: Any, consumer: Any) -> None:
        self.topic = topic
        self.producer = producer
        self.consumer = consumer

    def append(self, key: Any, value: Any) -> None:
        """Writes a record, and waits until the broker has it."""
        sent = self.producer.send(
            self.topic,
            key=json.dumps(key).encode(),
            value=json.dumps(value).encode(),
        )
        sent.get()

    def rest(self) -> Iterator[tuple[Any, Any]]:
        """Key and value of each record from the current position to the end."""
        [partition] = self.consumer.assignment()
        end = self.consumer.end_offsets([partition])[partition]
        while self.consumer.position(partition) < end:
            polled = self.consumer.poll(timeout_ms=100)
            for record in polled.get(partition, ()):
                yield json.loads(record.key), json.loads(record.value)


class Incompatible(Exception):
    """A schema that this subject refuses; its text says why."""


class Registry:
    """The content of a registry.

    subjects: a name, such as orders-value, and the ids of its versions, oldest first.
    schemas: id -> what was registered. levels: the compatibility level for a subject's
    next version; "" is for every other subject.
    """

    def __init__(self, log: Log, level: str = "BACKWARD") -> None:
        self.log = log
        self.subjects: dict[str, list[int]] = {}
        self.schemas: dict[int, Schema] = {}
        self.levels = {"": level}
        self.catch_up()

    def catch_up(self) -> None:
        """Read what is new in the topic. At the start that is everything."""
        for key, value in self.log.rest():
            subject = key["subject"]
            if key["keytype"] == "CONFIG":
                self.levels[subject or ""] = value["compatibilityLevel"]
            else:
                number = value["id"]
                self.schemas[number] = {**PLAIN, **value}
                self.subjects.setdefault(subject, []).append(number)

    def register(self, subject: str, **schema: Any) -> int:
        """The id of this schema: the one that it has, or the next one. Raises
        Incompatible.
        """
        self.catch_up()
        known = self.version(subject, **schema)
        if known is not None:
            return self.subjects[subject][known - 1]
        refusal = self.refuses(subject, **schema)
        if refusal is not None:
            raise Incompatible(refusal)
        number = self._id_for(schema)
        versions = self.subjects.get(subject, [])
        named = {"subject": subject, "version": len(versions) + 1}
        key = {"keytype": "SCHEMA", **named, "magic": 1}
        value = {**named, "id": number, **schema, "deleted": False}
        self.log.append(key, value)
        self.catch_up()
        return number

    def version(self, subject: str, **schema: Any) -> int | None:
        """The version that this schema is in a subject, from 1; None if it
        isn't in it.
        """
        versions = self.subjects.get(subject, [])
        for place, number in enumerate(versions, 1):
            if self._is(number, schema):
                return place
        return None

    def refuses(self, subject: str, **schema: Any) -> str | None:
        """Why this schema can't be the subject's next version, or None."""
        level = self.levels.get(subject, self.levels[""])
        numbers = self.subjects.get(subject, [])
        versions = [self.schemas[number] for number in numbers]
        for reader, writer in must_read(schema, versions, level):
            reason = trouble(reader, writer)
            if reason is not None:
                return f"{level}: {reason}"
        return None

    def set_level(self, subject: str, level: str) -> None:
        """Set the compatibility level for the next versions of a subject; "" is for all
        others.
        """
        key = {"keytype": "CONFIG", "subject": subject or None, "magic": 0}
        self.log.append(key, {"compatibilityLevel": level})
        self.catch_up()

    def _id_for(self, schema: Schema) -> int:
        """A schema has one id, in however many subjects it is."""
        for number in self.schemas:
            if self._is(number, schema):
                return number
        return max(self.schemas, default=0) + 1

    def _is(self, number: int, schema: Schema) -> bool:
        """Whether the schema of this id is this one."""
        known = self.schemas[number]
        wanted = {**PLAIN, **schema}
        return all(known[name] == wanted[name] for name in wanted)


def framed(number: int, data: bytes) -> bytes:
    """A value as Confluent's serializers write it: magic byte, id, data."""
    return HEADER.pack(MAGIC, number) + data


def unframed(value: bytes) -> tuple[int, bytes]:
    """The schema's id, and the data behind it. Raises ValueError for what begins
    otherwise.
    """
    if len(value) < HEADER.size or value[0] != MAGIC:
        raise ValueError(f"no schema id in front: it begins with {value[:5]!r}")
    _, number = HEADER.unpack_from(value)
    return number, value[HEADER.size :]
