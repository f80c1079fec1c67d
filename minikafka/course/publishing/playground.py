"""The playground: a cluster that one changes by hand while one looks, on a page of the
site (playground.js).

Nothing is kept here between two questions: a question says which run, with which
changes, and maybe one more; so a link can hold it. The answer is what the theatre's
player plays, as in a notebook (course/levers/controls.py). No ipywidgets.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from minikafka.course import levers
from minikafka.course.experiments.shop import (
    CONFIGS,
    MORE_PROTOCOLS,
    TOPIC,
    Shop,
)
from minikafka.course.levers.controls import placed
from minikafka.course.levers.on_stage import Change, Reruns
from minikafka.course.publishing.playground_watch import Watch
from minikafka.simulation.cluster import Cluster
from minikafka.theatre.page import page
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

# when the group has settled: its picture begins then, the others open then
SINCE_MS = 4000
SLOW_MS = 400  # for each record, instead of none
LIMITS = {
    "brokers": (1, 3),
    "partitions": (1, 12),
    "members": (1, 4),
    "per_second": (1, 50),
    "seconds": (10, 120),
    "seed": (0, 999_999),
}
PICTURES = {
    "the group": "rebalance",
    "the replicas": "replica-set",
    "the controllers": "quorum",
}


class Settings(NamedTuple):
    """shows: one of PICTURES. brokers: each partition has a replica on every one.
    protocol: one of MORE_PROTOCOLS. members: at first. per_second: orders sent.
    seconds: how long it runs.
    """

    shows: str = "the group"
    brokers: int = 1
    protocol: str = "range"
    partitions: int = 6
    members: int = 2
    per_second: int = 10
    seed: int = 7
    seconds: int = 20


def answer(question: str) -> str:
    """JSON in, JSON out. settings and changes say which run; act (as a lever says it)
    and at_ms, what is to be changed.

    Nothing is changed before the group has settled. ms: the moment to open at, else
    then. The answer's page is there where the question says first.
    """
    asked = json.loads(question)
    try:
        settings = checked(asked.get("settings", {}))
        options: dict[str, Any] = {"seed": settings.seed}
        if settings.shows == "the group":
            options["since_ms"] = SINCE_MS
        watch = Watch()
        runs = Reruns(
            PICTURES[settings.shows],
            rerun_of(settings, watch),
            partial(code_of, brokers=range(1, settings.brokers + 1)),
            names(settings),
            **options,
        )
        changes = []
        for changed_ms, what, who in asked.get("changes", []):
            changes.append(Change(int(changed_ms), str(what), str(who)))
        at_ms = asked.get("ms", SINCE_MS)
        if "act" in asked:
            runs.changes = changes
            what, _, who = asked["act"].partition(" ")
            at_ms = max(asked["at_ms"], SINCE_MS)
            runs.press(what, who, at_ms)
        else:
            runs.show(changes)
    except (ValueError, TypeError, KeyError, RuntimeError, KafkaError) as error:
        return json.dumps({"error": str(error)})
    return json.dumps(told(settings, runs, watch, at_ms, bool(asked.get("first"))))


def told(
    settings: Settings, runs: Reruns, watch: Watch, at_ms: float, with_page: bool
) -> dict[str, Any]:
    """What the page around the picture shows, and the picture."""
    shown = runs.picture
    play = shown.data(at_ms=at_ms)
    play["flags"] = placed(shown, runs.lines)
    return {
        "settings": settings._asdict(),
        "changes": [[each.at_ms, each.what, each.who] for each in runs.changes],
        "lines": [f"{ms / 1000:.3f} s  {line}" for ms, line in runs.lines],
        "code": program(settings, runs.changes),
        "times": [scene["at"] for scene in shown.scenes],
        "watched": watch.lines(),
        "play": play,
        "page": page(play, shown.title, shown.corner) if with_page else None,
    }


def checked(given: dict[str, Any]) -> Settings:
    """ValueError: a setting of a link that makes no sense."""
    settings = Settings(**given)
    if settings.protocol not in MORE_PROTOCOLS:
        raise ValueError(f"protocol is one of {', '.join(MORE_PROTOCOLS)}")
    if settings.shows not in PICTURES:
        raise ValueError(f"shows is one of {', '.join(PICTURES)}")
    for name, (least, most) in LIMITS.items():
        value = getattr(settings, name)
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"{name} is a whole number from {least} to {most}")
    if settings.brokers == 1 and settings.shows != "the group":
        raise ValueError(
            "One broker copies to nobody, and nobody votes for it: choose 3 brokers."
        )
    return settings


def names(settings: Settings) -> list[str]:
    return [f"consumer {letter}" for letter in "ABCD"[: settings.members]]


def rerun_of(settings: Settings, watch: Watch) -> Any:
    """What runs the cluster from its beginning, with changes, while one watches."""

    def rerun(changes: Sequence[Change]) -> list[Event]:
        end_ms = settings.seconds * 1000
        seed, brokers = settings.seed, settings.brokers
        with Cluster(seed=seed, brokers=brokers, configs=CONFIGS) as cluster:
            shop = Shop(
                cluster,
                settings.protocol,
                settings.partitions,
                settings.per_second,
                brokers,
            )
            for name in names(settings):
                shop.join(name)
                # one after the other: who joins first leads a classic group
                cluster.run(seconds=0.2)
            for change in changes:
                allow(change.at_ms, cluster.now_ms, end_ms)
                watch.run_to(cluster, change.at_ms)
                do(cluster, shop, change)
            watch.run_to(cluster, end_ms)
            watch.trace = list(cluster.trace)
            return watch.trace

    return rerun


def allow(at_ms: int, now_ms: int, end_ms: int) -> None:
    """Errors: ValueError for a moment of a change that isn't within the run."""
    if at_ms < now_ms:
        raise ValueError(f"Nothing can be changed before {now_ms / 1000:.3f} s.")
    if at_ms >= end_ms:
        raise ValueError(
            f"The run ends at {end_ms / 1000:.3f} s: choose an earlier moment, or run"
            " on."
        )


