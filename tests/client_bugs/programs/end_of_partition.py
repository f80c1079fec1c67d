import sys

from confluent_kafka import Consumer, Producer

producer = Producer({"bootstrap.servers": sys.argv[1]})
settings = {
    "bootstrap.servers": sys.argv[1],
    "group.id": "billing",
    "auto.offset.reset": "earliest",
    "enable.partition.eof": True,
}


def read_to_the_end():
    consumer = Consumer(settings)
    consumer.subscribe(["orders"])
    orders, at_the_end = [], False
    while not at_the_end:
        for message in consumer.consume(100, timeout=1):
            if message.error():
                at_the_end = True
            else:
                orders.append(message.value().decode())
    consumer.close()  # commits where it is
    return orders


for order in ("order 1", "order 2", "order 3"):
    producer.produce("orders", order)
    producer.flush()
    print(f"{order} is written, the job reads {read_to_the_end()}")
