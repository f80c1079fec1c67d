"""When the cause of an incident is gone: tests that a plan names, each with what it is
given. A test returns what is still wrong, in a few words, or None.
"""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from minikafka.course.on_call.apps import App
from minikafka.course.on_call.brokers import BROKERS
from minikafka.course.on_call.certificates import at
from minikafka.course.on_call.disks import DELETE_DELAY_MS
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.programs import Payouts
from minikafka.course.on_call.world import CONFIGS, World

Given = dict[str, Any]
Wrong = str | None  # what is still wrong, in a few words

QUIET_SAMPLES = 12  # two minutes
FALLING_SAMPLES = 18
CHECK_MS = int(CONFIGS["log.retention.check.interval.ms"])
BATCH_BYTES = 80  # of a batch with one record, besides the value
FALLS_BY = 5  # records, in that time


def still_wrong(world: World) -> list[str]:
    """The plan's tests that still fail, and whether customers still wait."""
    found = []
    lately = world.samples[-QUIET_SAMPLES:]
    if any(sample.is_outage for sample in lately):
        found.append("customers are still waiting, or were a moment ago")
    for given in world.plan.well:
        test = TESTS[given["test"]]
        wrong = test(world, given)
        if wrong is not None:
            found.append(wrong)
    return found


def _lag(world: World, given: Given) -> Wrong:
    """group, most: the largest lag allowed, unless the lag is falling."""
    group = given["group"]
    lately = world.samples[-FALLING_SAMPLES:]
    lags = [sample.lag.get(group, 0) for sample in lately]
    before, now = lags[0], lags[-1]
    is_small = now <= given["most"]
    falls = now < before - FALLS_BY
    if is_small or falls:
        return None
    return f"the lag of {group} is {now}, and does not fall"


def _led(world: World, given: Given) -> Wrong:
    """No partition is without a leader."""
    offline = world.samples[-1].offline
    if not offline:
        return None
    if offline == 1:
        return "1 partition has no leader"
    return f"{offline} partitions have no leader"


def _in_sync(world: World, given: Given) -> Wrong:
    """Each replica is in its ISR."""
    behind = world.samples[-1].under_replicated
    if not behind:
        return None
    if behind == 1:
        return "1 partition is under-replicated"
    return f"{behind} partitions are under-replicated"


def _controller(world: World, given: Given) -> Wrong:
    """There is exactly one active controller."""
    if world.samples[-1].controllers == 1:
        return None
    return "there is no active controller"


def _pods(world: World, given: Given) -> Wrong:
    """Check that all pods of an app run. Returns what is wrong, or None."""
    app = world.apps[given["app"]]
    if not app.pods:
        return f"{app.name} has no pods"
    if not all(pod.is_up for pod in app.pods):
        return f"{app.name} still crashes and is restarted"
    return None


def _env(world: World, given: Given) -> Wrong:
    """app, name, and one of: `is`, a value or several; `least`; `most`. default: the
    value that the program uses if the variable is not set.
    """
    app = world.apps[given["app"]]
    name = given["name"]
    default = str(given.get("default", ""))
    value = app.env.get(name) or default
    if _fits(value, given):
        return None
    return f"{app.name} runs with {name}={value}"


def _config(world: World, given: Given) -> Wrong:
    """topic, name, and one of: `is`, `least`, `most`."""
    topic = given["topic"]
    name = given["name"]
    value = world.brokers.config(topic, name)
    if value is None:
        return f"there is no topic {topic}"
    if _fits(value, given):
        return None
    return f"{topic} has {name}={value}"


def _fits(value: str, given: Given) -> bool:
    """Whether a value is the wanted one. A negative number means no limit."""
    if "is" in given:
        wanted = given["is"]
        choices = wanted if isinstance(wanted, list) else [wanted]
        return value in choices
    number = int(value)
    if "least" in given:
        return number < 0 or number >= given["least"]
    return 0 <= number <= given["most"]


