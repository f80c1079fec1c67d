"""The shell in this process, with a broker in memory: what a child process would
hide.
"""

import asyncio
import random

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.server import shell
from minikafka.server.addresses import listen_socket
from minikafka.server.connection import Connection
from minikafka.server.doors import LISTENER
from minikafka.server.shell import Server
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire.messages import encode_request


def with_server(scenario, **properties):
    """Run scenario(server, reader, writer) as one client of a server."""

    async def run():
        config = BrokerConfig(
            properties={
                name.replace("_", "."): str(value) for name, value in properties.items()
            }
        )
        broker = Broker(1, config, MemoryDisk(), random.Random(1), Trace("broker 1"))
        server = Server(broker, max_connections=100)
        listener = listen_socket("127.0.0.1", 0)
        ready = asyncio.Event()
        running = asyncio.create_task(server.run({LISTENER: listener}, ready.set))
        await ready.wait()
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            return await asyncio.wait_for(scenario(server, reader, writer), 300)
        finally:
            writer.close()
            server.stop()
            await running

    return asyncio.run(run())


def framed(api, version, correlation_id, **body):
    frame = b"".join(encode_request(api, version, correlation_id, "raw", body))
    return len(frame).to_bytes(4, "big") + frame


async def answer(reader):
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


def test_a_connection_that_says_nothing_for_connections_max_idle_ms_is_closed():
    async def scenario(server, reader, writer):
        return await reader.read()

    assert with_server(scenario, connections_max_idle_ms=101) == b""


def test_an_assertion_in_the_broker_stops_the_node_loudly():
    async def scenario(server, reader, writer):
        def broken(*_):
            raise AssertionError("high watermark beyond log end offset")

        server.broker.receive = broken
        writer.write(framed("ApiVersions", 0, 1))
        return await reader.read()

    try:
        with_server(scenario)
    except AssertionError as error:
        assert "high watermark" in str(error)
    else:
        raise AssertionError("it went on")


def test_another_bug_in_the_broker_costs_only_the_connection_that_met_it(capsys):
    async def scenario(server, reader, writer):
        working = server.broker.receive

        def broken(connection, frame, now):
            server.broker.receive = working
            raise ValueError("a bug\nminikafka: forged")

        server.broker.receive = broken
        writer.write(framed("ApiVersions", 0, 1))
        assert await reader.read() == b""
        second_reader, second = await asyncio.open_connection(
            *writer.get_extra_info("peername")
        )
        second.write(framed("ApiVersions", 0, 2))
        got = await answer(second_reader)
        second.close()
        return got

    assert with_server(scenario)[:4] == (2).to_bytes(4, "big")
    said = capsys.readouterr().err.splitlines()
    assert any(
        "met a bug of minikafka's; please report it: ValueError" in line
        for line in said
    )
    assert not any(line.startswith("minikafka: forged") for line in said)


@pytest.mark.slow
def test_while_a_request_is_parked_only_a_little_is_read_ahead():
    async def scenario(server, reader, writer):
        created = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
        writer.write(framed("CreateTopics", 5, 0, topics=[created]))
        await answer(reader)
        partition = {"partition": 0, "partition_max_bytes": 1000}
        fetch = {
            "max_wait_ms": 300,
            "min_bytes": 1,
            "topics": [{"topic": "orders", "partitions": [partition]}],
        }
        writer.write(framed("Fetch", 4, 1, replica_id=-1, **fetch))
        for number in range(2, 20_002):
            writer.write(framed("ApiVersions", 0, number))
        [connection] = server.connections
        seen = []
        for expected in range(1, 20_002):
            seen.append(connection.held_bytes)
            assert (await answer(reader))[:4] == expected.to_bytes(4, "big")
        return max(seen)

    assert with_server(scenario) <= 64 * 1024


def test_a_connection_that_pipelines_slow_requests_does_not_keep_the_others_waiting(
    monkeypatch,
):
    """Time passes while requests are served: the rest of a long turn goes on after what
    others have to say.
    """
    clock = [0]

    async def scenario(server, reader, writer):
        receive = server.broker.receive

        def slow(connection, frame, now):
            clock[0] += 20
            receive(connection, frame, now)

        server.broker.receive = slow
        order = []
        reply = Connection.answer
        monkeypatch.setattr(
            Connection,
            "answer",
            lambda connection, frame: (
                order.append(str(connection)),
                reply(connection, frame),
            ),
        )
        other_reader, other = await asyncio.open_connection(
            *writer.get_extra_info("peername")
        )
        writer.write(framed("ApiVersions", 0, 1) * 20)
        other.write(framed("ApiVersions", 0, 1))
        await answer(other_reader)
        other.close()
        return order.index("{}:{}".format(*other.get_extra_info("sockname")))

    real = shell.now
    monkeypatch.setattr(
        shell,
        "now",
        lambda: real()._replace(monotonic_ms=real().monotonic_ms + clock[0]),
    )
    assert with_server(scenario) < 10


