"""Garbage, oversized, truncated and hostile frames close their connection with a plain
line; nobody else notices.
"""

import socket
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minikafka.broker.handlers import HANDLERS
from minikafka.server.embedded import Served
from minikafka.wire.messages import BY_KEY, encode_request
from tests.clients.brokers import KEPT, overrides
from tests.conformance.raw import Connection, batch
from tests.conformance.test_every_version import body
from tests.soak.frames import mutated

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def victim():
    """A server with a topic, and a client that stays connected and asks all the
    time.
    """
    with (
        Served(options=overrides(KEPT)) as served,
        Connection(served.bootstrap) as witness,
    ):
        witness.create_topic("orders")
        witness.produce("orders", batch(b"a", b"b"))
        yield served, witness
        assert "Traceback" not in served.said(), served.said()


def unharmed(witness):
    """The other client is answered, with what was there before."""
    return (
        witness.offset("orders", -2).offset == 0
        and len(witness.fetch("orders").records) > 0
    )


def attack(bootstrap, data):
    """Send bytes, hang up the sending side, and read to the end. The server must end
    it, answer or not.
    """
    with Connection(bootstrap) as hostile:
        try:
            hostile.send_bytes(data)
            hostile.socket.shutdown(socket.SHUT_WR)
            while hostile.socket.recv(1 << 16):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass  # closed before we were done: "not connected", "reset", "broken pipe"


def framed(frame):
    return struct.pack(">i", len(frame)) + frame


def recorded():
    """One real frame of every version of every API that clients may use."""
    frames = []
    for key, handler in HANDLERS.items():
        api = BY_KEY[key]
        if handler.inter_broker:
            continue
        for version in range(
            max(api.min_version, handler.versions[0]), handler.versions[1] + 1
        ):
            request = body(api.name, version, "hostile", bytes(16))
            frames.append(
                b"".join(encode_request(api.name, version, 1, "raw", request))
            )
    return frames


RECORDED = recorded()
thorough = settings(
    max_examples=settings().max_examples * 3 // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@thorough
@given(st.binary(max_size=200))
def test_garbage_bytes_hurt_nobody(victim, data):
    served, witness = victim
    attack(served.bootstrap, data)
    assert unharmed(witness)


@thorough
@given(st.sampled_from(sorted(HANDLERS)), st.integers(0, 15), st.binary(max_size=200))
def test_garbage_behind_a_real_header_hurts_nobody(victim, key, version, data):
    served, witness = victim
    header = struct.pack(">hhihx", key, version, 1, 0)[: 11 if version else 10]
    attack(served.bootstrap, framed(header + data))
    assert unharmed(witness)


@thorough
@given(st.sampled_from(RECORDED), st.randoms(use_true_random=False))
def test_mutations_of_real_frames_hurt_nobody(victim, frame, dice):
    served, witness = victim
    attack(served.bootstrap, framed(mutated(frame, dice)))
    assert unharmed(witness)


@thorough
@given(st.sampled_from(RECORDED), st.lists(st.integers(1, 40), max_size=6))
def test_real_frames_in_any_pieces_are_understood(victim, frame, cuts):
    served, witness = victim
    data = framed(b"".join(encode_request("ApiVersions", 0, 7, "raw", {}))) + framed(
        frame
    )
    with Connection(served.bootstrap) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in [*cuts, len(data)]:
            client.send_bytes(data[:size])
            data = data[size:]
        assert client.read_frame()[:4] == (7).to_bytes(4, "big")
    assert unharmed(witness)


def test_each_closed_connection_is_said_in_one_plain_line():
    with Served() as served:
        for data in (
            b"GET / HTTP/1.1\r\n",
            b"\x16\x03\x01\x02",
            b"\xff\xff\xff\xff",
            b"\x7f\0\0\0",
            framed(b"\0\x03"),
        ):
            with Connection(served.bootstrap) as hostile:
                hostile.send_bytes(data)
                assert hostile.is_closed_by_the_broker()
        lines = served.said().splitlines()
    assert len(lines) == 5
    assert all(
        line.startswith("minikafka: closed the connection of 127.0.0.1:")
        for line in lines
    )
    for line, words in zip(
        lines,
        ("HTTP", "TLS", "-1 bytes", "socket.request.max.bytes", "no whole header"),
        strict=True,
    ):
        assert words in line


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="reads the memory of a process from /proc",
)
def test_memory_stays_bounded_under_claims_of_huge_requests():
    with Served() as served, Connection(served.bootstrap) as witness:
        witness.create_topic("orders")
        before = resident_bytes(served)
        hostile = [Connection(served.bootstrap) for _ in range(200)]
        for connection in hostile:  # each claims 100 MB and sends a little
            connection.send_bytes(struct.pack(">i", 100 * MEGABYTE) + bytes(1000))
        assert witness.offset("orders", -1).error_code == 0
        assert resident_bytes(served) - before < 100 * MEGABYTE
        for connection in hostile[:40]:  # and now 10 MB each: 400 MB in all
            try:
                connection.send_bytes(bytes(10 * MEGABYTE))
            except ConnectionError:
                pass  # closed: it held the most
        assert witness.offset("orders", -1).error_code == 0
        assert resident_bytes(served) - before < 400 * MEGABYTE
        assert "bytes of unfinished requests, above" in served.said()
        for connection in hostile:
            connection.close()


def resident_bytes(served):
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="reads the memory of a process from /proc",
)
def test_a_client_that_does_not_read_its_answers_is_held_back():
    with (
        Served() as served,
        Connection(served.bootstrap) as witness,
        Connection(served.bootstrap) as greedy,
    ):
        witness.create_topic("orders")
        for _ in range(20):
            witness.produce("orders", batch(bytes(900_000)))
        before = resident_bytes(served)
        greedy.socket.settimeout(1)
        limits = {"partition_max_bytes": 20 * MEGABYTE}
        for _ in range(200):  # 3.6 GB of answers
            greedy.send_fetch("orders", **limits)
        assert witness.offset("orders", -1).offset == 20
        assert resident_bytes(served) - before < 150 * MEGABYTE


def test_a_hang_up_is_noticed_while_a_request_is_parked():
    with (
        Served(options=("--verbose",)) as served,
        Connection(served.bootstrap) as witness,
    ):
        witness.create_topic("orders")
        with Connection(served.bootstrap) as client:
            client.ask(
                "ApiVersions",
                3,
                client_software_name="parked",
                client_software_version="1",
            )
            client.send_fetch("orders", max_wait_ms=600_000, min_bytes=1)
            assert witness.offset("orders", -1).error_code == 0
            address = "{}:{}".format(*client.socket.getsockname())
        while f"{address} left after" not in served.said():
            assert witness.offset("orders", -1).error_code == 0
