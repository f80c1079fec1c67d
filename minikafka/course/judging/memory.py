"""What a learner's class remembers by itself, put back as it was.

Each task of Spark unpacks a processor anew: what another task has left in an attribute
of the class, in a default or in a global name of the notebook is not there. In one
Python process it would be, so a check puts it back before each micro-batch, and in the
end.
"""

import copy
import inspect
import types
from typing import Any

from minikafka.course.judging.guard import is_plain
from minikafka.course.judging.killed_programs import names_in

_NOT_THE_LEARNERS = ("builtins", "abc", "pyspark", "pandas")


class Memory:
    """Of this class and those that it is made of, as they are now."""

    def __init__(self, owner: Any) -> None:
        self._classes = [each for each in _mro(owner) if _is_learners(each)]
        self._attributes = [_data_of(each) for each in self._classes]
        self._functions: list[types.FunctionType] = []
        for each in self._classes:
            self._functions += filter(inspect.isfunction, vars(each).values())
        self._defaults = [_copied(each.__defaults__) for each in self._functions]
        self._globals = [_globals_of(each) for each in self._functions]

    def put_back(self) -> None:
        for owner, first in zip(self._classes, self._attributes, strict=True):
            for name in _data_of(owner).keys() - first.keys():
                delattr(owner, name)
            for name, value in first.items():
                setattr(owner, name, _copied(value))
        for function, defaults in zip(self._functions, self._defaults, strict=True):
            function.__defaults__ = _copied(defaults)
        for function, first in zip(self._functions, self._globals, strict=True):
            for name, value in first.items():
                if function.__globals__.get(name) != value:
                    function.__globals__[name] = _copied(value)


def _mro(owner: Any) -> tuple[type, ...]:
    return inspect.getmro(owner) if inspect.isclass(owner) else ()


def _is_learners(each: type) -> bool:
    return each.__module__.split(".")[0] not in _NOT_THE_LEARNERS


def _data_of(owner: type) -> dict[str, Any]:
    """The attributes of a class that are data."""
    found = {}
    for name, value in vars(owner).items():
        if not name.startswith("__") and is_plain(value):
            found[name] = _copied(value)
    return found


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    """What is data among the global names that a function uses."""
    found = {}
    for name in names_in(function.__code__):
        value = function.__globals__.get(name)
        if value is not None and is_plain(value):
            found[name] = _copied(value)
    return found


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # what can't be copied stays what it is
        return value
