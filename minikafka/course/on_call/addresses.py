"""The addresses in a line of a Kafka tool: which brokers they name, and what the tool
prints if none of these can be reached.
"""

from collections.abc import Sequence

from minikafka.course.on_call.brokers import BROKERS, Brokers
from minikafka.course.on_call.usage import Refused

OPTIONS = ("--bootstrap-server", "--bootstrap-controller")
LOCAL = ("localhost", "127.0.0.1")
NAMED = {f"kafka-{broker}": broker for broker in BROKERS}
GIVES_UP_S = 60  # default.api.timeout.ms of an admin client
NO_VARIABLE = "There are no variables here: write kafka-1:9092 for {}."
UNKNOWN_HOST = (
    "WARN Couldn't resolve server {} from bootstrap.servers as DNS resolution failed"
    " for {} (org.apache.kafka.clients.ClientUtils)"
)
NO_HOSTS = (
    "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given"
    " in bootstrap.servers\n"
    "(The brokers are kafka-1:9092, kafka-2:9092 and kafka-3:9092.)"
)
NO_CONNECTION = (
    "WARN [AdminClient clientId=adminclient-1] Connection to node -{} ({}) could not be"
    " established. Node may not be available. (org.apache.kafka.clients.NetworkClient)"
)
NO_NODE = (
    "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node"
    " assignment."
)


def asked(words: Sequence[str], host: str) -> list[str]:
    """The addresses in a line. host: the machine on which it runs, which is what
    localhost means; elsewhere that is left out. Raises Refused for a shell's variable.
    """
    found = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in OPTIONS:
            found += (value if equals else next(rest, "")).split(",")
    for address in found:
        if address.startswith("$"):
            raise Refused(NO_VARIABLE.format(address))
    addresses = []
    for address in found:
        name, colon, port = address.partition(":")
        if name not in LOCAL:
            addresses.append(address)
        elif host in NAMED:
            addresses.append(f"{host}{colon}{port}")
    return addresses


def unreachable(brokers: Brokers, addresses: Sequence[str]) -> list[str]:
    """What a tool prints before it gives up, as Apache Kafka 4.3.1's do. Nothing if a
    broker with one of these addresses runs, or if there are no addresses.
    """
    unknown: list[str] = []
    silent: list[str] = []
    for address in addresses:
        host, _, _ = address.partition(":")
        if host not in NAMED:
            unknown.append(UNKNOWN_HOST.format(address, host))
        elif brokers.is_up(NAMED[host]):
            return []
        else:
            silent.append(NO_CONNECTION.format(len(silent) + 1, address))
    if silent:
        return [*unknown, *silent, NO_NODE]
    return [*unknown, NO_HOSTS] if unknown else []
