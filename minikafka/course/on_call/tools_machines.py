"""systemctl, journalctl, date, df, du and lvextend for the brokers' machines: as much of
them as somebody on call needs.
"""

import math
from collections import Counter
from datetime import UTC, datetime

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.course.on_call import log_lines
from minikafka.course.on_call.brokers import BROKERS
from minikafka.course.on_call.columns import Row, columns
from minikafka.course.on_call.habits import VOLUMES
from minikafka.course.on_call.moments import moment_ms
from minikafka.course.on_call.usage import Given, Refused, number_in, whole_or
from minikafka.course.on_call.world import World
from minikafka.simulation.clock import MIDNIGHT_MS

STOP_S = 120
KIB = 1024
UNITS = {
    "K": KIB,
    "M": KIB**2,
    "G": KIB**3,
}
LARGEST = 8  # folders that du shows
LARGE = 100 * KIB**3  # a disk that a night doesn't fill
LOGS = "/var/lib/kafka/data"
MOST_LINES = 1000
WHICH = (
    "Say which machine's: kafka-1, kafka-2 or kafka-3. It comes last, or put ssh"
    " kafka-1"
    " before the line."
)


def journal(world: World, given: Given) -> str:
    """journalctl BROKER: the last lines of a broker's log."""
    now_ms = world.now_ms
    until_ms = moment_ms("--until", given.get("--until", "now"), now_ms)
    wanted = given.get("--grep", "")
    lines = []
    broker = _broker(given)
    logged = log_lines.of_broker(world.brokers.events, broker)
    if world.tls is not None:
        failures = world.tls.logged(broker, world.address_of)
        logged += [log_lines.Line(*failure) for failure in failures]
    for line in logged:
        if line.at_ms <= until_ms and wanted.lower() in line.words.lower():
            lines.append(line)
    is_asked = {"--since", "--grep", "--until"} & given.keys()
    most = whole_or(given, "--lines", MOST_LINES if is_asked else log_lines.LINES)
    since_ms = moment_ms("--since", given.get("--since", "today"), now_ms)
    said = log_lines.shown(lines, most, since_ms)
    if "--reverse" in given:
        said = "\n".join(reversed(said.splitlines()))
    return said or "-- No entries --"


def date(world: World, given: Given) -> str:
    """date: the day and the time of the night, in UTC."""
    now = datetime.fromtimestamp((MIDNIGHT_MS + world.now_ms) / 1000, UTC)
    return f"{now:%a %b} {now.day:2} {now:%H:%M:%S} UTC {now.year}"


# -- disks


def free_space(world: World, given: Given) -> str:
    """df BROKER; without one, all."""
    is_human = "-h" in given
    rows: list[Row] = [
        ["Filesystem", "1K-blocks", "Used", "Available", "Use%", "Mounted on"]
    ]
    if is_human:
        rows = [["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"]]
    wanted: tuple[int, ...] = BROKERS
    if "BROKER" in given:
        wanted = (_broker(given),)
    for broker in wanted:
        rows.append(_volume(world, broker, is_human))
    return columns(rows, least=[18, 9, 9, 9, 4])


def _volume(world: World, broker: int, is_human: bool) -> Row:
    """A row of df for a broker's volume: size, used, available, share."""
    volume = f"{VOLUMES}kafka-{broker}"
    disk = world.brokers.disk(broker)
    space = disk.space()
    if space is None:
        total, used = LARGE, disk.used_bytes
        left = total - used
    else:
        total, left = space.total_bytes, space.usable_bytes
        used = total - left
    percent = math.ceil(100 * used / total)
    return [
        volume,
        _size(total, is_human),
        _size(used, is_human),
        _size(left, is_human),
        f"{percent}%",
        LOGS,
    ]


