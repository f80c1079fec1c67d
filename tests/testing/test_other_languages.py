"""The helpers for tests in Java, Go and Node, with these languages' own clients: what the
page for users shows is run, and each goes away with the program that started it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka import testing
from tests.client_bugs.fetching import Missing, fetched
from tests.clients.brokers import until
from tests.kafka import ROOT, SMALL_JVM, java_missing, kafka_jars

pytestmark = [pytest.mark.nightly, pytest.mark.apart]

HELPERS = Path(testing.__file__).parent
PAGE = HELPERS.joinpath("README.md").read_text("utf-8")
GO_MODULES = ROOT / "tests" / "sessions" / "franz_go"
JUNIT = "maven:org.junit.platform:junit-platform-console-standalone", "1.11.4"
KAFKAJS = "npm:kafkajs", "2.2.4"


def example(language):
    [found] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def run(tmp_path):
    """Runs a program in the folder, where `minikafka` is this one; what it says."""
    command = tmp_path / "bin" / "minikafka"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m minikafka "$@"\n')
    command.chmod(0o755)
    env = os.environ | {"MINIKAFKA": str(command), "PYTHONPATH": str(ROOT)}

    def run(*line, **more):
        if shutil.which(line[0]) is None:
            pytest.skip(f"no {line[0]} here")
        done = subprocess.run(
            line,
            cwd=tmp_path,
            env=env | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def fetched_or_skipped(package, version):
    try:
        return fetched(package, version)
    except Missing as error:
        pytest.skip(str(error))


@pytest.mark.java
def test_junit_5_with_apache_kafkas_own_client(tmp_path, run):
    if missing := java_missing():
        pytest.skip(missing)
    junit = fetched_or_skipped(*JUNIT)
    shutil.copy(HELPERS / "Minikafka.java", tmp_path)
    (tmp_path / "ShopTest.java").write_text(example("java"))
    jars = os.pathsep.join([str(junit / "*"), str(kafka_jars() / "*")])
    compiler = (
        "-m",
        "jdk.compiler/com.sun.tools.javac.Main",
        "-proc:none",
        "-Xlint:all",
        "-Werror",
    )
    files = ("Minikafka.java", "ShopTest.java")
    java = ("java", *SMALL_JVM)
    code, told = run(*java, *compiler, "-cp", classpath(junit), "-d", ".", *files)
    assert code == 0, told
    launcher = "org.junit.platform.console.ConsoleLauncher"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    options = ("execute", "--select-class", "ShopTest", "--disable-banner")
    where = os.pathsep.join([".", jars])
    code, told = run(*java, quiet, "-cp", where, launcher, *options)
    assert code == 0, told
    assert "2 tests successful" in told


def classpath(junit):
    """For the compiler, which knows no stars here."""
    return os.pathsep.join(
        map(str, [*junit.glob("*.jar"), *kafka_jars().glob("*.jar")])
    )


def test_go_with_franz_go(tmp_path, run):
    shutil.copy(HELPERS / "minikafka.go", tmp_path)
    (tmp_path / "shop_test.go").write_text(example("go"))
    for name in ("go.mod", "go.sum"):
        shutil.copy(GO_MODULES / name, tmp_path)
    code, told = run("go", "vet", ".", GOFLAGS="-mod=mod")
    assert code == 0, told
    code, told = run("go", "test", "-count=1", "-v", ".", GOFLAGS="-mod=mod")
    assert code == 0, told
    assert "--- PASS: TestTheAnswerIsLost" in told
    assert run("gofmt", "-l", ".") == (0, "")


def test_node_with_kafkajs(tmp_path, run):
    packages = fetched_or_skipped(*KAFKAJS)
    shutil.copy(HELPERS / "minikafka.mjs", tmp_path)
    (tmp_path / "shop.test.mjs").write_text(example("js"))
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    node = str(packages / "node_modules" / ".bin" / "node")
    code, told = run(node, "--test", KAFKAJS_NO_PARTITIONER_WARNING="1")
    assert code == 0, told
    assert "pass 2\n" in told


STARTS = """
import { start } from "./minikafka.mjs";
const kafka = await start();
process.stdout.write(kafka.bootstrapServers, () => process.kill(process.pid, "SIGKILL"));
"""


def test_the_brokers_go_with_the_program_that_started_them(tmp_path, run):
    """By kill -9, which leaves it no last word: its end of the pipe is closed."""
    shutil.copy(HELPERS / "minikafka.mjs", tmp_path)
    (tmp_path / "starts.mjs").write_text(STARTS)
    code, told = run("node", "starts.mjs")
    assert code == -signal.SIGKILL, told
    host, port = told.split(":")
    until(lambda: is_refused(host, int(port)), "nobody listens there")


def is_refused(host, port):
    try:
        socket.create_connection((host, port)).close()
    except ConnectionError:
        return True
    return False
