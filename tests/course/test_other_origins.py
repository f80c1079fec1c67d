"""While the course runs, a page of another origin is open in the same browser. It may
send what a form may send, also with the browser's cookies, and it may have a name of
its own for 127.0.0.1 (DNS rebinding). It neither reads nor changes anything: not in
JupyterLab, not in lesson 21's registry, not on a broker.
"""

import json
import os
import socket
import subprocess
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from minikafka.course import lab
from minikafka.course.experiments import lesson_21_http
from minikafka.course.experiments.lesson_21_registry import Registry
from minikafka.wire.messages import encode_request
from tests.clients.brokers import fresh_name, minikafka
from tests.conformance.raw import Connection, batch
from tests.kafka import free_ports

pytestmark = pytest.mark.slow

EVIL = "evil.example"
TOKEN = "not-known-to-a-page"
FORM = {"Content-Type": "text/plain"}  # a browser asks nobody before it sends that


class Browser:
    """What a page has its browser send to a port of this machine. No answer says that
    another origin may read it, if it did not bring the token.
    """

    def __init__(self, port, cookie=""):
        self.port, self.cookie = port, cookie
        self.own = f"127.0.0.1:{port}"

    def ask(self, method, path, body=None, *, host=None, origin=None, **headers):
        headers |= {"Host": host or self.own}
        if self.cookie:
            headers["Cookie"] = self.cookie
        if origin:
            headers["Origin"] = f"http://{origin}"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.body = b"" if answer.status == 101 else answer.read()
        connection.close()
        if TOKEN not in path:
            assert answer.getheader("Access-Control-Allow-Origin") is None
        return answer


# -- JupyterLab


@contextmanager
def running_lab(home):
    """As `minikafka lab` starts it."""
    [port] = free_ports(1)
    command = lab.jupyter_command(home, port, lab.FIRST_LESSON, no_browser=True)
    of_its_own = {"JUPYTER_TOKEN": TOKEN, "HOME": str(home)}
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        of_its_own[f"JUPYTER_{name}"] = str(home / name)
    process = subprocess.Popen(
        command,
        env=os.environ | of_its_own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not lab.answers(f"http://127.0.0.1:{port}/api"):
            assert process.poll() is None, "JupyterLab did not start"
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """The browser in which a learner has JupyterLab open."""
    home = tmp_path_factory.mktemp("home")
    (home / "mine.txt").write_text("my work")
    with running_lab(home) as port:
        opened = Browser(port).ask("GET", f"/lab?token={TOKEN}")
        cookies = [
            value.partition(";")[0]
            for name, value in opened.getheaders()
            if name == "Set-Cookie"
        ]
        browser = Browser(port, "; ".join(cookies))
        browser.home = home
        yield browser


def test_the_learners_own_page_reads_and_writes(jupyter):
    read = jupyter.ask("GET", "/api/contents/mine.txt", origin=jupyter.own)
    assert json.loads(read.body)["content"] == "my work"


@pytest.mark.parametrize("path", ["/api/contents/mine.txt", "/files/mine.txt"])
def test_without_the_token_or_its_cookie_nothing_is_read(jupyter, path):
    stranger = Browser(jupyter.port)
    for more in ({}, {"origin": EVIL}, {"host": f"{EVIL}:{jupyter.port}"}):
        assert b"my work" not in stranger.ask("GET", path, **more).body


@pytest.mark.parametrize("path", ["/api/contents/mine.txt", "/lab", "/api/kernels"])
def test_a_name_of_ones_own_for_127_0_0_1_is_refused_with_the_token_too(jupyter, path):
    asked = f"{path}?token={TOKEN}"
    rebound = f"{EVIL}:{jupyter.port}"
    answer = jupyter.ask("GET", asked, host=rebound, origin=rebound)
    assert answer.status == 403


def test_with_the_browsers_cookies_another_origins_page_changes_nothing(jupyter):
    before = json.loads(jupyter.ask("GET", "/api/kernels").body)
    new = json.dumps({"type": "file", "format": "text", "content": "stolen"})
    for method, path in (
        ("POST", "/api/contents"),
        ("POST", "/api/kernels"),
        ("POST", "/api/sessions"),
        ("POST", "/api/terminals"),
        ("PUT", "/api/contents/mine.txt"),
        ("DELETE", "/api/contents/mine.txt"),
        ("POST", "/api/shutdown"),
    ):
        answer = jupyter.ask(method, path, new, origin=EVIL, **FORM)
        assert answer.status in (403, 404), (method, path, answer.status)
    assert (jupyter.home / "mine.txt").read_text() == "my work"
    assert json.loads(jupyter.ask("GET", "/api/kernels").body) == before


@pytest.mark.parametrize(("origin", "opens"), [(None, True), (EVIL, False)])
def test_a_websocket_is_for_the_learners_own_page(jupyter, origin, opens):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    answer = jupyter.ask(
        "GET", "/api/events/subscribe", origin=origin or jupyter.own, **upgrade
    )
    assert (answer.status == 101) is opens


# -- lesson 21's registry


class NoTopic:
    """A registry that nobody has written to."""

    def rest(self):
        return []


def test_the_registry_answers_no_page_of_another_origin():
    path, level = "/config", json.dumps({"compatibility": "NONE"})
    with lesson_21_http.Served(Registry(NoTopic())) as served:
        browser = Browser(int(served.url.rpartition(":")[2]))
        for more in (
            {"origin": EVIL},
            {"origin": "null"},
            {"host": f"{EVIL}:{browser.port}"},
        ):
            assert browser.ask("PUT", path, level, **FORM, **more).status == 403
            assert b"BACKWARD" not in browser.ask("GET", path, **more).body
        assert b"BACKWARD" in browser.ask("GET", path).body
        assert served.calls == ["GET /config"]


# -- a broker


def test_a_broker_reads_no_kafka_request_out_of_an_http_request():
    """The first four bytes of each, as a size, are more than a request may have."""
    topic = fresh_name()
    asked = {"acks": -1, "timeout_ms": 1000}
    data = [{"index": 0, "records": batch(b"stolen")}]
    body = asked | {"topic_data": [{"name": topic, "partition_data": data}]}
    frame = b"".join(encode_request("Produce", 9, 1, "page", body))
    sized = len(frame).to_bytes(4, "big") + frame
    with minikafka() as bootstrap, Connection(bootstrap) as broker:
        broker.create_topic(topic)
        for method in ("GET", "POST", "PUT", "OPTIONS", "HEAD"):
            head = f"{method} / HTTP/1.1\r\nHost: {bootstrap}\r\n"
            head += f"Content-Length: {len(sized)}\r\n\r\n"
            with socket.create_connection(bootstrap.split(":"), timeout=60) as page:
                page.sendall(head.encode() + sized)
                try:
                    assert page.recv(1) == b""
                except ConnectionResetError:
                    pass
        assert broker.offset(topic, -1).offset == 0
