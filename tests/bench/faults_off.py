"""What it costs that a broker may be told to fail, while nobody tells it to: beside it
the same broker without what meets each request (minikafka/testing/meddling.py). Both
listen to their trace, for the report. `minikafka serve` has nothing of this, except with
--control or --faults.

    python -m tests.bench.faults_off hooks    # such a broker, for a process of its own
"""

import subprocess
import sys
import time

from minikafka.server.connection import Connection
from minikafka.testing import Kafka, failing
from tests.bench import measures

SIZE = 100


class InTest:
    """One broker of minikafka.testing in a process of its own."""

    def __init__(self, hooks):
        self.command = [sys.executable, "-m", "tests.bench.faults_off", hooks]

    def start(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, text=True
        )
        self.bootstrap = self.process.stdout.readline().strip()
        return self

    def processor_seconds(self):
        """What it has used so far; the system's own count is in hundredths."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.communicate()


BROKERS = {"faults off": lambda: InTest("hooks"), "no hooks": lambda: InTest("")}


def measure(results, brokers, rounds, scale, turns):
    """brokers: name -> one that runs. Records in batches, and one at a time, where a
    cost of each request shows. The first round warms up.
    """
    for number in range(-1, rounds):
        print(
            f"work, round {number + 1} of {rounds}" if number >= 0 else "warming up",
            flush=True,
        )
        topics = {
            name: measures.new_topic(brokers[name].bootstrap) for name in results.names
        }
        for what, do, count in (
            ("produce in batches", produce, int(400 * scale) * 1000),
            ("consume in batches", consume, int(400 * scale) * 1000),
            ("produce and consume, one by one", one_by_one, int(4000 * scale)),
        ):
            for name in turns(number, results.names):
                broker = brokers[name]
                before = broker.processor_seconds()
                do(broker.bootstrap, topics[name], count)
                spent = broker.processor_seconds() - before
                if number >= 0:
                    unit = "us of CPU a record"
                    results.add(what, unit, False, name, spent / count * 1e6)
        for name, topic in topics.items():
            measures.delete_topic(brokers[name].bootstrap, topic)


def produce(bootstrap, topic, count):
    measures.produce_with_librdkafka(bootstrap, topic, SIZE, count)


def consume(bootstrap, topic, count):
    measures.consume_with_librdkafka(bootstrap, topic, SIZE, count)


def one_by_one(bootstrap, topic, count):
    topic = measures.new_topic(bootstrap)  # the other has records
    measures.end_to_end_latency(bootstrap, topic, count)
    measures.delete_topic(bootstrap, topic)


def main():
    if not sys.argv[1]:
        # as FailingKafka would make them if there were no faults
        failing.MeddledConnection = lambda faults, heard, node, *rest: Connection(*rest)
    with Kafka() as kafka:
        print(kafka.bootstrap_servers, flush=True)
        for _ in sys.stdin:
            print(time.process_time(), flush=True)


if __name__ == "__main__":
    main()
