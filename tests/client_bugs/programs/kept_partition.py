import sys
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer


class Listener(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        pass


def member():
    options = {"group_id": "billing", "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], **options)
    consumer.subscribe(["orders"], listener=Listener())
    return consumer


def poll_until(done, seconds=60):
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        for consumer in consumers:
            got.update(consumer.poll(timeout_ms=200))


def send(order):
    for partition in (0, 1):
        producer.send("orders", order, partition=partition).get(60)


producer, got = KafkaProducer(bootstrap_servers=sys.argv[1]), {}
send(b"before")
consumers = [member()]
poll_until(lambda: len(got) == 2)
print("one member: ", len(got), "of 2 partitions are read")
consumers.append(member())  # the first keeps one partition, the second gets the other
poll_until(lambda: all(len(each.assignment()) == 1 for each in consumers))
got.clear()
send(b"after")
poll_until(lambda: len(got) == 2, seconds=20)
print("two members:", len(got), "of 2 partitions are read")
