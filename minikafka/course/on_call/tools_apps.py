"""kubectl for the shop's programs, systemctl and journalctl for the brokers: as much of
them as somebody on call needs.
"""

import math
from typing import TYPE_CHECKING

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.course.on_call.apps import App
from minikafka.course.on_call.commands import Given, Refused, whole
from minikafka.trace import printable

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

LINES = 15
STOP_S = 120
CLIENT_KINDS = {
    "CommitFailed",
    "MemberStateChanged",
    "PollOverdue",
    "PositionReset",
    "SendFailed",
}


def pods(world: "World", given: Given) -> str:
    """kubectl get pods"""
    rows = [("NAME", "READY", "STATUS", "RESTARTS")]
    for app in world.apps.values():
        for pod in app.pods:
            is_up = pod.died_ms is None
            status = "Running" if is_up else "CrashLoopBackOff"
            ready = "1/1" if is_up else "0/1"
            rows.append((pod.name, ready, status, str(pod.restarts)))
    return "\n".join(
        f"{name:14} {ready:7} {status:18} {restarts}"
        for name, ready, status, restarts in rows
    )


def logs(world: "World", given: Given) -> str:
    """kubectl logs deployment/APP"""
    app = _app(world, given)
    lines = list(app.log)
    for event in world.events:
        mine = event.node.startswith(f"{app.name}-")
        if mine and event.kind in CLIENT_KINDS:
            words = str(event).partition(f"{event.node}: ")[2]
            lines.append((event.at, f"{event.node} {words}"))
    return _last(world, lines) or f"(nothing but the start of {app.name})"


def env(world: "World", given: Given) -> str:
    """kubectl set env deployment/APP --list"""
    app = _app(world, given)
    lines = [f"# Deployment {app.name}, container {app.name}"]
    lines += [f"{name}={value}" for name, value in app.env.items()]
    return "\n".join(lines)


def set_env(world: "World", given: Given) -> str:
    """kubectl set env deployment/APP NAME=VALUE ..."""
    app = _app(world, given)
    changes = {}
    for pair in given["NAME=VALUE"].split():
        name, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"{pair!r} is no NAME=VALUE.")
        changes[name] = value
    if not changes:
        raise Refused("kubectl set env needs NAME=VALUE.")
    app.set_env(changes)
    return f"deployment.apps/{app.name} env updated"


def scale(world: "World", given: Given) -> str:
    """kubectl scale deployment/APP --replicas N"""
    app = _app(world, given)
    app.scale(whole(given, "--replicas"))
    return f"deployment.apps/{app.name} scaled"


def roll_out(world: "World", given: Given) -> str:
    """kubectl rollout restart deployment/APP"""
    app = _app(world, given)
    app.roll_out()
    return f"deployment.apps/{app.name} restarted"


def _app(world: "World", given: Given) -> App:
    """The deployment that is named. Raises Refused."""
    name = given["APP"]
    if name not in world.apps:
        known = ", ".join(world.apps)
        raise Refused(f"There is no deployment {name!r}; there are {known}.")
    return world.apps[name]


# -- brokers


def journal(world: "World", given: Given) -> str:
    """journalctl -u BROKER"""
    broker = _broker(given)
    lines = []
    for event in world.events:
        if event.node == f"broker {broker}":
            words = str(event).partition(f"{event.node}: ")[2]
            lines.append((event.at, f"kafka-{broker} {printable(words, 200)}"))
    return _last(world, lines) or "-- No entries --"


def _last(world: "World", lines: list[tuple[int, str]]) -> str:
    """The newest, each once: how often it came is said."""
    lines.sort(key=lambda line: line[0])
    told: list[tuple[int, str, int]] = []
    for at_ms, words in lines:
        if told and told[-1][1] == words:
            at_ms, _, times = told.pop()
            told.append((at_ms, words, times + 1))
        else:
            told.append((at_ms, words, 1))
    shown = []
    for at_ms, words, times in told[-LINES:]:
        often = f" ({times} times since)" if times > 1 else ""
        shown.append(f"{world.clock(at_ms)} {words}{often}")
    return "\n".join(shown)


