"""`minikafka serve --control PORT`: what a test in another language may do, and who may
not.
"""

import asyncio
import re
import socket
import threading
from contextlib import suppress

import confluent_kafka
import pytest

from minikafka.server import http
from minikafka.server.embedded import Served
from minikafka.server.http import MOST_HEAD_BYTES
from minikafka.testing.control import (
    MOST_AT_ONCE,
    MOST_BODY_BYTES,
    MOST_FAULTS,
    ROUTES,
)
from tests.clients.brokers import until
from tests.testing.controlled import Controlled

CONTROL = ("--control", "0")
LOST_ANSWER = {"fault": "Lose", "api": "Produce", "answer": True}


@pytest.fixture(scope="module")
def served():
    with Served(options=CONTROL) as kafka:
        yield kafka
        assert "Traceback" not in kafka.said()


@pytest.fixture
def one(served):
    control = Controlled(served)
    yield control
    control.ask("DELETE", "/faults")


@pytest.fixture
def three():
    """Brokers 0, 1 and 2."""
    replicated = ("--override", "default.replication.factor=3")
    options = (*CONTROL, "--brokers", "3", "--override", "node.id=0", *replicated)
    with Served(options=options) as kafka:
        yield kafka


def send(bootstrap, topic, **settings):
    """One record; returns once its producer has heard of it."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0} | settings
    )
    producer.produce(topic, b"paid")
    assert producer.flush(60) == 0


def end_of(bootstrap, topic):
    """The offset after its last record."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "log_level": 0}
    )
    place = confluent_kafka.TopicPartition(topic, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=60)
    consumer.close()
    return end


# -- what it is for


@pytest.mark.parametrize(("is_idempotent", "count"), [(True, 1), (False, 2)])
def test_kip_98_a_record_whose_answer_is_lost_is_there_once_if_its_producer_is_idempotent(
    served, one, is_idempotent, count
):
    topic = f"orders-{count}"
    begun = one.ask("POST", "/faults", LOST_ANSWER | {"topic": topic})
    assert begun["fault"] == f"Lose('Produce', topic='{topic}', answer=True)"
    send(served.bootstrap, topic, **{"enable.idempotence": is_idempotent})
    ended = one.ask("DELETE", f"/faults/{begun['id']}")
    assert (ended["hits"], ended["seen"]) == (1, 2)
    assert end_of(served.bootstrap, topic) == count
    assert any("met Lose(" in line for line in one.ask("GET", "/heard")["heard"])


def test_a_fault_that_has_ended_meets_nothing(served, one):
    begun = one.ask("POST", "/faults", LOST_ANSWER | {"times": "all"})
    one.ask("DELETE", f"/faults/{begun['id']}")
    status, told = one.asked("GET", f"/faults/{begun['id']}")
    assert (status, told) == (404, f"no fault {begun['id']}: []\n")
    send(served.bootstrap, "ended")
    assert end_of(served.bootstrap, "ended") == 1


def test_the_faults_of_a_plan_are_there_from_the_start_and_may_be_ended(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('[[faults]]\nfault = "Lose"\napi = "Produce"\n')
    with Served(options=(*CONTROL, "--faults", str(plan))) as kafka:
        one = Controlled(kafka)
        [planned] = one.ask("GET", "/")["faults"]
        assert planned == {"id": 1, "fault": "Lose('Produce')", "hits": 0, "seen": 0}
        send(kafka.bootstrap, "orders")
        assert one.ask("DELETE", "/faults/1")["hits"] == 1
        assert one.ask("POST", "/faults", LOST_ANSWER)["id"] == 2


def test_the_time_is_moved_and_a_record_of_last_week_is_gone():
    retention = ("--override", "log.retention.ms=3600000")
    with Served(options=(*CONTROL, *retention)) as kafka:
        one = Controlled(kafka)
        send(kafka.bootstrap, "orders")
        assert end_of(kafka.bootstrap, "orders") == 1
        seconds = 7 * 24 * 3600
        moved = one.ask("POST", "/clock/advance", {"seconds": seconds})
        assert moved == {"advanced_seconds": seconds}
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "none"}
        )
        place = confluent_kafka.TopicPartition("orders", 0)
        assert consumer.get_watermark_offsets(place, timeout=60) == (1, 1)
        consumer.close()


