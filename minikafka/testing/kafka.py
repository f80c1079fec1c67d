"""A Kafka in this process, as a test works with it.

    with Kafka(brokers=3) as kafka:
        topic = kafka.topic(partitions=2)
        ...
        assert kafka.records(topic).values == [b"paid"]

It runs when the constructor returns, and is gone without a trace after `close`.
"""

import itertools
import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from minikafka.broker.listeners import PLAINTEXT, SASL_PLAINTEXT
from minikafka.testing.brokers import PASSWORD, USER, nodes_here
from minikafka.testing.client import Client, until
from minikafka.testing.failing import FailingKafka
from minikafka.testing.first_use import STEPS, FirstUse
from minikafka.testing.groups import Group
from minikafka.testing.records import Records, read
from minikafka.wire.errors import Error, KafkaError

NO_CONFIG: Mapping[str, str] = MappingProxyType({})
WAIT_SECONDS = 30.0
MOST_REPLICAS = 3
_numbers = itertools.count(1)


class AnyKafka:
    """What a test does with any Kafka, over the wire. bootstrap() returns host:port of
    the brokers that can be asked now.
    """

    bootstrap_servers: str

    def __init__(self, bootstrap: Callable[[], list[str]]) -> None:
        self.made_topics: list[str] = []
        self._bootstrap = bootstrap
        self._client = Client(bootstrap)

    def close(self) -> None:
        """Close what looks at the cluster."""
        self._client.close()

    # -- topics and what is in them

    def topic(
        self,
        partitions: int = 1,
        *,
        name: str | None = None,
        config: Mapping[str, str] = NO_CONFIG,
    ) -> str:
        """Make a topic, and return its name: one that no other has, unless it is given.
        It has a replica on each broker, three at most. Errors: KafkaError.
        """
        if name is None:
            name = f"topic-{os.getpid()}-{next(_numbers)}"
        count = len(self._client.brokers())
        new = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": min(count, MOST_REPLICAS),
            "configs": [{"name": key, "value": str(config[key])} for key in config],
        }
        self.made_topics.append(name)
        [made] = self._client.ask("CreateTopics", {"topics": [new]}).topics
        if made.error_code:
            raise KafkaError(Error(made.error_code), made.error_message)
        self._wait_until_all_know(name)
        return name

    def _wait_until_all_know(self, topic: str) -> None:
        """Returns once all brokers that are up know a leader for every partition."""
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        for address in self._bootstrap():

            def look(address: str = address) -> bool | None:
                [found] = self._client.ask("Metadata", body, address).topics
                parts = found.partitions
                is_led = all(
                    each.leader_id >= 0 and not each.error_code for each in parts
                )
                return (not found.error_code and is_led) or None

            until(look, WAIT_SECONDS, f"a broker doesn't know {topic}")

    def delete_topics(self, *names: str) -> None:
        """Those that are gone already are passed over. Errors: KafkaError."""
        if not names:
            return
        body = {"topic_names": [*dict.fromkeys(names)], "timeout_ms": 30_000}
        for gone in self._client.ask("DeleteTopics", body).responses:
            if gone.error_code not in (0, Error.UNKNOWN_TOPIC_OR_PARTITION):
                raise KafkaError(Error(gone.error_code), f"deleting {gone.name}")

    def records(self, topic: str) -> Records:
        """All committed records of a topic, as a consumer with
        isolation.level=read_committed reads them. Errors: KafkaError.
        """
        found = until(
            lambda: read(self._client, topic), WAIT_SECONDS, f"{topic} can't be read"
        )
        return found

    def group(self, group_id: str) -> Group:
        """A consumer group, which need not exist yet."""
        return Group(self._client, group_id)

    # -- who does what

    def controller(self) -> int:
        """The id of the active controller (KIP-595); -1: none is elected."""
        partitions = [{"partition_index": 0}]
        place = {"topic_name": "__cluster_metadata", "partitions": partitions}
        [asked] = self._client.ask("DescribeQuorum", {"topics": [place]}).topics
        found: int = asked.partitions[0].leader_id
        return found

    def leader(self, topic: str, partition: int = 0) -> int:
        """The id of the broker that leads a partition; -1: none does."""
        for each in self._client.metadata(topic).partitions:
            if each.partition_index == partition:
                found: int = each.leader_id
                return found
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")

    def in_sync(self, topic: str, partition: int = 0) -> list[int]:
        """The ids of the brokers whose replicas are in sync, in ascending order."""
        for each in self._client.metadata(topic).partitions:
            if each.partition_index == partition:
                return sorted(each.isr_nodes)
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")

    def move_leader(self, topic: str, partition: int = 0, *, to: int) -> None:
        """Returns once this broker, one of the replicas, leads the partition. Errors:
        ValueError, KafkaError.
        """
        [known] = [
            each
            for each in self._client.metadata(topic).partitions
            if each.partition_index == partition
        ]
        replicas = [*known.replica_nodes]
        if to not in replicas:
            raise ValueError(f"broker {to} has no replica of {topic}-{partition}")
        replicas.remove(to)
        place = {"partition_index": partition, "replicas": [to, *replicas]}
        self._ask_controller(
            "AlterPartitionReassignments",
            {"topics": [{"name": topic, "partitions": [place]}]},
        )

        def look() -> bool | None:
            if self.leader(topic, partition) == to:
                return True
            place = {"topic": topic, "partitions": [partition]}
            self._client.ask("ElectLeaders", {"topic_partitions": [place]})
            return None

        until(look, WAIT_SECONDS, f"broker {to} doesn't lead {topic}-{partition}")

    def _ask_controller(self, api: str, body: dict[str, Any]) -> None:
        answer = self._client.ask(api, body)
        if answer.error_code:
            raise KafkaError(Error(answer.error_code), answer.error_message)

    def fence(self, transactional_id: str) -> None:
        """Begin a new epoch of a transactional id, as a second producer with this id
        does: the first one is fenced (KIP-360). Errors: KafkaError.
        """

        def look() -> bool | None:
            asked = {"key": transactional_id, "key_type": 1}
            found = self._client.ask("FindCoordinator", asked)
            if found.error_code:
                raise KafkaError(Error(found.error_code))
            body = {
                "transactional_id": transactional_id,
                "transaction_timeout_ms": 60_000,
            }
            where = f"{found.host}:{found.port}"
            answer = self._client.ask("InitProducerId", body, where)
            if answer.error_code:
                raise KafkaError(Error(answer.error_code))
            return True

        until(look, WAIT_SECONDS, f"{transactional_id} can't be fenced")


