"""What the client handles have in common: their calls let the cluster move on."""

import difflib
from collections.abc import Callable
from typing import Any

from minikafka.clients import consumer_config as consumers
from minikafka.clients import producer_config as producers
from minikafka.clients import share_config as share_consumers
from minikafka.clients.connection import Client
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.structs import TopicPartition
from minikafka.simulation.arguments import (
    OF_CONSUMERS,
    OF_PRODUCERS,
    OF_SHARE_CONSUMERS,
    PARTITION,
    WAIT_S,
    check,
    checked,
)
from minikafka.simulation.calls import recorded
from minikafka.simulation.environment import Environment
from minikafka.simulation.processes import ClientProcess
from minikafka.trace import printable

# the configs of each kind of client, and their allowed values
CONFIGS = {
    "producer": (producers.DEFAULTS, OF_PRODUCERS),
    "consumer": (consumers.DEFAULTS, OF_CONSUMERS),
    "share consumer": (share_consumers.DEFAULTS, OF_SHARE_CONSUMERS),
}
# configs of other consumers that are configs of the group for a share consumer
OF_SHARE_GROUPS = {"auto_offset_reset": "share.auto.offset.reset"}
NO_LIMIT_MS = 300_000  # what "forever" means at top level


class Handle:
    """The common part of producer and consumer handles."""

    def __init__(
        self,
        environment: Environment,
        process: ClientProcess,
        new_core: Callable[[], Client],
    ) -> None:
        self._environment = environment
        self._process = process
        self._new_core = new_core
        self.name = self.call_name = process.name
        self.book = environment.book

    def __repr__(self) -> str:
        return f"<{printable(self.name)}: {self._state()}>"

    def _state(self) -> str:
        if self._process.state != "up":
            return {"down": "crashed", "frozen": "frozen"}[self._process.state]
        return "closed" if self._process.core.closed else "up"

    def _wait(self, condition: Callable[[], bool], limit_ms: float | None) -> bool:
        """The same as Kernel.wait, except that a frozen client waits on, whatever
        happens.
        """
        if limit_ms is None and self._environment.kernel.program() is None:
            limit_ms = NO_LIMIT_MS
        limit = None if limit_ms is None else int(limit_ms)
        process = self._process
        return self._environment.kernel.wait(
            lambda: process.state == "up" and condition(), limit, process
        )

    def _begin(self, call: str | None = None) -> None:
        """A call begins. call: its name if it may block. Raises unless the client is
        up; programs wait until it is thawed.
        """
        if call is not None:
            self._environment.kernel.programs.enter(call)
        in_program = self._environment.kernel.program() is not None
        if self._process.state == "frozen" and in_program:
            self._environment.kernel.wait(
                lambda: self._process.state != "frozen", None, self._process
            )
        if self._process.state != "up":
            verb = "thaw" if self._process.state == "frozen" else "restart"
            raise IllegalStateError(
                f"{self.name} is {self._state()}: cluster.{verb}(...) lets it go on"
            )
        if self._process.core.closed:
            raise IllegalStateError(f"{self.name} is closed")

    def _say_why_nothing_came(self) -> None:
        for line in self._environment.why_nothing_came(self):
            print(printable(line, 1000))

    def _turn(self) -> None:
        self._process.turn()

    @property
    def _now(self) -> Any:
        return self._process.now()

    def _partition(self, given: Any) -> TopicPartition:
        PARTITION.check("partition", given)
        return TopicPartition(*given)

    def _restart(self) -> None:
        self._process.restart(self._new_core())
        self._turn()

    @checked(timeout=WAIT_S)
    @recorded
    def close(self, timeout: float | None = None) -> None:
        """Close the client. A producer first sends the records that it holds."""
        if self._process.core.closed:
            return
        self._begin("close")
        self._before_close(timeout)
        self._process.core.close(self._now)
        self._turn()
        self._process.deadline = None

    def _before_close(self, timeout: float | None) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def checked_config(kind: str, config: dict[str, Any]) -> None:
    """Refuse a config name that the client doesn't have, with the nearest one, and a
    value that makes no sense.
    """
    known, wanted = CONFIGS[kind]
    for name in config:
        if kind == "share consumer" and name in OF_SHARE_GROUPS:
            raise TypeError(
                f"a share consumer has no config {name!r}; it is one of the group:"
                f' cluster.alter_group_configs("workers", {{"{OF_SHARE_GROUPS[name]}":'
                ' "earliest"})'
            )
        if name not in known:
            near = difflib.get_close_matches(name.replace(".", "_"), known, 1)
            hint = (
                f"; did you mean {near[0]}?"
                if near
                else f"; it knows {', '.join(known)}"
            )
            raise TypeError(f"a {kind} has no config {name!r}{hint}")
    check(wanted, config)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_of(function: Any) -> str:
    """A program's name, for the trace."""
    return getattr(function, "__name__", None) or type(function).__name__