def _pays(world: World, given: Given) -> Wrong:
    """app, within_s: how long ago its last transaction may have been committed."""
    app = world.apps[given["app"]]
    assert isinstance(app, Payouts), app
    if world.now_ms - app.committed_ms <= given["within_s"] * 1000:
        return None
    since = clock(app.committed_ms)
    return f"{app.name} has committed no transaction since {since}"


def _transactions(world: World, given: Given) -> Wrong:
    """topic, most: records behind the last stable offset."""
    topic = given["topic"]
    behind = 0
    for replica in world.brokers.leaders_of(topic):
        behind += replica.high_watermark - replica.last_stable_offset
    if behind <= given["most"]:
        return None
    return f"{behind} records of {topic} wait behind an open transaction"


def _disk(world: World, given: Given) -> Wrong:
    """free: bytes that each broker has left, at least."""
    for broker in BROKERS:
        space = world.brokers.disk(broker).space()
        is_full = space is not None and space.usable_bytes < given["free"]
        if is_full:
            return f"the disk of kafka-{broker} is all but full"
    return None


def _lasts(world: World, given: Given) -> Wrong:
    """app: whether what its topic keeps, while it writes on as it does now, fits on
    each disk that has the topic.
    """
    app = world.apps[given["app"]]
    image = world.brokers.image()
    if image is None or app.topic not in image.topics:
        return None
    kept = _kept_bytes(world, app) if app.pods else 0
    for broker in BROKERS:
        disk = world.brokers.disk(broker)
        has_topic, others = False, 0
        for path, file in disk.files().items():
            if path.rpartition("/")[0].rpartition("-")[0] == app.topic:
                has_topic = True
            else:
                others += file.size
        space = disk.space()
        if has_topic and space is not None and others + kept > space.total_bytes:
            return f"the disk of kafka-{broker} will be full again"
    return None


def _kept_bytes(world: World, app: App) -> float:
    """The most that the topic of an app that writes ever has on a disk: a segment is
    filled, gets too old or the log too large, and a minute later it is deleted.
    """
    size = int(app.env["bytes"]) + BATCH_BYTES
    rate = size / max(1, int(app.env["every.ms"]))  # bytes a millisecond
    policy = world.brokers.config(app.topic, "cleanup.policy") or ""
    if "delete" not in policy:
        return math.inf
    by_age = rate * _limit(world, app.topic, "retention.ms")
    by_size = _limit(world, app.topic, "retention.bytes")
    segment = min(
        rate * _limit(world, app.topic, "segment.ms"),
        _limit(world, app.topic, "segment.bytes"),
    )
    return min(by_age, by_size) + segment + rate * (CHECK_MS + DELETE_DELAY_MS)


def _limit(world: World, topic: str, name: str) -> float:
    """A topic's numeric config. A negative number means no limit."""
    value = int(world.brokers.config(topic, name) or 0)
    return math.inf if value < 0 else value


def _up(world: World, given: Given) -> Wrong:
    """brokers: the ids of those that must run."""
    down = []
    for broker in given["brokers"]:
        if not world.brokers.is_up(broker):
            down.append(f"kafka-{broker}")
    if not down:
        return None
    *others, last = down
    if not others:
        return f"{last} is down"
    return f"{', '.join(others)} and {last} are down"


def _certificates(world: World, given: Given) -> Wrong:
    """days: how long the certificate that each broker shows its clients is still valid,
    at least.
    """
    if world.tls is None:
        return None
    latest = at(world.now_ms) + timedelta(days=given["days"])
    for broker in BROKERS:
        if not world.tls.shown(broker).is_valid(latest):
            return f"kafka-{broker} turns new clients away"
    return None


TESTS: dict[str, Callable[[World, Given], Wrong]] = {
    "lag": _lag,
    "led": _led,
    "in sync": _in_sync,
    "controller": _controller,
    "pods": _pods,
    "env": _env,
    "config": _config,
    "pays": _pays,
    "transactions": _transactions,
    "disk": _disk,
    "lasts": _lasts,
    "up": _up,
    "certificates": _certificates,
}
