"""Other people's Kafka tests on `minikafka serve`: python -m tests.public_suites [NAME ...]

Fetches each project of suites.toml at its commit, installs it in a virtual environment
of its own (Go's need go), and runs its Kafka tests against a fresh broker on port 9092,
which most of them expect. Says how many have passed, and which failed that aren't
known to; ends with 1 if there are such. With --apache the broker is Apache Kafka's: what
fails there too isn't ours.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.kafka import ApacheKafka

HERE = Path(__file__).parent
PORT = 9092
MOST_SECONDS = 3600
PROTOCOLS = "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
SUITES = tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))


class Outcome(NamedTuple):
    """passed, skipped: how many. failed: the names of those that failed."""

    passed: int
    skipped: int
    failed: list[str]


def checked_out(suite: Mapping[str, str], checkouts: Path | None, work: Path) -> Path:
    """The project's files at its commit. checkouts: where its repository is already,
    under its own name; None: at its public address.
    """
    folder, address = work / "source", suite["repository"]
    if checkouts is not None:
        address = str((checkouts / address.rpartition("/")[2]).resolve())
    git = ["git", "-C", str(folder)]
    run(["git", "init", "--quiet", str(folder)])
    run([*git, "fetch", "--quiet", "--depth", "1", address, suite["commit"]])
    run([*git, "checkout", "--quiet", "FETCH_HEAD"])
    return folder


def run(command: Sequence[str], **options: object) -> None:
    """Errors: SystemExit with its last words."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}")


def install(suite: Mapping, source: Path, work: Path) -> None:
    """The project and what its tests need."""
    python = str(work / "venv" / "bin" / "python")
    run([sys.executable, "-m", "venv", str(work / "venv")])
    run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
    run([python, "-m", "pip", "install", "--quiet", *suite["install"]], cwd=source)


def by_pytest(suite: Mapping, source: Path, work: Path, env: dict) -> Outcome:
    """Runs the tests of a Python project."""
    python = work / "venv" / "bin" / "python"
    report = work / "report.xml"
    command = [str(python), "-m", "pytest", "-q", f"--junitxml={report}"]
    if "plugin" in suite:
        shutil.copy(HERE / f"{suite['plugin']}.py", work)
        env["PYTHONPATH"] = str(work)
        command += ["-p", suite["plugin"]]
    with (work / "log").open("w") as log:
        subprocess.run(
            [*command, *suite["tests"]],
            cwd=source,
            env=env,
            stdout=log,
            stderr=log,
            timeout=MOST_SECONDS,
        )
    if not report.exists():
        raise SystemExit((work / "log").read_text()[-2000:])
    passed, skipped, failed = 0, 0, []
    for case in xml.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = {each.tag for each in case}
        if kinds & {"failure", "error"}:
            failed.append(name)
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Outcome(passed, skipped, failed)


def by_go(suite: Mapping, source: Path, work: Path, env: dict) -> Outcome:
    """Runs the tests of a Go module, subtests within theirs."""
    done = subprocess.run(
        ["go", "test", "-json", "-count=1", "-timeout", "50m", *suite["tests"]],
        cwd=source / suite["go"],
        env=env,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    (work / "log").write_text(done.stdout + done.stderr)
    ended: dict[str, list[str]] = {"pass": [], "skip": [], "fail": []}
    for line in done.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        name, action = event.get("Test", ""), event.get("Action")
        if name and "/" not in name and action in ended:
            ended[action].append(name)
    if not any(ended.values()):
        raise SystemExit((work / "log").read_text()[-2000:])
    return Outcome(len(ended["pass"]), len(ended["skip"]), ended["fail"])


def environment(suite: Mapping, bootstrap: str) -> dict[str, str]:
    """Without what pytest and Python here are told."""
    ours = ("PYTEST", "PYTHONPATH", "VIRTUAL_ENV")
    env = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    for key, value in suite.get("environment", {}).items():
        env[key] = value.format(bootstrap=bootstrap)
    return env


def kafka_for(suite: Mapping, apache: bool) -> Served | ApacheKafka | JvmCluster:
    """What the tests talk to. Has `bootstrap`, once it is entered."""
    count, properties = suite.get("brokers", 1), suite.get("properties", {})
    if not apache:
        overrides = [f"--override={name}={properties[name]}" for name in properties]
        return Served(port=PORT, options=("--brokers", str(count), *overrides))
    if count > 1:
        return JvmCluster()
    kafka = ApacheKafka(properties, port=PORT)
    if "listeners" in properties:
        controller = f"CONTROLLER://127.0.0.1:{kafka.controller_port}"
        kafka.properties["listeners"] += f",{controller}"
        kafka.properties["listener.security.protocol.map"] = PROTOCOLS
    return kafka


def run_suite(args: argparse.Namespace, name: str) -> bool:
    """Whether nothing failed but what is known to."""
    suite, keep = SUITES[name], args.logs
    work = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        source = checked_out(suite, args.checkouts, work)
        if "install" in suite:
            install(suite, source, work)
        with kafka_for(suite, args.apache) as kafka:
            how = by_go if "go" in suite else by_pytest
            env = environment(suite, kafka.bootstrap)
            outcome = how(suite, source, work, env)
    finally:
        if keep is not None and (work / "log").exists():
            shutil.copy(work / "log", keep / f"{name}.log")
        shutil.rmtree(work, ignore_errors=True)
    known = suite.get("known", {})
    new = [each for each in outcome.failed if each not in known]
    print(
        f"{name}: {outcome.passed} passed, {outcome.skipped} skipped,"
        f" {len(outcome.failed) - len(new)} known to fail, {len(new)} failed",
        flush=True,
    )
    for each in outcome.failed:
        print(f"  {each}: {known.get(each, 'failed')}", flush=True)
    return not new


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.public_suites", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUITES))
    parser.add_argument(
        "--checkouts",
        type=Path,
        metavar="FOLDER",
        help="where the git repositories are already, as kombu, franz-go, ...",
    )
    parser.add_argument(
        "--logs", type=Path, metavar="FOLDER", help="keep what they say"
    )
    parser.add_argument(
        "--apache", action="store_true", help="on Apache Kafka, for comparison"
    )
    args = parser.parse_args(arguments)
    unknown = {*args.names} - {*SUITES}
    if unknown:
        parser.error(f"no such project: {', '.join(sorted(unknown))}")
    fine = True
    for name in args.names or SUITES:
        try:
            fine &= run_suite(args, name)
        except (SystemExit, subprocess.TimeoutExpired) as error:
            print(f"{name}: did not run: {error}", flush=True)
            fine = False
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
