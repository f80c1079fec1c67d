"""What `pip install minikafka` gives, without a checkout: the wheel in an environment
of its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests import learners

pytestmark = [pytest.mark.first, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("MINIKAFKA_", "PYTHON", "JUPYTER", "VIRTUAL_ENV")


def run(*command, env=None, cwd=None):
    """Exit code, and all that was said."""
    done = subprocess.run(
        [*map(str, command)],
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the files that git knows, so that nothing lying about gets in."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(
        lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()
    ):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, source)
    code, said = run(*pip)
    assert code == 0, said
    return next(out.glob("*.whl"))


class Installed:
    """An environment with the wheel in it, and a home of its own.

    with_lab: it also sees the packages of the lessons.
    """

    def __init__(self, wheel, folder, with_lab):
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        variables = os.environ.items()
        kept = {
            name: value for name, value in variables if not name.startswith(ELSEWHERE)
        }
        self.env = kept | {"HOME": str(self.home), "MINIKAFKA_NO_BROWSER": "1"}
        venv = folder / "venv"
        pip = (sys.executable, "-m", "pip")
        options = ["--no-deps"] if with_lab else []
        for command in (
            (sys.executable, "-m", "venv", "--without-pip", venv),
            (*pip, "--python", venv / "bin/python", "install", "-q", *options, wheel),
        ):
            code, said = run(*command, env=self.env)
            assert code == 0, said
        self.python = venv / "bin/python"
        self.packages = next(venv.glob("lib/python*/site-packages"))
        if with_lab:
            theirs = learners.packages("lab")
            (self.packages / "those_of_the_lessons.pth").write_text(f"{theirs}\n")

    def minikafka(self, *args, cwd=None):
        command = (self.python, "-m", "minikafka", *args)
        return run(*command, env=self.env, cwd=cwd or self.home)

    def says(self, code):
        return run(self.python, "-c", code, env=self.env, cwd=self.home)

    def files(self):
        return {path for path in self.packages.rglob("*") if path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def plain(wheel, tmp_path_factory):
    return Installed(wheel, tmp_path_factory.mktemp("plain"), with_lab=False)


@pytest.fixture(scope="module")
def lab(wheel, tmp_path_factory):
    return Installed(wheel, tmp_path_factory.mktemp("lab"), with_lab=True)


def test_it_is_the_wheel_that_is_tried(plain, lab):
    for installed in (plain, lab):
        code, said = installed.says("import minikafka; print(minikafka.__file__)")
        assert code == 0 and Path(said.strip()).is_relative_to(installed.packages)


def test_it_says_its_version(plain):
    code, said = plain.minikafka("--version")
    assert code == 0 and re.fullmatch(r"minikafka \d+\.\d+\.\d+\S*\n", said)


def test_a_broker_serves(plain):
    command = [plain.python, "-m", "minikafka", "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=plain.env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready 127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


@pytest.mark.nightly
def test_the_demo_and_the_gallery_are_written(plain, tmp_path):
    code, said = plain.minikafka("demo", "--out", tmp_path / "demo.html")
    assert code == 0, said
    assert "<html" in (tmp_path / "demo.html").read_text(encoding="utf-8")
    code, said = plain.minikafka("gallery", tmp_path / "gallery")
    assert code == 0, said
    assert (tmp_path / "gallery" / "index.html").exists()


def test_the_doctor_says_what_the_lessons_need(plain):
    code, said = plain.minikafka("doctor")
    assert code == 1
    assert "jupyterlab" in said and '"minikafka[lab]"' in said
    assert "Traceback" not in said and "make " not in said.partition("Docker")[0]


def test_a_message_of_a_client_is_explained(plain):
    code, said = plain.minikafka("error", "NoBrokersAvailable")
    assert code == 0 and "minikafka serve --port 9092" in said, said


@pytest.mark.parametrize(
    "command",
    [("lab",), ("lesson", "05"), ("class",), ("pipeline",)],
    ids=lambda c: c[0],
)
def test_what_a_command_lacks_is_one_sentence(plain, command):
    code, said = plain.minikafka(*command)
    assert code == 1
    assert said.count("\n") == 1 and 'pip install "minikafka[lab]"' in said


def test_a_lesson_is_there_with_its_checks_and_a_wrong_answer_is_told(lab):
    code, said = lab.says(
        "from minikafka import lesson\n"
        "from minikafka.course.data import dataset\n"
        "print(lesson('05').check(1, lambda members, partitions: {}))\n"
        "print(len(list(dataset('orders').stream('orders', count=5, seed=1))) >= 5)\n"
    )
    assert code == 0, said
    assert said.splitlines()[-1] == "True" and "Traceback" not in said


def test_a_copy_of_a_lesson_goes_to_a_folder_of_the_learners(lab):
    before = lab.files()
    code, said = lab.minikafka("lesson", "05", "--solved")
    assert code == 0, said
    copy, *_ = said.splitlines()
    assert (lab.home / copy).exists()
    assert (lab.home / "minikafka-course" / "my").is_dir()
    assert lab.files() == before


def test_the_lab_opens_the_course_and_stops(lab, tmp_path):
    before = lab.files()
    command = [lab.python, "-m", "minikafka", "lab", tmp_path / "course"]
    with subprocess.Popen(
        [*map(str, command)],
        env=lab.env,
        stdout=subprocess.PIPE,
        text=True,
        cwd=lab.home,
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            ready = next(line for line in lines if line.startswith("Ready: "))
            address, _, token = (
                ready.removeprefix("Ready: ").strip().partition("?token=")
            )
            api = address.partition("/lab/")[0] + f"/api/contents/my?token={token}"
            with urllib.request.urlopen(api, timeout=60) as answer:
                names = {each["name"] for each in json.load(answer)["content"]}
            specs = address.partition("/lab/")[0] + f"/api/kernelspecs?token={token}"
            with urllib.request.urlopen(specs, timeout=60) as answer:
                kernel = json.load(answer)["kernelspecs"]["python3"]["spec"]["argv"]
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait()
    assert "00_start_here.ipynb" in names
    assert kernel[0] == str(lab.python)
    assert "--IPKernelApp.capture_fd_output=False" in kernel
    assert (tmp_path / "course" / "notebooks" / "pictures" / "00.svg").exists()
    assert lab.files() == before