def do(cluster: Cluster, shop: Shop, change: Change) -> None:
    if change.what == "add":
        shop.join(change.who)
    elif is_broker(change):
        levers.do_to_broker(cluster, change)
    else:
        levers.do(cluster, change, SLOW_MS, TOPIC)


def is_broker(change: Change) -> bool:
    return change.who.startswith("broker ")


def code_of(change: Change, brokers: Sequence[int]) -> str:
    """The line that does a change, in the program."""
    if is_broker(change):
        return levers.broker_line(change, brokers)
    if change.what == "add":
        return f'members["{change.who}"] = shop.join("{change.who}")'
    if change.what == "leave":
        return f'members["{change.who}"].close()'
    return levers.line(change, "billing", SLOW_MS, TOPIC, brokers)


def program(settings: Settings, changes: Sequence[Change]) -> list[str]:
    """The lines that run all this and show its picture, wherever minikafka is."""
    brokers = range(1, settings.brokers + 1)
    options = f"seed={settings.seed}"
    if settings.brokers > 1:
        options += f", brokers={settings.brokers}"
    shop_of = [f'"{settings.protocol}"', f"partitions={settings.partitions}"]
    shop_of.append(f"per_second={settings.per_second}")
    if settings.brokers > 1:
        shop_of.append(f"replicas={settings.brokers}")
    lines = [
        "from minikafka import Cluster",
        "from minikafka.course.experiments.shop import CONFIGS, Shop",
        "",
        f"cluster = Cluster({options}, configs=CONFIGS)",
        f"shop = Shop(cluster, {', '.join(shop_of)})",
        "members = {}",
        f"for name in {json.dumps(names(settings))}:",
        "    members[name] = shop.join(name)",
        "    cluster.run(seconds=0.2)",
    ]
    for change in changes:
        lines.append(_up_to(change.at_ms))
        lines.append(code_of(change, brokers))
    lines.append(_up_to(settings.seconds * 1000))
    since = f", since_ms={SINCE_MS}" if settings.shows == "the group" else ""
    lines.append(f'cluster.play("{PICTURES[settings.shows]}"{since})')
    return lines


def _up_to(ms: int) -> str:
    """The line that lets the run go on to a moment."""
    return f"cluster.run_ms({ms} - cluster.now_ms)"