class Kafka(FailingKafka, AnyKafka):
    """Brokers in this process. brokers: how many; 1 is the only one's id. config:
    server properties, by Kafka's names. sasl: clients log in with username and
    password, by this mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (SASL_PLAINTEXT).
    fresh: the first clients meet what they meet at an Apache Kafka that nobody has used
    yet (first_use.py).
    """

    username, password = USER, PASSWORD

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, str] = NO_CONFIG,
        *,
        sasl: str | None = None,
        fresh: bool = False,
    ) -> None:
        listener = PLAINTEXT if sasl is None else SASL_PLAINTEXT
        FailingKafka.__init__(
            self, partial(nodes_here, brokers, config, sasl), listener
        )
        AnyKafka.__init__(self, self._that_are_up)
        for name in self._brokers.nodes[1].config.unknown:
            warnings.warn(f"no broker config is called {name}", stacklevel=2)
        self._fresh = fresh
        if fresh:
            for kind in STEPS:
                FirstUse(self._faults, kind)

    @property
    def is_as_new(self) -> bool:
        """Where the first use matters, none is as new afterwards."""
        return not self._fresh and super().is_as_new

    def _that_are_up(self) -> list[str]:
        """Those that nothing is cut off from come first: they know how things are."""
        up = [each for each in self._brokers.nodes.values() if each.state == "up"]
        up.sort(key=lambda node: len(self._brokers.cuts_of(node.number)))
        return [node.address(PLAINTEXT) for node in up]

    def close(self) -> None:
        """End all brokers. Clients lose their connections."""
        AnyKafka.close(self)
        FailingKafka.close(self)

    def __enter__(self) -> "Kafka":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
