"""One core, two shells: the same calls leave the same effects, and nodes talk to each
other, over TCP as in the simulation.
"""

import asyncio
import random

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.clock import Now
from minikafka.faults import Plan
from minikafka.server import shell
from minikafka.server.addresses import listen_socket, port_to_listen_on
from minikafka.server.connection import Connection
from minikafka.server.doors import LISTENER
from minikafka.server.shell import Server
from minikafka.simulation.clock import Clock
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.simulation.network import Network
from minikafka.simulation.processes import BrokerProcess, Inbound
from minikafka.trace import Trace
from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.records import encode_batch

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
STILL = Now(1_000, 1_767_225_600_000)
NODES = (1, 2, 3)


def api(name, version, **body):
    return b"".join(encode_request(name, version, 1, "raw", body))


def producing(acks):
    batch = bytearray(encode_batch([(STILL.wall_ms, None, b"x", [])]))
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
    return api("Produce", 8, acks=acks, timeout_ms=1000, topic_data=data)


def fetching(max_wait_ms, min_bytes=1):
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    limits = {
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": 1000,
        "session_epoch": -1,
    }
    return api(
        "Fetch",
        11,
        replica_id=-1,
        topics=[{"topic": "orders", "partitions": [place]}],
        **limits,
    )


# Who sends what at once, step by step; a step ends when all its answers are there.
CALLS = (
    (
        "one",
        [
            api(
                "CreateTopics",
                5,
                topics=[
                    {"name": "orders", "num_partitions": 2, "replication_factor": 1}
                ],
            ),
            api("Metadata", 8, topics=None),
            api("InitProducerId", 1, transactional_id=None),
        ],
    ),
    (
        "two",
        [producing(-1), producing(0), producing(1), api("FindCoordinator", 3, key="g")],
    ),
    ("one", [fetching(0), fetching(60_000, 60), api("ListGroups", 3), fetching(0)]),
    (
        "two",
        [
            producing(1),
            api("DeleteTopics", 4, topic_names=["orders"]),
            api("Metadata", 8, topics=None),
        ],
    ),
)


class Recorded:
    """What a shell's connections heard from the node: whose connection, and the answer;
    None if there is none. kind: the class of these connections. name_of(connection):
    None for one of another Kafka in this process, which isn't recorded.
    """

    def __init__(self, monkeypatch, kind, name_of):
        self.heard = []
        answer = kind.answer

        def recording(connection, frame):
            name = name_of(connection)
            if name is not None:
                self.heard.append((name, frame and b"".join(frame)))
            answer(connection, frame)

        monkeypatch.setattr(kind, "answer", recording)

    def by(self, name):
        return sum(1 for connection, _ in self.heard if connection == name)


def config(**more):
    return BrokerConfig(
        {"PLAINTEXT": ("localhost", 9092)},
        {"offsets.topic.num.partitions": "2"},
        **more,
    )


def over_tcp(monkeypatch):
    monkeypatch.setattr(shell, "now", lambda: STILL)

    async def run():
        broker = Broker(
            1, config(), MemoryDisk(), random.Random("broker 1"), Trace("broker 1")
        )
        server = Server(broker, max_connections=10)
        names, expected = {}, {"one": 0, "two": 0}
        recorded = Recorded(
            monkeypatch, Connection, lambda connection: names.get(str(connection))
        )
        listener = listen_socket("127.0.0.1", 0)
        ready = asyncio.Event()
        running = asyncio.create_task(server.run({LISTENER: listener}, ready.set))
        await ready.wait()
        writers = {}
        for name in expected:
            _, writers[name] = await asyncio.open_connection(*listener.getsockname())
            names["{}:{}".format(*writers[name].get_extra_info("sockname"))] = name
        for name, frames in CALLS:
            writers[name].write(
                b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
            )
            expected[name] += len(frames)
            while recorded.by(name) < expected[name]:
                await asyncio.sleep(0)
        server.stop()
        await running
        return recorded.heard

    return asyncio.run(run())


class Mute:
    """A client in the simulation that only sends."""

    def __init__(self, name):
        self.name = name

    def reply(self, link, frame):
        pass

    def lost(self, link):
        pass


class StandsStill(Clock):
    def now(self, skew_ms=0):
        return STILL


def simulated(monkeypatch):
    clock = StandsStill()
    network = Network(clock, random.Random(1), Plan([]), Trace("network"), (0, 0))
    process = BrokerProcess(
        1,
        config(),
        random.Random("broker 1"),
        clock,
        network,
        Trace("broker 1"),
        ("broker-1", 9092),
        0,
    )
    kernel = Kernel(clock, lambda program: None)
    kernel.agenda.add(process)
    recorded = Recorded(monkeypatch, Inbound, str)
    kernel.advance(lambda: process.broker.ready, None)
    expected = {"one": 0, "two": 0}
    links = {
        name: network.connect(Mute(name), name, ("broker-1", 9092)) for name in expected
    }
    kernel.advance(lambda: len(process._inbound) == len(links), None)
    for name, frames in CALLS:
        for frame in frames:
            network.request(links[name], [frame])
        expected[name] += len(frames)
        while recorded.by(name) < expected[name]:
            kernel.advance(lambda: False, clock.now_ms)
            process.tick()
    return recorded.heard


