"""`minikafka serve`: brokers in this process, or a process for each."""

import json
import os
import select
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minikafka.server.serve import Parent, Ready, run_here

if TYPE_CHECKING:
    import argparse

PARENT_SECONDS = 0.25  # how often the server looks whether its parent still runs


def main(args: "argparse.Namespace") -> int:
    """Run `minikafka serve` until it is told to stop; returns the exit code."""
    parent = parent_of(args)
    if not args.processes:
        return run_here(args, parent)
    # loads what one process doesn't need
    from minikafka.server.processes import run_processes

    return run_processes(args, parent)


def parent_of(args: "argparse.Namespace") -> Parent:
    """The process that started this one, as the command says how it hears of it."""
    wait_for_end = end_of_parent() if args.exit_with_parent else None
    return Parent(SAY_READY[args.ready], wait_for_end)


def say_text(ready: Ready) -> None:
    print(f"ready {ready.bootstrap_servers}", flush=True)


def say_json(ready: Ready) -> None:
    """Everything in one line."""
    told: dict[str, Any] = {
        "bootstrap_servers": ready.bootstrap_servers,
        "cluster_id": ready.cluster_id,
        "pid": os.getpid(),
    }
    if ready.control is not None:
        told["control"], told["token"] = ready.control
    print(json.dumps(told), flush=True)


SAY_READY = {"text": say_text, "json": say_json}


def end_of_parent() -> Callable[[], None]:
    """Returns a function that waits until the process that started us has ended,
    however that happens. If our standard input is a pipe from that process, it ends
    then, or earlier if that process closes it. We also get another parent; only Windows
    keeps naming the old one.
    """
    parent = os.getppid()
    pipes = [0] if is_a_pipe(0) else []

    def wait() -> None:
        if os.name != "posix":
            while os.read(0, 4096):
                pass
            return
        while os.getppid() == parent:
            readable, _, _ = select.select(pipes, [], [], PARENT_SECONDS)
            if readable and not os.read(0, 4096):
                return

    return wait


def is_a_pipe(handle: int) -> bool:
    """Whether it is a pipe, or a socket, which Node.js gives its children as a pipe."""
    try:
        mode = os.fstat(handle).st_mode
    except OSError:  # it is closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
