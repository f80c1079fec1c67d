"""The door of the nodes' listener (server/door.py): over real sockets, as strangers and
nodes meet it.
"""

import asyncio
import random
import re
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.server import door
from minikafka.server.addresses import listen_socket
from minikafka.server.door import (
    CONNECTS,
    KNOCK,
    LISTENS,
    NONCE_BYTES,
    PROOF_BYTES,
    Stranger,
    knock,
    let_in,
    proof,
)
from minikafka.server.embedded import Served
from minikafka.server.shell import Server
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire.messages import encode_request
from tests.clients.brokers import STEADY, overrides, until
from tests.conformance.raw import Connection
from tests.kafka import free_ports
from tests.server.test_life import said

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
        clients, of_nodes = listen_socket("127.0.0.1", 0), listen_socket("127.0.0.1", 0)
        peers = {1: of_nodes.getsockname(), 2: ("127.0.0.1", 1), 3: ("127.0.0.1", 1)}
        config = BrokerConfig(properties=properties, peers=peers, cluster_id=CLUSTER_ID)
        broker = Broker(1, config, MemoryDisk(), random.Random(1), Trace("broker 1"))
        server = Server(broker, max_connections=10, secret=SECRET)
        running = asyncio.create_task(server.run(clients, lambda: None, of_nodes))
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
    listener_nonce, ours = challenge[len(KNOCK) :], bytes(NONCE_BYTES)
    return KNOCK + ours + proof(secret, CONNECTS, listener_nonce, ours)


def send_to(address, *sent):
    """Send these bytes, some of which may be made from the challenge; all that comes
    back.
    """

    async def scenario():
        sock = await connected(address)
        loop = asyncio.get_running_loop()
        challenge = await door.exactly(sock, len(KNOCK) + NONCE_BYTES)
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
    "a Kafka frame behind a knock": (
        KNOCK + begin_quorum_epoch().ljust(NONCE_BYTES + PROOF_BYTES, b"\0")
    ),
    "HTTP": b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
    "a proof of zeros": KNOCK + bytes(NONCE_BYTES + PROOF_BYTES),
    "another secret": lambda challenge: greeting(
        challenge, b"of another cluster altogether"
    ),
    "no secret": lambda challenge: greeting(challenge, b""),
    "the challenge": lambda challenge: challenge + bytes(PROOF_BYTES),
    "the proof of who listens": lambda challenge: (
        KNOCK
        + bytes(NONCE_BYTES)
        + proof(SECRET, LISTENS, challenge[len(KNOCK) :], bytes(NONCE_BYTES))
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
        await knock(sock, SECRET)
        frame = b"".join(encode_request("ApiVersions", 0, 7, "node", {}))
        await asyncio.get_running_loop().sock_sendall(
            sock, len(frame).to_bytes(4, "big") + frame
        )
        answer = await door.exactly(sock, 8)
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
        challenge = await door.exactly(sock, len(KNOCK) + NONCE_BYTES)
        await asyncio.get_running_loop().sock_sendall(sock, record(challenge))
        assert len(await door.exactly(sock, PROOF_BYTES)) == PROOF_BYTES, (
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
            knock(ours, SECRET), other(theirs), return_exceptions=True
        )
        for each in (ours, theirs):
            each.close()
        return found[0]

    async def mirror(sock):
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, KNOCK + bytes(NONCE_BYTES))
        await door.exactly(sock, len(KNOCK) + NONCE_BYTES)
        await loop.sock_sendall(sock, await door.exactly(sock, PROOF_BYTES))

    async def kafka(sock):
        await asyncio.get_running_loop().sock_sendall(sock, begin_quorum_epoch())

    async def another(sock):
        with pytest.raises(Stranger, match="does not know the cluster's secret"):
            await let_in(sock, b"of another cluster altogether")
        sock.close()

    async def ours(sock):
        await let_in(sock, SECRET)

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
            seen.add(await door.exactly(sock, len(KNOCK) + NONCE_BYTES))
            sock.close()
        return seen

    assert len(at_a_node(scenario)) == 50


def test_who_never_greets_holds_its_place_only_until_the_deadline(monkeypatch, capsys):
    monkeypatch.setattr(door, "GREETING_SECONDS", 0.05)

    async def scenario(server, address):
        silent, half = await connected(address), await connected(address)
        await asyncio.get_running_loop().sock_sendall(half, KNOCK[:3])
        return await everything(silent), await everything(half)

    silent, half = at_a_node(scenario)
    assert len(silent) == len(half) == len(KNOCK) + NONCE_BYTES
    assert "which has not proved within 0 s that it knows" in capsys.readouterr().err


