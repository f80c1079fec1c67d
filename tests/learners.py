"""Environments that hold what set-up installs, and nothing more: a lesson that needs a
package of the tests fails in them, as it would on a learner's machine.

`tasks.py` makes them, as it makes a learner's `.venv`: the newest packages that
pyproject.toml allows, the project itself editable, and a kernel. The first test that
needs one makes it; the others wait.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import tasks

# what `make setup` installs, and what lesson 17 then asks for
EXTRAS = {"lab": ["lab"], "spark": ["lab", "spark"]}
INSTALL = """
import pathlib, sys, tasks
folder, *extras = sys.argv[1:]
tasks.CACHE = pathlib.Path(folder)
tasks.LOG, tasks.VENV = tasks.CACHE / "install.log", tasks.CACHE / "venv"
tasks.install(extras, "for the tests of lessons")
"""


@cache
def environment(name: str) -> Path:
    """The folder of the environment `lab` or `spark`; takes a minute the first time."""
    folder = tasks.CACHE / "learners" / name
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", INSTALL, str(folder), *EXTRAS[name]],
        cwd=tasks.ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "venv"


def packages(name: str) -> Path:
    """The folder that its packages are in."""
    return next(environment(name).glob("lib/python*/site-packages"))


def variables(name: str) -> dict[str, str]:
    """What a process is told for its kernel `python3` to be that of the environment."""
    return {**os.environ, "JUPYTER_PATH": str(environment(name) / "share" / "jupyter")}
