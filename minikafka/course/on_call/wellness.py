"""When the cause of an incident is gone: tests that a plan names, each with what it is
given. A test returns what is still wrong, in a few words, or None.
"""

from collections.abc import Callable
from typing import Any

from minikafka.course.on_call.brokers import BROKERS
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.programs import Payouts
from minikafka.course.on_call.world import World

Given = dict[str, Any]
Wrong = str | None  # what is still wrong, in a few words

QUIET_SAMPLES = 12  # two minutes
FALLING_SAMPLES = 18
FALLS_BY = 5  # records, in that time


def still_wrong(world: World) -> list[str]:
    """The plan's tests that still fail, and whether customers still wait."""
    found = []
    lately = world.samples[-QUIET_SAMPLES:]
    if any(sample.is_outage for sample in lately):
        found.append("customers still wait, or did a moment ago")
    for given in world.plan.well:
        test = TESTS[given["test"]]
        wrong = test(world, given)
        if wrong is not None:
            found.append(wrong)
    return found


def _lag(world: World, given: Given) -> Wrong:
    """group, most: how far it may be behind; or its lag falls."""
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
    return f"{offline} partitions have no leader"


def _in_sync(world: World, given: Given) -> Wrong:
    """Each replica is in its ISR."""
    behind = world.samples[-1].under_replicated
    if not behind:
        return None
    return f"{behind} partitions are under-replicated"


def _controller(world: World, given: Given) -> Wrong:
    """There is one, and one only."""
    if world.samples[-1].controllers == 1:
        return None
    return "there is no active controller"


def _pods(world: World, given: Given) -> Wrong:
    """Check that all pods of an app run. Returns what is wrong, or None."""
    app = world.apps[given["app"]]
    if not app.pods:
        return f"{app.name} has no pods"
    if not all(pod.is_up for pod in app.pods):
        return f"{app.name} still dies and starts again"
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
    """Whether a value is what is wanted. A negative number is one without limit."""
    if "is" in given:
        wanted = given["is"]
        choices = wanted if isinstance(wanted, list) else [wanted]
        return value in choices
    number = int(value)
    if "least" in given:
        return number < 0 or number >= given["least"]
    return 0 <= number <= given["most"]


def _pays(world: World, given: Given) -> Wrong:
    """app, within_s: when it committed its last transaction, at the latest."""
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


def _up(world: World, given: Given) -> Wrong:
    """brokers: those that must run."""
    down = []
    for broker in given["brokers"]:
        if not world.brokers.is_up(broker):
            down.append(f"kafka-{broker}")
    if not down:
        return None
    return f"{' and '.join(down)} is down"


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
    "up": _up,
}
