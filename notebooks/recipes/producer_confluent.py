"""A producer of orders as JSON, for confluent-kafka 2.16.

    python producer_confluent.py localhost:9092 orders.jsonl

Each line of the file is an order:

    {"number": "o-1", "customer": "alice", "cents": 2000}

The exit code is 0 if Kafka has acknowledged every order that was sent; the log names
the others. They may be sent again: consumers pay an order's number only once.
"""

import json
import logging
import re
import signal
import sys
import time
import uuid
from dataclasses import asdict, dataclass, fields

from confluent_kafka import KafkaException, Producer

log = logging.getLogger("producer")

TOPIC = "orders"
MAX_BLOCK_S = 10  # how long send() waits for room in librdkafka's queue
ANSWERS_S = 130  # at the end; more than delivery.timeout.ms, so each order gets its own
GRACE_S = 20  # at the end after SIGTERM: Kubernetes sends SIGKILL after 30 s

SETTINGS = {
    "client.id": "shop",
    "acks": "all",
    # a retry writes nothing twice and overtakes nothing
    "enable.idempotence": True,
    "delivery.timeout.ms": 120_000,  # until then it retries
    # when either is reached, produce() raises BufferError
    "queue.buffering.max.messages": 10_000,
    "queue.buffering.max.kbytes": 32_768,  # Java's buffer.memory
    "linger.ms": 5,
    "compression.type": "gzip",
    # the client goes on by itself
    "error_cb": lambda error: log.warning("client: %s", error),
}


@dataclass(frozen=True)
class Order:
    number: str
    customer: str
    cents: int

    def __post_init__(self):
        for name in (self.number, self.customer):
            if not re.fullmatch(r"[\w.-]{1,64}", name, re.ASCII):
                raise ValueError(f"not a number or customer: {name[:64]!r}")
        if type(self.cents) is not int or not 0 < self.cents < 10**12:
            raise ValueError(f"not an amount: {self.cents!r:.64}")

    @classmethod
    def from_json(cls, text):
        """The order in a text; ValueError if there is none."""
        try:
            found = json.loads(text)
            # Fields that we don't know are fine: the other program may be newer.
            return cls(**{field.name: found[field.name] for field in fields(cls)})
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not an order: {error!r:.200}") from error


class OrderProducer:
    """Sends orders, counts what came of them, and names those that failed."""

    def __init__(self, bootstrap):
        self.producer = Producer({"bootstrap.servers": bootstrap, **SETTINGS})
        self.acknowledged = self.failed = 0

    def send(self, order):
        """Returns at once, or waits for room if Kafka doesn't keep up."""
        deadline = time.monotonic() + MAX_BLOCK_S
        while not self.enqueue(order):
            if time.monotonic() > deadline:
                self.on_answer(order, BufferError("no room"))
                return
            self.producer.poll(0.1)  # answers make room
        self.producer.poll(0)  # calls on_answer for those that have come

    def enqueue(self, order):
        try:
            self.producer.produce(
                TOPIC,
                key=order.customer.encode(),  # a customer's orders stay in order
                value=json.dumps(asdict(order)).encode(),
                headers=[("message-id", str(uuid.uuid4())), ("attempt", "1")],
                on_delivery=lambda error, message: self.on_answer(order, error),
            )
        except BufferError:  # librdkafka's queue is full
            return False
        except KafkaException as error:  # too large, for example
            self.on_answer(order, error)
        return True

    def on_answer(self, order, error):
        """In this thread, while it is in poll or flush."""
        if error is None:
            self.acknowledged += 1
        else:
            self.failed += 1
            log.error("order %s is not acknowledged: %s", order.number, error)

    def close(self, timeout_s):
        """Waits for the answers. An order without one may be written, or not."""
        if self.producer.flush(timeout_s):
            self.producer.purge()  # gives the others an error for an answer
            self.producer.flush(1)


stopping = False


def stop(signum, frame):
    """Only sets a flag: an exception raised here could surface anywhere."""
    global stopping
    stopping = True


def main(bootstrap, path):
    orders, broken = OrderProducer(bootstrap), 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if stopping:
                break
            try:
                orders.send(Order.from_json(line))
            except ValueError as error:
                broken += 1
                log.error("not sent: %s", error)
    orders.close(GRACE_S if stopping else ANSWERS_S)
    log.info("%d acknowledged, %d failed", orders.acknowledged, orders.failed + broken)
    return 1 if orders.failed or broken else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    sys.exit(main(*sys.argv[1:]))
