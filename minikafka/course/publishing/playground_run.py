"""The playground's cluster, as far as it has run, with what was changed in it.

While one looks at a picture, a run of it stands ready at the moment that is shown: a
change there goes on from it, and needs no run from the beginning. It is the same run
either way.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.course import levers
from minikafka.course.experiments.shop import CONFIGS, TOPIC, Shop
from minikafka.course.levers.on_stage import Change
from minikafka.course.publishing.playground_watch import Watch
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

SLOW_MS = 400  # for each record, instead of none


class Settings(NamedTuple):
    """shows: one of playground.PICTURES. brokers: each partition has a replica on every
    one. protocol: one of MORE_PROTOCOLS. members: at first. per_second: orders sent.
    seconds: how long it runs.
    """

    shows: str = "the group"
    brokers: int = 1
    protocol: str = "range"
    partitions: int = 6
    members: int = 2
    per_second: int = 5
    seed: int = 7
    seconds: int = 20

    @property
    def names(self) -> list[str]:
        """The names of the members at the beginning."""
        return [f"consumer {letter}" for letter in "ABCD"[: self.members]]

    @property
    def cluster(self) -> "Settings":
        """Without what only says how much of the run is shown, and how."""
        return self._replace(shows="", seconds=0)


class Run:
    """A run from its beginning until its members have joined, and then as far as
    requested.

    done: the changes so far.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.done: list[Change] = []
        self.watch = Watch()
        self.cluster = Cluster(
            seed=settings.seed, brokers=settings.brokers, configs=CONFIGS
        )
        self.shop = Shop(
            self.cluster,
            settings.protocol,
            settings.partitions,
            settings.per_second,
            settings.brokers,
        )
        for name in settings.names:
            self.shop.join(name)
            # one after the other: who joins first leads a classic group
            self.cluster.run(seconds=0.2)
        self.joined_ms = self.cluster.now_ms

    def leads_to(self, settings: Settings, changes: Sequence[Change], ms: int) -> bool:
        """Whether the run of these settings and changes, up to this moment, can
        continue from here.
        """
        done, to_do = changes[: len(self.done)], changes[len(self.done) :]
        next_ms = min([ms, *(change.at_ms for change in to_do)])
        return (
            self.settings.cluster == settings.cluster
            and self.done == list(done)
            and self.cluster.now_ms <= next_ms
        )

    def go_on(self, changes: Sequence[Change], ms: int) -> None:
        """Do what has not been done of these, each at its moment, and run on up to this
        one.
        """
        for change in changes[len(self.done) :]:
            self.watch.run_to(self.cluster, change.at_ms)
            self._do(change)
            self.done.append(change)
        self.watch.run_to(self.cluster, ms)

    def end(self, changes: Sequence[Change], end_ms: int) -> list[Event]:
        """The trace of the whole run.

        Errors: ValueError for a change that can't be done, or not then.
        """
        with self.cluster:
            for change in changes:
                allow(change.at_ms, self.joined_ms, end_ms)
            self.go_on(changes, end_ms)
            self.watch.trace = list(self.cluster.trace)
        return self.watch.trace

    def _do(self, change: Change) -> None:
        if change.what == "add":
            self.shop.join(change.who)
        elif is_broker(change):
            levers.do_to_broker(self.cluster, change)
        else:
            levers.do(self.cluster, change, SLOW_MS, TOPIC)


class Ready:
    """The prepared run, if there is one."""

    def __init__(self) -> None:
        self._run: Run | None = None

    def follow(self, settings: Settings, changes: Sequence[Change], ms: int) -> None:
        """Have a run that has come to the moment that is shown. changes: of the whole
        run that is shown; later ones would be undone by a change now.
        """
        earlier = [change for change in changes if change.at_ms <= ms]
        run = self.take(settings, earlier, ms)
        run.go_on(earlier, ms)
        self._run = run

    def take(self, settings: Settings, changes: Sequence[Change], ms: int) -> Run:
        """The run that leads there, or else a new one. From now on it belongs to the
        caller.
        """
        run, self._run = self._run, None
        if run is not None and run.leads_to(settings, changes, ms):
            return run
        if run is not None:
            run.cluster.close()
        return Run(settings)


class Rerun:
    """Runs a cluster to its end, with changes. watch: the numbers that were seen
    meanwhile.
    """

    def __init__(self, settings: Settings, ready: Ready) -> None:
        self.settings = settings
        self.ready = ready
        self.watch = Watch()

    def __call__(self, changes: Sequence[Change]) -> list[Event]:
        end_ms = self.settings.seconds * 1000
        run = self.ready.take(self.settings, changes, end_ms)
        self.watch = run.watch
        return run.end(changes, end_ms)


def allow(at_ms: int, now_ms: int, end_ms: int) -> None:
    """Errors: ValueError for a moment of a change that isn't within the run."""
    if at_ms < now_ms:
        raise ValueError(f"Nothing can be changed before {now_ms / 1000:.3f} s.")
    if at_ms >= end_ms:
        raise ValueError(
            f"The run ends at {end_ms / 1000:.3f} s: choose an earlier moment, or run"
            " on."
        )


def is_broker(change: Change) -> bool:
    return change.who.startswith("broker ")
