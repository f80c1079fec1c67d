"""Clients as they were, from their registries, each version in a folder of its own
under .cache/clients: pip, npm and Maven fetch it once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kafka import ROOT, SMALL_JVM, java_missing, kafka_jars

CACHE = ROOT / ".cache" / "clients"
NODE = "node@22"  # what the newer versions of @platformatic/kafka ask for


class Missing(Exception):
    """It can't be fetched here; the message says why."""


def fetched(package: str, version: str) -> Path:
    """The folder with this version. Errors: Missing."""
    registry, _, name = package.partition(":")
    short = name.rpartition(":")[2].removeprefix("@").replace("/", "-")
    folder = CACHE / f"{short}-{version}"
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = COMMANDS[registry](name, version, partial)
    if shutil.which(command[0]) is None:
        raise Missing(f"no {command[0]} here, which fetches {name} {version}")
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-300:]
        raise Missing(f"{command[0]} could not fetch {name} {version}: {said}")
    shutil.rmtree(partial / "repository", ignore_errors=True)
    partial.rename(folder)
    return folder


def by_pip(name: str, version: str, folder: Path) -> list[str]:
    return [*with_all_it_needs(name, version, folder), "--no-deps"]


def with_all_it_needs(name: str, version: str, folder: Path) -> list[str]:
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    pip += ["--only-binary", ":all:"]  # there is no compiler for what has no wheel
    return [*pip, "--target", str(folder), f"{name}=={version}"]


def by_npm(name: str, version: str, folder: Path) -> list[str]:
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
    return [*npm, "--prefix", str(folder), f"{name}@{version}", NODE]


def by_maven(name: str, version: str, folder: Path) -> list[str]:
    """With a repository of its own, as in tasks.py."""
    maven = ["mvn", "-q", "-B", "-f", "tests/pom.xml", "dependency:copy"]
    maven += [f"-Dmaven.repo.local={folder / 'repository'}"]
    return [*maven, f"-Dartifact={name}:{version}", f"-DoutputDirectory={folder}"]


COMMANDS = {
    "pypi": by_pip,
    "pypi-with-all": with_all_it_needs,
    "npm": by_npm,
    "maven": by_maven,
}


def command_with(folder: Path, program: Path) -> list[str]:
    """What runs a program with the client in this folder; its arguments come after.
    Errors: Missing.
    """
    if program.suffix == ".py":
        # before the version that the tests' own environment has
        begin = f"import sys; sys.path.insert(0, {str(folder)!r}); del sys.argv[0]"
        run = "import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
        return [sys.executable, "-c", f"{begin}; {run}", str(program)]
    if program.suffix == ".mjs":
        # Node looks for packages beside the program
        beside = shutil.copy(program, folder)
        return [str(folder / "node_modules" / ".bin" / "node"), str(beside)]
    missing = java_missing()
    if missing:
        raise Missing(missing)
    # its own jar first, and what it needs from among Apache Kafka's
    classes = os.pathsep.join([str(folder / "*"), str(kafka_jars() / "*")])
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    return ["java", *SMALL_JVM, "-Xmx256m", quiet, "-cp", classes, str(program)]
