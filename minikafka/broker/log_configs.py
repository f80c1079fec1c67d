"""The config of a log, computed from those of its topic and of this node (KIP-226).

A log's config has the names of Kafka's topic configs, with _ for a dot. Topics that set
the same share one.
"""

from typing import Any

from minikafka.broker.config import BrokerConfig, InForce
from minikafka.cluster.metadata import TOPIC_RESOURCE, Image
from minikafka.storage.config import LogConfig

OF_THE_BROKER = "producer_id_expiration_ms"
NAMES = {
    field: field.replace("_", ".")
    for field in LogConfig._fields
    if field != OF_THE_BROKER
}


class LogConfigs:
    """The log configs for the current image."""

    def __init__(self, node_id: int, config: BrokerConfig, image: Image) -> None:
        self._node_id = node_id
        self._config = config
        self._image = image
        self.of_broker = InForce(config, image, node_id)

    def of_topic(self, topic: str, name: str) -> Any:
        """One of a topic's configs, as it is in force on this node."""
        found = self._config.value(
            self._image, self._node_id, TOPIC_RESOURCE, topic, name
        )
        return found.value

    def of_log(self, topic: str) -> LogConfig:
        """The config of a log of this topic."""
        in_force = self._config.in_force(self._image)
        own = self._image.config(TOPIC_RESOURCE, topic)
        key = "log", *own.items()
        found: LogConfig | None = in_force.get(key)
        if found is None:
            found = in_force[key] = self._new(topic)
        return found

    def _new(self, topic: str) -> LogConfig:
        values = {}
        for field_name, name in NAMES.items():
            values[field_name] = self.of_topic(topic, name)
        segment_bytes = self.of_topic(topic, "internal.segment.bytes")
        if segment_bytes is not None:
            values["segment_bytes"] = segment_bytes
        expiration_ms = self.of_broker["producer.id.expiration.ms"]
        return LogConfig(**values, producer_id_expiration_ms=expiration_ms)
