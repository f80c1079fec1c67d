"""A Kafka in this process, as a test works with it.

    with Kafka(brokers=3) as kafka:
        topic = kafka.topic(partitions=2)
        ...
        assert kafka.records(topic).values == [b"paid"]

It runs when the constructor returns, and is gone without a trace after `close`.
"""

import itertools
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from minikafka.broker.listeners import PLAINTEXT, SASL_PLAINTEXT
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.server.connection import Connection, Shared
from minikafka.testing.brokers import PASSWORD, USER, Brokers, Node
from minikafka.testing.client import Client, until
from minikafka.testing.faults import Active, Faults, WireFault
from minikafka.testing.groups import Group
from minikafka.testing.heard import Heard
from minikafka.testing.meddling import MeddledConnection
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
                    each.leader_id > 0 and not each.error_code for each in parts
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


class Kafka(AnyKafka):
    """Brokers in this process. brokers: how many; 1 is the only one's id. config:
    server properties, by Kafka's names. sasl: clients log in with username and
    password, by this mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (SASL_PLAINTEXT).
    heard: what clients have asked of late, and what came of it; print it.
    """

    username, password = USER, PASSWORD

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, str] = NO_CONFIG,
        *,
        sasl: str | None = None,
    ) -> None:
        self.heard = Heard(lambda: self._brokers.now_ms())
        self._faults = Faults()
        self._brokers = Brokers(
            brokers, config, self._connections_of, self.heard.listening, sasl
        )
        self._listener = PLAINTEXT if sasl is None else SASL_PLAINTEXT
        self.bootstrap_servers = ",".join(
            node.address(self._listener) for node in self._brokers.nodes.values()
        )
        self.clock = Clock(self._brokers)
        super().__init__(self._that_are_up)
        self.heard.begin()

    def _connections_of(self, node: Node) -> Callable[..., Connection]:
        """What makes the connections of a node. Other nodes' meet no faults."""

        def connection(shared: Shared, listener: str, *rest: Any) -> Connection:
            if listener == CONTROLLER_LISTENER:
                return Connection(shared, listener, *rest)
            return MeddledConnection(
                self._faults, self.heard, node, shared, listener, *rest
            )

        return connection

    def _that_are_up(self) -> list[str]:
        """Those that nothing is cut off from come first: they know how things are."""
        up = [each for each in self._brokers.nodes.values() if each.state == "up"]
        up.sort(key=lambda node: len(self._brokers.cuts_of(node.number)))
        return [node.address(PLAINTEXT) for node in up]

    def close(self) -> None:
        """End all brokers. Clients lose their connections."""
        self.heard.end()
        super().close()
        self._brokers.close()

    def __enter__(self) -> "Kafka":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- what goes wrong

    def fault(self, fault: WireFault, seed: int = 0) -> Active:
        """Lose, Delay, Answer, Throttle, Crash or Freeze: it is there until the end of
        its `with`, or until it is lifted. seed: of chance_percent.
        """
        return self._faults.add(fault, seed)

    def broker(self, broker_id: int) -> "OneBroker":
        """Errors: LookupError."""
        if broker_id not in self._brokers.nodes:
            raise LookupError(f"no broker {broker_id}: {[*self._brokers.nodes]}")
        return OneBroker(self._brokers, broker_id, self._listener)

    def cut(self, one: int, other: int) -> None:
        """Nothing passes between two brokers any more, and neither notices more than
        silence. Clients reach both.
        """
        self._brokers.cut(one, other)

    def mend(self, one: int, other: int) -> None:
        """The two hear each other again, beginning with what was on its way."""
        self._brokers.mend(one, other)

    # -- for the next test

    @property
    def is_as_new(self) -> bool:
        """Whether nothing has happened to the brokers and their time."""
        return not self._brokers.touched

    def mend_all(self) -> None:
        """Every broker is up, and reaches the others."""
        self._faults.lift_all()
        self._brokers.mend_all()

    def lift_faults(self) -> None:
        """Nothing goes wrong any more on the wire."""
        self._faults.lift_all()


class OneBroker:
    """One of the brokers, and what may happen to its process."""

    def __init__(self, brokers: Brokers, broker_id: int, listener: str) -> None:
        self.broker_id = broker_id
        self._listener = listener
        self._brokers = brokers

    @property
    def address(self) -> str:
        """host:port; the same after a restart."""
        return self._brokers.nodes[self.broker_id].address(self._listener)

    @property
    def state(self) -> str:
        """up, frozen or down."""
        return self._brokers.nodes[self.broker_id].state

    def kill(self, *, power: bool = False) -> None:
        """kill -9: nobody is answered, connections break, what it wrote is there after
        a restart. power: its machine loses power, and what was not flushed is lost.
        """
        self._brokers.crash(self.broker_id, power)

    def restart(self) -> None:
        """Start it again on the same port and disk, if it is down."""
        self._brokers.restart(self.broker_id)

    def freeze(self) -> None:
        """SIGSTOP: it stands still, its connections stay open."""
        self._brokers.freeze(self.broker_id)

    def thaw(self) -> None:
        """SIGCONT: it goes on as if nothing had happened."""
        self._brokers.thaw(self.broker_id)


class Clock:
    """The time of the brokers."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.advanced_seconds = 0.0

    def advance(self, seconds: float) -> None:
        """Move the time of all brokers on. What is due by then happens before this
        returns: sessions end, transactions time out, old records are deleted. Sockets
        stay open. Clients' own clocks don't move, so a member that is alive is late as
        well, and joins again. Several brokers talk to each other all the while, which
        takes about 15 ms for a second. Errors: ValueError.
        """
        if seconds < 0:
            raise ValueError("time does not go back")
        self.advanced_seconds += seconds
        self._brokers.advance(seconds)
