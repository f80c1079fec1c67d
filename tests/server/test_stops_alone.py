"""Of several brokers in one process one may stop by itself: it says so at once, and the
others go on.
"""

import asyncio
import random

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.server import serve
from minikafka.server.addresses import listen_socket, port_to_listen_on
from minikafka.server.doors import LISTENER
from minikafka.server.shell import Server
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError

NODES = (1, 2, 3)
SECRET = b"of the nodes of this cluster, and of nobody else"


def three_in_one_process(scenario):
    """scenario(servers), once all three are ready, with one secret."""

    async def run():
        of_nodes = {node: listen_socket("127.0.0.1", 0) for node in NODES}
        clients = {
            node: {LISTENER: port_to_listen_on("127.0.0.1", 0)} for node in NODES
        }
        peers = {node: sock.getsockname() for node, sock in of_nodes.items()}
        servers = {}
        for node in NODES:
            address = {"PLAINTEXT": clients[node][LISTENER].getsockname()}
            properties = serve.PROPERTIES | serve.PROPERTIES_OF_MANY
            config = BrokerConfig(
                address, properties, peers, NODES, "MkU3OEVBNTcwNTJENDM2Qg"
            )
            trace = Trace(f"broker {node}")
            broker = Broker(node, config, MemoryDisk(), random.Random(node), trace)
            servers[node] = Server(broker, max_connections=50, secret=SECRET)
        ready = asyncio.Event()
        all_three = serve.run(servers, clients, of_nodes, {}, ready.set)
        running = asyncio.create_task(all_three)
        await ready.wait()
        await scenario(servers)
        for server in servers.values():
            server.stop()
        await running

    asyncio.run(asyncio.wait_for(run(), 300))


def test_a_broker_that_stops_by_itself_says_so_while_the_others_serve(capsys):
    async def scenario(servers):
        lost = KafkaError(Error.KAFKA_STORAGE_ERROR, "orders-0: the disk is gone")
        servers[2].broker.storage_failed(lost)
        said = ""
        while not said:
            await asyncio.sleep(0)
            said = capsys.readouterr().err
        assert said == "minikafka: node 2 stops: orders-0: the disk is gone\n"
        assert not servers[1].broker.why_failed and not servers[3].broker.why_failed

    three_in_one_process(scenario)
    assert "node 2 stops" not in capsys.readouterr().err, "and it is said once"
