"""The quota of an address that opens connections, at a node as a process."""

from contextlib import ExitStack

from minikafka.server.embedded import Served
from tests.conformance.raw import Connection

RATE = 1.0
AT_ONCE = 10  # ten seconds' worth
MANY = 60


def is_served(connection):
    """It is answered; or else it is closed, and was not."""
    try:
        return bool(connection.ask("ApiVersions", 0).api_keys)
    except (EOFError, ConnectionError):
        return False


def test_kip_612_an_address_that_opens_too_many_connections_is_held_and_not_heard():
    """Those that it has go on, and another address gets in."""
    with Served() as served, ExitStack() as stack:
        own = stack.enter_context(Connection(served.bootstrap))
        entity = [{"entity_type": "ip", "entity_name": "127.0.0.1"}]
        quota = [{"key": "connection_creation_rate", "value": RATE, "remove": False}]
        own.ask("AlterClientQuotas", 1, entries=[{"entity": entity, "ops": quota}])
        opened = [
            stack.enter_context(Connection(served.bootstrap)) for _ in range(MANY)
        ]
        verdicts = [is_served(each) for each in opened]
        assert all(verdicts[:AT_ONCE]) and not all(verdicts)
        assert is_served(own) and is_served(opened[0])
        another = Connection(served.bootstrap, source="127.0.0.2")
        assert is_served(stack.enter_context(another))
        assert not served.said()
