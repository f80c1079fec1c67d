"""tasks.py is what a learner meets first: it runs on a bare Python and says what is
wrong in plain words.
"""

import ast
import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

import tasks
from minikafka.course.lab import free_port


def test_it_needs_the_standard_library_alone():
    tree = ast.parse((tasks.ROOT / "tasks.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert {
        alias.name.split(".")[0] for node in imports for alias in node.names
    } <= sys.stdlib_module_names
    others = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in others} <= sys.stdlib_module_names


def test_an_unknown_task_shows_the_list():
    command = [sys.executable, "tasks.py", "lap"]
    done = subprocess.run(
        command, cwd=tasks.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert all(f"tasks.py {name}" in done.stdout for name in tasks.TASKS)


def test_make_knows_the_same_commands():
    makefile = (tasks.ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony.split() == ["help", *tasks.TASKS]


def test_a_python_that_does_not_fit_is_named_with_ways_out(monkeypatch):
    monkeypatch.setattr(tasks, "version_of", lambda python: None)
    monkeypatch.setattr(tasks, "fits", lambda version: False)
    with pytest.raises(tasks.Stop, match=r"Python 3\.11 to 3\.14 is needed"):
        tasks.find_python()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Max retries exceeded with url: /simple/", "Is this machine online"),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("error: something else", "something else"),
    ],
)
def test_a_failed_installation_is_explained(tmp_path, said, told):
    log = tmp_path / "install.log"
    log.write_text(said)
    with pytest.raises(tasks.Stop, match=told):
        tasks.explain_pip(log)


def test_what_is_installed_is_not_installed_again(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(tasks, "VENV", tmp_path)
    monkeypatch.setattr(tasks, "make_venv", lambda: None)
    monkeypatch.setattr(tasks, "configure_jupyter", lambda: None)
    monkeypatch.setattr(tasks, "pip", lambda options, target: asked.append(target))
    tasks.install(["lab"], "small")
    tasks.install(["lab"], "small")
    assert len(asked) == 1
    monkeypatch.setattr(
        tasks, "fingerprint", lambda extras: "pyproject.toml has changed"
    )
    tasks.install(["lab"], "small")
    assert len(asked) == 2


def test_what_a_stick_with_spark_has_installed_is_enough_to_start(
    monkeypatch, tmp_path
):
    """Without a network: `setup --wheels` of a stick with Spark, then `lab`."""
    asked = []
    monkeypatch.setattr(tasks, "VENV", tmp_path)
    monkeypatch.setattr(tasks, "make_venv", lambda: None)
    monkeypatch.setattr(tasks, "configure_jupyter", lambda: None)
    monkeypatch.setattr(tasks, "pip", lambda options, target: asked.append(options))
    stick = ["--find-links=/stick", "--no-index"]
    tasks.install(["lab", "spark"], "small", stick)
    assert not tasks.install(["lab"], "small")
    assert asked == [stick]
    assert tasks.install(["lab", "test"], "small")


SECOND = """
import sys, tasks
from pathlib import Path
tasks.CACHE = Path(sys.argv[1])
print("begins", flush=True)
with tasks.alone():
    print("alone", flush=True)
"""


def test_two_commands_at_once_install_and_start_one_after_the_other(
    monkeypatch, tmp_path
):
    """The second says so, and waits; two labs then find two ports."""
    monkeypatch.setattr(tasks, "CACHE", tmp_path)
    command = [sys.executable, "-c", SECOND, str(tmp_path)]
    with tasks.alone(), tasks.alone():
        second = subprocess.Popen(
            command, cwd=tasks.ROOT, stdout=subprocess.PIPE, text=True
        )
        assert second.stdout.readline() == "begins\n"
        assert "Another set-up or start runs in this folder" in second.stdout.readline()
    assert second.communicate() == ("alone\n", None)
    assert second.returncode == 0


def test_the_lab_is_ready_before_the_next_one_looks_for_a_port(monkeypatch, tmp_path):
    monkeypatch.setattr(tasks, "CACHE", tmp_path)
    monkeypatch.setattr(tasks, "setup", lambda args: None)
    started, stopped = [], []

    def start(args):
        started.append(bool(tasks.held))
        return SimpleNamespace(stdout=[], wait=lambda: stopped.append(tasks.held[:]))

    monkeypatch.setattr(tasks, "start_lab", start)
    tasks.lab([])
    assert started == [True]
    assert stopped == [[]]  # while the lab runs, others may start


def test_the_kernel_keeps_child_processes_out_of_cells(monkeypatch, tmp_path):
    monkeypatch.setattr(tasks, "VENV", tmp_path)
    tasks.configure_jupyter()
    spec = (tmp_path / "share/jupyter/kernels/python3/kernel.json").read_text()
    assert "--IPKernelApp.capture_fd_output=False" in spec


def test_a_second_jupyterlab_gets_another_port():
    first = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first))
        assert free_port() > first


def test_workers_take_whole_modules(request):
    """`make test` shares by groups: pytest-xdist writes them into a test's name."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@house/test_tasks")
