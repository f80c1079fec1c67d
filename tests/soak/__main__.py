"""`make soak`: every hostile day in turn, as long as asked; a summary at the end, exit
code 1 if one of them failed.

Each day is a program of its own (`python -m tests.soak.NAME`), so that one that dies
takes no other with it. Those that can go on for ever get the time that the others
leave, half of it each, with new seeds every time.
"""

import argparse
import subprocess
import sys
import time

ONCE = ("damage", "damage_on_three", "bombs", "memory", "stopped_leader")
FROM_SEEDS = (
    *("replication", "disk_schedules", "transactions", "epochs", "clearing"),
    *("share_schedules", "hands"),
)
FUZZ_REQUESTS, KILL_ROUNDS, SCHEDULES = 20_000, 10, 20  # of one turn


def day(name: str, *options: str) -> bool:
    """Runs one; whether all went well."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", f"tests.soak.{name}", *options], check=False
    )
    how = "held" if done.returncode == 0 else "FAILED"
    print(
        f"--- {' '.join((name, *options))}: {how} in {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=10,
        help="go on for so long (default 10); at least once each",
    )
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    args = parser.parse_args()
    until, seed, failed = time.monotonic() + 60 * args.minutes, args.seed, []
    for name in ONCE:
        if not day(name):
            failed.append(name)
    while seed == args.seed or time.monotonic() < until:
        kills = ("--rounds", str(KILL_ROUNDS))
        turns = {
            "fuzz": ("--requests", str(FUZZ_REQUESTS)),
            "kill": kills,
            "failover": kills,
        }
        turns["copier"] = ("--kills", str(KILL_ROUNDS))
        for name in FROM_SEEDS:
            turns[name] = ("--schedules", str(SCHEDULES))
        failed += [
            f"{name} {seed}"
            for name, how in turns.items()
            if not day(name, "--seed", str(seed), *how)
        ]
        seed += 2  # fuzz takes one for 10,000 requests
    print(
        f"soak: FAILED: {', '.join(failed)}" if failed else "soak: everything held",
        flush=True,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
