"""kafka-console-consumer, with the lines of Apache Kafka 4.4.0's. Without an end the
real one would go on forever: this one shows what is there.
"""

from typing import Any, NamedTuple

from minikafka.course.on_call import asking
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.usage import (
    LONG_MAX,
    Given,
    Refused,
    pairs,
    whole,
    whole_or,
)
from minikafka.course.on_call.world import World
from minikafka.trace import printable

SHOWN = 20  # records, unless told otherwise
WIDEST = 100_000  # characters of a record, escapes and all
LONGEST_MS = 3_600_000  # as one wait
NOBODY_LEADS = "It would wait until {where} has a leader: consumers ask the leader."
WOULD_WAIT = (
    "It would wait for new records: --timeout-ms 10000 waits for ten seconds. For those"
    " that are there already: --from-beginning, or --partition N --offset N."
)
OLD_PROPERTY = (
    "Option --property is deprecated and will be removed in a future version. Use"
    " --formatter-property instead."
)
TIME_IS_OVER = (
    "ERROR Error processing message, terminating consumer process: "
    " (org.apache.kafka.tools.consumer.ConsoleConsumer)",
    "org.apache.kafka.common.errors.TimeoutException",
)


class _Wanted(NamedTuple):
    """The records to be shown: at most this many, from these partitions, each from an
    offset on; how long to wait for them, and how each is printed.
    """

    topic: str
    starts: dict[int, int]
    most: int
    timeout_ms: int
    is_committed: bool  # with read_committed
    form: dict[str, str]


def consume(world: World, given: Given) -> Said:
    """kafka-console-consumer, of as many records as there are."""
    wanted = _wanted(world, given)
    lines = _lines(world, wanted)
    if wanted.timeout_ms and len(lines) < wanted.most:
        world.run(wanted.timeout_ms / 1000)
        lines = _lines(world, wanted)
    shown = lines[: wanted.most]
    last = [f"Processed a total of {len(shown)} messages"]
    if wanted.timeout_ms and len(lines) < wanted.most:
        last = [*TIME_IS_OVER, *last]
    first = [OLD_PROPERTY] if "--property" in given else []
    return Said("\n".join([*first, *shown]), end="\n".join(last))


def _wanted(world: World, given: Given) -> _Wanted:
    """The records that a line asks for. Raises Refused."""
    topic = given["--topic"]
    timeout_ms = whole_or(given, "--timeout-ms", 0, most=LONGEST_MS)
    numbers = _partitions(world, given, waits=timeout_ms > 0)
    form: dict[str, str] = {}
    for option in ("--property", "--formatter-property"):
        form |= pairs(given.get(option, ""))
    return _Wanted(
        topic=topic,
        starts={at: _start(world, topic, at, given) for at in numbers},
        most=whole_or(given, "--max-messages", SHOWN, least=1),
        timeout_ms=timeout_ms,
        is_committed=given.get("--isolation-level") == "read_committed",
        form=form,
    )


def _partitions(world: World, given: Given, waits: bool) -> list[int]:
    """Those with a leader. Raises Refused where it would wait for ever."""
    topic = given["--topic"]
    leaders = asking.leaders(world.brokers, topic)
    led = [number for number, leader in leaders.items() if leader >= 0]
    if "--partition" not in given:
        if "--offset" in given:
            raise Refused("The partition is required when offset is specified.")
        return led
    number = whole(given, "--partition")
    if number in led:
        return [number]
    if number not in leaders:
        raise Refused(f"{topic} has no partition {number}.")
    if not waits:
        raise Refused(NOBODY_LEADS.format(where=f"{topic}-{number}"))
    return []


def _start(world: World, topic: str, number: int, given: Given) -> int:
    """The first offset. Raises Refused for what isn't there yet."""
    first, end = world.cluster.log_offsets(topic, number)
    offset = given.get("--offset", "latest")
    if "--from-beginning" in given or offset == "earliest":
        return first
    if offset != "latest":
        return whole(given, "--offset", most=LONG_MAX)
    if "--timeout-ms" in given:
        return end
    raise Refused(WOULD_WAIT)


def _lines(world: World, wanted: _Wanted) -> list[str]:
    """A line for each record that is there."""
    lines = []
    for number, start in wanted.starts.items():
        leader = world.brokers.leader_of(wanted.topic, number)
        end = leader.high_watermark
        if wanted.is_committed:
            end = leader.last_stable_offset
        for record in world.cluster.records(wanted.topic, number):
            if start <= record.offset < end:
                lines.append(_line(record, wanted.form))
    return lines


def _line(record: Any, form: dict[str, str]) -> str:
    """One record, as the properties say."""
    parts = {
        "print.timestamp": f"CreateTime:{record.timestamp}",
        "print.partition": f"Partition:{record.partition}",
        "print.offset": f"Offset:{record.offset}",
        "print.headers": _headers(record.headers),
        "print.key": _text(record.key),
        "print.value": _text(record.value),
    }
    shown = {"print.value": "true", **form}
    cells = [cell for name, cell in parts.items() if shown.get(name) == "true"]
    return form.get("key.separator", "\t").join(cells)


def _headers(headers: list[tuple[str, bytes | None]]) -> str:
    """name:value, with commas between them."""
    texts = [f"{name}:{_text(value)}" for name, value in headers]
    return ",".join(texts) or "NO_HEADERS"


def _text(found: bytes | None) -> str:
    """On one line. What is no text, as in Kafka's own topics, shows as a terminal would
    not: by its bytes.
    """
    if found is None:
        return "null"
    text = found.decode(errors="backslashreplace")
    return printable(text, WIDEST)
