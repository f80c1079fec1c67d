"""Resets everything that a learner's class remembers outside its state.

Each Spark task unpacks a new processor: values that another task has left in an
attribute of the class, in a default or in a global name of the notebook are not there.
In one Python process they would be, so a check resets them before each micro-batch, and
in the end.
"""

import copy
import inspect
import types
from dataclasses import dataclass
from typing import Any

from minikafka.course.judging.guard import is_plain
from minikafka.course.judging.killed_programs import names_in

_NOT_THE_LEARNERS = ("builtins", "abc", "pyspark", "pandas")


class Memory:
    """The current state of this class and of its bases."""

    def __init__(self, owner: Any) -> None:
        self._classes: list[_Class] = []
        self._functions: list[_Function] = []
        for each in _mro(owner):
            if not _is_learners(each):
                continue
            self._classes.append(_Class(each, _data_of(each)))
            for function in filter(inspect.isfunction, vars(each).values()):
                self._functions.append(_Function.now(function))

    def put_back(self) -> None:
        """Restore all remembered classes and functions."""
        for remembered in self._classes:
            remembered.put_back()
        for function in self._functions:
            function.put_back()


@dataclass(frozen=True)
class _Class:
    """A class, and the attributes that are data, as they were."""

    owner: type
    data: dict[str, Any]

    def put_back(self) -> None:
        """Restore the class's attributes, and delete those that were added since."""
        for name in _data_of(self.owner).keys() - self.data.keys():
            delattr(self.owner, name)
        for name, value in self.data.items():
            setattr(self.owner, name, _copied(value))


@dataclass(frozen=True)
class _Function:
    """A function, and what it remembers by itself, as it was."""

    function: types.FunctionType
    defaults: Any
    global_data: dict[str, Any]

    @classmethod
    def now(cls, function: types.FunctionType) -> "_Function":
        """Remember a function with its current defaults and globals."""
        return cls(function, _copied(function.__defaults__), _globals_of(function))

    def put_back(self) -> None:
        """A global name that is still the same stays."""
        self.function.__defaults__ = _copied(self.defaults)
        names = self.function.__globals__
        for name, value in self.global_data.items():
            if names.get(name) != value:
                names[name] = _copied(value)


def _mro(owner: Any) -> tuple[type, ...]:
    """The class and those that it is made of."""
    if not inspect.isclass(owner):
        return ()
    return inspect.getmro(owner)


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
    """The global names used by a function that hold data."""
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
