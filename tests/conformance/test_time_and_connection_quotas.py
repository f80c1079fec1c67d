"""Quotas of a broker's time (KIP-124) and of an address's new connections (KIP-612), on
both brokers.
"""

from contextlib import ExitStack

import pytest

from tests.clients.brokers import minikafka
from tests.conformance.conftest import AT_ONCE
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = pytest.mark.slow

WINDOW_MS = 1000  # the longest throttle of both
TINY = 0.0001  # percent: a µs in a second
RATE, AT_FIRST = 1.0, 10  # connections a second; ten seconds' worth may come at once


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request):
    if request.param == MINIKAFKA:
        with minikafka(AT_ONCE) as address:
            yield address
    else:
        with ApacheKafka() as kafka:
            yield kafka.bootstrap


def set_quota(connection, kind, name, key, value):
    entity = [{"entity_type": kind, "entity_name": name}]
    ops = [{"key": key, "value": value or 0.0, "remove": value is None}]
    entries = [{"entity": entity, "ops": ops}]
    [answer] = connection.ask("AlterClientQuotas", 1, entries=entries).entries
    assert answer.error_code == 0, answer


def on_a_new_connection(bootstrap, api, version, **body):
    """It is heard at once."""
    with Connection(bootstrap) as client:
        return client.ask(api, version, **body)


def test_kip_124_who_takes_too_much_time_is_told_for_how_long_it_is_throttled(
    bootstrap,
):
    with Connection(bootstrap) as client:
        client.create_topic("orders")
        client.produce("orders", batch(b"a"))
        set_quota(client, "client-id", "raw", "request_percentage", TINY)

    def throttled_ms(api, version, **body):
        answer = on_a_new_connection(bootstrap, api, version, **body)
        return answer.throttle_time_ms

    # the quota isn't known everywhere at once
    while not throttled_ms("Metadata", 9, topics=[]):
        pass
    assert throttled_ms("Metadata", 9, topics=[]) == WINDOW_MS
    assert throttled_ms("ApiVersions", 2) == WINDOW_MS
    assert throttled_ms("ListGroups", 1) == WINDOW_MS
    with Connection(bootstrap) as client:
        client.send_fetch("orders")
        answer = client.read("Fetch", 11)
        assert (answer.responses, answer.throttle_time_ms) == ([], WINDOW_MS)
        assert client.produce("orders", batch(b"b")).error_code == 0
        set_quota(client, "client-id", "raw", "request_percentage", None)
    while throttled_ms("Metadata", 9, topics=[]):
        pass
    with Connection(bootstrap) as client:
        assert client.offset("orders", -1).offset == 2


def is_served(connection):
    """It is answered; or else it is closed, and was not."""
    try:
        return bool(connection.ask("ApiVersions", 0).api_keys)
    except (EOFError, ConnectionError):
        return False


def test_kip_612_an_address_that_opens_too_many_connections_is_held_and_not_heard(
    bootstrap,
):
    """Those that it has go on."""
    rate = "connection_creation_rate"
    with Connection(bootstrap) as own, ExitStack() as stack:
        set_quota(own, "ip", "127.0.0.1", rate, RATE)
        opened = []
        while is_served(latest := stack.enter_context(Connection(bootstrap))):
            opened.append(latest)
        assert len(opened) >= AT_FIRST
        assert is_served(own) and all(map(is_served, opened))
        set_quota(own, "ip", "127.0.0.1", rate, None)
