"""`minikafka demo`: the rebalance as a page in the browser, without Jupyter.

A group reads six partitions while records flow; a member joins, freezes or leaves,
under three protocols. With --picture share-partition: a share group beside a consumer
group, and what goes wrong in both; fork: two leaders of one log; gate: a transaction
that hangs. Or a trace that `minikafka serve --trace FILE` has
recorded from real clients: their group, or the cluster's replicas and quorum.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import Any

from minikafka.course.experiments.lesson_10_runs import two_leaders, two_leaders_meet
from minikafka.course.experiments.lesson_13_held import held_back
from minikafka.course.experiments.lesson_13_runs import pays
from minikafka.course.experiments.lesson_15_share_runs import side_by_side
from minikafka.course.experiments.shop import CONFIGS, FLUSH_S, PROTOCOLS, Shop
from minikafka.simulation.cluster import Cluster
from minikafka.theatre import page, picture
from minikafka.theatre.picture import Picture
from minikafka.trace import SENTENCES, Event

# eager, cooperative; classic, KIP-848
BESIDE = (("range", "cooperative-sticky"), ("cooperative-sticky", "kip-848"))
SINCE_MS = 5400  # the pages begin here, when the group has settled
SESSION_MS = 10_000  # in a picture of half a minute; Kafka's default is 45 s
HAPPENINGS = ("C joins", "A freezes", "A leaves")
BEFORE_S, FROZEN_S = 6, 14
AFTER_S = {"C joins": 9, "A freezes": 24, "A leaves": 9}

MANY_EVENTS, MOST_EVENTS = 100_000, 1_000_000  # of a recorded trace
NAME = "A consumer group shares its work anew"
NAME_OF_SHARED = "Two groups work on one partition"
NAME_OF_FORK = "Two leaders, one log: where do they part, and what falls off?"
NAME_OF_GATE = "A transaction on the log: who waits behind it?"
ABOUT = (
    "This ran on minikafka, a small real Kafka in Python, with its clock simulated:"
    " nothing here is drawn by hand. The picture belongs to lesson {lesson} of its"
    " course, where you predict first, change the run and write a piece yourself: make"
    " lab, or minikafka lab: 00_start_here.ipynb."
)
# what goes wrong in a share group and in a consumer group: arguments of side_by_side()
WRONG: dict[str, dict[str, Any]] = {
    "an order is slow": {"slow": 1},
    "a worker is killed": {"killed": True},
    "a worker hangs": {"hangs_s": 5.3},
    "nobody can do an order": {"poison": 3},
    "it is rejected": {"poison": 3, "says": "reject"},
}


class Problem(Exception):
    """A message for the user, shown instead of a traceback."""


class Choices:
    """Several pictures in one page, chosen by buttons above: results that a kernel
    would have to compute are in the page already.

    groups: (name, options) of each row of buttons. pictures: one for every combination,
    the last group fastest.

    code: the lines that do what a combination shows. first: the combination that is
    open at first. name: of the page; about: the text under the picture.
    """

    def __init__(
        self,
        groups: Sequence[tuple[str, Sequence[str]]],
        pictures: Sequence[Picture],
        code: Sequence[str],
        first: int = 0,
        name: str = "",
        about: str = "",
    ) -> None:
        combinations = prod(len(options) for _, options in groups)
        if not len(pictures) == len(code) == combinations:
            raise ValueError(
                "every combination of choices needs its picture and its code"
            )
        self.groups = list(groups)
        self.pictures = list(pictures)
        self.code = list(code)
        self.first = first
        self.name = name
        self.about = about

    def page(self) -> str:
        """One self-contained HTML page."""
        data = {
            "choices": [
                {"name": name, "options": list(options)}
                for name, options in self.groups
            ],
            "plays": [picture.data() for picture in self.pictures],
            "code": self.code,
            "first": self.first,
            "name": self.name,
            "about": self.about,
        }
        return page.page(data, self.pictures[self.first].title, "")

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.page(), encoding="utf-8", newline="\n")


def rebalance(protocol: str, happening: str, seed: int) -> list[Event]:
    """The trace of one run: two or three members read, then one thing happens."""

    session = {"group.consumer.session.timeout.ms": str(SESSION_MS)}
    with Cluster(seed=seed, configs=CONFIGS | session) as cluster:
        shop = Shop(cluster, protocol, session_timeout_ms=SESSION_MS)
        members = []
        for letter in "AB" if happening == "C joins" else "ABC":
            members.append(shop.join(f"consumer {letter}"))
            # one after the other: who joins first leads a classic group
            cluster.run(seconds=0.2)
        cluster.run(seconds=BEFORE_S)
        if happening == "C joins":
            shop.join("consumer C")
        elif happening == "A freezes":
            cluster.freeze(members[0], seconds=FROZEN_S)
        else:
            members[0].close()
        cluster.run(seconds=AFTER_S[happening])
        return list(cluster.trace)


def choices(protocol: str, seed: int) -> Choices:
    """All protocols, alone and two beside each other, with all that can happen."""
    traces = {
        (name, what): rebalance(name, what, seed)
        for name in PROTOCOLS
        for what in HAPPENINGS
    }
    pictures, code = [], []
    for name in PROTOCOLS:
        for what in HAPPENINGS:
            pictures.append(
                picture("rebalance", traces[name, what], seed=seed, since_ms=SINCE_MS)
            )
            code.append(_code(name, what))
    for one, other in BESIDE:
        for what in HAPPENINGS:
            both = picture(
                "rebalance",
                traces[one, what],
                beside=traces[other, what],
                names=(one, other),
                seed=seed,
                since_ms=SINCE_MS,
            )
            pictures.append(both)
            code.append(
                f'picture("rebalance", trace_of["{one}"], beside=trace_of["{other}"])'
            )
    names = [*PROTOCOLS, "eager beside cooperative", "classic beside KIP-848"]
    return Choices(
        [("protocol", names), ("what happens", HAPPENINGS)],
        pictures,
        code,
        first=list(PROTOCOLS).index(protocol) * len(HAPPENINGS),
        name=NAME,
        about=ABOUT.format(lesson="06"),
    )


def shared(seed: int) -> Choices:
    """A share group beside a consumer group, with all that can go wrong."""
    pictures, code = [], []
    for what in WRONG.values():
        with redirect_stdout(io.StringIO()):  # the page says it
            trace = side_by_side(**what, seed=seed).trace
        pictures.append(picture("share-partition", trace, seed=seed))
        arguments = ", ".join(f"{name}={value!r}" for name, value in what.items())
        code.append(f'side_by_side({arguments}).play("share-partition")')
    return Choices(
        [("what goes wrong", list(WRONG))],
        pictures,
        code,
        name=NAME_OF_SHARED,
        about=ABOUT.format(lesson="15"),
    )


def forked() -> Choices:
    """A leader that is cut off, until the network is back or only before."""
    return Choices(
        [("what happens", ["the network is back", "it stays cut"])],
        [
            picture("fork", two_leaders_meet().trace),
            picture("fork", two_leaders()[0].trace),
        ],
        ['two_leaders_meet().play("fork")', 'two_leaders()[0].play("fork")'],
        name=NAME_OF_FORK,
        about=ABOUT.format(lesson="10"),
    )


def gated() -> Choices:
    """A transaction that is committed, or hangs."""
    return Choices(
        [("the transaction", ["hangs", "is committed"])],
        [picture("gate", held_back().trace), picture("gate", pays().trace)],
        ['held_back().play("gate")', 'pays().play("gate")'],
        name=NAME_OF_GATE,
        about=ABOUT.format(lesson="13"),
    )


def _code(name: str, what: str) -> str:
    options = ", ".join(f'{key}="{value}"' for key, value in PROTOCOLS[name].items())
    consumer = f"cluster.consumer(..., {options})"
    line = {
        "C joins": f"cluster.start(billing, {consumer})",
        "A freezes": f"a = {consumer}; cluster.freeze(a, seconds={FROZEN_S})",
        "A leaves": f"a = {consumer}; a.close()",
    }[what]
    return f"{line}  # {FLUSH_S} s a revoked partition"


def recorded(path: Path) -> list[Event]:
    """The events of a file that `minikafka serve --trace` wrote; a last line cut short
    by a kill is left out. With --processes there is one a broker, FILE.1 and so on: all
    of them, in order of time.
    """
    files = [] if path.exists() else sorted(path.parent.glob(f"{path.name}.[0-9]*"))
    if files:
        events: list[Event] = []
        for file_of_a_broker in files:
            events += recorded(file_of_a_broker)
        return sorted(events, key=attrgetter("at"))
    try:
        with path.open(encoding="utf-8") as file:
            return list(_events(path, file))
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"can't read {path}: {error}") from error


def _events(path: Path, lines: Any) -> Iterator[Event]:
    broken = 0
    for number, line in enumerate(lines, 1):
        if broken:
            raise Problem(
                f"{path}, line {broken}, is no event: was it written by `minikafka"
                " serve --trace`?"
            )
        if number > MOST_EVENTS:
            what = "Record a shorter time, or take a part of the file"
            raise Problem(
                f"{path} holds more than {MOST_EVENTS:,} events, which no picture"
                f" shows. {what}."
            )
        if number == MANY_EVENTS:
            print(
                f"{path} holds {number:,} events and more: this may take a minute.",
                file=sys.stderr,
            )
        try:
            yield _event(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            broken = number
    if broken == 1:
        raise Problem(
            f"{path} holds no event: was it written by `minikafka serve --trace`?"
        )


def _event(line: dict[str, Any]) -> Event:
    """Errors: ValueError, KeyError or TypeError for what no node has written."""
    event = Event.from_json(line)
    node, number = event.id
    cause = event.cause or ("", 0)
    is_told_by_a_node = (
        isinstance(node, str)
        and isinstance(event.node, str)
        and type(number) is int
        and type(event.at) is int
        and [type(each) for each in cause] == [str, int]
    )
    is_known = event.kind in SENTENCES and isinstance(event.detail, dict)
    if not is_told_by_a_node or not is_known:
        raise ValueError(line)
    return event


def main(args: argparse.Namespace) -> int:
    """Write the page and show it."""
    try:
        path = _write(args)
    except Problem as problem:
        print(f"minikafka demo: {problem}", file=sys.stderr)
        return 1
    print(f"the {args.picture} is in {path}")
    if os.environ.get("MINIKAFKA_NO_BROWSER"):
        return 0
    if not webbrowser.open(path.as_uri()):
        print("no browser was found: open that file in one")
    return 0


def _write(args: argparse.Namespace) -> Path:
    if args.trace:
        try:
            return _saved(_of_recorded(args), args)
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
        ) as error:
            why = f"an event that no node has written? {type(error).__name__}: {error}"
            raise Problem(
                f"can't make a picture of what is in {args.trace}: {why}"
            ) from error
    if args.picture == "share-partition":
        return _saved(shared(args.seed), args)
    if args.picture == "fork":
        return _saved(forked(), args)
    if args.picture == "gate":
        return _saved(gated(), args)
    if args.picture != "rebalance":
        raise Problem(
            f"the {args.picture} is shown of a recorded trace only: --trace FILE"
        )
    return _saved(choices(args.protocol, args.seed), args)


def _of_recorded(args: argparse.Namespace) -> Any:
    """The picture of a trace file. Errors: Problem if the trace has nothing for that
    picture.
    """
    trace = recorded(Path(args.trace))
    if args.picture != "rebalance":
        pages = picture(args.picture, trace)
        if not pages.scenes:
            raise Problem(
                f"in {args.trace} is nothing that the picture {args.picture!r} shows"
            )
        return pages
    if not any(event.kind == "MemberJoined" for event in trace):
        raise Problem(
            f"in {args.trace} nobody joins a group: let consumers with a group_id read,"
            " then stop them"
        )
    pages = picture("rebalance", trace, group=args.group)
    if not pages.scenes:
        raise Problem(f"in {args.trace} there is no group {args.group!r}")
    return pages


def _saved(pages: Any, args: argparse.Namespace) -> Path:
    if args.out:
        path = Path(args.out)
    else:
        path = Path(tempfile.mkdtemp(prefix="minikafka-"), f"{args.picture}.html")
    try:
        pages.save(path)
    except OSError as error:
        raise Problem(f"can't write {path}: {error.strerror}") from error
    return path.resolve()
