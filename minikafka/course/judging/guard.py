"""The learner's code behind a guard, so that no check has to think of it.

Each call gets copies of the arguments, and changes to them are reported; its clock
runs; an error that it raises is known to be its own and not the check's; and an
iterator that it returns is read to the end at once.
"""

import copy
import functools
import inspect
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from minikafka.course.judging.watchdog import Watchdog

_MOST_YIELDED = 100_000
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_DUNDERS = (
    *("__iter__", "__next__", "__contains__", "__len__", "__getitem__"),
    *("__enter__", "__exit__"),
)


class Guard:
    """raised: the last thing that the learner's code raised. changed: what it did to
    its arguments, in a line.
    """

    def __init__(self, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.raised: BaseException | None = None
        self.changed: str | None = None

    def around(self, answer: Any) -> Any:
        """A function, or a class whose objects are guarded too; data comes back as it
        is.
        """
        if not callable(answer):
            return answer
        if inspect.isclass(answer):

            def made(*args: Any, **kwargs: Any) -> Any:
                return _Guarded(self, self.call(answer, args, kwargs))

            made.__wrapped__ = answer  # type: ignore[attr-defined]
            return made

        @functools.wraps(answer)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            return self.call(answer, args, kwargs)

        guarded.guard = self  # type: ignore[attr-defined]
        return guarded

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] = {},
    ) -> Any:
        """The result of the learner's function, with all iterators read."""
        theirs = [_copied(value) for value in (*args, *kwargs.values())]
        try:
            with self.watchdog.theirs():
                positional = theirs[: len(args)]
                named = dict(zip(kwargs, theirs[len(args) :], strict=True))
                found = settled(function(*positional, **named))
        except BaseException as error:
            self.raised = error
            raise
        ours = (*args, *kwargs.values())
        for place, (before, after) in enumerate(zip(ours, theirs, strict=True)):
            if before is after or before == after or self.changed is not None:
                continue
            name = _names(function, args, kwargs)[place]
            self.changed = (
                f"it changed its argument {name}, which is the caller's: {before!r}"
                f" became {after!r}."
            )
        return found

    def program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A program for a cluster: errors that it raises are its own, and its clock
        rests during calls of its clients.

        Each run gets new clients (see `lent`): attributes that it adds to them don't
        outlive the run.
        """

        @functools.wraps(function)
        def run(*clients: Any) -> Any:
            theirs = [lent(client, self.watchdog) for client in clients]
            try:
                with self.watchdog.theirs():
                    return function(*theirs)
            except BaseException as error:
                self.raised = error
                raise

        return run


class Lent:
    """One of our objects in the hands of the learner's program. What is set on it stays
    on it.
    """

    def __init__(self, thing: Any, watchdog: Watchdog) -> None:
        self.__dict__["_lent"] = thing, watchdog

    def __getattr__(self, name: str) -> Any:
        thing, watchdog = self._lent
        found = getattr(thing, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            with watchdog.ours():
                return found(*args, **kwargs)

        return call


def _passes_on(name: str) -> Callable[..., Any]:
    def call(self: Lent, *args: Any) -> Any:
        thing, watchdog = self._lent
        with watchdog.ours():
            found = getattr(thing, name)(*args)
        return self if found is thing else found

    return call


def lent(thing: Any, watchdog: Watchdog) -> Lent:
    """It can be iterated, counted or entered if the thing itself can: Python looks for
    these methods on the type.
    """
    kind = type(thing)
    can = {name: _passes_on(name) for name in _DUNDERS if hasattr(kind, name)}
    return type(kind.__name__, (Lent,), can)(thing, watchdog)


class _Guarded:
    """An object of the learner's class: its methods are guarded."""

    def __init__(self, guard: Guard, thing: Any) -> None:
        self.__dict__["_guarded"] = guard, thing

    def __getattr__(self, name: str) -> Any:
        guard, thing = self._guarded
        try:
            found = getattr(thing, name)
        except AttributeError as error:
            guard.raised = error
            raise
        if inspect.ismethod(found) or inspect.isfunction(found):
            return guard.around(found)
        return found


def is_plain(value: Any) -> bool:
    """Is it data through and through, which can be copied and compared?"""
    if isinstance(value, Mapping):
        return all(is_plain(key) and is_plain(value[key]) for key in value)
    if isinstance(value, list | tuple | set | frozenset | deque):
        return all(map(is_plain, value))
    return isinstance(value, _PLAIN)


def _copied(value: Any) -> Any:
    """A copy where there is something to change in it."""
    if isinstance(value, _PLAIN) or not is_plain(value):
        return value
    return copy.deepcopy(value)


def _names(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[str]:
    """The parameters' names; numbers where the function doesn't tell."""
    try:
        known = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        known = []
    places = [
        known[place] if place < len(known) else f"number {place + 1}"
        for place in range(len(args))
    ]
    return [*places, *kwargs]


def settled(value: Any) -> Any:
    """The value with every iterator in it read into a list."""
    if isinstance(value, Iterator):
        read = [settled(each) for each in itertools.islice(value, _MOST_YIELDED)]
        if next(value, read) is not read:
            raise OverflowError(f"more than {_MOST_YIELDED:,} values and no end")
        return read
    if type(value) in (list, tuple):
        items = [settled(each) for each in value]
        is_same = all(new is old for new, old in zip(items, value, strict=True))
        return value if is_same else items
    if type(value) is dict:
        found = {key: settled(each) for key, each in value.items()}
        return value if all(found[key] is value[key] for key in value) else found
    return value


def plain(value: Any) -> Any:
    """One form for all that means the same: a tuple or a range is a list, a named tuple
    too, a Mapping is a dict.
    """
    if isinstance(value, str | bytes | bytearray):
        return value
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, Set):
        return {_hashable(each) for each in value}
    if isinstance(value, Sequence | deque):
        return [plain(each) for each in value]
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(map(_hashable, value))
    return value
