"""Two brokers are asked the same; this is what of their answers must be the same, and
how a difference reads.

A scenario is a function that takes a Side. It runs once against each broker, and
everything it asks is answered into `side.answers`. What cannot be the same (ids,
addresses, the time) is replaced by a word that says what stood there.
"""

import fnmatch
import re
import struct

from minikafka.broker.handlers import HANDLERS
from minikafka.wire.compression import crc32c
from minikafka.wire.errors import Error
from minikafka.wire.messages import API
from minikafka.wire.records import BatchHeader, batches
from tests.clients.brokers import fresh_name
from tests.conformance.raw import Connection, batch

UNKNOWN_ID = bytes(range(16))
ITS_OWN = {
    "throttle_time_ms",
    "host",
    "port",
    "cluster_id",
    "documentation",
    "api_keys",
    "supported_features",
    "finalized_features",
    "finalized_features_epoch",
    "log_dir",
    "total_bytes",
    "usable_bytes",
}
ITS_OWN_CONFIGS = {
    "log.dirs": "each has its own",
    "listeners": "those of the clients; with one node there are no others",
    "advertised.listeners": "each has its own",
    "controller.quorum.voters": "a node alone has no address among nodes",
}
# where answers may differ in any scenario -> why
CONFIGS = {f"*.configs.{name}.*": why for name, why in ITS_OWN_CONFIGS.items()}
CODEC = 0b111  # of a batch's attributes
MADE_ID = re.compile(
    "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])"
)
TIMES = ("log_append_time_ms", "last_timestamp", "timestamp")
RECENT_MS = 1_750_000_000_000
PARTITION_LIMITS = (
    "current_leader_epoch",
    "partition_max_bytes",
    "last_fetched_epoch",
    "log_start_offset",
)


