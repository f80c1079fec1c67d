"""Records the calls made at top level, so that a run can be repeated from the seed, up
to any moment.

A call is recorded with its virtual time. Calls within programs are not recorded: they
follow from the rest. A wait for a condition is recorded as the time it took.
"""

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from minikafka.simulation.interrupts import Interrupts

Method = TypeVar("Method", bound=Callable[..., Any])


class TopLevelCall(NamedTuple):
    """at_ms: when it began.

    target: "cluster", a client's name, or ("future", n) for the n-th record sent at top
    level.
    """

    at_ms: int
    target: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        shown = [repr(each) for each in self.args] + [
            f"{name}={value!r}" for name, value in self.kwargs.items()
        ]
        return (
            f"{self.at_ms / 1000:.3f} s "
            f" {self.target}.{self.method}({', '.join(shown)})"
        )


def recorded(method: Method) -> Method:
    """A decorator that records calls of this method in the cluster's `calls`, unless
    they are made by a program or within another recorded call.
    """

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        book: Book = self.book
        if book.inside or book.in_program():
            return method(self, *args, **kwargs)
        entry = TopLevelCall(
            book.now_ms(), self.call_name, method.__name__, _kept(args), _kept(kwargs)
        )
        book.calls.append(entry)
        book.inside = True
        try:
            with book.interrupts.listening():
                return method(self, *args, **kwargs)
        except KeyboardInterrupt:
            # when it is repeated, it must end where it ended
            if method.__name__ in ("run", "run_ms"):
                passed_ms = book.now_ms() - entry.at_ms
                book.calls.append(
                    book.calls.pop()._replace(
                        method="run_ms", args=(passed_ms,), kwargs={}
                    )
                )
            raise
        finally:
            book.inside = False

    return call  # type: ignore[return-value]


class Book:
    """The recorded calls of one cluster."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        in_program: Callable[[], bool],
        interrupts: Interrupts,
    ) -> None:
        self.calls: list[TopLevelCall] = []
        self.inside = False
        self.now_ms = now_ms
        self.in_program = in_program
        self.interrupts = interrupts


def _kept(value: Any) -> Any:
    """A copy of the value, because a learner may change a list or dict afterwards.
    Everything else is kept as it is.
    """
    if isinstance(value, dict):
        return {key: _kept(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_kept(each) for each in value)
    return copy.copy(value) if isinstance(value, (bytearray, set)) else value
