"""`minikafka lab`: the course in JupyterLab, from a checkout or an installed wheel.

The learner's copies go to a folder of hers (places.py), with the few files beside them
that lessons link to. JupyterLab is told by its environment which kernel to use, so
nothing is written where Python is installed.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from minikafka.course import editions, places

FIRST_LESSON = "00_start_here.ipynb"
LINKED = (  # by lessons, as ../notebooks
    "pictures",
    "recipes",
    "glossary.md",
    "cheat_sheet.html",
    "from_notebook_to_spark_submit.md",
    "the_larger_number.md",
    "what_is_promised.md",
    "settings_on_monday.md",
    "client_defaults.md",
    "kills_of_three_sinks.md",
    "claims.md",
)
FIRST_PORT, LAST_PORT = 8888, 8987
_LOOK_SECONDS = 0.2
_KERNEL_OPTIONS = (
    "--IPKernelApp.capture_fd_output=False",  # a JVM's log lines stay out of cells
    "--IPKernelApp.log_level=ERROR",
)


class CannotStart(Exception):
    """Why there is no JupyterLab, in one plain sentence."""


def main(args: argparse.Namespace) -> int:
    """Until Ctrl-C; returns the exit code."""
    if args.folder:
        os.environ[places.HOME_VARIABLE] = str(Path(args.folder).expanduser().resolve())
    try:
        new = furnish(places.home())
        if new:
            print(f"Your own copies of the lessons: {places.my()}", flush=True)
        with tempfile.TemporaryDirectory(prefix="minikafka-lab-") as settings:
            configure(Path(settings))
            return run_lab(places.home(), Path(settings), args)
    except (CannotStart, OSError) as error:
        print(f"minikafka: {error}", file=sys.stderr)
        return 1


def furnish(home: Path) -> list[Path]:
    """Makes the copies that are not there yet, and what lessons link to.

    Returns the new copies.
    """
    new = editions.make_copies(home / "my")
    if home != places.ROOT:
        beside = home / "notebooks"
        beside.mkdir(exist_ok=True)
        for name in LINKED:
            source = places.NOTEBOOKS / name
            if source.is_dir():
                shutil.copytree(source, beside / name, dirs_exist_ok=True)
            else:
                shutil.copy(source, beside / name)
    return new


def configure(settings: Path) -> None:
    """A kernel of this very Python, and a JupyterLab that asks for no news."""
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {
        "argv": [*command, *_KERNEL_OPTIONS],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    quiet = {
        "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}
    }
    files = {
        "share/kernels/python3/kernel.json": kernel,
        "etc/labconfig/page_config.json": quiet,
    }
    for name, content in files.items():
        (settings / name).parent.mkdir(parents=True, exist_ok=True)
        (settings / name).write_text(json.dumps(content), encoding="utf-8")


def run_lab(home: Path, settings: Path, args: argparse.Namespace) -> int:
    """JupyterLab on the first lesson. Only this machine reaches it, with a token."""
    port = args.port or free_port()
    first = f"my/{FIRST_LESSON}"
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(16)
    environment = {
        **os.environ,
        "JUPYTER_TOKEN": token,
        "JUPYTER_PATH": _first(settings / "share", "JUPYTER_PATH"),
        "JUPYTER_CONFIG_PATH": _first(settings / "etc", "JUPYTER_CONFIG_PATH"),
        places.HOME_VARIABLE: str(home),
    }
    no_browser = args.no_browser or bool(os.environ.get("MINIKAFKA_NO_BROWSER"))
    # Ctrl-C is JupyterLab's to handle; we wait until it has stopped its kernels.
    signal.signal(signal.SIGINT, lambda *_: None)
    process = subprocess.Popen(
        jupyter_command(home, port, first, no_browser), cwd=home, env=environment
    )
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while not answers(f"http://127.0.0.1:{port}/api"):
            if process.poll() is not None:
                why = "JupyterLab did not start; its messages are above."
                raise CannotStart(why)
            time.sleep(_LOOK_SECONDS)
        print(f"Ready: http://localhost:{port}/lab/tree/{first}?token={token}")
        print(f"Ctrl-C here stops it. Your work is in {home / 'my'}.", flush=True)
        process.wait()
    finally:
        process.terminate()
        process.wait()
    return 0


def jupyter_command(
    home: Path, port: int, first: str, no_browser: bool
) -> Sequence[str]:
    """How JupyterLab is started."""
    command = [sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={home}"]
    command += [
        f"--LabApp.default_url=/lab/tree/{first}",
        "--ServerApp.answer_yes=True",
    ]
    command += ["--log-level=ERROR", "--LabApp.log_level=ERROR"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in a container
        command.append("--allow-root")
    if no_browser:
        command.append("--no-browser")
    return command


def _first(folder: Path, variable: str) -> str:
    """This folder before those that the variable names already."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get(variable)])])


def free_port() -> int:
    """The first one from JupyterLab's usual one on."""
    for port in range(FIRST_PORT, LAST_PORT + 1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise CannotStart(
        f"the ports {FIRST_PORT} to {LAST_PORT} are all in use: close a JupyterLab or"
        " two."
    )


def answers(url: str) -> bool:
    """Whether somebody answers at this address."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False
