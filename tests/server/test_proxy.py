"""The proxy: what passes is noted, may be changed, and nothing is left when it
closes.
"""

import socket
import threading

import pytest

from minikafka.server.embedded import Served
from minikafka.server.proxy import Proxy, read_frame, send_frame
from tests.kafka import free_ports


class Echo:
    """A server that answers each frame with the frame, and notes who came."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.hung_up = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection:
            while (frame := read_frame(connection)) is not None:
                send_frame(connection, frame)
        self.hung_up.set()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.listener.close()
        self.thread.join(60)
        assert not self.thread.is_alive()


def connected(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=60)


REQUEST = bytes.fromhex("0012 0000 00000007 ffff")


def test_what_passes_is_noted_in_both_directions():
    with Echo() as echo, Proxy(echo.address) as proxy, connected(proxy) as client:
        for _ in range(2):
            send_frame(client, REQUEST)
            assert read_frame(client) == REQUEST
        assert [frame.is_request for frame in proxy.frames] == [True, False] * 2
        assert {frame.data for frame in proxy.frames} == {REQUEST}
        assert [frame.api for frame in proxy.requests()] == ["ApiVersions"] * 2


def test_an_answer_may_be_changed_by_whoever_sees_its_request():
    """The echo's answer begins with the request's first four bytes as its correlation
    id, so the request has them twice.
    """
    request = b"same" + b"same"

    def change(asked, answer):
        return asked[:4] + b" but " + answer[4:]

    with Echo() as echo, Proxy(echo.address, change) as proxy:
        with connected(proxy) as client:
            send_frame(client, request)
            assert read_frame(client) == b"same but same"
        assert proxy.frames[0].data == request


def test_a_client_that_hangs_up_is_hung_up_on_the_other_side_too():
    with Echo() as echo, Proxy(echo.address) as proxy:
        with connected(proxy) as client:
            send_frame(client, REQUEST)
            read_frame(client)
        assert echo.hung_up.wait(60)


def test_where_nobody_listens_behind_it_the_client_is_hung_up_on():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Proxy(f"127.0.0.1:{port}") as proxy, connected(proxy) as client:
        assert read_frame(client) is None


def test_when_it_closes_everybody_is_hung_up_on_and_no_thread_is_left():
    before = threading.active_count()
    with Echo() as echo:
        with Proxy(echo.address) as proxy:
            client = connected(proxy)
            send_frame(client, REQUEST)
            read_frame(client)
        assert read_frame(client) is None
        client.close()
    assert threading.active_count() == before
    with pytest.raises(OSError):
        connected(proxy)


def test_a_torn_frame_reaches_nobody():
    with Echo() as echo, Proxy(echo.address) as proxy:
        with connected(proxy) as client:
            client.sendall((100).to_bytes(4, "big") + b"half of it")
        assert echo.hung_up.wait(60)
        assert proxy.frames == []


def test_clients_stay_behind_a_proxy_whose_port_the_broker_advertises():
    """Unchanged answers lead them there: advertised.listeners names the proxy."""
    kafka = pytest.importorskip("kafka")
    [port] = free_ports(1)
    with Proxy(f"127.0.0.1:{port}") as proxy:
        told = ("--advertised-port", str(proxy.port))
        with Served(port=port, options=told) as served:
            assert served.bootstrap == proxy.address
            with kafka.KafkaProducer(bootstrap_servers=proxy.address) as producer:
                producer.send("orders", b"paid").get(60)
            consumer = kafka.KafkaConsumer(
                "orders",
                bootstrap_servers=proxy.address,
                auto_offset_reset="earliest",
                consumer_timeout_ms=60_000,
            )
            assert next(consumer).value == b"paid"
            consumer.close()
        asked = {frame.api for frame in proxy.requests()}
    assert {"Metadata", "Produce", "Fetch"} <= asked
