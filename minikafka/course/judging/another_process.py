"""The learner's function in another Python process, where `hash()` of texts and bytes
gives other numbers.

A function that decides for many programs at once must give the same result in each.
Only plain data is passed on: the function's source, the libraries that it names, and
its arguments.
"""

import ast
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_SECONDS = 60.0
_THERE = """
import ast, importlib, sys
source, name, libraries, cases = ast.literal_eval(sys.stdin.read())
names = {}
for given, (module, attribute) in libraries.items():
    found = importlib.import_module(module)
    names[given] = getattr(found, attribute) if attribute else found
exec(source, names)
results = [names[name](*case) for case in cases]
print()  # what the function prints stays before it
print(ascii(results))
"""


def in_another_process(
    function: Callable[..., Any], cases: Sequence[tuple[Any, ...]]
) -> list[Any] | None:
    """The function's results for each of these arguments, in a process with another
    hash seed.

    None if that can't be told: the source isn't known, the function needs more of the
    notebook than libraries, it fails there, it takes too long, or its result isn't
    plain data.
    """
    plain = inspect.unwrap(function)
    another_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    try:
        source = textwrap.dedent(inspect.getsource(plain))
        done = subprocess.run(
            [sys.executable, "-c", _THERE],
            input=ascii((source, plain.__name__, _libraries(plain), list(cases))),
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": another_seed},
            timeout=_SECONDS,
            check=True,
        )
        found: list[Any] = ast.literal_eval(done.stdout.splitlines()[-1])
    except Exception:
        # whatever the learner's function does there, it is no failure of the check
        return None
    return found


def _libraries(function: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """name -> (module, attribute or "") of what the function uses, and others have
    written.
    """
    found = {}
    for name in function.__code__.co_names:
        thing = function.__globals__.get(name)
        module = getattr(thing, "__module__", None)
        if isinstance(thing, ModuleType):
            found[name] = (thing.__name__, "")
        elif callable(thing) and module not in (None, "__main__", function.__module__):
            found[name] = (module, thing.__qualname__)
    return found