def test_a_broker_is_killed_frozen_and_cut_off_and_node_0_is_one_as_any_other(three):
    one = Controlled(three)
    send(three.bootstrap, "orders", acks="all")
    for broker in (0, 1, 2):
        down = one.ask("POST", f"/brokers/{broker}/kill", {"power": broker == 2})
        assert (down["id"], down["state"]) == (broker, "down")
        others = [
            each["address"]
            for each in one.ask("GET", "/")["brokers"]
            if each["state"] == "up"
        ]
        assert len(others) == 2
        send(",".join(others), "orders", acks="all")
        assert one.ask("POST", f"/brokers/{broker}/restart")["state"] == "up"
    end = end_of(three.bootstrap, "orders")
    assert end >= 4
    assert one.ask("POST", "/brokers/0/freeze")["state"] == "frozen"
    assert one.ask("POST", "/brokers/0/thaw")["state"] == "up"
    one.ask("POST", "/cut", {"brokers": [0, 1]})
    one.ask("POST", "/mend", {"brokers": [0, 1]})
    send(three.bootstrap, "orders", acks="all")
    assert end_of(three.bootstrap, "orders") > end


def test_while_one_request_waits_for_the_brokers_others_are_answered(three):
    """A day of three brokers takes many minutes, and a stop doesn't wait for it."""
    one = Controlled(three)
    day_s = 24 * 3600

    def move():
        with suppress(OSError):  # it stops before the day is over
            one.ask("POST", "/clock/advance", {"seconds": day_s})

    moving = threading.Thread(target=move)
    moving.start()
    until(lambda: one.ask("GET", "/")["advanced_seconds"] == day_s, "it moves")
    assert moving.is_alive()
    three.stop()
    moving.join()


# -- what is refused


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/faults", {}, 400, "fault is missing: say one of Lose, "),
        ("POST", "/faults", {"fault": "Lose"}, 400, "Lose needs api; it takes answer,"),
        ("POST", "/faults", [], 400, "the body is an object"),
        ("POST", "/faults", b"{", 400, "this is no JSON: "),
        ("POST", "/faults", b"\xff", 400, "this is no JSON: "),
        ("POST", "/faults", b"[" * 60_000, 400, "this is no JSON: "),
        ("POST", "/clock/advance", {}, 400, "seconds: a number, not None"),
        (
            "POST",
            "/clock/advance",
            {"seconds": True},
            400,
            "seconds: a number, not True",
        ),
        ("POST", "/clock/advance", {"seconds": -1}, 400, "one call moves the time"),
        (
            "POST",
            "/clock/advance",
            {"hours": 1},
            400,
            "/clock/advance has no 'hours'; it",
        ),
        (
            "POST",
            "/clock/advance",
            b'{"seconds": NaN}',
            400,
            "one call moves the time",
        ),
        (
            "POST",
            "/clock/advance",
            b'{"seconds": 1e999}',
            400,
            "one call moves the time",
        ),
        ("POST", "/brokers/2/kill", None, 404, "no broker 2: [1]"),
        ("POST", "/brokers/1/kill", {"power": 1}, 400, "power: true or false, not 1"),
        (
            "POST",
            "/brokers/1/thaw",
            {"power": 1},
            400,
            "/brokers/N/thaw has no 'power'; ",
        ),
        ("POST", "/cut", {"brokers": [1]}, 400, "brokers: two of their ids, not [1]"),
        ("POST", "/cut", {"brokers": [1, 2]}, 404, "no broker 2: [1]"),
        ("GET", "/faults/77", None, 404, "no fault 77: []"),
        ("GET", "/faults/x", None, 404, "there is GET /, GET /heard, POST /faults, "),
        ("GET", "/faults/1/", None, 404, "there is GET /, "),
        ("GET", "/%2e%2e/", None, 404, "there is GET /, "),
        ("GET", "/cut", None, 405, "only POST"),
        ("PUT", "/faults/1", None, 405, "only GET, DELETE"),
    ],
)
def test_a_wrong_request_gets_one_line_that_says_what_is_allowed(
    one, method, path, body, status, words
):
    told_status, told = one.asked(method, path, body)
    assert (told_status, told.startswith(words)) == (status, True), told
    assert told.count("\n") == 1


