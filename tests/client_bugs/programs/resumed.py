import sys

from confluent_kafka import Consumer, Producer, TopicPartition

producer = Producer({"bootstrap.servers": sys.argv[1]})
for order in ("order 1", "order 2", "order 3"):
    producer.produce("orders", order)
producer.flush()

settings = {"group.id": "billing", "auto.offset.reset": "earliest"}
consumer = Consumer(settings | {"bootstrap.servers": sys.argv[1]})
consumer.subscribe(["orders"])
for _ in range(3):
    print("read", consumer.poll(60).value().decode())

consumer.resume([TopicPartition("orders", 0)])  # nobody has paused it
while message := consumer.poll(5):
    print("after resume, read", message.value().decode())
consumer.close()
