"""Heartbeats of a classic member: every heartbeat_interval_ms, as long as the process lives, polled or not.

The other way round they tell the member how it stands: the answer says whether a rebalance is on, or that it is out. A
coordinator that hasn't answered for session_timeout_ms is looked for anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minikafka.clients.coordinator import MOVED
from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.clients.classic_membership import ClassicMembership

HEARD = (Error.NONE, Error.REBALANCE_IN_PROGRESS)  # the coordinator has taken it for a sign of life
OUT = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID)


class Heartbeats:
    """One member's, while it is in a generation."""

    def __init__(self, member: ClassicMembership) -> None:
        self._member = member
        self._consumer = member.consumer
        self._coordinator = member.coordinator
        self._next_at = 0
        self._open = False  # sent and not answered
        self._session_deadline = 0

    def restart(self) -> None:
        """A generation begins: the coordinator has just heard from the member."""
        self._next_at = self._consumer.now_ms + int(self._consumer.config["heartbeat_interval_ms"])
        self._heard()

    def work(self) -> None:
        now = self._consumer.now_ms
        if self._session_deadline <= now:
            self._heard()
            self._coordinator.lost()
        if self._next_at <= now and not self._open and self._coordinator.ready():
            self._send()

    def next_work(self) -> list[int | None]:
        found: list[int | None] = [self._session_deadline]
        if not self._open:
            due = self._next_at <= self._consumer.now_ms
            found.append(self._coordinator.next_chance() if due else self._next_at)
        return found

    def _send(self) -> None:
        self._open = True
        self._next_at = self._consumer.now_ms + int(self._consumer.config["heartbeat_interval_ms"])
        identity = self._member.identity
        body = {
            "group_id": self._coordinator.group_id,
            "generation_id": self._member.generation,
            "member_id": self._member.member_id,
            "group_instance_id": self._member.instance_id,
        }
        self._coordinator.request(
            "Heartbeat",
            body,
            lambda response: self._answered(Error(response.error_code), identity),
            failed=self._again,
        )

    def _answered(self, error: Error, identity: tuple[str, int]) -> None:
        self._open = False
        if error in HEARD:
            self._heard()
        elif error not in OUT:
            self._again()
            if error in MOVED:
                self._coordinator.lost()
        if identity == self._member.identity:
            if error is Error.REBALANCE_IN_PROGRESS:
                self._member.rebalance_announced()
            elif error in OUT:
                self._member.put_out(error)

    def _heard(self) -> None:
        self._session_deadline = self._consumer.now_ms + int(self._consumer.config["session_timeout_ms"])

    def _again(self) -> None:
        self._open = False
        self._next_at = self._consumer.now_ms + self._consumer.retry_backoff_ms
