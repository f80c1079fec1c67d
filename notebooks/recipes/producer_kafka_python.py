"""A producer of orders as JSON, for kafka-python 3.0.

    python producer_kafka_python.py localhost:9092 orders.jsonl

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
import threading
import uuid
from dataclasses import asdict, dataclass, fields

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

log = logging.getLogger("producer")

TOPIC = "orders"
MAX_WAITING = 10_000  # orders without an answer: kafka-python 3.0 has no buffer.memory
MAX_BLOCK_S = 10  # how long send() waits for room among them
ANSWERS_S = 130  # at the end; more than delivery_timeout_ms, so each order gets its own
GRACE_S = 20  # at the end after SIGTERM: Kubernetes sends SIGKILL after 30 s

SETTINGS = {
    "client_id": "shop",
    "acks": "all",
    # a retry writes nothing twice and overtakes nothing
    "enable_idempotence": True,
    "delivery_timeout_ms": 120_000,  # until then it retries
    "max_block_ms": 10_000,  # how long send() waits for metadata
    # Not above the topic's max.message.bytes: kafka-python 3.0's idempotent producer
    # fails for good once the broker has found one record too large.
    "max_request_size": 1_000_000,
    "linger_ms": 5,
    "compression_type": "gzip",
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
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, **SETTINGS)
        self.answered = threading.Condition()  # guards what follows
        self.waiting = {}  # message id: order, until there is an answer
        self.acknowledged = self.failed = 0

    def send(self, order):
        """Returns at once, or waits for room if Kafka doesn't keep up."""
        message_id = str(uuid.uuid4())
        has_room = self.wait_until(lambda: len(self.waiting) < MAX_WAITING, MAX_BLOCK_S)
        self.waiting[message_id] = order
        if not has_room:
            self.on_answer(message_id, KafkaTimeoutError("no room"))
            return
        try:
            future = self.producer.send(
                TOPIC,
                key=order.customer.encode(),  # a customer's orders stay in order
                value=json.dumps(asdict(order)).encode(),
                headers=[("message-id", message_id.encode()), ("attempt", b"1")],
            )
            future.add_both(lambda answer: self.on_answer(message_id, answer))
        except KafkaError as error:  # too large, or no metadata in max_block_ms
            self.on_answer(message_id, error)

    def on_answer(self, message_id, answer):
        """Runs in kafka-python's own thread, so it must be quick and must not raise."""
        with self.answered:
            order = self.waiting.pop(message_id, None)
            if order is None:
                return  # close() didn't wait for this answer
            if isinstance(answer, Exception):
                self.failed += 1
                log.error("order %s is not acknowledged: %r", order.number, answer)
            else:
                self.acknowledged += 1
            self.answered.notify_all()

    def wait_until(self, holds, timeout_s):
        with self.answered:
            return self.answered.wait_for(holds, timeout_s)

    def close(self, timeout_s):
        """Waits for the answers. An order without one may be written, or not."""
        # Not producer.flush(timeout=...): it grants each batch that time.
        self.wait_until(lambda: not self.waiting, timeout_s)
        for message_id in list(self.waiting):
            self.on_answer(message_id, KafkaTimeoutError("no answer yet"))
        try:
            self.producer.close(timeout=1)
        except KafkaTimeoutError:
            pass  # what has no answer has just been told


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
    logging.getLogger("kafka").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    sys.exit(main(*sys.argv[1:]))
