"""Lesson 12's real client: kafka-python, a broker over TCP, and a proxy between."""

from collections.abc import Callable
from typing import Any

from minikafka.course.judging.checks import is_stub
from minikafka.server.embedded import Served
from minikafka.server.proxy import Change, Frame, Proxy
from minikafka.wire.messages import (
    API,
    api_name,
    decode_request,
    decode_response,
    encode_response,
)

TOPIC = "orders"
NOWHERE = "nowhere.invalid"  # no name ends so (RFC 6761)
PATIENCE_MS, STRETCH_MS = 60_000, 10_000
HEARTBEAT, API_VERSIONS = "Heartbeat", API["ApiVersions"].key


def ten_orders_by_a_proxy() -> list[str]:
    """A producer that was given the proxy's address sends ten orders, and waits for
    each. Returns the APIs of all requests that came by the proxy.
    """
    with Served() as served, Proxy(served.bootstrap) as proxy:
        send_ten(proxy.address)
        return [request.api for request in proxy.requests()]


def send_ten(bootstrap: str, wait_ms: int = PATIENCE_MS) -> None:
    from kafka import KafkaProducer

    shop = KafkaProducer(
        bootstrap_servers=bootstrap,
        bootstrap_timeout_ms=wait_ms,
        max_block_ms=wait_ms,
    )
    for number in range(10):
        last = shop.send(TOPIC, f"order {number}".encode(), partition=0).get(60)
    print("the last order has offset", last.offset)
    shop.close()


def advertised(host: str, wait_s: float = 3) -> str:
    """A broker that tells its clients to come to this host; a producer that knows the
    broker's true address sends one order. Returns what it is told within this time.
    """
    with Served(options=("--advertised-host", host)) as served:
        port = served.bootstrap.rsplit(":", 1)[1]
        return one_order(f"127.0.0.1:{port}", wait_s)


def one_order(bootstrap: str, wait_s: float) -> str:
    """An acknowledgement, or the error's text."""
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    wait_ms = int(1000 * wait_s)
    shop: Any = KafkaProducer(bootstrap_servers=bootstrap, max_block_ms=wait_ms)
    try:
        shop.send(TOPIC, b"order 0").get(wait_s)
        return "acknowledged"
    except KafkaError as error:
        return str(error)
    finally:
        shop.close(timeout=0)


def stay_behind(port: Callable[[], int]) -> Change:
    """Changes answers so that a client stays behind the proxy at this port: all
    addresses of brokers become the proxy's.
    """

    def change(request: bytes, answer: bytes) -> bytes:
        if api_name(request) not in ("Metadata", "FindCoordinator"):
            return answer
        asked = decode_request(request)
        name, version = asked.api.name, asked.version
        correlation_id, body = decode_response(name, version, answer)
        for node in nodes_in(body):
            node.host, node.port = "127.0.0.1", port()
        return b"".join(encode_response(name, version, correlation_id, body))

    return change


def nodes_in(body: Any) -> list[Any]:
    """Everything in an answer that has a host and a port."""
    if hasattr(body, "brokers"):
        return list(body.brokers)
    return list(body.coordinators) or [body]


def from_connect_to_first_record() -> None:
    """A producer writes, and a member of a group reads, both behind the proxy. Prints
    the APIs of each in the order in which it needed them first.
    """
    from kafka import KafkaConsumer

    proxies: list[Proxy] = []
    change = stay_behind(lambda: proxies[0].port)
    with Served() as served, Proxy(served.bootstrap, change) as proxy:
        proxies.append(proxy)
        send_ten(proxy.address)
        print("producer:", *apis(proxy.requests()))
        seen = len(proxy.requests())
        billing = KafkaConsumer(
            TOPIC,
            bootstrap_servers=proxy.address,
            group_id="billing",
            auto_offset_reset="earliest",
        )
        print("the first record has offset", next(billing).offset)
        print("consumer:", *apis(proxy.requests()[seen:]))
        billing.close(autocommit=False)


def apis(requests: list[Frame]) -> list[str]:
    """Each once, in the order in which it came first."""
    names = dict.fromkeys(request.api for request in requests)
    names.pop(HEARTBEAT, None)  # comes when it is time
    return list(names)


def broker_with(
    api_versions: Callable[[bytes, list[tuple[int, int, int]]], bytes],
) -> None:
    """kafka-python writes ten orders to a broker whose answers to ApiVersions are this
    function's, and all others its own.
    """
    from kafka.errors import KafkaError

    proxies: list[Proxy] = []
    failures: list[str] = []
    stay = stay_behind(lambda: proxies[0].port)

    def change(request: bytes, answer: bytes) -> bytes:
        if int.from_bytes(request[:2], "big") != API_VERSIONS:
            return stay(request, answer)
        try:
            return bytes(api_versions(request, apis_in(request, answer)))
        except Exception as error:  # whatever the learner's code does
            failures.append(f"{type(error).__name__}: {error}")
            return answer

    if is_stub(api_versions):
        print("api_versions is still the stub, so the broker gives all answers")
    chosen = stay if is_stub(api_versions) else change
    with Served() as served, Proxy(served.bootstrap, chosen) as proxy:
        proxies.append(proxy)
        try:
            send_ten(proxy.address, wait_ms=STRETCH_MS)
        except KafkaError as error:
            print("the client gives up:", error)
        print("requests:", *apis(proxy.requests()))
    if failures:
        print("api_versions raised", failures[0], "and the broker answered instead")


def apis_in(request: bytes, answer: bytes) -> list[tuple[int, int, int]]:
    """(key, lowest version, highest version) of each API in a broker's answer."""
    asked = int.from_bytes(request[2:4], "big")
    # a broker answers what it doesn't know in version 0
    version = asked if asked <= API["ApiVersions"].max_version else 0
    _, body = decode_response("ApiVersions", version, answer)
    return [
        (each.api_key, each.min_version, each.max_version) for each in body.api_keys
    ]
