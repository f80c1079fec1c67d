"""Names that try to be more than text, and traces in which everything that a client may
name is one of them.
"""

import json
from itertools import cycle

from kafka import KafkaConsumer, KafkaProducer

from minikafka import Cluster
from minikafka.faults import Lose
from minikafka.server.embedded import Served
from minikafka.trace import Event

NAMES = [
    "{{play}} onload=hit() x",
    "{{title}}{{js}}{{css}}",
    "\"' onload=hit() onerror=hit() '\"",
    "<img src=x onerror=hit()>",
    "</script><script>hit()</script>",
    "<!--<script>hit()//",
    "</title></style></svg><svg onload=hit()>",
    "]]><script xmlns='http://www.w3.org/1999/xhtml'>hit()</script>",
    "&lt;script&gt;hit()&lt;/script&gt;",
    "one\u2028hit()\u2029line\nand\r\nmore\ttabs",
    "\x00\x01\x08\x0b\x1b[31mred\x1b[0m\x07\x7f\x85\x9f",
    "\u202egnp.exe\u202c\u2066\u200f\ufeff\u200b",
    "\ufffe\uffff\U0001ffff",
    "A/letter",
    "written",
    "cursor",
    "beside broker 1",
    "__proto__",
    "x" * 20_000,
    "y'\"<&" * 4_000,
]


def simulated(protocol="classic"):
    """A run in a simulation: records in two partitions, effects outside Kafka, a member
    that joins, one that leaves.
    """
    name = cycle(NAMES).__next__
    shop, table = name(), "".join(NAMES[:12])
    with Cluster(
        seed=7, faults=[Lose(shop, 1, "Produce", nth=3, answer=True)]
    ) as cluster:
        cluster.create_topic("orders", partitions=2)
        producer = cluster.producer(
            client_id=shop, linger_ms=0, delivery_timeout_ms=40_000
        )
        group = "".join(name[:100] for name in NAMES)
        told = cluster.table(table)

        def work(consumer):
            for record in consumer:
                told.add(record)
                consumer.commit()

        def join():
            names = {
                "group_id": group,
                "client_id": name(),
                "group_instance_id": name()[:200],
            }
            consumer = cluster.consumer(
                "orders", auto_offset_reset="earliest", group_protocol=protocol, **names
            )
            cluster.start(work, consumer)
            return consumer

        members = [join() for _ in range(4)]
        for key, value in zip(NAMES, reversed(NAMES), strict=True):
            producer.send("orders", key=key, value=value)
            cluster.run(seconds=0.4)
        cluster.freeze(members[0], seconds=3)
        join()
        cluster.run(seconds=3)
        members[1].close()
        cluster.crash(members[2])
        cluster.run(seconds=1)
        return list(cluster.trace)


def shared():
    """A share group: its id, its members and its records; one member is killed, another
    one gives records back.
    """
    name = cycle(NAMES).__next__
    group = "".join(each[:12] for each in NAMES)
    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs(group, {"share.auto.offset.reset": "earliest"})
        producer = cluster.producer(client_id="shop", linger_ms=0)
        for key, value in zip(NAMES, reversed(NAMES), strict=True):
            producer.send("orders", key=key, value=value)
            producer.flush()
        members = [
            cluster.share_consumer(
                "orders",
                group_id=group,
                client_id=name(),
                max_poll_records=2,
                share_acknowledgement_mode="explicit",
            )
            for _ in range(4)
        ]
        for turn in range(3):
            for member in members:
                for records in member.poll(timeout_ms=3000).values():
                    for record in records:
                        member.acknowledge(record, ("accept", "release")[turn == 1])
                member.commit_sync()
        members[0].poll(timeout_ms=3000)
        cluster.crash(members[0])
        cluster.run(seconds=1)
        return list(cluster.trace)


def served(folder):
    """The same from real clients over TCP: client ids, group ids, member names, keys
    and values.
    """
    trace = folder / "trace.jsonl"
    with Served(
        trace=trace, options=["--override", "group.initial.rebalance.delay.ms=0"]
    ) as kafka:
        short = [name[:3_000] for name in NAMES if name]
        for number, name in enumerate(short):
            producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, client_id=name)
            producer.send(
                "orders", key=name.encode(), value=short[-1 - number].encode()
            )
            producer.close()
        for name in short[::4]:
            group = "".join(name[:100] for name in NAMES)
            reader = KafkaConsumer(
                "orders",
                bootstrap_servers=kafka.bootstrap,
                client_id=name,
                group_id=group,
                auto_offset_reset="earliest",
            )
            while not reader.assignment():
                # one that ends while it joins may leave it without a share for ever
                reader.poll(timeout_ms=2000)
            reader.commit()
            reader.close()
    return [
        Event.from_json(json.loads(line))
        for line in trace.read_text(encoding="utf-8").splitlines()
    ]