class Side:
    """One broker in one scenario. name: a topic name that is new, and the same on the
    other side.
    """

    def __init__(self, bootstrap, name):
        self.bootstrap, self.name = bootstrap, name
        self.client = Connection(bootstrap)
        self.answers = {}
        self._known = {}  # ids that the broker made -> what stands for them
        self._more_clients = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for client in (self.client, *self._more_clients):
            client.close()

    def ask(self, what, api, *versions, **body):
        """Ask in these versions (else in the lowest and the highest that minikafka
        serves), keep the answers, return the last one. A connection that is closed is
        an answer, too.
        """
        for version in versions or lowest_and_highest(api):
            answer = None
            try:
                answer = self.client.ask(api, version, **body)
            except (EOFError, ConnectionError):
                self.client.close()
                self.client = Connection(self.bootstrap)
            self._keep(what, api, version, answer)
        return answer

    def start(self, what, api, version, **body):
        """Ask on a connection of its own and don't wait. Returns what waits for the
        answer, keeps and returns it.

        The broker takes it in before what is asked next, if one thread reads all
        connections and one handles requests.
        """
        client = Connection(self.bootstrap)
        self._more_clients.append(client)
        client.ask("ApiVersions", 0)  # so that the broker has accepted it
        client.send(api, version, **body)
        self.client.ask("ApiVersions", 0)

        def finish():
            answer = client.read(api, version)
            self._keep(what, api, version, answer)
            return answer

        return finish

    def until(self, error, api, version, **body):
        """Ask until this is the answer's error: something that was started has reached
        the broker.
        """
        while self.client.ask(api, version, **body).error_code != error:
            pass

    def _keep(self, what, api, version, answer):
        label = f"{what}: {api} v{version}"
        assert label not in self.answers, "two questions with the same label"
        fields = None if answer is None else self._without_made_ids(answer.to_dict())
        self.answers[label] = (
            "closes the connection" if fields is None else plain(fields, self.name)
        )

    def _without_made_ids(self, value):
        """Member ids that the broker made are numbered as they appear: one answer
        should bring one new id at most.
        """
        if isinstance(value, dict):
            return {key: self._without_made_ids(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._without_made_ids(inner) for inner in value]
        if isinstance(value, str):
            return MADE_ID.sub(
                lambda found: self._known.setdefault(
                    found[0], f"#{len(self._known) + 1}"
                ),
                value,
            )
        return value

    def create_topic(self, suffix="", partitions=1, **configs):
        """Returns when all its partitions have a leader."""
        name = self.client.create_topic(self.name + suffix, partitions, **configs)
        for partition in range(1, partitions):
            while self.client.offset(name, -1, partition=partition).error_code != 0:
                pass
        return name

    def settle(self):
        """Returns when the broker has learned of all that its controller has decided so
        far: it does so in order.

        Apache Kafka's knows a topic a little before what it learned with it, and all of
        that when it knows the next.
        """
        for _ in range(2):
            self.client.create_topic(fresh_name("settled"))

    def topic_id(self, topic):
        asked = [{"name": topic}]
        return (
            self.client.ask(
                "Metadata", 10, topics=asked, allow_auto_topic_creation=False
            )
            .topics[0]
            .topic_id
        )

    def produce(self, what, records, *versions, topic=None, partition=0, acks=-1):
        """By name, and from version 13 on by id."""
        data = {
            "name": topic or self.name,
            "partition_data": [{"index": partition, "records": records}],
        }
        data["topic_id"] = self.topic_id(data["name"])
        return self.ask(
            what, "Produce", *versions, acks=acks, timeout_ms=5000, topic_data=[data]
        )

    def fetch(
        self, what, offset=0, *, topic=None, partition=0, versions=(4, 11, 13), **limits
    ):
        """One partition; by name, and from version 13 on by id."""
        place = {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
        }
        place |= {name: limits.pop(name) for name in PARTITION_LIMITS if name in limits}
        asked = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 50 << 20, **limits}
        topic_id = limits.pop("topic_id", None) or self.topic_id(topic or self.name)
        asked.pop("topic_id", None)
        for version in versions:
            named = (
                {"topic_id": topic_id}
                if version >= 13
                else {"topic": topic or self.name}
            )
            answer = self.ask(
                what,
                "Fetch",
                version,
                replica_id=-1,
                topics=[named | {"partitions": [place]}],
                **asked,
            )
        return answer

    def offsets(
        self, what, timestamp, *versions, partition=0, current_leader_epoch=-1, **body
    ):
        place = {
            "partition_index": partition,
            "timestamp": timestamp,
            "current_leader_epoch": current_leader_epoch,
        }
        topics = [{"name": self.name, "partitions": [place]}]
        return self.ask(
            what,
            "ListOffsets",
            *versions,
            **({"replica_id": -1, "topics": topics} | body),
        )

    def producer_id(self):
        """A new one. Apache Kafka asks for patience while it fetches its first block of
        ids.
        """
        while True:
            answer = self.client.ask(
                "InitProducerId",
                1,
                transactional_id=None,
                transaction_timeout_ms=60_000,
            )
            if answer.error_code != Error.COORDINATOR_LOAD_IN_PROGRESS:
                return answer.producer_id


def lowest_and_highest(api):
    lowest, highest = HANDLERS[API[api].key].versions
    return sorted({max(lowest, API[api].min_version), highest})


def changed(records, **fields):
    """A batch with other header fields and a CRC that fits."""
    places = {
        "base_offset": (0, ">q"),
        "batch_length": (8, ">i"),
        "magic": (16, ">b"),
        "attributes": (21, ">h"),
        "last_offset_delta": (23, ">i"),
        "base_timestamp": (27, ">q"),
        "max_timestamp": (35, ">q"),
        "producer_id": (43, ">q"),
        "producer_epoch": (51, ">h"),
        "base_sequence": (53, ">i"),
        "records_count": (57, ">i"),
    }
    records = bytearray(records)
    for name, value in fields.items():
        at, layout = places[name]
        struct.pack_into(layout, records, at, value)
    struct.pack_into(">I", records, 17, crc32c(records[21:]))
    return records


