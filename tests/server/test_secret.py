"""The cluster's secret, as one starts nodes with it: on the command line, from a file,
from the environment (server/checks.py).
"""

import asyncio
import re
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from minikafka.server.embedded import Served
from minikafka.server.node_handshake import (
    GREETING,
    NONCE_BYTES,
    HandshakeError,
    handshake_as_connector,
)
from tests.clients.brokers import until
from tests.conformance.raw import Connection
from tests.kafka import free_ports
from tests.server.test_life import said
from tests.server.test_node_handshake import (
    CLUSTER_ID,
    QUICK,
    SECRET,
    begin_quorum_epoch,
    connected,
    read_until_closed,
)

pytestmark = pytest.mark.slow

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
def test_the_nodes_of_a_server_listen_to_each_other_on_this_machine_only_and_after_a_handshake(
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
                assert len(read_until_closed(stranger)) == len(GREETING) + NONCE_BYTES
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
            await handshake_as_connector(sock, secret)
        except HandshakeError:
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