def test_a_crowd_that_never_greets_keeps_no_node_out():
    """max.connections are 10 here, and the deadline doesn't come: who has waited
    longest makes room.
    """

    async def scenario(server, address):
        crowd = [await connected(address) for _ in range(100)]
        await knock(node := await connected(address), SECRET)
        waiting = len(server._door)
        for each in (*crowd, node):
            each.close()
        return waiting

    assert at_a_node(scenario) <= 5


# --- as one starts it ---


def nodes_ports(process, bootstrap):
    """Where a server listens besides where clients come."""
    known = {int(address.rpartition(":")[2]) for address in bootstrap.split(",")}
    family = [psutil.Process(process), *psutil.Process(process).children()]
    listening = {
        each.laddr
        for one in family
        for each in one.net_connections("tcp")
        if each.status == "LISTEN"
    }
    assert {port for _, port in listening} > known
    return {(address, port) for address, port in listening if port not in known}


@pytest.mark.parametrize(
    "options", [("--brokers", "3"), ("--brokers", "4", "--processes")], ids=" ".join
)
def test_the_nodes_of_a_server_listen_to_each_other_on_this_machine_only_and_behind_a_door(
    tmp_path, options
):
    """Whatever --host says to clients."""
    everywhere = ("--host", "0.0.0.0", "--advertised-host", "127.0.0.1")
    with Served(data=tmp_path, options=(*options, *everywhere, *QUICK)) as served:
        ports = nodes_ports(served.process.pid, served.bootstrap)
        assert len(ports) == int(options[1])
        assert {address for address, _ in ports} == {"127.0.0.1"}
        for address in ports:
            with socket.create_connection(address, timeout=60) as stranger:
                stranger.sendall(begin_quorum_epoch())
                assert len(read_until_closed(stranger)) == len(KNOCK) + NONCE_BYTES
        for line in served.said().splitlines():
            assert (
                "nodes' listener, which does not greet" in line
                or "no authentication" in line
            ), line
        with Connection(served.bootstrap.split(",")[0]) as client:
            assert client.ask("DescribeCluster", 0).brokers
        typed = " ".join(command_lines(served.process.pid))
        assert not re.search("[0-9a-f]{64}", typed), (
            "everybody on this machine may read a command line"
        )


def command_lines(process):
    return [
        " ".join(one.cmdline())
        for one in (psutil.Process(process), *psutil.Process(process).children())
    ]