def test_a_server_that_stops_gives_the_answers_it_owes_and_begins_nothing_new(capsys):
    """A parked fetch is answered; the request behind it never goes in."""
    place = {"partition": 0, "partition_max_bytes": 1000}
    fetch = {
        "max_wait_ms": 600_000,
        "min_bytes": 1,
        "topics": [{"topic": "orders", "partitions": [place]}],
    }
    behind = {"name": "behind", "num_partitions": 1, "replication_factor": 1}

    async def scenario(server, reader, writer):
        created = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
        writer.write(framed("CreateTopics", 5, 0, topics=[created]))
        await answer(reader)
        writer.write(
            framed("Fetch", 4, 1, replica_id=-1, **fetch)
            + framed("CreateTopics", 5, 2, topics=[behind])
        )
        while not len(server.broker.requests.waiting):
            await asyncio.sleep(0)
        server.stop()
        owed = (await answer(reader))[:4]
        return owed, await reader.read(), "behind" in server.broker.image.topics

    assert with_server(scenario) == ((1).to_bytes(4, "big"), b"", False)
    assert capsys.readouterr().err == ""


def test_a_client_that_leaves_in_the_middle_of_a_request_leaves_nothing_behind(capsys):
    async def scenario(server, reader, writer):
        whole = framed("ApiVersions", 0, 1)
        for half in (b"\0", whole[:4], whole[:7], whole + whole[:7]):
            _, other = await asyncio.open_connection(*writer.get_extra_info("peername"))
            while len(server.connections) == 1:
                await asyncio.sleep(0)
            other.write(half)
            other.close()
            while len(server.connections) > 1:
                await asyncio.sleep(0)
        return server.requests.total_bytes, len(server.broker.requests.clients)

    assert with_server(scenario) == (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("max_wait_ms", [0, 300])
def test_requests_before_a_frame_that_is_too_large_are_answered(max_wait_ms, capsys):
    """Also one that has to wait, and one behind it."""
    place = {"partition": 0, "partition_max_bytes": 1000}
    topics = [{"topic": "orders", "partitions": [place]}]
    limits = {"max_wait_ms": max_wait_ms, "min_bytes": 1}

    async def scenario(server, reader, writer):
        created = {"name": "orders", "num_partitions": 1, "replication_factor": 1}
        writer.write(framed("CreateTopics", 5, 0, topics=[created]))
        await answer(reader)
        writer.write(
            framed("Fetch", 4, 1, replica_id=-1, topics=topics, **limits)
            + framed("ApiVersions", 0, 2)
            + (200 << 20).to_bytes(4, "big")
        )
        answers = [(await answer(reader))[:4] for _ in range(2)]
        return answers, await reader.read()

    answers, rest = with_server(scenario)
    assert answers == [(1).to_bytes(4, "big"), (2).to_bytes(4, "big")]
    assert rest == b""
    assert "announced a request of 209715200 bytes" in capsys.readouterr().err


def test_requests_that_are_held_back_go_in_once_answers_are_read():
    """Also when a connection that was held back before them is gone by then."""

    async def scenario(server, reader, writer):
        writer.write(framed("ApiVersions", 0, 1))
        await answer(reader)
        [reads_nothing] = server.connections
        server.answers.hold(reads_nothing, server.answers.most_bytes + 1)
        others = [
            await asyncio.open_connection(*writer.get_extra_info("peername"))
            for _ in range(3)
        ]
        for _, other in others:
            other.write(framed("ApiVersions", 0, 2))
        while server.requests.total_bytes < 3 * (len(framed("ApiVersions", 0, 2)) - 4):
            await asyncio.sleep(0)
        others.pop(0)
        next(iter(server.requests.holders())).abort()
        while len(server.connections) > 3:
            await asyncio.sleep(0)
        asked = [client.asked for client in server.broker.requests.clients.values()]
        server.answers.hold(reads_nothing, 0)
        got = [(await answer(other_reader))[:4] for other_reader, _ in others]
        for _, other in others:
            other.close()
        return asked, got

    asked, got = with_server(scenario)
    assert asked == [1, 0, 0]
    assert got == [(2).to_bytes(4, "big")] * 2


def test_requests_of_a_client_that_does_not_read_do_not_go_in():
    async def scenario(server, reader, writer):
        writer.write(framed("ApiVersions", 0, 1))
        await answer(reader)
        [connection] = server.connections
        connection.pause_writing()
        writer.write(framed("ApiVersions", 0, 2) + framed("ApiVersions", 0, 3))
        while not connection.transport._paused:  # it has come, and no more is read
            await asyncio.sleep(0)
        [client] = server.broker.requests.clients.values()
        asked = client.asked
        connection.resume_writing()
        return asked, [(await answer(reader))[:4] for _ in range(2)]

    asked, got = with_server(scenario)
    assert asked == 1
    assert got == [(2).to_bytes(4, "big"), (3).to_bytes(4, "big")]


def test_a_stop_does_not_wait_for_a_client_that_does_not_read(monkeypatch):
    """And a request that is held back because of it is never served."""
    monkeypatch.setattr(shell, "FLUSH_SECONDS", 0.1)

    async def scenario(server, reader, writer):
        while not server.connections:
            await asyncio.sleep(0)
        [reads_nothing] = server.connections
        reads_nothing.transport.write(bytes(64 << 20))
        reads_nothing.count_unread()
        server.answers.most_bytes = 1 << 20
        other_reader, other = await asyncio.open_connection(
            *writer.get_extra_info("peername")
        )
        other.write(framed("ApiVersions", 0, 1))
        while not server.requests.total_bytes:
            await asyncio.sleep(0)
        server.stop()
        rest = await other_reader.read()
        while server.connections:
            await asyncio.sleep(0)
        other.close()
        return rest

    assert with_server(scenario) == b""
