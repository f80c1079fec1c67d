"""What TLS costs: one broker with a plain listener and one with a certificate, and
librdkafka at both. The speeds over TLS are compared with Apache Kafka's, and so is
what is left of each broker's speed without it.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from minikafka.server import keys
from minikafka.server.embedded import Served
from tests.bench import measures
from tests.clients.brokers import overrides
from tests.kafka import ApacheKafka, free_ports

SCALE_RECORDS = ((100, 400), (1000, 160))  # bytes each, and how many thousands
WORKS = (
    ("produce", measures.produce_with_librdkafka),
    ("consume", measures.consume_with_librdkafka),
)


@contextmanager
def brokers(names):
    """Name -> (address without TLS, address with it, what a client needs for that);
    minikafka is first in names, and the second is Apache Kafka.
    """
    with TemporaryDirectory(prefix="minikafka-bench-keys-") as made:
        folder = Path(made)
        keys.make(folder / "keys", ("localhost",))
        plain, ssl, theirs, theirs_ssl, controller = free_ports(5)
        ours = properties(folder / "keys", plain, ssl)
        apache = properties(folder / "keys", theirs, theirs_ssl) | {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
            ),
        }
        apache["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
        kafka = ApacheKafka(apache, jvm=measures.JVM)
        kafka.port = theirs
        client = {
            "security.protocol": "SSL",
            "ssl.ca.location": str(folder / "keys" / "ca.pem"),
        }
        with Served(options=overrides(ours)), kafka:
            ports = ((plain, ssl), (theirs, theirs_ssl))
            yield {
                name: (f"localhost:{port}", f"localhost:{locked}", client)
                for name, (port, locked) in zip(names, ports, strict=True)
            }


def properties(folder, plain, ssl):
    """Of a broker with two listeners."""
    listeners = f"PLAINTEXT://localhost:{plain},SSL://localhost:{ssl}"
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
    }


def measure(results, at, rounds, scale, turns):
    """at: what `brokers` gives. The first round warms up."""
    for number in range(-1, rounds):
        print(
            f"TLS, round {number + 1} of {rounds}" if number >= 0 else "warming up",
            flush=True,
        )
        kept = results if number >= 0 else type(results)(results.names)
        for size, thousands in SCALE_RECORDS:
            count = int(thousands * scale) * 1000
            for name in turns(number, results.names):
                measure_one(kept, name, at[name], size, count)


def measure_one(kept, name, addresses, size, count):
    plain, locked, client = addresses
    topics = [measures.new_topic(plain) for _ in range(2)]
    for what, work in WORKS:
        measures.until_quiet()
        without = work(plain, topics[0], size, count)
        measures.until_quiet()
        with_tls = work(locked, topics[1], size, count, client)
        kept.add(f"{what} over TLS, {size} B", "MB/s", True, name, with_tls)
        share = 100 * with_tls / without
        kept.add(f"{what}, left of it, {size} B", "%", True, name, share)
    for topic in topics:
        measures.delete_topic(plain, topic)
