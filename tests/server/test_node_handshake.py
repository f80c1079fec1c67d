"""The handshake on the nodes' listener (server/node_handshake.py): over real sockets, as
strangers and nodes meet it.
"""

import asyncio
import random
import socket

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.server import node_handshake
from minikafka.server.addresses import listen_socket, port_to_listen_on
from minikafka.server.doors import LISTENER
from minikafka.server.node_handshake import (
    CONNECTS,
    GREETING,
    LISTENS,
    NONCE_BYTES,
    PROOF_BYTES,
    HandshakeError,
    handshake_as_connector,
    handshake_as_listener,
    proof,
)
from minikafka.server.shell import Server
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire.messages import encode_request
from tests.clients.brokers import STEADY, overrides

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
SECRET = b"of the nodes of this cluster, and of nobody else"
QUICK = overrides({"offsets.topic.num.partitions": "1", **STEADY})
FAR_EPOCH = 2**31 - 1


def begin_quorum_epoch():
    """A valid request, size first: node 2 leads the metadata quorum, in the last of all
    epochs.
    """
    partition = {"partition_index": 0, "leader_id": 2, "leader_epoch": FAR_EPOCH}
    topics = [{"topic_name": "__cluster_metadata", "partitions": [partition]}]
    body = {"cluster_id": CLUSTER_ID, "topics": topics}
    frame = b"".join(encode_request("BeginQuorumEpoch", 0, 1, "stranger", body))
    return len(frame).to_bytes(4, "big") + frame


def read_until_closed(stranger):
    """All that the node says to it."""
    got = b""
    try:
        while more := stranger.recv(4096):
            got += more
    except ConnectionError:
        pass
    return got


# --- in this process: one node's listener, and whoever comes to it ---


def at_a_node(scenario, **properties):
    """scenario(server, address of its nodes' listener), beside node 1, whose others
    never come.
    """

    async def run():
        clients = port_to_listen_on("127.0.0.1", 0)
        of_nodes = listen_socket("127.0.0.1", 0)
        peers = {1: of_nodes.getsockname(), 2: ("127.0.0.1", 1), 3: ("127.0.0.1", 1)}
        config = BrokerConfig(properties=properties, peers=peers, cluster_id=CLUSTER_ID)
        broker = Broker(1, config, MemoryDisk(), random.Random(1), Trace("broker 1"))
        server = Server(broker, max_connections=10, secret=SECRET)
        running = asyncio.create_task(
            server.run({LISTENER: clients}, lambda: None, of_nodes)
        )
        address = of_nodes.getsockname()
        try:
            return await asyncio.wait_for(scenario(server, address), 300)
        finally:
            server.stop()
            await running

    return asyncio.run(run())


async def connected(address):
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, address)
    return sock


async def everything(sock):
    got = b""
    try:
        while more := await asyncio.get_running_loop().sock_recv(sock, 4096):
            got += more
    except ConnectionError:
        pass
    sock.close()
    return got


def greeting(challenge, secret=SECRET):
    """What who knows the secret says to this challenge."""
    listener_nonce, ours = challenge[len(GREETING) :], bytes(NONCE_BYTES)
    return GREETING + ours + proof(secret, CONNECTS, listener_nonce, ours)


def send_to(address, *sent):
    """Send these bytes, some of which may be made from the challenge; all that comes
    back.
    """

    async def scenario():
        sock = await connected(address)
        loop = asyncio.get_running_loop()
        challenge = await node_handshake.exactly(sock, len(GREETING) + NONCE_BYTES)
        try:
            for each in sent:
                await loop.sock_sendall(
                    sock, each(challenge) if callable(each) else each
                )
        except ConnectionError:
            pass
        return await everything(sock)

    return scenario()