def test_the_body_is_json_and_says_so(one):
    """A web page can't say so without asking first (CORS), and isn't allowed to."""
    for kind in (None, "text/plain", "application/x-www-form-urlencoded"):
        asked = one.asked("POST", "/faults", LOST_ANSWER, **{"Content-Type": kind})
        assert asked == (415, "say Content-Type: application/json\n")


def test_there_are_so_many_faults_and_no_more(one):
    for _ in range(MOST_FAULTS):
        one.ask("POST", "/faults", LOST_ANSWER | {"topic": "nobody's"})
    status, told = one.asked("POST", "/faults", LOST_ANSWER)
    assert status == 400
    assert told == f"{MOST_FAULTS} faults are there: end some of them first\n"


# -- who is refused


@pytest.mark.parametrize(
    ("method", "path"), [(each.method, each.path) for each in ROUTES]
)
def test_nobody_is_heard_without_the_token(one, method, path):
    path = path.replace("N", "1")
    token = one.token
    for shown in (
        None,
        "Bearer ",
        token,
        f"Basic {token}",
        f"Bearer {token[:-1]}",
        f"Bearer {token}x",
        f"Bearer {'x' * len(token)}",
        f"bearer {token}",
        "Bearer \xe4",
    ):
        status, told = one.asked(method, path, Authorization=shown)
        assert status == 401, (shown, told)


def test_each_server_has_a_token_of_its_own_that_is_told_to_nobody_else(served):
    token = served.ready["token"]
    assert re.fullmatch("[0-9A-Za-z_-]{43}", token)
    assert token not in served.said()
    with Served(options=CONTROL) as other:
        assert Controlled(other).token != token
        mixed = Controlled(other)
        mixed.token = token
        assert mixed.asked("GET", "/")[0] == 401


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "localhost:{port}.evil.example",
        "127.0.0.1:{port}@evil.example",
        "[::1]:{port}",
    ],
)
def test_a_page_whose_host_name_is_made_to_mean_this_machine_is_refused(one, host):
    """DNS rebinding: the browser thinks that this is the page's own server, so that it
    asks without Origin, and shows the name in Host.
    """
    port = one.address.rpartition(":")[2]
    status, told = one.asked("GET", "/", Host=host and host.format(port=port))
    assert (status, told.startswith("the header Host names another host")) == (
        421,
        True,
    )


