"""When a request may be sent, and when it is worth a retry: the only place in the
clients that knows about retries.

Metadata, a group's coordinator, a producer id, offsets, records, commits, heartbeats, a
place in a group: for each of these a client has a RequestState, as the Java client
does. Each has at most one request in flight. When the connection is lost, or the broker
refuses with a retriable error, the client asks again after retry_backoff_ms, and after
a refusal by the wrong broker it first finds out which one is right. When the broker
refuses for good, the client gives up.

A question is a request for which a program waits: for offsets, commits, or an admin
client's request. It is a future, and is asked until it is answered, refused for good,
or given up by the shell after a timeout.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from minikafka.clients.future import Future
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

BACKOFF_BASE, BACKOFF_JITTER = 2, 0.2  # KIP-580

# None: the connection was lost before the answer arrived
OnResponse = Callable[[Message | None], None]


class Guide(Protocol):
    """Tells a client which broker to ask: its metadata, or the lookup of a group's
    coordinator.
    """

    def doubt(self, error: Error) -> None:
        """A broker has refused a request with this error. If it was the wrong broker,
        look for the right one.
        """


class Timed:
    """The base of a client, as its requests see it: the time, how long to back off, and
    when to work again without an event from outside.
    """

    def __init__(self, retry_backoff_ms: int) -> None:
        self.retry_backoff_ms = retry_backoff_ms
        self.now_ms = 0  # monotonic, as of the last call of the shell
        self._wake_ms: int | None = None

    def wake(self, at_ms: int) -> None:
        """Have tick() called at this time, in ms."""
        if self._wake_ms is None or at_ms < self._wake_ms:
            self._wake_ms = at_ms

    def is_due(self, state: "RequestState") -> bool:
        """Whether a request may be sent now; if only later, tick() comes then."""
        if not state.in_flight and not state.is_due:
            self.wake(state.at_ms)
        return state.is_due


@dataclass(eq=False, repr=False)
class RequestState:
    """The state of one request that a client repeats. guide: it named the
    broker to ask.
    """

    _client: Timed
    _guide: Guide | None = None
    at_ms: int = 0  # must not be sent before this time
    in_flight: bool = False
    _attempt: int = 0

    @property
    def is_due(self) -> bool:
        return not self.in_flight and self.at_ms <= self._client.now_ms

    def sent(
        self,
        answered: Callable[[Message], None],
        failed: Callable[[], None] = lambda: None,
    ) -> OnResponse:
        """Note that it is being sent, and return the function that the connection calls
        with the answer.

        answered: called with the answer. failed: called when the connection is lost,
        after the backoff is set. Neither is called after give_up().
        """
        self.in_flight = True
        self._attempt += 1
        attempt = self._attempt

        def take(response: Message | None) -> None:
            if attempt != self._attempt:
                return
            self.in_flight = False
            if response is None:
                self.back_off()
                failed()
            else:
                answered(response)

        return take

    def give_up(self) -> None:
        """Ignore the answer to the request in flight."""
        self.in_flight = False
        self._attempt += 1

    def back_off(self) -> None:
        self.at_ms = self._client.now_ms + self._client.retry_backoff_ms

    def refused(self, error: Error) -> bool:
        """A broker has refused it. Returns whether a retry, after the backoff, may
        succeed.
        """
        if self._guide is not None:
            self._guide.doubt(error)
        if error.retriable:
            self.back_off()
        return error.retriable


def exponential_backoff_ms(
    attempts: int, first_ms: int, longest_ms: int, random: Callable[[], float]
) -> int:
    """How long to wait after this many failed attempts: twice as long each time, plus
    or minus a fifth (KIP-580).
    """
    wait_ms = min(first_ms * BACKOFF_BASE ** min(attempts - 1, 30), longest_ms)
    return min(int(wait_ms * (1 + BACKOFF_JITTER * (2 * random() - 1))), longest_ms)


class Question(Future):
    """The base of all questions."""

    def __init__(self, client: Timed, guide: Guide | None = None) -> None:
        super().__init__()
        self.state = RequestState(client, guide)

    def attempt(self) -> None:
        """Send the request, if the broker can be sent to."""
        raise NotImplementedError


class Questions:
    """The open questions of one client."""

    def __init__(self, client: Timed) -> None:
        self._client = client
        self._open: list[Question] = []

    def __iter__(self) -> Iterator[Question]:
        return iter(self._open)

    def add(self, question: Question) -> None:
        """Add a question, which the next work() attempts."""
        self._open.append(question)

    def ask(self, question: Question) -> None:
        """Add a question, and attempt it at once."""
        self.add(question)
        question.attempt()

    def give_up(self, future: Future) -> None:
        """Stop asking this question: nobody waits for the answer."""
        self._open = [each for each in self._open if each is not future]

    def work(self) -> None:
        self._open = [each for each in self._open if not each.is_done]
        for question in list(self._open):
            if self._client.is_due(question.state):
                question.attempt()
