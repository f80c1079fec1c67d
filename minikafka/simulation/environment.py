"""The part of a cluster that its clients and tables work with: the virtual time, the
book of recorded calls, and the hints for a learner.
"""

from collections.abc import Callable
from typing import Any

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.simulation.arguments import WAIT_S, checked
from minikafka.simulation.calls import Book, recorded
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.topics import Topics
from minikafka.trace import Trace


class Environment:
    """futures: of the records that were sent, in order. trace: of what no program does.
    why_nothing_came(consumer): hints for a learner whose poll returned nothing.
    """

    call_name = "cluster"

    def __init__(
        self,
        book: Book,
        kernel: Kernel,
        topics: Topics,
        trace: Trace,
        why_nothing_came: Callable[[Any], list[str]],
    ) -> None:
        self.book = book
        self.kernel = kernel
        self.topics = topics
        self.trace = trace
        self.why_nothing_came = why_nothing_came
        self.futures: list[Future] = []

    @property
    def now_ms(self) -> int:
        """Virtual ms since the cluster began."""
        return self.kernel.clock.now_ms

    def trace_of_writer(self) -> Trace:
        """The trace of the program that makes this call, set to the current time."""
        program = self.kernel.program()
        trace = self.trace if program is None else program.trace
        trace.now = self.now_ms
        return trace

    @checked(timeout=WAIT_S)
    @recorded
    def wait_for_future(self, future: Future, timeout: float | None) -> None:
        """The wait behind a future's get(). Errors: KafkaTimeoutError."""
        limit_ms = None if timeout is None else round(timeout * 1000)
        if limit_ms is None and self.kernel.program() is None:
            limit_ms = 300_000
        if not self.kernel.wait(lambda: future.is_done, limit_ms):
            waited = "300" if timeout is None else f"{timeout:g}"
            raise KafkaTimeoutError(f"no answer within {waited} virtual seconds")
