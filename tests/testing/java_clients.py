"""Java's clients, called from Python."""

from tests.jvm import Jvm

SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"


class JavaClients(Jvm):
    """A JVM with Kafka's clients: `with JavaClients() as java: java.producer(...)`."""

    @property
    def clients(self):
        return self.gateway.jvm.org.apache.kafka.clients

    def producer(self, bootstrap_servers, **configs):
        """A KafkaProducer of bytes. configs: Kafka's names, with _ for dots."""
        given = self.gateway.jvm.java.util.HashMap()
        of_bytes = {"key_serializer": SERIALIZER, "value_serializer": SERIALIZER}
        configs = {"bootstrap_servers": bootstrap_servers, **of_bytes, **configs}
        for name, value in configs.items():
            given[name.replace("_", ".")] = str(value)
        return self.clients.producer.KafkaProducer(given)

    def record(self, topic, value):
        return self.clients.producer.ProducerRecord(topic, value)
