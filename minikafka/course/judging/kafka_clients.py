"""Real clients on a learner's Kafka: kafka-python, confluent-kafka, and Java's console
tools if there is a Java.

Each function returns, or raises Wrong with the client's own words.
"""

import logging
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikafka.course.clusters import compose
from minikafka.course.judging.kafka_answers import Wrong
from minikafka.course.judging.kafka_trial import Trial
from minikafka.course.places import cache
from minikafka.course.spark import java_version

PATIENCE_S = 15
_PATIENCE_MS = 1000 * PATIENCE_S
# a JoinGroup that was sent twice leaves a member that nobody is, for a session
_SESSION_MS, _AGREE_SECONDS = 6000, 60
_JAVA_SECONDS = 120
_OLDEST_JAVA = 17
_KEY_OF_PARTITION_0 = "bob"  # of two, by murmur2
_CONSOLE_WAITS_MS = "20000"


@contextmanager
def quietly() -> Iterator[list[str]]:
    """kafka-python's log, of which a notebook shows nothing."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("kafka")
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


@contextmanager
def _may_give_up(trial: Trial, client: str) -> Iterator[None]:
    """Whatever a client raises, the conversation is judged first: it says more."""
    from confluent_kafka import KafkaException
    from kafka.errors import KafkaError

    try:
        yield
    except (KafkaError, KafkaException, TimeoutError, StopIteration) as error:
        trial.judge()
        waits = trial.unanswered()
        said = f"{client} gives up: {type(error).__name__} {error}".rstrip()
        if waits:
            said += f"; without an answer: {', '.join(dict.fromkeys(waits))}"
        raise Wrong(said) from None
    trial.judge()


def kafka_python_identifies(trial: Trial) -> None:
    """kafka-python asks ApiVersions, derives the broker's version from it, and
    goes on.
    """
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    with quietly() as said:
        try:
            KafkaConsumer(
                bootstrap_servers=trial.bootstrap, bootstrap_timeout_ms=2000
            ).close()
        except KafkaError as error:
            trial.judge()
            if "Metadata" not in trial.asked_for():
                raise Wrong(f"kafka-python gives up: {error}") from None
    trial.judge()
    if not any("Broker version identified" in line for line in said):
        raise Wrong("kafka-python does not say what it takes your Kafka for")


def kafka_python_sees_partitions(
    trial: Trial, topic: str, partitions: set[int]
) -> None:
    """A producer asks where it may write. It isn't idempotent: it would ask for a
    producer id, too.
    """
    from kafka import KafkaProducer

    options = _python(trial) | {"enable_idempotence": False}
    with quietly(), _may_give_up(trial, "kafka-python"):
        shop = KafkaProducer(**options, max_block_ms=_PATIENCE_MS)
        try:
            found = shop.partitions_for(topic)
        finally:
            shop.close(timeout=1)
    if found != partitions:
        raise Wrong(f"kafka-python sees the partitions {found} of {topic}")


def kafka_python_writes(trial: Trial, topic: str, count: int) -> None:
    """So many to each of two partitions; each must have the next offset."""
    from kafka import KafkaProducer

    with quietly(), _may_give_up(trial, "kafka-python"):
        shop = KafkaProducer(**_python(trial), max_block_ms=_PATIENCE_MS)
        try:
            for number in range(2 * count):
                value = f"order {number}".encode()
                sent = shop.send(topic, value, partition=number % 2)
                sent.get(PATIENCE_S)
        finally:
            shop.close(timeout=1)


def kafka_python_reads(trial: Trial, topic: str, count: int) -> None:
    """So many records, from the beginning, without a group."""
    from kafka import KafkaConsumer

    read = []
    with quietly(), _may_give_up(trial, "kafka-python"):
        consumer = KafkaConsumer(
            topic,
            **_python(trial),
            auto_offset_reset="earliest",
            consumer_timeout_ms=_PATIENCE_MS,
        )
        try:
            for record in consumer:
                read.append(record)
                if len(read) == count:
                    break
        finally:
            consumer.close()
    if len(read) != count:
        raise Wrong(f"kafka-python reads {len(read)} records, and there are {count}")


def kafka_python_commits(trial: Trial, topic: str, group_id: str) -> None:
    """It commits an offset by hand, and a second consumer is told of it."""
    from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

    place, found = TopicPartition(topic, 0), None
    with quietly(), _may_give_up(trial, "kafka-python"):
        for turn in ("commit", "ask"):
            consumer = KafkaConsumer(**_python(trial), group_id=group_id)
            try:
                consumer.assign([place])
                if turn == "commit":
                    consumer.commit({place: OffsetAndMetadata(2, "", -1)})
                else:
                    found = consumer.committed(place)
            finally:
                consumer.close(autocommit=False)
    if found != 2:
        raise Wrong(f"kafka-python has committed offset 2, and is told {found}")


def kafka_python_members(trial: Trial, topic: str, members: int) -> None:
    """So many members of one group, each in a thread, until together they have both
    partitions, and nobody has one that another one has.
    """
    from kafka import KafkaConsumer

    owned: dict[int, set[Any]] = {}
    done = threading.Event()
    errors: list[BaseException] = []

    def member(number: int) -> None:
        try:
            consumer = KafkaConsumer(
                **_python(trial),
                group_id="billing",
                heartbeat_interval_ms=200,
                session_timeout_ms=_SESSION_MS,
            )
            # A leader that learns of the topic while it assigns may stay idle after it.
            consumer.partitions_for_topic(topic)
            consumer.subscribe([topic])
            try:
                while not done.is_set():
                    consumer.poll(100)
                    owned[number] = {each.partition for each in consumer.assignment()}
            finally:
                consumer.close(autocommit=False)
        except Exception as error:
            errors.append(error)

    with quietly(), _may_give_up(trial, "kafka-python"):
        threads = [
            threading.Thread(target=member, args=[number], daemon=True)
            for number in range(members)
        ]
        for thread in threads:
            thread.start()
        settled = _wait_until(
            lambda: bool(errors) or _fairly(list(owned.values()), members), done
        )
        done.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        if errors:
            raise TimeoutError(str(errors[0]))
    if not settled:
        have = "; ".join(str(sorted(each) or "nothing") for each in owned.values())
        raise Wrong(f"the partitions of {members} members stay: {have}")


def _fairly(owned: list[set[Any]], members: int) -> bool:
    """Every member has some, no member has another's, and together they have all."""
    everything = [each for some in owned for each in some]
    return len(owned) == members and all(owned) and sorted(everything) == [0, 1]


