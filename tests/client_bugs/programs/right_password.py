import sys

from confluent_kafka import Producer

settings = {
    "bootstrap.servers": sys.argv[1],
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "alice",
    "sasl.password": "secret",  # the right one
    "error_cb": lambda error: errors.append(error.name()),
    "log_level": 0,
}
errors, heard = [], []
producer = Producer(settings)
producer.produce("orders", "order 1", on_delivery=lambda error, _: heard.append(error))
while not heard and "_AUTHENTICATION" not in errors:
    producer.poll(1)
print("the order is", "refused: _AUTHENTICATION" if errors else "written")