@contextmanager
def nodes(folder, secrets, **popen):
    """Three nodes started one by one, each with the options for its secret: their
    processes and what they say.
    """
    ports = free_ports(3)
    voters = ",".join(
        f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1)
    )
    command = [
        sys.executable,
        "-m",
        "minikafka",
        "serve",
        "--exit-with-parent",
        "--port",
        "0",
        *QUICK,
    ]
    command += ["--voters", voters, "--cluster-id", CLUSTER_ID]
    with ExitStack() as stack:
        started = {}
        for number, options in secrets.items():
            errors = stack.enter_context((folder / f"{number}.err").open("wb"))
            own = [
                *command,
                "--node",
                str(number),
                "--data",
                str(folder / str(number)),
                *options,
            ]
            process = subprocess.Popen(
                own,
                stdin=subprocess.PIPE,
                stdout=(folder / f"{number}.out").open("wb"),
                stderr=errors,
                **popen,
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            started[number] = process
        yield started


def text_of(folder, name):
    return (folder / name).read_text()


def file_with(folder, name, secret):
    path = folder / name
    path.write_text(secret)
    path.chmod(0o600)
    return ("--cluster-secret", str(path))


def is_ready(folder, number):
    return text_of(folder, f"{number}.out").startswith("ready ")


def test_nodes_with_one_secret_become_a_cluster_and_one_with_another_or_none_does_not(
    tmp_path,
):
    """It hears so, and the others say so, in one line each."""
    right = file_with(tmp_path, "secret", SECRET.decode())
    wrong = file_with(tmp_path, "other", "of another cluster altogether")
    for third, theirs, ours in (
        (
            wrong,
            "does not know the cluster's secret",
            "hung up on our greeting: was it started with the same",
        ),
        ((), "does not greet as a node with --cluster-secret does", ""),
    ):
        with nodes(tmp_path, {1: right, 2: right, 3: third}):
            until(lambda: is_ready(tmp_path, 1) and is_ready(tmp_path, 2))
            until(lambda theirs=theirs: theirs in text_of(tmp_path, "1.err"))
            until(lambda ours=ours: ours in text_of(tmp_path, "3.err"))
            assert not is_ready(tmp_path, 3)
            assert "Traceback" not in text_of(tmp_path, "1.err") + text_of(
                tmp_path, "3.err"
            )
    with nodes(tmp_path, {1: right, 2: right, 3: right}):
        until(lambda: all(is_ready(tmp_path, number) for number in (1, 2, 3)))
        assert [text_of(tmp_path, f"{number}.err") for number in (1, 2, 3)] == [""] * 3


def lets_in(address, secret):
    """Whether a node's listener takes this secret."""

    async def greet():
        sock = await connected(address)
        try:
            await knock(sock, secret)
        except Stranger:
            return False
        finally:
            sock.close()
        return True

    return asyncio.run(greet())


def test_a_given_secret_is_the_one_that_opens_whatever_way_it_came(
    tmp_path, monkeypatch
):
    """Out of a file, or of the environment; the file comes first. The line end of a
    file is not part of it.
    """
    in_a_file = file_with(tmp_path, "secret", f"{SECRET.decode()}\n")
    of_others = "of another cluster altogether"
    for variable, options in ((SECRET.decode(), ()), (of_others, in_a_file)):
        monkeypatch.setenv("MINIKAFKA_CLUSTER_SECRET", variable)
        with Served(options=("--brokers", "3", *options, *QUICK)) as served:
            for address in nodes_ports(served.process.pid, served.bootstrap):
                assert lets_in(address, SECRET)
                assert not lets_in(address, of_others.encode())


def test_a_secret_that_everybody_on_this_machine_may_read_is_used_and_said(tmp_path):
    """Where secrets are mounted into a container, their files often have that mode."""
    option, path = file_with(tmp_path, "secret", SECRET.decode())
    (tmp_path / "secret").chmod(0o644)
    with Served(options=("--brokers", "3", option, path, *QUICK)) as served:
        said_first = served.said().splitlines()[0]
        everybody = f"everybody on this machine may read {path}: chmod 600 {path}."
        assert said_first == f"minikafka: --cluster-secret: {everybody}"


# --- where it does not start ---


def test_a_secret_in_the_environment_that_can_be_guessed_is_refused(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_CLUSTER_SECRET", "short")
    code, errors = said("--port", "0", "--brokers", "3")
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(
        "minikafka: MINIKAFKA_CLUSTER_SECRET: the secret is too short"
    )


def one_node(number="1"):
    """Options of one node of three on this machine."""
    voters = ",".join(
        f"{voter}@127.0.0.1:{port}" for voter, port in enumerate(free_ports(3), 1)
    )
    return (
        "--port",
        "0",
        "--cluster-id",
        CLUSTER_ID,
        "--voters",
        voters,
        "--node",
        number,
    )


def test_a_node_that_strangers_may_reach_does_not_start_without_a_secret():
    code, errors = said(*one_node("1@0.0.0.0"))
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(
        "minikafka: --cluster-secret: strangers may reach 0.0.0.0:"
    )
    assert errors.endswith("name it with --cluster-secret FILE.\n")


def test_a_node_that_the_others_can_not_reach_does_not_start():
    remote = "1@192.0.2.1:9093,2@192.0.2.2:9093,3@192.0.2.3:9093"
    code, errors = said(
        "--port", "0", "--cluster-id", CLUSTER_ID, "--voters", remote, "--node", "4"
    )
    assert code == 1
    assert errors.endswith(
        "name the address where they reach node 4, --node 4@ADDRESS:PORT.\n"
    )


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("", "is too short, from 16 to 4096 characters"),
        ("   \n", "is too short"),
        ("fifteen letters", "is too short"),
        ("x" * 5000, "is too long"),
    ],
    ids=["empty", "blank", "short", "long"],
)
def test_a_secret_that_can_be_guessed_is_refused_with_the_way_to_a_good_one(
    tmp_path, secret, words
):
    code, errors = said(*one_node(), *file_with(tmp_path, "secret", secret))
    assert (code, errors.count("\n")) == (1, 1)
    assert words in errors and "secrets.token_hex" in errors


@pytest.mark.parametrize("path", ["/no/such/file", "/"])
def test_a_secret_that_can_not_be_read_is_said(path):
    code, errors = said(*one_node(), "--cluster-secret", path)
    assert (code, errors.count("\n")) == (1, 1)
    assert f"--cluster-secret: can't read {path}: " in errors


def test_a_secret_for_one_broker_alone_is_refused(tmp_path):
    code, errors = said("--port", "0", *file_with(tmp_path, "secret", SECRET.decode()))
    assert code == 1 and "one broker has no other nodes" in errors
