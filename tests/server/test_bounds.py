"""What clients can make grow has an end over all of them together, and who is honest
does not pay for it.
"""

import asyncio
import os
import resource
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from minikafka.server.embedded import Served
from minikafka.wire.messages import decode_response, encode_request
from tests.conformance.raw import Connection, batch
from tests.kafka import SERVE
from tests.server.small_window import SmallWindow
from tests.server.test_connection import answer, framed, with_server

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20

if not hasattr(resource, "prlimit"):
    pytest.skip(
        "needs Linux: it reads /proc and limits another process",
        allow_module_level=True,
    )


def overrides(**properties):
    return tuple(
        word
        for name, value in properties.items()
        for word in ("--override", f"{name.replace('_', '.')}={value}")
    )


def resident_bytes(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def test_half_requests_give_way_to_a_large_one_that_makes_progress(capsys):
    create = framed(
        "CreateTopics",
        5,
        0,
        topics=[{"name": "orders", "num_partitions": 1, "replication_factor": 1}],
    )
    partition = {"index": 0, "records": batch(bytes(900_000))}
    topics = [{"name": "orders", "partition_data": [partition]}]
    request = framed("Produce", 7, 1, acks=-1, timeout_ms=1000, topic_data=topics)
    half = struct.pack(">i", MEGABYTE) + bytes(1000)

    async def scenario(server, reader, writer):
        writer.write(create)
        await answer(reader)
        [honest] = server.connections
        writers = []
        for at in range(0, len(request), len(request) // 50):
            # 200 in all; there is memory for 20 of them beside the large one
            for _ in range(4):
                _, attacker = await asyncio.open_connection(
                    *writer.get_extra_info("peername")
                )
                attacker.write(half)
                writers.append(attacker)
            before = honest.active_at
            writer.write(request[at : at + len(request) // 50])
            while honest.active_at == before and not honest.closed:
                await asyncio.sleep(0)
        answered = decode_response("Produce", 7, await answer(reader))[1]
        for attacker in writers:
            attacker.close()
        return answered

    answered = with_server(scenario, socket_request_max_bytes=MEGABYTE)
    assert [
        partition.error_code for partition in answered.responses[0].partition_responses
    ] == [0]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 100, "most of them had to go"
    assert all("bytes of unfinished requests, above" in line for line in lines)


def test_clients_that_never_read_give_way_once_others_wait_and_who_reads_slowly_does_not():
    limit = 8 * MEGABYTE
    fetch = {"partition_max_bytes": limit, "max_bytes": limit}
    with (
        Served(options=overrides(fetch_max_bytes=limit)) as served,
        Connection(served.bootstrap) as witness,
        SmallWindow(served.bootstrap, 100_000) as slow,
    ):
        witness.create_topic("orders")
        for _ in range(8):
            witness.produce("orders", batch(bytes(1_000_000)))
        slow.send_fetch("orders", **fetch)
        unread = struct.unpack(">i", slow._read(4))[0]
        lazy = [SmallWindow(served.bootstrap, 4096) for _ in range(10)]
        for connection in lazy:
            connection.send_fetch("orders", **fetch)
        for _ in range(20):
            assert witness.offset("orders", -1).error_code == 0, (
                "who reads is answered, in the end"
            )
            unread -= len(slow.socket.recv(2000))
        assert "bytes of answers, above" in served.said()
        while unread:
            unread -= len(slow.socket.recv(unread))
        assert resident_bytes(served.process) < 31 * MEGABYTE + 10 * limit
        for connection in lazy:
            connection.close()


def serve_with_open_files(limit, *options):
    command = f'ulimit -n {limit} && exec "$@"'
    arguments = [*SERVE, *options]
    return subprocess.Popen(
        ["sh", "-c", command, "sh", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ready(process):
    return process.stdout.readline().decode().removeprefix("ready ").strip()


def test_connections_never_take_the_files_that_the_disk_needs():
    with serve_with_open_files(200) as process:
        address = ready(process)
        with Connection(address) as witness:
            # more files than the disk may keep open
            witness.create_topic("orders", partitions=80)
            crowd = [Connection(address) for _ in range(200)]
            for partition in range(80):
                assert (
                    witness.produce(
                        "orders", batch(b"paid"), partition=partition
                    ).error_code
                    == 0
                )
            [line] = read_lines(process.stderr, 1)
            for connection in crowd:
                connection.close()
            process.terminate()
            _, errors = process.communicate(timeout=120)
    assert line.startswith("minikafka: turned away ") and "75 at a time" in line
    assert process.returncode == 0
    assert b"Traceback" not in errors


def read_lines(stream, count):
    return [stream.readline().decode() for _ in range(count)]


def test_with_hardly_any_open_files_it_does_not_start():
    with serve_with_open_files(60) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert (
        errors.decode()
        == "minikafka: the limit of open files is 60: raise it to at least 100 (ulimit"
        " -n 100).\n"
    )


def test_max_connections_turns_the_next_one_away_and_lets_it_in_once_somebody_left():
    with (
        Served(options=overrides(max_connections=2)) as served,
        Connection(served.bootstrap) as first,
    ):
        with Connection(served.bootstrap) as second:
            second.ask("ApiVersions", 0)
            with Connection(served.bootstrap) as third:
                assert third.is_closed_by_the_broker()
        # until the server has seen that the second left
        while not answered(served.bootstrap):
            first.ask("ApiVersions", 0)


def test_kip_612_a_server_stops_while_clients_wait_for_their_turn():
    """By max.connection.creation.rate: with 0 each one waits as long as it may."""
    with Served(options=overrides(max_connection_creation_rate=0)) as served:
        clients = [Connection(served.bootstrap) for _ in range(3)]
        with clients[0], clients[1], clients[2]:
            clients[0].ask("ApiVersions", 0)
            assert served.stop() == 0
            assert all(client.is_closed_by_the_broker() for client in clients)
        assert served.said() == ""


def answered(bootstrap):
    try:
        with Connection(bootstrap) as client:
            client.ask("ApiVersions", 0)
    except (EOFError, ConnectionError):
        return False
    return True


def test_a_system_without_open_files_is_said_once_a_second_and_goes_by():
    with Served() as served, Connection(served.bootstrap) as witness:
        witness.ask("ApiVersions", 0)
        began = time.monotonic()
        soft, hard = resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE)
        in_use = len(os.listdir(f"/proc/{served.process.pid}/fd"))
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (in_use, hard))
        with Connection(served.bootstrap) as waits:
            waits.send("ApiVersions", 0)
            while "can't accept a connection: Too many open files" not in served.said():
                witness.ask("ApiVersions", 0)
            resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
            assert waits.read("ApiVersions", 0).error_code == 0
        assert len(served.said().splitlines()) <= 2 + int(time.monotonic() - began)


def test_a_trace_on_a_full_disk_ends_with_one_line_and_the_server_goes_on():
    with Served(trace="/dev/full") as served, Connection(served.bootstrap) as client:
        client.create_topic("orders")
        assert client.produce("orders", batch(b"paid")).error_code == 0
        assert (
            served.said()
            == "minikafka: the trace in /dev/full ends here: No space left on device."
        )
        assert served.stop() == 0


def test_a_trace_whose_reader_left_ends_with_one_line_and_the_server_goes_on(tmp_path):
    pipe = tmp_path / "trace"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with Served(trace=pipe) as served, Connection(served.bootstrap) as client:
        client.create_topic("orders")
        assert select.select([reader], [], [], 120)[0] and b'"TopicCreated"' in os.read(
            reader, 1 << 16
        )
        os.close(reader)
        assert client.produce("orders", batch(b"paid")).error_code == 0
        assert client.produce("orders", batch(b"paid")).error_code == 0
        assert (
            served.said() == f"minikafka: the trace in {pipe} ends here: Broken pipe."
        )


def test_a_log_that_nobody_can_write_stops_nothing():
    with open("/dev/full", "wb") as full:
        command = [*SERVE, "--verbose"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=full) as process:
            with Connection(ready(process)) as client:
                client.create_topic("orders")
                with socket.create_connection(client.socket.getpeername()) as garbage:
                    garbage.sendall(b"GET / HTTP/1.1\r\n")
                    assert garbage.recv(1) == b""
                assert client.produce("orders", batch(b"paid")).error_code == 0
            process.terminate()


def test_nothing_that_a_client_names_can_forge_a_line_of_the_log():
    forged = "x\nminikafka: \x1b[31mnode 1 stops\u202e\r" + "long " * 2000
    with Served(options=("--verbose",)) as served:
        with Connection(served.bootstrap) as client:
            client.send(
                "ApiVersions",
                3,
                client_software_name=forged,
                client_software_version="1\n2",
            )
            client.read_frame()
        with Connection(served.bootstrap) as client:
            client.send_frame(b"".join(encode_request("ApiVersions", 0, 1, forged, {})))
            client.read_frame()
        while served.said().count(" left after ") < 2:
            answered(served.bootstrap)
        lines = served.said()
    assert r"x\nminikafka: \x1b[31mnode 1 stops\u202e\r" in lines
    assert all(
        line.startswith("minikafka: ") and len(line) < 2100
        for line in lines.splitlines()
    )
    assert all(line.isprintable() for line in lines.splitlines())
    assert "minikafka: \x1b" not in lines
