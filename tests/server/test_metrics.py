"""`minikafka serve --metrics PORT`: what Prometheus is answered."""

import asyncio
import os
import re
import signal
import socket
from contextlib import suppress

import pytest

from minikafka.broker import metrics as metrics_of
from minikafka.server import http
from minikafka.server.addresses import listen_socket
from minikafka.server.embedded import Served
from minikafka.server.http import MOST_HEAD_BYTES
from minikafka.server.metrics import MOST_AT_ONCE, MetricsPage
from tests.broker.node import CountingNode
from tests.clients.brokers import STEADY, overrides, until
from tests.conformance.raw import Connection, batch
from tests.kafka import free_ports
from tests.metrics import Scrape
from tests.server.test_life import refused, said  # noqa: F401 (a fixture)

REPLICAS = "kafka_server_replicamanager_"
REQUESTS = "kafka_network_requestmetrics_"


def pages(served):
    """Where the metrics of each broker are, as the server says."""
    return re.findall(r"are at (http://\S+)\.$", served.said(), re.MULTILINE)


@pytest.fixture(scope="module")
def served():
    with Served(options=("--metrics", "0")) as kafka:
        yield kafka
        assert "Traceback" not in kafka.said()


@pytest.fixture(scope="module")
def page(served):
    [url] = pages(served)
    return url


def asked(page, request):
    """The answer to these bytes: its first line, and all of it."""
    host, port = page.removeprefix("http://").removesuffix("/metrics").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while more := connection.recv(65536):
            answer += more
    return answer.partition(b"\r\n")[0].decode(), answer


def test_a_scrape_is_what_prometheus_reads_and_the_connection_is_closed(page):
    status, answer = asked(page, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert status == "HTTP/1.1 200 OK"
    assert b"Content-Type: text/plain; version=0.0.4" in head
    assert b"Connection: close" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert Scrape(body.decode()).value(REPLICAS + "underreplicatedpartitions") == 0


def test_a_scraper_may_add_parameters(page):
    assert Scrape.of(f"{page}?from=prometheus").families


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /metrics/ HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /../metrics HTTP/1.0\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        (b"hello\r\n\r\n", "400 Bad Request"),
        (b"\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics \xff\xfe\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nX: ", "431 Request Header Fields Too Large"),
    ],
)
def test_anything_else_is_refused_in_one_line(page, request_bytes, status):
    if not request_bytes.endswith(b"\r\n\r\n"):
        request_bytes += b"x" * 2 * MOST_HEAD_BYTES
    told, _ = asked(page, request_bytes)
    assert told == f"HTTP/1.1 {status}"


def test_who_hangs_up_or_stands_still_holds_up_nobody(page):
    host, port = page.removeprefix("http://").removesuffix("/metrics").split(":")
    address = host, int(port)
    still = [socket.create_connection(address) for _ in range(MOST_AT_ONCE - 2)]
    for each in still:
        each.sendall(b"GET /met")
    socket.create_connection(address).close()
    assert Scrape.of(page).families
    still += [socket.create_connection(address) for _ in range(2)]
    until(lambda: one_too_many(address), "no more than so many are answered at once")
    for each in still:
        each.close()
    until(lambda: is_answered(page), "there is room again")


def one_too_many(address):
    with socket.create_connection(address) as connection:
        try:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            return connection.recv(1) == b""
        except ConnectionError:
            return True


def is_answered(page):
    try:
        return bool(Scrape.of(page).families)
    except OSError:
        return False


def test_requests_have_their_count_and_their_time_once_they_are_answered(served, page):
    with Connection(served.bootstrap) as client:
        client.create_topic("timed")
        for _ in range(20):
            client.produce("timed", batch(b"one"))
        client.send_fetch("timed", offset=20, max_wait_ms=200, min_bytes=1)
        client.read("Fetch", 11)
    one = Scrape.of(page)
    assert one.total(REQUESTS + "requests_total", request="Produce") == 20
    assert one.value(REQUESTS + "totaltimems_count", request="Produce") == 20
    longest = {"request": "FetchConsumer", "quantile": "0.999"}
    assert 200 <= one.value(REQUESTS + "totaltimems", **longest) < 60_000
    topic = "kafka_server_brokertopicmetrics_messagesin_total"
    assert one.value(topic, topic="timed") == 20


