"""A class without a network: `tasks.py wheels DIR` on one machine, `tasks.py setup
--wheels DIR` on the others.
"""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

import tasks

pytestmark = pytest.mark.slow

BACKEND = """
import base64, os, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    metadata = "Metadata-Version: 2.1\\nName: minikafka\\nVersion: 0.1\\nProvides-Extra: lab\\n"
    metadata += "Requires-Dist: minikafka-test-needed\\nRequires-Dist: minikafka-test-lab-needs; extra == 'lab'\\n"
    with zipfile.ZipFile(os.path.join(folder, "minikafka-0.1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("minikafka.pth", os.getcwd())
        wheel.writestr("minikafka-0.1.dist-info/METADATA", metadata)
        tags = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("minikafka-0.1.dist-info/WHEEL", tags)
        wheel.writestr("minikafka-0.1.dist-info/RECORD", "")
    return "minikafka-0.1-py3-none-any.whl"

build_wheel = build_editable
"""
PROJECT = """
[build-system]
requires = ["minikafka-test-building>=1"]
build-backend = "backend"
backend-path = ["."]
[project]
name = "minikafka"
version = "0.1"
dependencies = ["minikafka-test-needed>=1"]
optional-dependencies = { lab = ["minikafka-test-lab-needs>=1"] }
"""


def without_a_network(command):
    """In a network namespace of its own, with nothing in it; skips where this system or
    user can't.
    """
    unshare = shutil.which("unshare")
    if (
        unshare is None
        or subprocess.run([unshare, "-n", "true"], capture_output=True).returncode
    ):
        pytest.skip("needs root and unshare, for a network namespace without a route")
    return [unshare, "-n", *command]


def run(command, folder, **variables):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHONPATH", "CONDA", "PIP_"))
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def a_wheel(folder, name):
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(
            f"{name}-1.0.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        )
        wheel.writestr(
            f"{name}-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


@pytest.fixture
def small_project(tmp_path):
    """A project as small as can be, which tasks.py takes for the course; and a registry
    that is a folder.
    """
    project, registry = tmp_path / "project", tmp_path / "registry"
    (project / "minikafka/course").mkdir(parents=True)
    registry.mkdir()
    shutil.copy(tasks.ROOT / "tasks.py", project)
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "backend.py").write_text(BACKEND)
    for name in ("__init__", "course/__init__", "course/editions"):
        (project / f"minikafka/{name}.py").write_text("def make_copies(): return []\n")
    for name in ("needed", "lab_needs", "building"):
        a_wheel(registry, f"minikafka_test_{name}")
    return project, registry


def test_what_one_machine_fetched_sets_up_another_one_without_a_network(
    small_project, tmp_path
):
    project, registry = small_project
    setup = without_a_network(
        [sys.executable, "tasks.py", "setup", "--wheels", "../stick"]
    )
    code, said = run(setup, project)
    assert code == 1 and "There is no folder" in said
    (tmp_path / "stick").mkdir()
    code, said = run(setup, project)
    assert code == 1 and "There are no wheels in" in said
    a_wheel(tmp_path / "stick", "something_else")
    code, said = run(setup, project)
    assert code == 1 and "A folder of wheels fits some kinds of machines only." in said
    code, said = run(
        [sys.executable, "tasks.py", "wheels", "../stick"],
        project,
        PIP_FIND_LINKS=str(registry),
    )
    assert code == 0, said
    assert sorted(
        path.name.split("-")[0] for path in (tmp_path / "stick").iterdir()
    ) == [
        "minikafka_test_building",
        "minikafka_test_lab_needs",
        "minikafka_test_needed",
        "something_else",
    ]
    code, said = run(setup, project)
    assert code == 0, said
    code, said = run(setup, project)
    assert code == 0 and "so nothing of" in said
    code, said = run(
        [
            project / ".venv/bin/python",
            "-c",
            "import minikafka_test_lab_needs, minikafka_test_needed, minikafka",
        ],
        project,
    )
    assert code == 0, said


@pytest.mark.parametrize("args", [["--wheels"], ["stick"], ["--wheels", "a", "b"]])
def test_what_is_mistyped_is_answered_with_how_it_goes(args):
    with pytest.raises(tasks.Stop, match=r"tasks\.py setup --wheels DIR"):
        tasks.setup(args)


@pytest.mark.parametrize("words", [[], ["--spark", "DIR"]])
def test_what_wheels_lacks_is_answered_with_the_kinds_of_machines(words):
    with pytest.raises(tasks.Stop, match=r"windows, mac, mac-intel, linux"):
        tasks.wheels(words)


@pytest.mark.parametrize("kind", ["windows", "windows-2.7", "amiga-3.12", "-3.12"])
def test_a_kind_of_machine_that_is_none_is_said(kind):
    with pytest.raises(tasks.Stop, match=f"{kind} is no kind of machine"):
        tasks.kinds_of([kind])


def test_all_kinds_are_three_systems_with_each_python():
    kinds = tasks.kinds_of(["all"])
    assert len(kinds) == 3 * 4 and ("mac", "3.14") in kinds


def test_a_kind_is_this_machines_own_where_none_is_named(monkeypatch):
    """The Python that runs the command counts, not that of a .venv."""
    monkeypatch.setattr(tasks.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(tasks.platform, "machine", lambda: "x86_64")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert tasks.kinds_of([]) == [("mac-intel", version)]


@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    "MINIKAFKA_TEST_WHEELS" not in os.environ,
    reason="fetches 80 MB for each kind: MINIKAFKA_TEST_WHEELS=1 runs it",
)
@pytest.mark.parametrize("kind", ["windows-3.13", "mac-3.14", "mac-intel-3.12"])
def test_one_machine_fetches_all_that_another_system_needs(kind, tmp_path):
    """uv installs for a foreign system into a folder, from these wheels alone."""
    tasks.wheels([str(tmp_path / "stick"), kind])
    [(system, version)] = tasks.kinds_of([kind])
    target, _ = tasks.KINDS[system]
    options = ["--no-index", "--only-binary=:all:", f"--python-version={version}"]
    options += [f"--python-platform={target}", f"--find-links={tmp_path / 'stick'}"]
    options += [f"--target={tmp_path / 'there'}", "--quiet"]
    uv = [str(tasks.venv_python()), "-m", "uv", "pip", "install", *options]
    code, said = run([*uv, "-r", str(tasks.CACHE / "wheels.in")], tmp_path)
    assert code == 0, said
    assert (tmp_path / "there/jupyterlab").is_dir()


@pytest.mark.timeout(900)
@pytest.mark.skipif(
    "MINIKAFKA_TEST_WHEELS" not in os.environ,
    reason="fetches 80 MB: MINIKAFKA_TEST_WHEELS=1 runs it",
)
def test_the_course_itself_sets_up_without_a_network(tmp_path):
    setup = without_a_network(
        [sys.executable, "tasks.py", "setup", "--wheels", "../stick"]
    )
    project = tmp_path / "project"
    project.mkdir()
    files = subprocess.run(
        ["git", "ls-files"], cwd=tasks.ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in files.splitlines():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tasks.ROOT / name, project / name)
    code, said = run([sys.executable, "tasks.py", "wheels", "../stick"], project)
    assert code == 0, said
    code, said = run(setup, project)
    assert code == 0, said
    assert "my/00_start_here.ipynb" in said
    code, said = run(
        [
            project / ".venv/bin/python",
            "-c",
            "import jupyterlab, ipywidgets, plotly, kafka",
        ],
        project,
    )
    assert code == 0, said