def free_space(world: "World", given: Given) -> str:
    """df BROKER"""
    broker = _broker(given)
    space = world.cluster._brokers[broker].disk.space()
    heading = f"{'Filesystem':24} {'1K-blocks':>10} {'Used':>8} {'Available':>10} Use%"
    name = f"/dev/data/kafka-{broker}"
    if space is None:
        return f"{heading}\n{name:24} {'plenty':>10}"
    used = space.total_bytes - space.usable_bytes
    percent = math.ceil(100 * used / space.total_bytes)
    kilobytes = [each // 1024 for each in (space.total_bytes, used, space.usable_bytes)]
    total, taken, left = kilobytes
    return f"{heading}\n{name:24} {total:>10} {taken:>8} {left:>10} {percent:>3}%"


def used_space(world: "World", given: Given) -> str:
    """du BROKER: the folders of its log directory, the largest first."""
    sizes: dict[str, int] = {}
    for path, file in world.cluster._brokers[_broker(given)].disk.files().items():
        folder, slash, _ = path.partition("/")
        if slash:
            sizes[folder] = sizes.get(folder, 0) + file.size
    largest = sorted(sizes.items(), key=lambda each: (-each[1], each[0]))
    return "\n".join(f"{size // 1000:8} {folder}" for folder, size in largest[:8])


def enlarge(world: "World", given: Given) -> str:
    """lvextend --resizefs --size +KB BROKER"""
    broker = _broker(given)
    text = given["--size"].removeprefix("+").removesuffix("K")
    if not text.isdigit():
        raise Refused("--size is such as +500K.")
    wanted = int(text) * 1000
    disk = world.cluster._brokers[broker].disk
    if disk.capacity_bytes is None:
        return f"/dev/data/kafka-{broker} has plenty of space already"
    if wanted > world.spare_bytes:
        left = world.spare_bytes // 1000
        return f"Insufficient free space: {wanted // 1000}K needed, {left}K available"
    world.spare_bytes -= wanted
    disk.capacity_bytes += wanted
    return f"Logical volume data/kafka-{broker} successfully resized."


def status(world: "World", given: Given) -> str:
    """systemctl status BROKER"""
    broker = _broker(given)
    word = "active (running)" if world.is_up(broker) else "failed"
    held = world.held.get(broker)
    if held and not world.is_up(broker):
        word = f"no answer: {held}"
    return f"kafka-{broker}.service - Apache Kafka\n  Active: {word}"


def start(world: "World", given: Given) -> str:
    """systemctl start BROKER"""
    broker = _broker(given)
    if broker in world.held and not world.is_up(broker):
        return f"kafka-{broker} does not answer: {world.held[broker]}"
    if not world.is_up(broker):
        world.cluster.restart(broker)
    return ""


def stop(world: "World", given: Given) -> str:
    """systemctl stop BROKER"""
    broker = _broker(given)
    if world.is_up(broker):
        world.cluster.stop(broker)
        process = world.cluster._brokers[broker]
        try:
            world.cluster.run_until(lambda: process.state == "down", seconds=STOP_S)
        except KafkaTimeoutError:  # as systemd's TimeoutStopSec
            world.cluster.crash(broker)
            return f"kafka-{broker} did not stop in time, and was killed"
    return ""


def restart(world: "World", given: Given) -> str:
    """systemctl restart BROKER"""
    return "\n".join(filter(None, [stop(world, given), start(world, given)]))


def _broker(given: Given) -> int:
    """The broker that is named. Raises Refused."""
    name = given["BROKER"]
    number = name.removesuffix(".service").removeprefix("kafka-")
    if number not in ("1", "2", "3"):
        raise Refused(f"There is no {name!r}; there are kafka-1, kafka-2, kafka-3.")
    return int(number)