def _size(size: int, is_human: bool) -> str:
    """In blocks of 1024 bytes, or as -h has it: 1.2M."""
    if not is_human:
        return str(size // KIB)
    if size < KIB**2:
        return f"{math.ceil(size / KIB)}K"
    if size < 10 * KIB**3:
        return f"{size / KIB**2:.1f}M"
    return f"{math.ceil(size / KIB**3)}G"


def used_space(world: World, given: Given) -> str:
    """du BROKER: the folders of its log directory, the largest first."""
    broker = _broker(given)
    is_human = "-h" in given
    sizes: Counter[str] = Counter()
    for path, file in world.brokers.disk(broker).files().items():
        folder, slash, _ = path.partition("/")
        if slash:
            sizes[folder] += file.size
    rows = []
    for folder, size in sizes.most_common(LARGEST):
        rows.append([_size(size, is_human), folder])
    return columns(rows, least=[8])


def enlarge(world: World, given: Given) -> str:
    """lvextend --resizefs --size +SIZE BROKER"""
    broker = _broker(given)
    wanted = _wanted(given["--size"])
    disk = world.brokers.disk(broker)
    if disk.capacity_bytes is None:
        return f"{VOLUMES}kafka-{broker} has plenty of space already"
    if wanted > world.spare_bytes:
        asked, left = wanted // KIB, world.spare_bytes // KIB
        return f"Insufficient free space: {asked}K needed, {left}K available"
    world.spare_bytes -= wanted
    disk.capacity_bytes += wanted
    return f"Logical volume data/kafka-{broker} successfully resized."


def _wanted(text: str) -> int:
    """Bytes, of +500K or +1M. Raises Refused."""
    unit = text[-1:].upper()
    number = number_in(text[1:-1])
    is_size = text.startswith("+") and unit in UNITS
    if not is_size or number is None or number < 0:
        raise Refused("--size is what is added, such as +500K or +1M.")
    return number * UNITS[unit]


# -- processes


def status(world: World, given: Given) -> str:
    """systemctl status BROKER; without one, all."""
    wanted: tuple[int, ...] = BROKERS
    if "BROKER" in given:
        wanted = (_broker(given),)
    return "\n".join(_unit(world, broker) for broker in wanted)


def _unit(world: World, broker: int) -> str:
    """Whether a broker's service runs, as systemctl says it."""
    held = _held(world, broker)
    if world.brokers.is_up(broker):
        word = "active (running)"
    elif held:
        word = f"no answer: {held}"
    else:
        word = "failed"
    return f"kafka-{broker}.service - Apache Kafka\n  Active: {word}"


def is_active(world: World, given: Given) -> str:
    """systemctl is-active BROKER"""
    return "active" if world.brokers.is_up(_broker(given)) else "failed"


def start(world: World, given: Given) -> str:
    """systemctl start BROKER: start a broker, unless something holds it."""
    broker = _broker(given)
    held = _held(world, broker)
    if held:
        return f"kafka-{broker} does not answer: {held}"
    if not world.brokers.is_up(broker):
        world.cluster.restart(broker)
    return ""


def _held(world: World, broker: int) -> str:
    """Why this broker's machine does not answer, if so."""
    return "" if world.brokers.is_up(broker) else world.brokers.held.get(broker, "")


def stop(world: World, given: Given) -> str:
    """systemctl stop BROKER: stop a broker cleanly, and wait as systemd's
    TimeoutStopSec does.
    """
    broker = _broker(given)
    if not world.brokers.is_up(broker):
        return ""
    world.cluster.stop(broker)
    try:
        world.cluster.run_until(lambda: world.brokers.is_down(broker), seconds=STOP_S)
    except KafkaTimeoutError:  # as systemd's TimeoutStopSec
        world.cluster.crash(broker)
        return f"kafka-{broker} did not stop in time, and was killed"
    return ""


def restart(world: World, given: Given) -> str:
    """systemctl restart BROKER"""
    said = [stop(world, given), start(world, given)]
    return "\n".join(filter(None, said))


def _broker(given: Given) -> int:
    """The broker that is named. Raises Refused."""
    name = given.get("BROKER") or given.get("--unit", "")
    number = name.removesuffix(".service").removeprefix(VOLUMES)
    number = number.removeprefix("kafka-")
    for broker in BROKERS:
        if number == str(broker):
            return broker
    if not name:
        raise Refused(WHICH)
    raise Refused(f"There is no {name!r}; there are kafka-1, kafka-2, kafka-3.")
