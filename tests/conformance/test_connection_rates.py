"""How many connections a second a listener, a broker and an address may open (KIP-612),
on both brokers.
"""

import socket
import time
from contextlib import ExitStack

import pytest

from tests.clients.brokers import minikafka, until
from tests.conformance.conftest import AT_ONCE
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka, free_ports

pytestmark = pytest.mark.slow

LISTENERS = ("INNER", "ONE", "TWO", "SIX")
BROKER, SET, DELETE = 4, 0, 1
RATE = "max.connection.creation.rate"
AT_FIRST = 10  # seconds' worth that may come at once


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module", params=BOTH)
def at(request):
    """Where each listener is. Apache Kafka's nodes have INNER, which obeys no rate of the
    whole broker.
    """
    listeners = LISTENERS if has_ipv6() else LISTENERS[:-1]
    *ports, controller = free_ports(len(listeners) + 1)
    where = {
        name: f"{'[::1]' if name == 'SIX' else '127.0.0.1'}:{port}"
        for name, port in zip(listeners, ports, strict=True)
    }
    urls = [f"{name}://{address}" for name, address in where.items()]
    given = {
        "listeners": ",".join(urls),
        "advertised.listeners": ",".join(urls),
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in (*listeners, "CONTROLLER")
        ),
    }
    if request.param == MINIKAFKA:
        with minikafka(AT_ONCE | given):
            yield where
        return
    given["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
    given["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
    given["inter.broker.listener.name"] = "INNER"
    kafka = ApacheKafka(given)
    kafka.port = ports[0]
    with kafka:
        yield where


def opened(address):
    """A connection that has been answered; None if it was closed instead."""
    host, port = address.rsplit(":", 1)
    connection = Connection(f"{host.strip('[]')}:{port}")
    try:
        assert connection.ask("ApiVersions", 0).api_keys
    except (EOFError, ConnectionError):
        connection.close()
        return None
    return connection


def set_rate(at, name, value, broker="1"):
    """Known to the broker when this is over. None: taken back."""
    asked = {
        "name": name,
        "config_operation": DELETE if value is None else SET,
        "value": value,
    }
    whose = {"resource_type": BROKER, "resource_name": broker}
    looked_at = {
        "resource_type": BROKER,
        "resource_name": "1",
        "configuration_keys": [name],
    }
    with Connection(at["INNER"]) as own:
        resource = whose | {"configs": [asked]}
        [answer] = own.ask("IncrementalAlterConfigs", 1, resources=[resource]).responses
        assert answer.error_code == 0, answer

        def is_known():
            [found] = own.ask("DescribeConfigs", 4, resources=[looked_at]).results
            told = [config.value for config in found.configs]
            return value in told if value else told in ([], ["2147483647"])

        until(is_known)


def seconds_for(addresses):
    """How long it takes to open a connection to each in turn."""
    began = time.monotonic()
    with ExitStack() as stack:
        for address in addresses:
            connection = opened(address)
            assert connection is not None, "it waits, and isn't closed"
            stack.enter_context(connection)
    return time.monotonic() - began


def test_kip_612_who_is_too_fast_for_a_listener_waits(at):
    """However slow the machine is, more than ten seconds' worth takes longer."""
    name = f"listener.name.one.{RATE}"
    set_rate(at, name, "1")
    assert seconds_for([at["ONE"]] * (AT_FIRST + 3)) > 1
    set_rate(at, name, None)


def test_kip_612_a_brokers_rate_is_of_all_its_listeners_together(at):
    """Of those that aren't the nodes' own. It may be set for all brokers only."""
    set_rate(at, RATE, "1", broker="")
    both = [at["ONE"], at["TWO"]]
    assert seconds_for(both * (AT_FIRST // 2) + both + both) > 1
    set_rate(at, RATE, None, broker="")


@pytest.mark.parametrize("name", ["0:0:0:0:0:0:0:1", "[::1]", "::1"])
def test_kip_612_an_address_has_one_quota_however_it_is_spelled(at, name):
    """What was set last, under any name, counts."""
    if "SIX" not in at:
        pytest.skip("no IPv6 here")
    set_quota(at, name, 1.0)
    with ExitStack() as stack:
        while (connection := opened(at["SIX"])) is not None:
            stack.enter_context(connection)
    other = "::1" if name != "::1" else "0:0:0:0:0:0:0:1"
    set_quota(at, other, 1000.0)
    with ExitStack() as stack:
        while (connection := opened(at["SIX"])) is None:
            pass
        stack.enter_context(connection)
        set_quota(at, other, None)
        for _ in range(2 * AT_FIRST):
            connection = opened(at["SIX"])
            assert connection is not None, "there is no quota any more"
            stack.enter_context(connection)
    set_quota(at, name, None)


def set_quota(at, name, value):
    entity = [{"entity_type": "ip", "entity_name": name}]
    key = "connection_creation_rate"
    ops = [{"key": key, "value": value or 0.0, "remove": value is None}]
    with Connection(at["INNER"]) as own:
        entries = [{"entity": entity, "ops": ops}]
        [answer] = own.ask("AlterClientQuotas", 1, entries=entries).entries
        assert answer.error_code == 0, answer
