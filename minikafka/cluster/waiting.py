"""Answers that can't be given yet. (Apache Kafka calls the place where they wait a
purgatory.)

A request that must wait is one `Wait`, and there is no other way to wait. It ends once,
with an answer or an error: when the thing it waits for has moved, when its keeper ends
it (for example a group whose members have all joined), or at its deadline. Each thing
that a request can wait for has a key:

    ("log_end", topic, partition)           records were appended
    ("high_watermark", topic, partition)    the in-sync replicas have them
    ("log_start", topic, partition)         a follower said where its log begins
    ("fetched_by", node)                    records were appended that this follower fetches,
                                            or a partition that it fetches has moved
    ("metadata",)                           records of the metadata log were committed

Waits are found by key, by connection and by deadline. Nothing searches all of them to
find one. What has no answer and is ended by time, as a session is, has a deadline in
timers.py.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.wire.errors import Error, KafkaError

Answer = dict[str, Any]
Attempt = Callable[["Wait", Any, bool], Answer | None]
Refuse = Callable[[KafkaError], Answer]
Resume = Callable[[Any], Any]

METADATA = ("metadata",)
ALL_BYTES = 1 << 62  # larger than anything a request may wait for
MOST_KEYS = 200_000  # of all parked requests: each key takes some hundred bytes


class Wait:
    """An answer that can't be given yet.

    attempt(wait, now, expired): returns the answer's fields, or None to go on waiting;
    raises KafkaError to refuse. Without it the keeper of the wait ends it. keys: the
    things that may change the answer. deadline_ms: monotonic; a wait without an answer
    then ends with REQUEST_TIMED_OUT. missing_bytes: how many bytes must still arrive
    under the keys before another attempt makes sense. again: when the wait ends there
    is no answer yet, and the request starts over, or goes on with resume(now). refuse:
    builds the answer from the error it ends with, where the API's usual one won't do.
    allows_pipelining: the request's work is done, so the connection's next request may
    begin.
    """

    __slots__ = (
        "_attempt",
        "_then",
        "again",
        "allows_pipelining",
        "answer",
        "deadline_ms",
        "error",
        "is_done",
        "keys",
        "missing_bytes",
        "refuse",
        "resume",
    )

    def __init__(
        self,
        keys: Sequence[Hashable] = (),
        deadline_ms: int = NEVER_MS,
        attempt: Attempt | None = None,
        *,
        missing_bytes: int = 0,
        again: bool = False,
    ) -> None:
        self.keys = tuple(dict.fromkeys(keys))
        self.deadline_ms = deadline_ms
        self.missing_bytes = missing_bytes
        self.again = again
        self.resume: Resume | None = None
        self.refuse: Refuse | None = None
        self.allows_pipelining = False
        self.answer: Answer | None = None
        self.error: KafkaError | None = None
        self.is_done = False
        self._attempt = attempt
        self._then: list[Callable[[Wait], object]] = []

    def finish(self, answer: Answer) -> None:
        """End it with an answer, if it hasn't ended."""
        self._end(answer, None)

    def fail(self, error: KafkaError) -> None:
        """End it with an error, if it hasn't ended."""
        self._end(None, error)

    def attempt(self, now: Any, expired: bool = False) -> None:
        """Check whether it can end now. expired: it must."""
        if self.is_done:
            return
        try:
            answer = (
                None if self._attempt is None else self._attempt(self, now, expired)
            )
        except KafkaError as error:
            self.fail(error)
            return
        if answer is not None:
            self.finish(answer)
        elif expired:
            self.fail(KafkaError(Error.REQUEST_TIMED_OUT))

    def go_on_with(self, resume: Resume) -> "Wait":
        """When it ends well, the request goes on here."""
        self.again, self.resume = True, resume
        return self

    def then(self, tell: "Callable[[Wait], object]") -> None:
        """Call tell when it ends; at once if it has ended."""
        if self.is_done:
            tell(self)
        else:
            self._then.append(tell)

    def _end(self, answer: Answer | None, error: KafkaError | None) -> None:
        if not self.is_done:
            self.answer, self.error, self.is_done = answer, error, True
            # the parker holds the wait and is held here: a reference cycle
            tellers, self._then = self._then, []
            for tell in tellers:
                tell(self)


