"""Random hours of a replicated cluster, each from a seed: `python -m
tests.soak.replication --schedules 2000`.

What happens and what must hold is in tests/simulation/replication_schedules.py. A
failure prints its schedule.
"""

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.simulation.replication_schedules import Run, Schedule

TOLD_EVERY = 20  # schedules
MOST_TOLD = 10  # problems of one schedule


def soak(
    name: str,
    new_schedule: Callable[[int], Any],
    new_run: Callable[[Any], Any],
    what: str | None,
) -> int:
    """As many schedules as asked for, one after the other; the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.soak.{name}", description=what
    )
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    began, failed = time.monotonic(), 0
    for done, seed in enumerate(range(args.seed, args.seed + args.schedules), 1):
        schedule = new_schedule(seed)
        # what a handle says to a learner
        with contextlib.redirect_stdout(io.StringIO()):
            problems = new_run(schedule).problems
        if problems:
            print(f"{name}: {schedule}", flush=True)
        for problem in problems[:MOST_TOLD]:
            print(f"{name}: {seed}: {problem}", flush=True)
        failed += bool(problems)
        if done % TOLD_EVERY == 0 or done == args.schedules:
            a_minute = 60 * done / (time.monotonic() - began)
            told = (
                f"{done} schedules from seed {args.seed} on, {failed} failed,"
                f" {a_minute:.0f} a minute"
            )
            print(f"{name}: {told}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(soak("replication", Schedule, Run, __doc__))
