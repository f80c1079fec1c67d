"""An honest client among hostile ones: what it wrote is there, whole and in order,
whatever the others do.
"""

from collections.abc import Callable
from typing import Any

from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.soak.batches import WALL_MS

TOPIC = "witness"
CONFIGS = {  # nothing that is altered for all topics touches this one
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "9223372036854775807",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}


class Failure(AssertionError):
    """The node did what it must never do."""


class Witness:
    """ask(api, version, body): sends a request and returns the decoded answer."""

    def __init__(self, ask: Callable[[str, int, dict[str, Any]], Any]) -> None:
        self.written = 0
        self._ask = ask
        configs = [{"name": name, "value": value} for name, value in CONFIGS.items()]
        topic = {
            "name": TOPIC,
            "num_partitions": 1,
            "replication_factor": 1,
            "configs": configs,
        }
        self._expect(
            "CreateTopics",
            ask("CreateTopics", 5, {"topics": [topic]}).topics[0].error_code,
            0,
        )

    def write(self) -> None:
        """One more record; it gets the next offset."""
        batch = encode_batch([(WALL_MS, b"key", b"%d" % self.written, [])])
        data = [{"name": TOPIC, "partition_data": [{"index": 0, "records": batch}]}]
        told = self._ask(
            "Produce", 9, {"acks": -1, "timeout_ms": 1000, "topic_data": data}
        )
        partition = told.responses[0].partition_responses[0]
        self._expect(
            "Produce", (partition.error_code, partition.base_offset), (0, self.written)
        )
        self.written += 1

    def read(self) -> None:
        """All records that were written, from the first one on."""
        values: list[bytes] = []
        while len(values) < self.written:
            place = {
                "partition": 0,
                "fetch_offset": len(values),
                "partition_max_bytes": 1 << 20,
            }
            body = {"max_wait_ms": 0, "max_bytes": 1 << 20, "session_epoch": -1}
            told = self._ask(
                "Fetch",
                11,
                body | {"topics": [{"topic": TOPIC, "partitions": [place]}]},
            )
            partition = told.responses[0].partitions[0]
            self._expect("Fetch", partition.error_code, 0)
            more = [
                record.value
                for _, batch in batches(partition.records)
                for record in decode_batch(batch)
            ]
            if not more:
                break
            values += more
        self._expect(
            "its records", values, [b"%d" % number for number in range(self.written)]
        )

    def _expect(self, what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            raise Failure(
                f"an honest client asked for {what} and got {found} instead of {wanted}"
            )