def all_of(waits: Sequence[Wait], answer: Callable[[], Answer]) -> Answer | Wait:
    """The answer once all of these have ended, which may already be the case."""
    if all(each.is_done for each in waits):
        return answer()
    whole = Wait()
    for each in waits:
        each.then(
            lambda _: (
                whole.finish(answer()) if all(each.is_done for each in waits) else None
            )
        )
    return whole


@dataclass(slots=True, eq=False)
class Parked:
    """A Wait with its connection and its request (both opaque here)."""

    wait: Wait
    connection: Hashable
    request: Any
    is_here: bool = True


class Waiting:
    """All parked requests of a node, by connection (a few each), by key and by
    deadline. ended: those that have their answer or error. ready: those whose key has
    moved, so that an attempt is worth it now.
    """

    def __init__(self, timer: Timer) -> None:
        self.ended: deque[Parked] = deque()
        self.ready: deque[Parked] = deque()
        self._by_connection: dict[Hashable, dict[Parked, None]] = {}
        self.by_key: dict[Hashable, dict[Parked, None]] = {}
        self._timer = timer
        self._deadlines: list[tuple[int, int, Parked]] = []
        self._numbers = itertools.count()
        self._keys = 0
        self._parked = 0

    def __len__(self) -> int:
        return self._parked

    def has_room(self, wait: Wait) -> bool:
        """Whether the keys of all parked requests together stay within the limit. A
        single key is always accepted: a connection has only a few requests.
        """
        return len(wait.keys) <= 1 or self._keys + len(wait.keys) <= MOST_KEYS

    def park(self, wait: Wait, connection: Hashable, request: Any) -> None:
        """Keep a connection's request until its wait ends."""
        assert not wait.is_done, "what has ended is answered, not parked"
        parked = Parked(wait, connection, request)
        self._by_connection.setdefault(connection, {})[parked] = None
        wait.then(lambda _: self.ended.append(parked))
        self._parked += 1
        self._keys += len(wait.keys)
        for key in wait.keys:
            self.by_key.setdefault(key, {})[parked] = None
        if wait.deadline_ms < NEVER_MS:
            entry = (wait.deadline_ms, next(self._numbers), parked)
            heapq.heappush(self._deadlines, entry)
            if wait.deadline_ms < self._timer.at_ms:
                self._timer.set(wait.deadline_ms)

    def moved(self, key: Hashable, size_bytes: int) -> None:
        """Something arrived under a key: count its bytes for the requests that wait."""
        for parked in self.by_key.get(key, ()):
            parked.wait.missing_bytes -= size_bytes
            if parked.wait.missing_bytes <= 0:
                self.ready.append(parked)

    def expired(self, now_ms: int) -> Iterator[Parked]:
        """Takes out the requests whose deadline has come."""
        while self._timer.at_ms <= now_ms:
            _, _, parked = heapq.heappop(self._deadlines)
            self._set_timer()
            yield parked

    def _set_timer(self) -> None:
        """For the earliest deadline of those that are still here."""
        while self._deadlines and not self._deadlines[0][2].is_here:
            heapq.heappop(self._deadlines)
        self._timer.set(self._deadlines[0][0] if self._deadlines else NEVER_MS)

    def everything(self) -> list[Parked]:
        """All parked requests, for a node that stops."""
        return [parked for of_one in self._by_connection.values() for parked in of_one]

    def drop(self, connection: Hashable) -> None:
        """The connection is closed, so drop everything it waited for."""
        for parked in list(self._by_connection.get(connection, ())):
            self.remove(parked)

    def remove(self, parked: Parked) -> None:
        """It has ended, and waits no longer."""
        assert parked.is_here, "a parked request is taken out once"
        parked.is_here = False
        self._parked -= 1
        self._keys -= len(parked.wait.keys)
        remove_from(self._by_connection, parked.connection, parked)
        for key in parked.wait.keys:
            remove_from(self.by_key, key, parked)
        if self._deadlines and not self._deadlines[0][2].is_here:
            self._set_timer()
        # drop entries of requests that were answered long before their deadlines
        if len(self._deadlines) > 64 + 2 * self._parked:
            self._deadlines = [entry for entry in self._deadlines if entry[2].is_here]
            heapq.heapify(self._deadlines)


def remove_from(
    index: dict[Hashable, dict[Parked, None]], key: Hashable, parked: Parked
) -> None:
    del index[key][parked]
    if not index[key]:
        del index[key]