def _wait_until(holds: Callable[[], bool], pause: threading.Event) -> bool:
    """Whether it holds within the time that a group gets to agree."""
    for _ in range(20 * _AGREE_SECONDS):
        if holds():
            return True
        pause.wait(0.05)
    return holds()


def _python(trial: Trial) -> dict[str, Any]:
    """The settings of all clients of kafka-python."""
    return {
        "bootstrap_servers": trial.bootstrap,
        "bootstrap_timeout_ms": _PATIENCE_MS,
    }


# -- confluent-kafka


def _librdkafka(trial: Trial, **more: Any) -> dict[str, Any]:
    """The settings of all clients of confluent-kafka."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": trial.bootstrap, "log_level": 0, **named}


def confluent_sees_partitions(trial: Trial, topic: str, partitions: set[int]) -> None:
    """Check that librdkafka's admin client lists exactly these partitions of the topic.
    Errors: Wrong.
    """
    from confluent_kafka.admin import AdminClient

    with _may_give_up(trial, "confluent-kafka"):
        listed = AdminClient(_librdkafka(trial)).list_topics(topic, timeout=PATIENCE_S)
    found = set(listed.topics[topic].partitions)
    if found != partitions:
        raise Wrong(f"confluent-kafka sees the partitions {found} of {topic}")


def confluent_writes(trial: Trial, topic: str, count: int) -> None:
    """So many to partition 0; all must be acknowledged."""
    from confluent_kafka import Producer

    offsets: list[int] = []
    with _may_give_up(trial, "confluent-kafka"):
        shop = Producer(_librdkafka(trial, message_timeout_ms=_PATIENCE_MS))

        def heard(error: Any, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())

        for number in range(count):
            shop.produce(topic, f"order {number}", partition=0, on_delivery=heard)
        shop.flush(PATIENCE_S)
        if len(offsets) != count:
            raise TimeoutError(f"{len(offsets)} of {count} records were acknowledged")


def confluent_reads(trial: Trial, topic: str, count: int, group_id: str = "") -> None:
    """So many records: of partition 0, or as the member of a group."""
    from confluent_kafka import Consumer, TopicPartition

    read = 0
    with _may_give_up(trial, "confluent-kafka"):
        consumer = Consumer(
            _librdkafka(
                trial,
                group_id=group_id or "nobody",
                auto_offset_reset="earliest",
                enable_auto_commit=bool(group_id),
            )
        )
        try:
            if group_id:
                consumer.subscribe([topic])
            else:
                consumer.assign([TopicPartition(topic, 0, 0)])
            while read < count:
                message = consumer.poll(PATIENCE_S)
                if message is None:
                    raise TimeoutError(f"it has read {read} of {count} records")
                read += message.error() is None
            if group_id:
                consumer.commit(asynchronous=False)
        finally:
            consumer.close()


# -- Java


def java() -> list[str] | None:
    """How a class of Apache Kafka is started here; None without Java or its jars."""
    path, version = java_version()
    kafka = compose.brokers({})[0].version
    jars = cache() / f"kafka-{kafka}"
    if path is None or version < _OLDEST_JAVA:
        return None
    if not (jars / f"kafka-tools-{kafka}.jar").exists():
        return None
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [path, *quick, quiet, "-cp", str(jars / "*")]


def _tool(name: str, *options: str, said: str = "") -> str:
    """A tool's output, with its errors if it fails."""
    command = java()
    assert command is not None
    try:
        done = subprocess.run(
            [*command, name, *options],
            input=said,
            capture_output=True,
            text=True,
            timeout=_JAVA_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Wrong(f"{name} has not come to an end") from None
    return done.stdout + (done.stderr if done.returncode else "")


def console_round_trip(trial: Trial, topic: str) -> None:
    """Java's console producer writes three lines, the console consumer reads them."""
    server = ("--bootstrap-server", trial.bootstrap, "--topic", topic)
    lines = ["created", "paid", "shipped"]
    said = "".join(f"{_KEY_OF_PARTITION_0}:{line}\n" for line in lines)
    wrote = _tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *server,
        *("--reader-property", "parse.key=true"),
        *("--reader-property", "key.separator=:"),
        said=said,
    )
    trial.judge()
    read = _tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *server,
        *("--partition", "0", "--offset", "earliest"),
        *("--max-messages", "3", "--timeout-ms", _CONSOLE_WAITS_MS),
    )
    trial.judge()
    if read.split()[:3] != lines:
        words = (wrote + read).strip().splitlines()[:1] or ["nothing"]
        raise Wrong(f"Java's console consumer reads: {words[0]}")


def dumped(log: Path) -> str:
    """The output of Kafka's own dump tool for a file."""
    return _tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--deep-iteration",
        "--files",
        str(log),
    )
