"""The playground: a cluster that one changes by hand while one looks, on a page of the
site (playground.js).

A question says which run, with which changes, and maybe one more; so a link can hold
it, and the answer is the same whatever was asked before. It is what the theatre's
player plays, as in a notebook (course/levers/controls.py). No ipywidgets.
"""

import json
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any

from minikafka.course import levers
from minikafka.course.experiments.shop import MORE_PROTOCOLS, TOPIC
from minikafka.course.levers.controls import placed
from minikafka.course.levers.on_stage import Change, Reruns
from minikafka.course.publishing.playground_run import (
    SLOW_MS,
    Ready,
    Rerun,
    Settings,
    is_broker,
)
from minikafka.course.publishing.playground_watch import Watch
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.page import page
from minikafka.wire.errors import KafkaError

# when the group has settled: its picture begins then, the others open then
SINCE_MS = 4000
# a member's last words, and how long the run goes on after them at least: until the
# coordinator has given it up, and a little longer
SILENT = ("crash", "freeze", "cut")
GIVEN_UP_S = 48
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


READY = Ready()


def answer(question: str) -> str:
    """JSON in, JSON out. settings and changes say which run; act (as a lever says it)
    and at_ms, what is to be changed.

    Nothing is changed before the group has settled. ms: the moment to open at, else
    then. width: of the layout that is shown; the other is drawn when it is asked for.
    The answer's page is there where the question says first, and has both.
    """
    asked = json.loads(question)
    try:
        settings = long_enough(checked(asked.get("settings", {})), asked)
        options: dict[str, Any] = {"seed": settings.seed}
        if settings.shows == "the group":
            options["since_ms"] = SINCE_MS
        rerun = Rerun(settings, READY)
        runs = Reruns(
            PICTURES[settings.shows],
            rerun,
            partial(code_of, brokers=range(1, settings.brokers + 1)),
            settings.names,
            **options,
        )
        at_ms = asked.get("ms", SINCE_MS)
        if "act" in asked:
            runs.changes = changes_of(asked)
            what, _, who = asked["act"].partition(" ")
            at_ms = max(asked["at_ms"], SINCE_MS)
            runs.press(what, who, at_ms)
        else:
            runs.show(changes_of(asked))
        found = told(settings, runs, rerun.watch)
        found |= played(runs, at_ms, asked)
    except (ValueError, TypeError, LookupError, RuntimeError, KafkaError) as error:
        return json.dumps({"error": str(error)})
    return json.dumps(found)


def follow(question: str) -> None:
    """Prepare a run at the moment on the screen (ms), so that the next change is
    answered sooner.
    """
    asked = json.loads(question)
    settings = checked(asked["settings"])
    READY.follow(settings, changes_of(asked), max(asked["ms"], SINCE_MS))


def long_enough(settings: Settings, asked: dict[str, Any]) -> Settings:
    """With more seconds if a member falls silent, until the group has noticed."""
    what, _, who = asked.get("act", "").partition(" ")
    if what == "move":
        _, what, who, _ = changes_of(asked)[int(who)]
    at_s = asked.get("at_ms", 0) / 1000
    if what not in SILENT or who.startswith("broker") or at_s >= settings.seconds:
        return settings
    least = min(ceil(at_s) + GIVEN_UP_S, LIMITS["seconds"][1])
    return settings._replace(seconds=max(settings.seconds, least))


def changes_of(asked: dict[str, Any]) -> list[Change]:
    """The changes that a link to the playground encodes."""
    changes = []
    for changed_ms, what, who in asked.get("changes", []):
        changes.append(Change(int(changed_ms), str(what), str(who)))
    return changes


def told(settings: Settings, runs: Reruns, watch: Watch) -> dict[str, Any]:
    """What the page around the picture shows."""
    return {
        "settings": settings._asdict(),
        "changes": [[each.at_ms, each.what, each.who] for each in runs.changes],
        "lines": [f"{ms / 1000:.3f} s  {line}" for ms, line in runs.lines],
        "code": program(settings, runs.changes),
        "times": [scene["at"] for scene in runs.picture.scenes],
        "watched": watch.lines(),
    }


def played(runs: Reruns, at_ms: float, asked: dict[str, Any]) -> dict[str, Any]:
    """The picture, in the layouts that the question needs, and as a page."""
    shown = runs.picture
    shown.levers_apart = True
    is_first = bool(asked.get("first"))
    widths: tuple[int, ...] = LAYOUTS
    if asked.get("width") in widths and not is_first:
        widths = (asked["width"],)
    play = shown.data(at_ms=at_ms, widths=widths)
    play["flags"] = placed(shown, runs.lines, movable=True)
    return {
        "play": play,
        "page": page(play, shown.title, shown.corner) if is_first else None,
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
        f"for name in {json.dumps(settings.names)}:",
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