class OneNode(CountingNode):
    """A node without clients, whose metrics are asked for."""

    def asked(self, request, times=1):
        """The answers to so many scrapes, one after the other."""

        async def scrape():
            listener = listen_socket("127.0.0.1", 0)
            address = listener.getsockname()
            telling = asyncio.create_task(MetricsPage(self.broker).serve(listener))
            answers = []
            for _ in range(times):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(request)
                answers.append(await reader.read())
                writer.close()
            telling.cancel()
            return answers

        return asyncio.run(asyncio.wait_for(scrape(), 60))


def test_who_stands_still_for_too_long_is_turned_away(monkeypatch):
    monkeypatch.setattr(http, "PATIENCE_SECONDS", 0.01)
    with suppress(ConnectionError):
        assert OneNode().asked(b"GET /met") == [b""]


def test_a_metric_that_cannot_be_read_is_said_and_the_server_goes_on(
    monkeypatch, capsys
):
    def fails(node):
        raise LookupError("orders")

    broken = metrics_of.METRICS[0]._replace(read=fails)
    monkeypatch.setattr(metrics_of, "METRICS", (*metrics_of.METRICS, broken))
    answers = OneNode().asked(b"GET /metrics HTTP/1.1\r\n\r\n", times=2)
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert "a scrape met a bug of minikafka's" in capsys.readouterr().err


def test_each_of_three_brokers_has_a_port_of_its_own_one_after_the_other():
    first = next(port for port in free_ports(50) if are_free(port, 3))
    options = ("--brokers", "3", "--metrics", str(first))
    with Served(options=(*options, *overrides(STEADY))) as kafka:
        expected = [f"http://127.0.0.1:{first + at}/metrics" for at in range(3)]
        assert pages(kafka) == expected
        scrapes = [Scrape.of(page) for page in expected]
    name = "kafka_controller_kafkacontroller_activecontrollercount"
    assert sorted(each.value(name) for each in scrapes) == [0, 0, 1]


def are_free(first, count):
    try:
        for port in range(first, first + count):
            socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_a_process_for_each_broker_tells_its_own_and_after_a_restart_at_the_same_place(
    tmp_path,
):
    options = ("--brokers", "3", "--processes", "--metrics", "0")
    with Served(data=tmp_path, options=(*options, *overrides(STEADY))) as kafka:
        until(lambda: len(pages(kafka)) == 3)
        assert len(set(pages(kafka))) == 3
        before = sorted(pages(kafka))
        for page in before:
            assert Scrape.of(page).families
        pid = int((tmp_path / "broker-3.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        until(lambda: len(pages(kafka)) == 4, "it is started again")
        assert sorted(set(pages(kafka))) == before
        until(lambda: all(is_answered(page) for page in before))


def test_without_the_option_nothing_is_told_and_nothing_is_counted():
    with Served() as kafka:
        assert pages(kafka) == []


def test_a_port_that_is_taken_is_said_as_for_other_listeners():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        code, errors = said("--port", "0", "--metrics", str(port))
    assert code == 1
    assert f"minikafka: port {port} is taken by another program" in errors
    assert "choose another port in --metrics." in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metrics", "http", "--port", "0"], "--metrics: 'http' is not a port"),
        (["--metrics", "", "--port", "0"], "--metrics: '' is not a port"),
        (
            ["--brokers", "3", "--port", "0", "--metrics", "65534"],
            "--metrics: 3 brokers take the ports from 65534 on, and end beyond 65535",
        ),
        (
            ["--brokers", "3", "--port", "9092", "--metrics", "9094"],
            "--metrics: clients have the ports from 9092 on; choose another one, for"
            " example 9095.",
        ),
    ],
)
def test_a_wrong_port_gets_one_helpful_line(options, words, refused):  # noqa: F811
    code, errors = refused(*options)
    assert code in (1, 2)
    assert words in errors
    assert errors.count("\n") == 1
