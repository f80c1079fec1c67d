"""`minikafka serve --faults FILE` and `--control PORT`: a Kafka for tests in any language.

The brokers are those of a test in Python: they run in a thread of this process, with
their data in memory. The main thread answers those who control them, on a clock that is
never moved, and waits for the end.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from minikafka.broker.listeners import WITH_TLS
from minikafka.server.addresses import CannotServe, listen_socket, named
from minikafka.server.checks import nodes_of as numbers_of
from minikafka.server.command import parent_of
from minikafka.server.doors import client_sockets, told, warn_of_open_doors
from minikafka.server.key_files import key_files
from minikafka.server.log import log
from minikafka.server.serve import (
    Parent,
    Ready,
    properties_of,
    run_checked,
    stop_after,
    stop_on_signals,
    warn_without_effect,
)
from minikafka.testing.brokers import (
    LOOPBACK,
    Listening,
    MakeConnections,
    Node,
    Wanted,
    nodes_of,
)
from minikafka.testing.control import Control
from minikafka.testing.failing import FailingKafka
from minikafka.testing.planned import Planned, plan

if TYPE_CHECKING:
    import argparse

MOST_PLAN_BYTES = 1 << 20
# options that brokers of a test don't have
WITHOUT = ("cluster_secret", "data", "metrics", "node", "processes", "trace")


def main(args: "argparse.Namespace") -> int:
    """Run the brokers until they are told to stop; returns the exit code."""
    parent = parent_of(args)
    return run_checked(args, lambda cleanup: asyncio.run(run(args, parent, cleanup)))


async def run(args: "argparse.Namespace", parent: Parent, cleanup: ExitStack) -> int:
    check(args)
    faults = [] if args.faults is None else read_plan(args.faults)
    of_control = None
    if args.control is not None:
        of_control = listen_socket(LOOPBACK, args.control, option="--control")
    stop_wanted = asyncio.Event()
    stop_on_signals(stop_wanted)
    if parent.wait_for_end is not None:
        stop_after(parent.wait_for_end, stop_wanted)
    kafka = brokers_of(args, faults)
    cleanup.callback(kafka.close)
    controlling = None
    at = None
    if of_control is not None:
        port = of_control.getsockname()[1]
        control = Control(kafka, port)
        controlling = asyncio.create_task(control.serve(of_control))
        at = f"http://{named(of_control.getsockname())}", control.token
    parent.say_ready(Ready(kafka.bootstrap_servers, kafka.cluster_id, at))
    await stop_wanted.wait()
    if controlling is not None:
        controlling.cancel()
    for each in kafka.planned:
        log(f"{each.fault} has hit {each.hits} time(s).")
    return 0


def check(args: "argparse.Namespace") -> None:
    """Check what only matters to brokers that fail. Errors: CannotServe."""
    why = "--control" if args.faults is None else "--faults"
    for name in WITHOUT:
        value = getattr(args, name)
        if value is not None and value is not False:
            option = name.replace("_", "-")
            raise CannotServe(
                f"--{option}: brokers with {why} are for a test: they run in this process"
                f" and keep their data in memory. Leave out --{option}."
            )
    if args.control is not None and args.ready != "json":
        raise CannotServe(
            "--control: only who knows a token may control the brokers, and the ready"
            " line tells it as JSON: add --ready json."
        )


def read_plan(path: str) -> list[Planned]:
    """Errors: CannotServe."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_PLAN_BYTES + 1)
        if len(data) > MOST_PLAN_BYTES:
            raise ValueError(f"a plan has {MOST_PLAN_BYTES} bytes at most")
        return plan(data.decode())
    except OSError as error:
        raise CannotServe(f"--faults: can't read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise CannotServe(f"--faults: {path}: {error}.") from error


def brokers_of(args: "argparse.Namespace", faults: Sequence[Planned]) -> FailingKafka:
    """The brokers, running. Errors: CannotServe."""
    numbers = numbers_of(args)
    sockets = client_sockets(args, numbers)
    first = sockets[numbers[0]]
    wanted = Wanted(
        sockets,
        {number: told(args, at, sockets[number]) for at, number in enumerate(numbers)},
        {number: properties_of(args, number, False) for number in numbers},
        args.add_scram,
        key_files(args.override),
        args.cluster_id,
        args.kafka_version,
    )

    def make_nodes(
        new_connection: MakeConnections, listening: Listening
    ) -> dict[int, Node]:
        try:
            nodes = nodes_of(wanted, new_connection, listening)
        except ValueError as error:
            raise CannotServe(f"--override: {error}.") from error
        config = nodes[numbers[0]].config
        for name in first:
            if config.protocol(name) in WITH_TLS:
                raise CannotServe(
                    f"listeners: {name} has TLS, and faults meet no client there: say"
                    " PLAINTEXT or SASL_PLAINTEXT."
                )
        warn_of_open_doors(config, first)
        warn_without_effect(config)
        return nodes

    return FailingKafka(make_nodes, next(iter(first)), faults)