STRANGERS = {
    "a Kafka frame": begin_quorum_epoch(),
    "a Kafka frame after a greeting": (
        GREETING + begin_quorum_epoch().ljust(NONCE_BYTES + PROOF_BYTES, b"\0")
    ),
    "HTTP": b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
    "a proof of zeros": GREETING + bytes(NONCE_BYTES + PROOF_BYTES),
    "another secret": lambda challenge: greeting(
        challenge, b"of another cluster altogether"
    ),
    "no secret": lambda challenge: greeting(challenge, b""),
    "the challenge": lambda challenge: challenge + bytes(PROOF_BYTES),
    "the proof of who listens": lambda challenge: (
        GREETING
        + bytes(NONCE_BYTES)
        + proof(SECRET, LISTENS, challenge[len(GREETING) :], bytes(NONCE_BYTES))
    ),
    "one bit off": lambda challenge: (
        greeting(challenge)[:-1] + bytes([greeting(challenge)[-1] ^ 1])
    ),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_who_does_not_know_the_secret_reaches_nothing(stranger, capsys):
    async def scenario(server, address):
        before = server.broker.quorum.epoch
        said = await send_to(address, STRANGERS[stranger], begin_quorum_epoch())
        return said, server.connections, before, server.broker.quorum.epoch

    said, connections, before, after = at_a_node(scenario)
    assert said == b"" and not connections
    assert after - before < 1000, (
        "it votes with itself alone, and heard of no other epoch"
    )
    lines = [
        line
        for line in capsys.readouterr().err.splitlines()
        if "nodes' listener" in line
    ]
    assert len(lines) == 1 and "which does not " in lines[0], lines


def test_who_knows_the_secret_speaks_to_the_node():
    async def scenario(server, address):
        sock = await connected(address)
        await handshake_as_connector(sock, SECRET)
        frame = b"".join(encode_request("ApiVersions", 0, 7, "node", {}))
        await asyncio.get_running_loop().sock_sendall(
            sock, len(frame).to_bytes(4, "big") + frame
        )
        answer = await node_handshake.exactly(sock, 8)
        sock.close()
        return answer[4:]

    assert at_a_node(scenario) == (7).to_bytes(4, "big")


def test_a_recorded_greeting_opens_no_other_connection():
    async def scenario(server, address):
        recorded = []

        def record(challenge):
            recorded.append(greeting(challenge))
            return recorded[0]

        frame = b"".join(encode_request("ApiVersions", 0, 7, "node", {}))
        sock = await connected(address)
        challenge = await node_handshake.exactly(sock, len(GREETING) + NONCE_BYTES)
        await asyncio.get_running_loop().sock_sendall(sock, record(challenge))
        assert len(await node_handshake.exactly(sock, PROOF_BYTES)) == PROOF_BYTES, (
            "the first time it is let in"
        )
        sock.close()
        return await send_to(
            address, recorded[0], len(frame).to_bytes(4, "big") + frame
        )

    assert at_a_node(scenario) == b""


def test_both_sides_prove_themselves_and_no_proof_serves_for_the_other_side():
    """A stranger in a node's place is sent nothing but nonces and a proof that is of no
    use to it.
    """

    async def met(other):
        ours, theirs = socket.socketpair()
        for each in (ours, theirs):
            each.setblocking(False)
        found = await asyncio.gather(
            handshake_as_connector(ours, SECRET), other(theirs), return_exceptions=True
        )
        for each in (ours, theirs):
            each.close()
        return found[0]

    async def mirror(sock):
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, GREETING + bytes(NONCE_BYTES))
        await node_handshake.exactly(sock, len(GREETING) + NONCE_BYTES)
        await loop.sock_sendall(sock, await node_handshake.exactly(sock, PROOF_BYTES))

    async def kafka(sock):
        await asyncio.get_running_loop().sock_sendall(sock, begin_quorum_epoch())

    async def another(sock):
        with pytest.raises(HandshakeError, match="does not know the cluster's secret"):
            await handshake_as_listener(sock, b"of another cluster altogether")
        sock.close()

    async def ours(sock):
        await handshake_as_listener(sock, SECRET)

    assert asyncio.run(met(ours)) is None
    assert "does not know the cluster's secret: nothing was sent" in str(
        asyncio.run(met(mirror))
    )
    assert "is no node with --cluster-secret" in str(asyncio.run(met(kafka)))
    assert "hung up on our greeting" in str(asyncio.run(met(another)))


def test_a_challenge_never_comes_twice():
    async def scenario(server, address):
        seen = set()
        for _ in range(50):
            sock = await connected(address)
            seen.add(await node_handshake.exactly(sock, len(GREETING) + NONCE_BYTES))
            sock.close()
        return seen

    assert len(at_a_node(scenario)) == 50


def test_who_never_greets_holds_its_place_only_until_the_deadline(monkeypatch, capsys):
    monkeypatch.setattr(node_handshake, "GREETING_SECONDS", 0.05)

    async def scenario(server, address):
        silent, half = await connected(address), await connected(address)
        await asyncio.get_running_loop().sock_sendall(half, GREETING[:3])
        return await everything(silent), await everything(half)

    silent, half = at_a_node(scenario)
    assert len(silent) == len(half) == len(GREETING) + NONCE_BYTES
    assert "which has not proved within 0 s that it knows" in capsys.readouterr().err


def test_a_crowd_that_never_greets_keeps_no_node_out():
    """max.connections are 10 here, and the deadline doesn't come: who has waited
    longest makes room.
    """

    async def scenario(server, address):
        crowd = [await connected(address) for _ in range(100)]
        await handshake_as_connector(node := await connected(address), SECRET)
        waiting = len(server._node_handshakes)
        for each in (*crowd, node):
            each.close()
        return waiting

    assert at_a_node(scenario) <= 5
