"""A Kafka for tests: brokers in the process of the tests, on real sockets, which fail
when they are told to, and whose time may be moved.

    with Kafka() as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)

kafka.py is what a test works with; plugin.py makes pytest's fixtures of it. For tests in
other languages, command.py runs the same brokers as `minikafka serve`, with a plan of
faults (planned.py) or an endpoint (control.py).

Below are failing.py, brokers that fail when they are told to, brokers.py, which runs the
nodes in a thread with an event loop of its own, moving_loop.py, that loop and its time,
faults.py, what goes wrong on the wire and how often, meddling.py, the connections on
which it does, answers.py, which errors an API answers and where it says them, heard.py,
what clients have asked (asked.py) and what came of it, for the report of a test that
fails (telling.py makes lines of it, playing.py a page), and client.py, a blocking client
with which records.py and groups.py look at the cluster.

Nothing is written to the machine's disk. The names arrive on first use: pytest loads
the plugin in every run, and few runs need a broker.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minikafka.testing.faults import Answer, Crash, Delay, Freeze, Lose, Throttle
    from minikafka.testing.kafka import Kafka

__all__ = ["Answer", "Crash", "Delay", "Freeze", "Kafka", "Lose", "Throttle"]

_HOME = {
    "Answer": "minikafka.testing.faults",
    "Crash": "minikafka.testing.faults",
    "Delay": "minikafka.testing.faults",
    "Freeze": "minikafka.testing.faults",
    "Kafka": "minikafka.testing.kafka",
    "Lose": "minikafka.testing.faults",
    "Throttle": "minikafka.testing.faults",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'minikafka.testing' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
