"""A client that is a member of a group, of whatever kind: it keeps showing that it is
alive, and that its program still polls.

Two timers run against a member. The *session*: the coordinator evicts it after
session_timeout_ms without a heartbeat. Heartbeats are sent in the background (Java has
a thread for them), so this timer notices a dead or frozen process. The *poll interval*:
a process may be alive while its program is stuck, so a member that hasn't polled for
max_poll_interval_ms leaves by itself, and joins again when the program finally polls.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from minikafka.clients.coordinator import Coordinator
from minikafka.clients.request_state import RequestState
from minikafka.trace import Reason


class Polled(Protocol):
    """A subscription. in_poll: the program is in poll(). error: the next poll raises
    it.
    """

    in_poll: bool
    error: Exception | None


class HeartbeatingMember:
    """moves: {(state, event): next state}. heartbeat_states: the states in which the
    member sends heartbeats. leaving: it has begun to leave, but isn't out yet. fatal:
    it is out for good, and every poll raises this error.
    """

    moves: ClassVar[Mapping[tuple[str, str], str]]
    heartbeat_states: ClassVar[tuple[str, ...]]
    subscription: Polled

    def __init__(self, coordinator: Coordinator) -> None:
        self.client = coordinator.client
        self.coordinator = coordinator
        self.member_id = ""
        self.state = "unjoined"
        self.leaving = False
        self.fatal: Exception | None = None
        self.heartbeat = RequestState(self.client, coordinator)
        self._poll_deadline: int | None = None  # None: never polled

    # subclasses implement these

    def send_heartbeat(self) -> None:
        """Tell the coordinator, which is ready, that the member is alive."""
        raise NotImplementedError

    def poll_overdue(self, why: str) -> None:
        """The program hasn't polled for max_poll_interval_ms: leave."""
        raise NotImplementedError

    # the same in all

    def polled(self) -> None:
        """A poll begins or ends: restart the poll interval."""
        interval_ms = int(self.client.config["max_poll_interval_ms"])
        self._poll_deadline = self.client.now_ms + interval_ms
        self.client.wake(self._poll_deadline)

    def stay_alive(self) -> None:
        """Send a heartbeat if one is due."""
        alive = self.state in self.heartbeat_states
        if alive and self.client.is_due(self.heartbeat) and self.coordinator.ready():
            self.send_heartbeat()

    def check_poll_interval(self) -> None:
        """Notice that the program hasn't polled for too long; that can't be while it is
        polling.
        """
        deadline = self._poll_deadline
        if self.subscription.in_poll or deadline is None:
            return
        if self.state not in self.heartbeat_states:
            return
        if deadline > self.client.now_ms:
            self.client.wake(deadline)
            return
        seconds = self.client.config["max_poll_interval_ms"] / 1000
        sentence = f"no poll for {seconds:g} s (max_poll_interval_ms)"
        why = Reason("max_poll_interval_ms", sentence)
        self.emit("PollOverdue", member=self.member_id, why=why)
        self.poll_overdue(sentence)

    def take_coordinator_error(self) -> None:
        """Let the poll raise the error with which the coordinator was not found."""
        if self.coordinator.error is not None:
            self.subscription.error = self.coordinator.error
            self.coordinator.error = None

    def say_goodbye(self, api: str, body: dict[str, Any]) -> None:
        """Send the request with which the member leaves, once, ignoring the answer."""
        if self.coordinator.ready():
            self.coordinator.request(api, body, lambda _: self.left())
        else:
            self.left()

    def left(self) -> None:
        self.leaving = False

    def event(self, event: str, why: str) -> None:
        """Move to the state that follows this event. why: for the trace, in
        plain words.
        """
        was = self.state
        self.state = self.moves[was, event]
        if was != self.state:
            self.emit(
                "MemberStateChanged",
                member=self.member_id,
                was=was,
                state=self.state,
                why=Reason(event, why),
            )

    def emit(self, kind: str, /, **detail: Any) -> None:
        if self.client.trace:
            self.client.trace.emit(kind, group=self.coordinator.group_id, **detail)


# -- members with an epoch (KIP-848, KIP-932)

UNJOINED, JOINING, STABLE = "unjoined", "joining", "stable"
FENCED, STALE, LEAVING, FATAL = "fenced", "stale", "leaving", "fatal"


def moves_in_and_out(in_group: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """How such a member comes into its group and goes out of it: state, event -> the
    next state. in_group: the states with heartbeats.
    """
    return {
        (UNJOINED, "polled"): JOINING,
        (STALE, "polled"): JOINING,
        (FENCED, "all_dropped"): JOINING,
        (LEAVING, "left"): UNJOINED,
        (FATAL, "left"): FATAL,
        (FATAL, "leaves"): FATAL,
        **{(state, "put_out"): FENCED for state in in_group},
        **{(state, "overdue"): STALE for state in in_group},
        **{(state, "refused"): FATAL for state in in_group},
        **{
            (state, "leaves"): LEAVING
            for state in (UNJOINED, FENCED, STALE, LEAVING, *in_group)
        },
    }


def own_member_id(random: Callable[[], float]) -> str:
    """The id that such a member makes itself (KIP-1082): a UUID of version 4."""
    drawn = bytes(int(random() * 256) for _ in range(16))
    return str(uuid.UUID(bytes=drawn, version=4))
