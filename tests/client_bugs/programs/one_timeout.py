import sys

from confluent_kafka import KafkaException, Producer


def heard(error, message):
    print(message.value().decode(), "->", error.name() if error else "written")


settings = {"enable.idempotence": True, "batch.num.messages": 1, "linger.ms": 0}
producer = Producer(settings | {"bootstrap.servers": sys.argv[1], "log_level": 0})
producer.produce("orders", "order 0", on_delivery=heard)
producer.flush()
try:
    for number in range(1, 7):
        producer.produce("orders", f"order {number}", on_delivery=heard)
    producer.flush()
    print("the producer works on")
except KafkaException as failed:
    error = failed.args[0]
    print("fatal" if error.fatal() else "not fatal", error.name())
