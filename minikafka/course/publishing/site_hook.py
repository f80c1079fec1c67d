"""The question at the top of the front page, which is lesson 00's: it is answered by a
click in the picture, without Python.

What the page shows comes from a run that is made with it: where each record went and
why, and what a reader got in which order.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from minikafka.course.contents import contents
from minikafka.course.predictions import explained
from minikafka.simulation.cluster import Cluster
from minikafka.theatre.text import escape, script_json
from minikafka.trace import Event

TOPIC, KEY = "orders", "alice"
PARTITIONS_AT_FIRST, PARTITIONS = 2, 3
PLACES = 5  # of records, in a partition's row
TOLD_OF_A_CHOICE = ("value", "key", "hash", "partitions", "partition")


def run() -> list[Event]:
    """Alice's two records, a partition that is added in between, and a reader of all:
    the calls of lesson 00.
    """
    with Cluster(seed=7) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS_AT_FIRST)
        shop = cluster.producer(client_id="shop")
        shop.send(TOPIC, key=KEY, value="created")
        cluster.run(seconds=1)
        cluster.create_partitions(TOPIC, PARTITIONS)
        cluster.run(seconds=300)
        shop.send(TOPIC, key=KEY, value="paid")
        cluster.run(seconds=1)
        reader = cluster.consumer(
            TOPIC, auto_offset_reset="earliest", client_id="reader"
        )
        reader.poll(timeout_ms=1000)
        return list(cluster.trace)


def facts(trace: Sequence[Event]) -> dict[str, Any]:
    """The data that the page plays, as JSON: the choice of each record's partition, the
    records that were read, and the truth about each answer.
    """
    chosen, read = [], []
    for event in trace:
        if event.kind == "PartitionChosen":
            chosen.append({name: event.detail[name] for name in TOLD_OF_A_CHOICE})
        if event.kind == "RecordsPolled":
            for _, _, value in event.detail["records"]:
                read.append({"partition": event.detail["partition"], "value": value})
    asked = contents()["00"].predictions[0]
    because = explained()[asked.question]
    return {
        "chosen": chosen,
        "read": read,
        "because": [because[option] for option in asked.options],
    }


def parts() -> dict[str, str]:
    """Those of site_front.html that ask and answer."""
    found = facts(run())
    before, asked = found["chosen"]
    lanes = [_lane(number, before) for number in range(PARTITIONS)]
    *story, question = contents()["00"].predictions[0].question.split(". ")
    return {
        "before": escape(". ".join(story)),
        "question": escape(question.replace("'", "’")),
        "lanes": "\n".join(lanes),
        "asked": record(asked),
        "answers": "\n".join("<li></li>" for _ in found["read"]),
        "facts": script_json(found),
        "hook": script(),
    }


def _lane(number: int, before: dict[str, Any]) -> str:
    """A partition as it is when the question is asked."""
    is_new = number >= before["partitions"]
    held = [record(before)] if number == before["partition"] else []
    places = []
    for offset in range(PLACES):
        inside = held[offset] if offset < len(held) else ""
        places.append(f'<span class="place" data-offset="{offset}">{inside}</span>')
    new = ' <em class="chip">new</em>' if is_new else ""
    return (
        f'<button type="button" class="lane" data-partition="{number}">'
        f"<b>partition {number}{new}</b>"
        f'<span class="row">{"".join(places)}</span></button>'
    )


def record(choice: dict[str, Any]) -> str:
    """A record: its key's letter, and its value."""
    letter, value = escape(choice["key"][0]), escape(choice["value"])
    return f'<span class="record" data-value="{value}"><i>{letter}</i>{value}</span>'


def script() -> str:
    """The script that plays it, as it is in its element."""
    text = files(__package__).joinpath("site_hook.js").read_text(encoding="utf-8")
    return f"\n{text}"
