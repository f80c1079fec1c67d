"""The brokers' listener for clients, on nights that have one: port 9094, with TLS.

The simulation's network carries no TLS. Here it asks, for each new connection of a
program, whether the broker's certificate is valid at that moment; a connection that is
there stays. The tools and the brokers use port 9092, which asks nobody.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from minikafka.cluster.metadata import BROKER_RESOURCE
from minikafka.course.on_call import certificates
from minikafka.course.on_call.brokers import Brokers
from minikafka.course.on_call.certificates import Certificate
from minikafka.course.on_call.usage import Refused
from minikafka.simulation.network import Link
from minikafka.simulation.processes import ClientProcess

KEYSTORE = "listener.name.clients.ssl.keystore.location"
PORT = 9094
HOST = "10.0.0.{}"  # of a broker
ALONE = re.compile(r"PLAINTEXT://(broker-\d):9092")  # the simulation's only listener
# what a client and a broker log of a handshake that fails, in Apache Kafka's words
OF_CLIENT = (
    "[{kind} clientId={client}] Connection to node {broker}"
    " (kafka-{broker}/{host}:{port}) failed authentication due to: SSL handshake failed"
)
OF_BROKER = (
    "kafka-{broker} [SocketServer listenerType=BROKER, nodeId={broker}] Failed"
    " authentication with /{host} (SSL handshake failed)"
)

# A client's configs for TLS. The simulated clients ignore them: they trust the
# authority and check the date, whatever these say.
BOOTSTRAP, PROTOCOL = "bootstrap.servers", "security.protocol"
TRUSTSTORE, TRUSTSTORE_TYPE = "ssl.truststore.location", "ssl.truststore.type"
OF_CLIENTS = {
    BOOTSTRAP: re.compile(rf"(kafka-[123]:{PORT}(,|$))+"),
    PROTOCOL: re.compile("SSL"),
    TRUSTSTORE: re.compile(f"{certificates.FOLDER}/ca.pem"),
    TRUSTSTORE_TYPE: re.compile("PEM"),
    "ssl.endpoint.identification.algorithm": re.compile("https|"),
}
NOT_SO = {
    BOOTSTRAP: (
        f"From the pods there is no way to another port than {PORT}:"
        " bootstrap.servers=kafka-1:{port},kafka-2:{port},kafka-3:{port}."
    ).replace("{port}", str(PORT)),
    PROTOCOL: (
        f"Port {PORT} speaks TLS and nothing else, and from the pods there is no way to"
        " another one."
    ),
    TRUSTSTORE: (
        f"There is one truststore in a pod, {certificates.FOLDER}/ca.pem. It has the"
        " authority that signs the brokers' certificates."
    ),
    TRUSTSTORE_TYPE: f"{certificates.FOLDER}/ca.pem is PEM.",
}
TRUSTS_ALL = "enable.ssl.certificate.verification"
NO_SUCH_SWITCH = (
    f"{TRUSTS_ALL} is librdkafka's. These programs have Java's client, which checks a"
    " broker's certificate whatever its configs say. A client that doesn't would send"
    " its passwords to anybody."
)

NOT_LOADED = (
    "org.apache.kafka.common.errors.InvalidRequestException: Invalid value"
    " org.apache.kafka.common.config.ConfigException: Validation of dynamic config"
    " update of SSLFactory failed:"
    " org.apache.kafka.common.errors.InvalidConfigurationException: Failed to load PEM"
    " SSL keystore {} for configuration Invalid dynamic configuration"
)


def check_client(env: Mapping[str, str]) -> None:
    """Refuse what a client's configs for TLS can't be. Raises Refused."""
    if TRUSTS_ALL in env:
        raise Refused(NO_SUCH_SWITCH)
    for name, legal in OF_CLIENTS.items():
        if name in env and not legal.fullmatch(env[name]):
            raise Refused(NOT_SO.get(name, f"{name} is https, or nothing."))


class Failure(NamedTuple):
    """A handshake that failed. client: the name of the one that came."""

    at_ms: int
    client: str
    broker: int


class ClientsListener:
    """failures: of handshakes, so far. told: called with each of them. keystore: the
    file with which the brokers are started.
    """

    def __init__(
        self, brokers: Brokers, keystore: str, told: Callable[[Failure], None]
    ) -> None:
        self._brokers = brokers
        self._keystore = keystore
        self._told = told
        self.failures: list[Failure] = []

    def keystore(self, broker: int) -> str:
        """The file that a broker uses now: what was set at run time counts first."""
        image = self._brokers.image()
        if image is None:
            return self._keystore
        configs = image.config(BROKER_RESOURCE, str(broker))
        return str(configs.get(KEYSTORE, self._keystore))

    def shown(self, broker: int) -> Certificate:
        """The certificate that a broker shows to new connections."""
        return certificates.files()[broker, self.keystore(broker)]

    def logged(
        self, broker: int, address_of: Callable[[str], str]
    ) -> list[tuple[int, str]]:
        """What a broker has logged of handshakes that failed, and when. address_of:
        a client, by its name.
        """
        lines = []
        for failure in self.failures:
            if failure.broker == broker:
                host = address_of(failure.client)
                words = OF_BROKER.format(broker=broker, host=host)
                lines.append((failure.at_ms, words))
        return lines

    @staticmethod
    def with_port(line: str) -> str:
        """A line that names a broker's listeners, with this one."""
        return ALONE.sub(rf"\g<0>,CLIENTS://\1:{PORT}", line)

    def refusal(self, broker: int, changes: Mapping[str, str | None]) -> str:
        """Why a broker refuses to change its configs so, or ""."""
        path = changes.get(KEYSTORE)
        found = certificates.files().get((broker, path or self._keystore))
        return "" if found is not None and found.hosts else NOT_LOADED.format(path)

    def admits(self, link: Link) -> bool:
        """Whether a new connection is one: clients look at the date."""
        caller = link.caller
        if not isinstance(caller, ClientProcess) or caller.name == "admin":
            return True
        broker = int(link.target.removeprefix("broker "))
        now_ms = caller.clock.now_ms
        if self.shown(broker).is_valid(certificates.at(now_ms)):
            return True
        failure = Failure(now_ms, caller.name, broker)
        self.failures.append(failure)
        self._told(failure)
        return False
