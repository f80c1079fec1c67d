"""Where can a learner's program be killed without harm? One run for each fault and each
moment, and the fate of the orders.

    found = wherever_killed(pay)
    print(found)
    found.rows[0][3].rerun().play("commit")

Whatever the program does, there is an answer: its output is dropped, a program that
ends or raises is started again, and one that never gives way is stopped.
"""

import contextlib
import functools
import io
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from minikafka.course.experiments.lesson_04_runs import DEAD_MEMBER_SECONDS
from minikafka.course.judging.guard import Guard
from minikafka.course.judging.killed_programs import (
    as_a_process,
    committed,
    written,
)
from minikafka.course.judging.watchdog import StillRunning, Watchdog
from minikafka.faults import Crash, Cut, Fault, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.fault_map import NOTHING, FaultMap, Outcome, fault_map
from minikafka.simulation.handles import name_of
from minikafka.simulation.programs import Program

Pays = Callable[..., Any]  # it gets a consumer and a table

ORDERS = ("o-0", "o-1", "o-2", "o-3")
BEGINS_MS = 5000
EVERY_MS = 15  # from order to order
SENT = {
    BEGINS_MS + number * EVERY_MS: f"order {number}" for number in range(len(ORDERS))
}
AGAIN_MS = 2000  # until a program that has ended is started again
# longer than a group waits for a member that says nothing
STILL_MS = 1000 * DEAD_MEMBER_SECONDS
ENDS_MS = BEGINS_MS + STILL_MS + 20_000
LATEST_MS = ENDS_MS + 8 * STILL_MS  # for a program that ends again and again
FAULTS = (
    Crash("billing"),
    Freeze("billing", at_ms=0, for_ms=STILL_MS),
    Cut("billing", 1, at_ms=0, for_ms=STILL_MS),
    Crash(1, restart_after_ms=5000),
)
# before each of them a fault may make a difference
STEPS = ("RecordsPolled", "EffectWritten", "CommitSent", "OffsetCommitted")
STEPS_END_MS = BEGINS_MS + 1000
MOST_MOMENTS = 24
MOST_CALLS = 20_000  # of one life; who calls more doesn't wait for anything
CPU_SECONDS = 1.0  # of the program's own, from one call to the next
ENDLESS = Outcome("endless")


class NoMap(ValueError):
    """The reason why there is no map: what the program does although nothing
    goes wrong.
    """

    def _render_traceback_(self) -> list[str]:  # IPython shows this: the message alone
        return [str(self)]


def wherever_killed(program: Pays) -> FaultMap:
    """The program pays four orders, and a fault strikes at each moment at which the
    program takes a step.

    Errors: NoMap for a program that doesn't pay each of them once when nothing goes
    wrong.
    """
    run = functools.partial(paid_by, program)
    undisturbed = run([])
    if fared(undisturbed) != NOTHING:
        why = _what_is_wrong(undisturbed)
        raise NoMap(f"{name_of(program)} {why}, although nothing goes wrong: no map.")
    steps = set()
    for event in undisturbed.trace:
        if event.kind in STEPS and event.at < STEPS_END_MS:
            steps.add(event.at)
    every = math.ceil(len(steps) / MOST_MOMENTS)
    moments = sorted(steps)[::every]
    return fault_map(run, FAULTS, fared, moments, coarse=1, keeps_traces=True)


def _what_is_wrong(undisturbed: Cluster) -> str:
    """In a few words, as what the program does."""
    outcome = fared(undisturbed)
    if outcome == ENDLESS:
        return "never gives way"
    for event in undisturbed.trace:
        if event.kind == "ProgramFailed":
            return f"raises {event.detail['error']}"
    if outcome.kind == "twice":
        return f"pays {outcome.detail} twice"
    return f"doesn't pay {outcome.detail}"


def paid_by(program: Pays, faults: list[Fault]) -> Cluster:
    """Four orders come while the program runs, and it has some minutes for them. Whenever
    it has ended it is started again, with a memory as fresh as a new process has.
    """
    with (
        contextlib.redirect_stdout(io.StringIO()),
        Watchdog(CPU_SECONDS) as watchdog,
    ):
        cluster = Cluster(seed=3, faults=faults)
        cluster.create_topic("orders", partitions=1)
        shop = cluster.producer(client_id="shop")
        consumer = cluster.consumer(
            "orders",
            group_id="billing",
            client_id="billing",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        process = _leaving(as_a_process(program, Guard(watchdog)))
        running = cluster.start(process, consumer, cluster.table("payments"))
        running.crash_at_call = MOST_CALLS
        _run_until(cluster, running, BEGINS_MS)
        for order in ORDERS:
            shop.send("orders", key=order, value="20 euros")
            _run_until(cluster, running, cluster.now_ms + EVERY_MS)
        _run_until(cluster, running, ENDS_MS)
        while _may_come(cluster) and cluster.now_ms < LATEST_MS:
            _run_until(cluster, running, cluster.now_ms + STILL_MS)
            if _is_endless(running):
                break
    return cluster


def _may_come(cluster: Cluster) -> bool:
    """Whether an order isn't paid, and nobody has committed that it is."""
    paid = written(cluster.trace)
    missing = [offset for offset, order in enumerate(ORDERS) if order not in paid]
    return bool(missing) and (committed(cluster.trace) or 0) <= missing[0]


def _leaving(process: Pays) -> Pays:
    """exit() ends the program, but not the check that runs it."""

    @functools.wraps(process)
    def leaving(*clients: Any) -> None:
        with contextlib.suppress(SystemExit):
            process(*clients)

    return leaving


def _run_until(cluster: Cluster, running: Program, until_ms: int) -> None:
    """Runs the program on, again and again, unless it never gives way."""
    while cluster.now_ms < until_ms and not _is_endless(running):
        if not running.alive:
            cluster.run_ms(AGAIN_MS)
            cluster.restart(running)
            running.crash_at_call = MOST_CALLS
        left_ms = max(0, until_ms - cluster.now_ms)
        try:
            cluster.run_ms(min(AGAIN_MS, left_ms))
        except StillRunning:
            return
        except Exception:
            if running.state != "failed":
                raise


def _is_endless(running: Program) -> bool:
    """It was stopped in the middle of its own code, which is no error of its own, or
    where it had called too often.
    """
    is_stopped = running.state == "failed" and running.error is None
    return is_stopped or len(running.calls) >= MOST_CALLS


def fared(cluster: Cluster) -> Outcome:
    """The fate of the orders."""
    if any(map(_is_endless, cluster.kernel.programs.all)):
        return ENDLESS
    times: Counter[str] = Counter()
    for event in cluster.trace:
        if event.kind == "EffectWritten":
            times[event.detail["key"]] += 1
    never = [order for order in ORDERS if not times[order]]
    twice = [order for order in ORDERS if times[order] > 1]
    if never:
        too = f"; twice {', '.join(twice)}" if twice else ""
        return Outcome("lost", ", ".join(never) + too)
    if twice:
        return Outcome("twice", ", ".join(twice))
    return NOTHING