def numbered(producer_id, sequence, epoch=0, values=(b"x",)):
    return batch(
        *values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def plain(value, name, field=""):
    """An answer with what is a broker's own taken out, and lists in one order."""
    if isinstance(value, dict):
        return {
            key: plain(inner, name, key)
            for key, inner in value.items()
            if key not in ITS_OWN
        }
    if isinstance(value, list):
        if field == "topics":
            value = [
                topic
                for topic in value
                if name in (topic.get("name", topic.get("topic")) or name)
                or len(value) == 1
            ]
        if field == "groups":
            value = [
                group
                for group in value
                if not group or name in group["group_id"] or len(value) == 1
            ]
        return sorted((plain(inner, name) for inner in value), key=order)
    if field == "error_code" or field == "topic_config_error_code":
        return Error(value).name
    if field == "topic_id" and value not in (bytes(16), UNKNOWN_ID):
        return "an id"
    if field in ("producer_id", "session_id") and value > 0:
        return f"a {field}"
    if field == "records" and value is not None:
        headers = [header for header, _ in batches(value)]
        cut = len(value) - sum(header.size_bytes for header in headers)
        # the beginning of one more batch
        rest = [f"{cut} bytes more"] if cut else []
        return [*map(timeless, headers), *rest]
    if field == "batch_index_error_message":
        return re.sub("[0-9]{10,}", "(ms)", value)
    if field in TIMES and value > RECENT_MS:
        return "now"
    return value


def timeless(header):
    """A batch's header; without its time, if that is the broker's."""
    by_broker = header.log_append_time or header.control
    return (
        header._replace(max_timestamp="now", base_timestamp="now", crc="fits")
        if by_broker
        else header
    )


class Asked:
    """A broker that answers each scenario once. side: a Side."""

    def __init__(self, bootstrap, side=Side, whom="one broker"):
        self.bootstrap, self.side = bootstrap, side
        # longer than an id that a broker makes
        self.suffix = f"-asked-of-{whom}".replace(" ", "-")
        self._answers = {}

    def answers(self, scenario):
        """Question -> answer."""
        name = scenario.__name__
        if name not in self._answers:
            with self.side(self.bootstrap, name + self.suffix) as side:
                scenario(side)
            self._answers[name] = side.answers
        return self._answers[name]


def steps(answers):
    """What is recorded: question and answer, without what each node has of its own,
    each version of a compression library, or each moment.
    """
    return [[question, of_any_node(answer)] for question, answer in answers.items()]


def is_of_now(timestamp):
    return isinstance(timestamp, int) and timestamp > RECENT_MS


def of_any_node(value):
    if isinstance(value, dict):
        return {key: of_any_node(inner) for key, inner in value.items()}
    if isinstance(value, BatchHeader):
        if value.attributes & CODEC:
            value = value._replace(batch_length=0, crc=0)
        if is_of_now(value.max_timestamp):
            value = value._replace(max_timestamp=0, base_timestamp=0, crc=0)
        return value
    if not isinstance(value, list):
        return value
    found = []
    for item in value:
        config = item.get("name") if isinstance(item, dict) else None
        if config not in ITS_OWN_CONFIGS:
            found.append(of_any_node(item))
    return found


def order(item):
    if not isinstance(item, dict):
        return repr(item)
    return repr(
        [item.get(key) for key in ("name", "key", "index", "partition_index", "source")]
        + list(item.values())
    )


def differences(ours, theirs):
    """Lines `path: ours / theirs`, as {path: (ours, theirs)}."""
    found = {}

    def compare(path, one, other):
        if isinstance(one, dict) and isinstance(other, dict):
            for key in [*one, *(key for key in other if key not in one)]:
                compare(
                    f"{path}.{key}" if path else key,
                    one.get(key, "(absent)"),
                    other.get(key, "(absent)"),
                )
        elif isinstance(one, list) and isinstance(other, list):
            if path.endswith(".configs"):
                one, other = (
                    {config["name"]: config for config in side} for side in (one, other)
                )
                compare(path, one, other)
            elif len(one) != len(other):
                found[path] = one, other
            else:
                for number, (a, b) in enumerate(zip(one, other, strict=True)):
                    compare(f"{path}.{number}", a, b)
        elif one != other and not (
            path.endswith("error_message") and other in (None, "", "NONE")
        ):
            found[path] = one, other  # where Apache Kafka says nothing, we may say why

    compare("", ours, theirs)
    return found


def unexpected(found, deliberate, anywhere):
    """The differences that no pattern covers, and the patterns of deliberate that cover
    none.
    """
    used = set()
    left = {}
    for path, values in found.items():
        patterns = [
            pattern
            for pattern in (*deliberate, *anywhere)
            if fnmatch.fnmatchcase(path, pattern)
        ]
        used.update(patterns)
        if not patterns:
            left[path] = values
    return left, deliberate.keys() - used
