"""Lesson 24's extra: programs that log in and write at once, under a quota; and for how
long the broker tells each to be silent (KIP-13, KIP-219).
"""

import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_logins import KafkaPythons, Line, logged_in
from minikafka.course.experiments.lesson_24_rules import SECRET, as_user
from minikafka.course.experiments.lesson_24_wire import PATIENCE_S, TOPIC, free_port
from minikafka.server.proxy import LOOPBACK

USERS = ("loader", "billing")
RATE = "producer_byte_rate"
LOOK_S = 0.1


class Quota(NamedTuple):
    """Bytes a second that one client may write. kind: "user" or "client-id"."""

    kind: str
    name: str
    rate: int


def by_user(name: str, rate: int) -> Quota:
    return Quota("user", name, rate)


def by_client_id(name: str, rate: int) -> Quota:
    return Quota("client-id", name, rate)


class Writer(NamedTuple):
    """A program that writes one record of so many bytes."""

    user: str
    client_id: str
    size: int


def silent_for(quota: Quota, writers: Sequence[Writer]) -> list[int]:
    """The programs write one after the other. Prints and returns for how many seconds
    the broker tells each to be silent.
    """
    port = free_port()
    with wire.broker("SASL_PLAINTEXT", port, users=dict.fromkeys(USERS, SECRET)):
        set_quota(port, quota)
        found = [throttled(f"{LOOPBACK}:{port}", writer) for writer in writers]
    kind = quota.kind.replace("-", " ")
    print(f"{quota.rate:,} bytes a second for the {kind} {quota.name}")
    for writer, seconds in zip(writers, found, strict=True):
        who = f"{writer.user} as {writer.client_id} writes {writer.size:,} bytes"
        print(f"  {who}: silent for {seconds} s")
    return found


def set_quota(port: int, quota: Quota) -> None:
    """Returns when the broker has it."""
    entity = {"entity_type": quota.kind, "entity_name": quota.name}
    value = {"key": RATE, "value": quota.rate, "remove": False}
    asked = {"entity_type": quota.kind, "match_type": 0, "match": quota.name}
    with Line(port) as line:
        logged_in(line, KafkaPythons(USERS[0], SECRET, "quota"))
        line.ask(
            "AlterClientQuotas",
            1,
            entries=[{"entity": [entity], "ops": [value]}],
            validate_only=False,
        )
        while not line.ask(
            "DescribeClientQuotas", 1, components=[asked], strict=True
        ).entries:
            time.sleep(LOOK_S)


def throttled(address: str, writer: Writer) -> int:
    """For how many seconds the broker tells a producer to be silent."""
    from kafka import KafkaProducer

    log = logging.getLogger("kafka.net.connection")
    before = log.level
    log.setLevel(logging.ERROR)  # it warns about every throttle
    producer: Any = KafkaProducer(
        **as_user(address, writer.user), client_id=writer.client_id
    )
    try:
        producer.send(TOPIC, bytes(writer.size)).get(PATIENCE_S)
        told_ms = producer.metrics()["producer-metrics"]["throttle-time-max"]
    finally:
        producer.close(timeout=0)
        log.setLevel(before)
    return round(told_ms / 1000)
