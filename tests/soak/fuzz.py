"""Hostile requests against a node, out of a seed: `python -m tests.soak.fuzz --requests
100000 --seed 1`.

A run is at most RUN_REQUESTS requests under one seed; more requests take more seeds. A
failure prints the seed, the number of the request and the last steps; the same seed
leads to it again (over TCP, nearly).
"""

import argparse
import sys
import time
import traceback

from tests.soak.core import Core
from tests.soak.nodes import Nodes
from tests.soak.tcp import Tcp

DRIVERS = {"core": Core, "tcp": Tcp, "nodes": Nodes}
RUN_REQUESTS = 10_000
SHOWN = 400  # characters of a step


def fuzz(over: str, requests: int, seed: int) -> bool:
    """Runs until so many requests were sent; whether the node stood it all."""
    done, began = 0, time.monotonic()
    while done < requests:
        driver = DRIVERS[over](seed)
        try:
            driver.run(min(RUN_REQUESTS, requests - done))
            done += driver.traffic.sent
            rate = done / (time.monotonic() - began)
            so_far = f"{done} requests up to seed {seed}, {rate:.0f} a second"
            print(f"fuzz, {over}: {so_far}; {driver.summary()}", flush=True)
        except Exception:
            tell(driver)
            print(
                f"fuzz, {over}: FAILED with seed {seed} at request"
                f" {driver.traffic.sent}",
                flush=True,
            )
            return False
        finally:
            driver.close()
        seed += 1
    return True


def tell(driver: Core | Tcp | Nodes) -> None:
    """The last steps, and what went wrong."""
    for at, step in driver.steps:
        print(f"  at {at}: {str(step)[:SHOWN]}")
    print("".join(traceback.format_exc().splitlines(keepends=True)[-40:]))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak.fuzz", description=__doc__
    )
    parser.add_argument(
        "--requests", type=int, default=100_000, help="over each of the ways"
    )
    parser.add_argument("--seed", type=int, default=1)
    ways = (
        "one way only: the core in this process, TCP, or three nodes' listener for"
        " nodes"
    )
    parser.add_argument("--over", choices=DRIVERS, help=ways)
    args = parser.parse_args()
    ways = [args.over] if args.over else list(DRIVERS)
    return 0 if all([fuzz(way, args.requests, args.seed) for way in ways]) else 1


if __name__ == "__main__":
    sys.exit(main())