def test_localhost_is_this_machine_too(one):
    port = one.address.rpartition(":")[2]
    assert one.asked("GET", "/", Host=f"LocalHost:{port}")[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://{address}"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/faults")])
def test_a_web_page_is_refused_with_the_token_too(one, origin, method, path):
    origin = origin.format(address=one.address)
    assert one.asked(method, path, Origin=origin) == (
        403,
        "web pages may not ask here\n",
    )


def test_no_answer_lets_a_web_page_read_it(one):
    preflight = (
        b"OPTIONS /faults HTTP/1.1\r\nHost: %s\r\nOrigin: https://evil.example\r\n"
        b"Access-Control-Request-Method: POST\r\n\r\n" % one.address.encode()
    )
    plain = (
        f"GET / HTTP/1.1\r\nHost: {one.address}\r\n"
        f"Authorization: Bearer {one.token}\r\n\r\n"
    ).encode()
    for request, status in ((preflight, b"403"), (plain, b"200")):
        answer = answered(one, request)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"access-control" not in answer.lower()


def test_only_this_machine_reaches_it_whatever_host_says():
    options = ("--host", "0.0.0.0", "--advertised-host", "localhost")
    with Served(options=(*CONTROL, *options)) as kafka:
        assert kafka.ready["control"].startswith("http://127.0.0.1:")


def test_it_is_off_unless_asked_for():
    with Served() as kafka:
        assert kafka.ready.keys() == {"bootstrap_servers", "cluster_id", "pid"}


# -- what is no request


def answered(one, request):
    """All that is answered to these bytes."""
    host, port = one.address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while more := connection.recv(65536):
            answer += more
    return answer


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("X: " + "x" * MOST_HEAD_BYTES * 2, 431),
        (f"Content-Length: {MOST_BODY_BYTES + 1}", 413),
        (f"Content-Length: {'9' * 5000}", 413),
        ("Content-Length: -1", 400),
        ("Content-Length: +1", 400),
        ("Content-Length: \xb2", 400),
        ("Content-Length: 1\r\nContent-Length: 2", 400),
        ("Host: evil.example", 400),
        ("Authorization: Bearer x\r\nAuthorization: Bearer y", 400),
        ("Transfer-Encoding: chunked", 411),
        ("Content-Length: 0\r\nTransfer-Encoding: chunked", 411),
        ("no header", 400),
        (" folded: line", 400),
        ("Name : value", 400),
        (": value", 400),
    ],
)
def test_a_head_that_could_mean_two_things_is_refused(one, lines, status):
    request = f"POST /faults HTTP/1.1\r\nHost: {one.address}\r\n{lines}\r\n\r\n"
    answer = answered(one, request.encode("latin-1"))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


def test_other_headers_may_come_twice(one):
    request = (
        f"GET / HTTP/1.1\r\nHost: {one.address}\r\nVia: a\r\nVia: b\r\n"
        f"Authorization: Bearer {one.token}\r\n\r\n"
    )
    assert answered(one, request.encode()).startswith(b"HTTP/1.1 200 ")


def test_who_stands_still_holds_up_nobody_and_takes_no_thread(served, one):
    host, port = one.address.split(":")
    threads = threads_of(served)
    still = []
    for at in range(MOST_AT_ONCE - 1):
        still.append(socket.create_connection((host, int(port))))
        still[-1].sendall(
            b"POST /faults HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"[: at + 1]
        )
    until(lambda: one.asked("GET", "/")[0] == 200, "there is room for one more")
    assert threads_of(served) <= threads
    still.append(socket.create_connection((host, int(port))))
    until(lambda: is_turned_away(one), "only a few are heard at the same time")
    for each in still:
        each.close()
    until(lambda: not is_turned_away(one), "there is room again")


def is_turned_away(one):
    try:
        one.asked("GET", "/")
    except OSError:  # http.client's errors too
        return True
    return False


def threads_of(served):
    """How many threads its process has; 0 where the system doesn't say."""
    try:
        with open(f"/proc/{served.process.pid}/status") as file:
            return int(re.search(r"Threads:\s+(\d+)", file.read())[1])
    except OSError:
        return 0


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"Content-Length: 9\r\n\r\n{"])
def test_who_stands_still_for_too_long_is_cut_off(begun, monkeypatch):
    async def ask():
        async def never(asked):
            raise AssertionError("nobody has asked anything")

        listener = socket.create_server(("127.0.0.1", 0))
        page = http.Page(never, MOST_AT_ONCE, MOST_BODY_BYTES)
        serving = asyncio.create_task(page.serve(listener))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"POST / HTTP/1.1\r\n" * begun.startswith(b"C") + begun)
        try:
            assert await reader.read() == b""
        except ConnectionError:
            pass
        writer.close()
        serving.cancel()

    monkeypatch.setattr(http, "PATIENCE_SECONDS", 0.01)
    asyncio.run(asyncio.wait_for(ask(), 60))