def test_the_same_calls_leave_the_same_effects_in_both_shells(monkeypatch):
    ours = simulated(monkeypatch)
    assert len(ours) == sum(len(frames) for _, frames in CALLS)
    assert over_tcp(monkeypatch) == ours


def test_three_nodes_of_one_cluster_id_learn_what_the_others_speak_in_the_simulation():
    clock = Clock()
    network = Network(clock, random.Random(1), Plan([]), Trace("network"), (1, 5))
    addresses = {node: (f"broker-{node}", 9092) for node in NODES}
    kernel = Kernel(clock, lambda program: None)
    processes = []
    for node in NODES:
        trace, source = Trace(f"broker {node}"), random.Random(node)
        of_node = config(peers=addresses, cluster_id=CLUSTER_ID)
        processes.append(
            BrokerProcess(
                node, of_node, source, clock, network, trace, addresses[node], 0
            )
        )
        kernel.agenda.add(processes[-1])
    brokers = [process.broker for process in processes]
    assert kernel.advance(
        lambda: all(len(broker.peers.versions) == 2 for broker in brokers), 60_000
    )
    assert {broker.cluster_id for broker in brokers} == {CLUSTER_ID}
    processes[0].crash()
    processes[0].restart()
    again = processes[0].broker
    assert kernel.advance(lambda: len(again.peers.versions) == 2, 120_000)
    assert again.peers.versions[2][18] == (0, 5)


def test_clients_are_refused_until_the_broker_knows_the_cluster_as_by_apache_kafka():
    """One of two nodes has no controller: whoever asked it now would hear of a cluster
    without brokers, which kafka-python's consumers die of.
    """

    async def run():
        of_nodes = {node: listen_socket("127.0.0.1", 0) for node in (1, 2)}
        peers = {node: each.getsockname() for node, each in of_nodes.items()}
        clients, running, servers = {}, [], []

        def start(node):
            clients[node] = port_to_listen_on("127.0.0.1", 0)
            address = {"PLAINTEXT": clients[node].getsockname()}
            of_node = BrokerConfig(address, {}, peers, (1, 2), CLUSTER_ID)
            trace = Trace(f"broker {node}")
            broker = Broker(node, of_node, MemoryDisk(), random.Random(node), trace)
            server = Server(broker, max_connections=10)
            ready = asyncio.Event()
            life = server.run({LISTENER: clients[node]}, ready.set, of_nodes[node])
            running.append(asyncio.create_task(life))
            servers.append(server)
            return ready

        first_ready = start(1)
        await (await asyncio.open_connection(*peers[1]))[1].drain()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*clients[1].getsockname())
        assert not first_ready.is_set()
        start(2)
        await first_ready.wait()
        reader, writer = await asyncio.open_connection(*clients[1].getsockname())
        frame = b"".join(encode_request("Metadata", 12, 1, "raw", {"topics": []}))
        writer.write(len(frame).to_bytes(4, "big") + frame)
        size = int.from_bytes(await reader.readexactly(4), "big")
        answer = await reader.readexactly(size)
        writer.close()
        for server in servers:
            server.stop()
        await asyncio.gather(*running)
        return decode_response("Metadata", 12, answer)[1].brokers

    brokers = asyncio.run(asyncio.wait_for(run(), 300))
    assert 1 in [broker.node_id for broker in brokers]


def test_three_nodes_of_one_cluster_id_learn_what_the_others_speak_over_tcp():
    async def run():
        listeners = {node: listen_socket("127.0.0.1", 0) for node in NODES}
        addresses = {
            node: listener.getsockname() for node, listener in listeners.items()
        }
        servers = {}
        for node in NODES:
            of_node = config(peers=addresses, cluster_id=CLUSTER_ID)
            broker = Broker(
                node,
                of_node,
                MemoryDisk(),
                random.Random(node),
                Trace(f"broker {node}"),
            )
            servers[node] = Server(broker, max_connections=10)

        def start(node):
            of_clients = {LISTENER: port_to_listen_on("127.0.0.1", 0)}
            life = servers[node].run(of_clients, lambda: None, listeners[node])
            return asyncio.create_task(life)

        running = [start(1), start(2)]
        # node 3 listens, and does not answer yet
        while len(servers[1].broker.peers.versions) < 1:
            await asyncio.sleep(0)
        running.append(start(3))
        while not all(
            len(server.broker.peers.versions) == 2 for server in servers.values()
        ):
            await asyncio.sleep(0)
        ids = {server.broker.cluster_id for server in servers.values()}
        for server in servers.values():
            server.stop()
        await asyncio.gather(*running)
        return ids, servers[1].broker.peers.versions[3][18]

    assert asyncio.run(asyncio.wait_for(run(), 300)) == ({CLUSTER_ID}, (0, 5))
