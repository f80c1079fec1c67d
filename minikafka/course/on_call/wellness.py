"""When the cause of an incident is gone: tests that a plan names, each with what it is
given. A test returns what is still wrong, in a few words, or None.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

Given = dict[str, Any]
QUIET_SAMPLES = 12  # two minutes
FALLING_SAMPLES = 18


def still_wrong(world: "World") -> list[str]:
    """What the plan's tests say, and whether customers still wait."""
    found = []
    if any(sample.is_outage for sample in world.samples[-QUIET_SAMPLES:]):
        found.append("customers still wait, or did a moment ago")
    for given in world.plan.well:
        rest = dict(given)
        said = TESTS[rest.pop("test")](world, rest)
        if said is not None:
            found.append(said)
    return found


def _lag(world: "World", given: Given) -> str | None:
    """group, most: how far it may be behind; or its lag falls."""
    group, most = given["group"], given["most"]
    history = [sample.lag.get(group, 0) for sample in world.samples[-FALLING_SAMPLES:]]
    if history[-1] <= most or history[-1] < history[0] - 5:
        return None
    return f"the lag of {group} is {history[-1]}, and does not fall"


def _led(world: "World", given: Given) -> str | None:
    """No partition is without a leader."""
    offline = world.samples[-1].offline
    return f"{offline} partitions have no leader" if offline else None


def _in_sync(world: "World", given: Given) -> str | None:
    """Each replica is in its ISR."""
    behind = world.samples[-1].under_replicated
    return f"{behind} partitions are under-replicated" if behind else None


def _controller(world: "World", given: Given) -> str | None:
    """There is one, and one only."""
    if world.samples[-1].controllers == 1:
        return None
    return "there is no active controller"


def _pods(world: "World", given: Given) -> str | None:
    """app: all its pods run."""
    app = world.apps[given["app"]]
    if not app.pods:
        return f"{app.name} has no pods"
    if any(pod.died_ms is not None for pod in app.pods):
        return f"{app.name} still dies and starts again"
    return None


def _env(world: "World", given: Given) -> str | None:
    """app, name, and one of: `is`, a value or several; `least`; `most`."""
    app, name = world.apps[given["app"]], given["name"]
    value = app.env.get(name) or str(given.get("default", ""))
    return _fits(
        f"{app.name} runs with {name}={value}",
        value,
        given,
    )


def _config(world: "World", given: Given) -> str | None:
    """topic, name, and one of: `is`, `least`, `most`."""
    topic, name = given["topic"], given["name"]
    value = world.config(topic, name)
    if value is None:
        return f"there is no topic {topic}"
    return _fits(
        f"{topic} has {name}={value}",
        value,
        given,
    )


def _fits(said: str, value: str, given: Given) -> str | None:
    """Whether a value is what is wanted; else the sentence."""
    wanted = given.get("is", value)
    choices = wanted if isinstance(wanted, list) else [wanted]
    if value not in choices:
        return said
    if "least" in given and 0 <= int(value) < given["least"]:
        return said
    if "most" in given and not 0 <= int(value) <= given["most"]:
        return said
    return None


def _transactions(world: "World", given: Given) -> str | None:
    """topic, most: records behind the last stable offset."""
    topic = given["topic"]
    behind = sum(
        replica.high_watermark - replica.last_stable_offset
        for replica in world.leaders_of(topic)
    )
    if behind <= given["most"]:
        return None
    return f"{behind} records of {topic} wait behind an open transaction"


def _disk(world: "World", given: Given) -> str | None:
    """free: bytes that each broker has left, at least."""
    for broker, process in world.cluster._brokers.items():
        space = process.disk.space()
        if space is not None and space.usable_bytes < given["free"]:
            return f"the disk of kafka-{broker} is all but full"
    return None


def _up(world: "World", given: Given) -> str | None:
    """brokers: those that must run."""
    down = [broker for broker in given["brokers"] if not world.is_up(broker)]
    names = " and ".join(f"kafka-{broker}" for broker in down)
    return f"{names} is down" if down else None


TESTS: dict[str, Callable[["World", Given], str | None]] = {
    "lag": _lag,
    "led": _led,
    "in sync": _in_sync,
    "controller": _controller,
    "pods": _pods,
    "env": _env,
    "config": _config,
    "transactions": _transactions,
    "disk": _disk,
    "up": _up,
}
