"""Sends a data set to Kafka, as its producers would have: `python -m datasets.replay
orders --speed 60`.

Each stream goes to a topic of its own name, or all to --topic. A record's timestamp is
its ingest time. With --speed 60 an hour of the data takes a minute; without, it goes as
fast as Kafka takes it. Ctrl-C stops it: what was sent is there.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError, TopicAlreadyExistsError

from .__main__ import arguments, of, streams, told
from .events import Event

ANSWER_WITHIN_MS = 10_000


class NobodyAnswers(ConnectionError):
    """There is no Kafka at that address."""


def paced(
    made: Iterable[Event],
    speed: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Event]:
    """Each event when it is its turn. speed: seconds of the data in one second. clock,
    sleep: in seconds.
    """
    first_ms, began = None, clock()
    for event in made:
        first_ms = event.ingest_ms if first_ms is None else first_ms
        early = began + (event.ingest_ms - first_ms) / 1000 / speed - clock()
        if early > 0:
            sleep(early)
        yield event


def send(
    producer: KafkaProducer, made: Iterable[Event], topic: str | None, partitions: int
) -> int:
    """Sends all, and waits until all were acknowledged; how many. Errors: the first one
    that a record met.
    """
    failed: list[BaseException] = []
    sent = 0
    for event in made:
        partition = None if event.partition is None else event.partition % partitions
        future = producer.send(
            topic or event.stream,
            event.value,
            event.key,
            event.headers,
            partition,
            timestamp_ms=event.ingest_ms,
        )
        future.add_errback(failed.append)
        sent += 1
        if failed:
            break
    producer.flush()
    if failed:
        raise failed[0]
    return sent


def create(bootstrap: str, topics: Iterable[str], partitions: int) -> None:
    """The topics that aren't there yet. Errors: NobodyAnswers."""
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=bootstrap, bootstrap_timeout_ms=ANSWER_WITHIN_MS
        )
    except KafkaError as error:
        raise NobodyAnswers(bootstrap) from error
    try:
        for topic in topics:
            try:
                admin.create_topics(
                    {topic: {"num_partitions": partitions, "replication_factor": -1}}
                )
            except TopicAlreadyExistsError:
                pass
    finally:
        admin.close()


def main(argv: list[str] | None = None) -> int:
    parser = arguments(
        "python -m datasets.replay", (__doc__ or "").split(":", 1)[0] + "."
    )
    parser.add_argument(
        "--bootstrap",
        default="127.0.0.1:9092",
        help="HOST:PORT (default 127.0.0.1:9092)",
    )
    parser.add_argument(
        "--topic", help="one topic for all streams (default: one each, by their names)"
    )
    parser.add_argument(
        "--partitions", type=int, default=4, help="of a topic that is new (default 4)"
    )
    parser.add_argument(
        "--speed",
        type=float,
        help="seconds of the data in one second (default: as fast as it goes)",
    )
    args = parser.parse_args(argv)
    if args.speed is not None and args.speed <= 0:
        parser.error(f"--speed {args.speed:g} is not above 0")
    try:
        made = of(args.name, count=args.count, seed=args.seed, stream=args.stream)
    except ValueError as error:
        parser.error(str(error))
    if args.speed is not None:
        made = paced(made, args.speed)
    topics = (
        [args.topic]
        if args.topic
        else [args.stream]
        if args.stream
        else streams(args.name)
    )
    try:
        create(args.bootstrap, topics, args.partitions)
        with KafkaProducer(bootstrap_servers=args.bootstrap, linger_ms=5) as producer:
            sent = send(producer, told(made, sys.stderr), args.topic, args.partitions)
    except NobodyAnswers:
        what = "start a Kafka there (minikafka serve), or name one with --bootstrap"
        print(f"nobody answers at {args.bootstrap}: {what}", file=sys.stderr)
        return 1
    except KafkaError as error:
        print(f"stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"sent {sent:,} records to {', '.join(topics)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
