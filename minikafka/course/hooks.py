"""The picture at the top of a lesson: an SVG file in notebooks/pictures, made here and tested to be current.

It says what the lesson is about to someone who only reads, and gives none of its predictions away.
`python -m minikafka.course.hooks` writes them all.
"""

from __future__ import annotations

from pathlib import Path

from minikafka import Cluster
from minikafka.course.lessons import NOTEBOOKS
from minikafka.course.spark_picture import a_query_and_its_checkpoint

PICTURES = NOTEBOOKS / "pictures"


def start_here() -> str:
    """Lesson 00: created is written, and there is a partition more."""
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=2)
    cluster.producer(client_id="shop").send("orders", key="alice", value="created")
    cluster.run(seconds=1)
    cluster.create_partitions("orders", 3)
    return cluster.play("log").svg()


def the_log() -> str:
    """Lesson 01: two readers of one log in three segments."""
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=1, configs={"segment.ms": 5000})
    shop = cluster.producer(client_id="shop")
    billing = cluster.consumer("orders", auto_offset_reset="earliest", client_id="billing")
    audit = cluster.consumer("orders", auto_offset_reset="earliest", client_id="audit")
    for number in range(14):
        shop.send("orders", key=("alice", "bob", "carol")[number * 5 % 3], value=f"order {number}")
        cluster.run(seconds=1)
        if number == 7:
            billing.poll(timeout_ms=100)
        if number == 12:
            while audit.poll(timeout_ms=100):
                pass
    return cluster.play("log").svg()


def partitions_and_keys() -> str:
    """Lesson 02: where six keys go."""
    cluster = Cluster(seed=4)
    cluster.create_topic("orders", partitions=3)
    shop = cluster.producer(client_id="shop")
    for key in ("alice", "bob", "carol", "dave", "frank", "ivan"):
        shop.send("orders", key=key, value="created")
        cluster.run(seconds=1)
    return cluster.play("partitioner").svg()


HOOKS = {"00": start_here, "01": the_log, "02": partitions_and_keys, "17": a_query_and_its_checkpoint}


def path(number: str) -> Path:
    """Where the lesson's picture is."""
    return PICTURES / f"{number}.svg"


if __name__ == "__main__":
    for number, draw in HOOKS.items():
        path(number).write_text(draw(), encoding="utf-8")
