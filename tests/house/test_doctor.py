"""The doctor names what is missing and the exact fix, and lets you go on when only
Spark's lessons lack something.
"""

import os
import socket
import webbrowser
from types import SimpleNamespace

import pytest

from minikafka.__main__ import main
from minikafka.course import doctor
from minikafka.course.doctor import Fact, Report
from minikafka.server.embedded import Served
from tests import strangers
from tests.kafka import free_ports


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(doctor.reachable, "PATIENCE_SECONDS", 60.0)


def test_this_machine_can_run_the_lessons_without_spark(capsys):
    assert main(["doctor"]) == 0
    assert "ok       Python: 3." in capsys.readouterr().out


def test_a_fact_that_is_not_good_comes_with_its_fix():
    for fact in doctor.examine():
        assert ("->" in str(fact)) == (not fact.good)
        assert fact.good or fact.fix.splitlines()[0] in str(fact)


def test_no_java_is_said_and_stops_nobody(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (java,) = doctor._java()
    assert not java.good and not java.needed
    assert "conda install -c conda-forge openjdk=17" in java.fix


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    installed = doctor._version
    monkeypatch.setattr(
        doctor, "_version", lambda name: "" if name == "greenlet" else installed(name)
    )
    core, _ = doctor._packages()
    assert not core.good and core.needed
    assert core.fix.endswith("-m pip install greenlet")
    assert Report([core]).ready is False


def test_a_taken_port_is_a_note_only(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(doctor, "PORT", taken.getsockname()[1])
        (port,) = doctor._port()
    assert not port.good and not port.needed
    assert "minikafka serve --port 0" in port.fix


def test_no_browser_is_a_note_only(monkeypatch):
    def none():
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    (browser,) = doctor._browser()
    assert not browser.good and not browser.needed


def test_the_last_line_says_what_can_run():
    good, note, bad = (
        Fact("a", "b"),
        Fact("a", "b", False, needed=False, fix="x"),
        Fact("a", "b", False, fix="x"),
    )
    assert str(Report([good])).endswith("All lessons can run here.")
    assert "The lessons without Spark can run here." in str(Report([good, note]))
    assert str(Report([note, bad])).endswith("then run the doctor again.")


@pytest.mark.parametrize(
    ("protobuf", "said"),
    [
        ("", "protobuf not installed"),
        ("5.29.6", "protobuf 5.29.6"),
        ("7.34.0", "protobuf 7.34.0"),
    ],
)
def test_what_sparks_state_needs_beside_pyspark_is_a_note_with_the_version_to_install(
    monkeypatch, protobuf, said
):
    pytest.importorskip("pyspark")
    assert fact(doctor._beside_pyspark).good
    installed = doctor._version
    monkeypatch.setattr(
        doctor,
        "_version",
        lambda name: protobuf if name == "protobuf" else installed(name),
    )
    found = fact(doctor._beside_pyspark)
    assert not found.good and not found.needed and found.found == said
    assert found.fix.endswith(' -m pip install "protobuf<7,>=6.33.5"')


@pytest.mark.parametrize("version", ["4.0.5", "4.1.4", "3.5.8"])
def test_a_pyspark_of_another_line_is_a_note_that_says_what_comes_of_it(
    monkeypatch, version
):
    pytest.importorskip("pyspark")
    assert fact(doctor._pyspark).good
    monkeypatch.setattr(doctor, "_version", lambda name: version)
    found = fact(doctor._pyspark)
    assert not found.good and not found.needed
    assert found.found.startswith(f"version {version}; the lessons run on 4.2: ")
    assert found.fix.endswith(' -m pip install "pyspark<4.3,>=4.2"')


# --- a real cluster ---


def fact(look):
    (found,) = look()
    return found


def a_program(folder, name, script):
    """An executable of this name; the folder is to be the PATH."""
    program = folder / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_an_old_java_is_named(monkeypatch, tmp_path):
    a_program(tmp_path, "bin/java", "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = fact(doctor._java)
    assert not java.good and "this one is Java 11" in java.fix


@pytest.mark.parametrize(
    "packages",
    [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:3.5.1",
        "org.apache.spark:spark-sql-kafka-0-10_2.12:4.2.0",
    ],
)
def test_a_connector_of_another_spark_or_scala_is_a_note(monkeypatch, packages):
    pytest.importorskip("pyspark")
    assert fact(doctor._connector).good
    monkeypatch.setenv("MINIKAFKA_SPARK_PACKAGES", packages)
    connector = fact(doctor._connector)
    assert not connector.good and not connector.needed
    assert (
        connector.found.startswith(packages.split(":")[1])
        and "and PySpark is 4.2." in connector.found
    )
    assert "unset MINIKAFKA_SPARK_PACKAGES" in connector.fix


def test_an_empty_name_for_the_connector_wants_its_jar_in_pysparks_folder(
    monkeypatch, tmp_path
):
    pytest.importorskip("pyspark")
    monkeypatch.setenv("MINIKAFKA_SPARK_PACKAGES", "")
    monkeypatch.setattr(doctor, "_folder_of", lambda package: str(tmp_path))
    assert "none in PySpark's folder" in fact(doctor._connector).found
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-3.5.1.jar").touch()
    assert "2.13 3.5.1, and PySpark is 4.2." in fact(doctor._connector).found
    (tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-3.5.1.jar").rename(
        tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-4.2.0.jar"
    )
    assert fact(doctor._connector).good
    # as Ivy calls it, from where the classroom's image has it
    (tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-4.2.0.jar").rename(
        tmp_path / "jars" / "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar"
    )
    assert fact(doctor._connector).good


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
@pytest.mark.parametrize(
    ("docker", "said", "fix"),
    [
        ("", "no lesson needs it: make kafka", ""),
        ("exit 1", "its engine isn't responding", "start Docker Desktop"),
        ('[ "$1" = version ]', "knows no Compose", "install Docker Compose"),
        ("exit 0", "runs (", ""),
    ],
)
def test_docker_is_more_than_its_program(monkeypatch, tmp_path, docker, said, fix):
    if docker:
        a_program(tmp_path, "docker", docker)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = fact(doctor._docker)
    assert (
        said in found.found and found.good == (not fix) and not (fix and found.needed)
    )
    assert not fix or (found.fix.startswith(fix) and "make kafka" in found.fix)


@pytest.fixture
def three(monkeypatch):
    """The three brokers' addresses, somewhere where nobody is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        addresses = [f"127.0.0.1:{free.getsockname()[1]}"]
    monkeypatch.setattr(
        doctor.compose,
        "brokers",
        lambda: [SimpleNamespace(address=each) for each in addresses],
    )
    return addresses


@pytest.mark.slow
def test_the_ports_of_the_three_brokers_are_free_or_kafkas_or_somebody_elses(
    three, monkeypatch
):
    assert fact(doctor._three_ports).found == "free"
    with Served() as kafka:
        three[:] = [kafka.bootstrap]
        assert "MINIKAFKA_BOOTSTRAP=jvm uses it" in fact(doctor._three_ports).found
    monkeypatch.setattr(doctor.reachable, "PATIENCE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        three[:] = [f"127.0.0.1:{port}"]
        ports = fact(doctor._three_ports)
    assert (
        not ports.good
        and not ports.needed
        and f"{port} is in use by a program that is no Kafka" in ports.found
    )
    assert f"lsof -i :{port}" in ports.fix


def test_without_a_choice_there_is_no_cluster_to_look_at(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_BOOTSTRAP", raising=False)
    assert list(doctor._cluster()) == []


@pytest.mark.parametrize(
    ("choice", "start"),
    [("docker", "docker compose"), ("jvm", "make kafka"), ("", "start it")],
)
def test_a_cluster_where_nobody_answers_comes_with_the_command_that_starts_it(
    monkeypatch, choice, start
):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("MINIKAFKA_BOOTSTRAP", choice or address)
    monkeypatch.setattr(doctor.compose, "bootstrap", lambda: address)
    cluster = fact(doctor._cluster)
    assert (
        not cluster.good
        and cluster.needed
        and cluster.found == f"nobody answers at {address}"
    )
    assert cluster.fix.startswith(start) and "unset MINIKAFKA_BOOTSTRAP" in cluster.fix


@pytest.mark.slow
def test_a_broker_that_advertises_an_address_that_nobody_reaches_is_named(monkeypatch):
    with Served() as kafka:
        monkeypatch.setenv("MINIKAFKA_BOOTSTRAP", kafka.bootstrap)
        assert fact(doctor._cluster).found == "one broker, within reach"
    with Served(options=("--advertised-host", "kafka.invalid")) as kafka:
        port = kafka.bootstrap.rpartition(":")[2]
        monkeypatch.setenv("MINIKAFKA_BOOTSTRAP", f"127.0.0.1:{port}")
        cluster = fact(doctor._cluster)
    assert (
        not cluster.good
        and f"a broker is at kafka.invalid:{port}, where nobody is reached"
        in cluster.found
    )
    assert (
        "KAFKA_HOST=ADDRESS" in cluster.fix
        and "--advertised-host ADDRESS" in cluster.fix
    )


@pytest.fixture
def in_a_class(monkeypatch):
    def joins(address, name="ada"):
        monkeypatch.setenv("MINIKAFKA_CLASS", address)
        monkeypatch.setenv("MINIKAFKA_NAME", name)

    return joins


def test_who_is_in_no_class_hears_nothing_of_it(in_a_class):
    in_a_class("")
    assert list(doctor._class()) == []


def test_a_class_whose_broker_does_not_answer_is_a_note_that_says_what_to_do(
    in_a_class,
):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    in_a_class(address)
    found = fact(doctor._class)
    assert (found.what, found.found) == (f"class {address}", "doesn't answer")
    assert not found.good and not found.needed
    assert "compare MINIKAFKA_CLASS with the address" in found.fix


@pytest.mark.slow
def test_a_class_without_a_port_is_told_what_to_set(in_a_class):
    in_a_class("192.168.1.20")
    found = fact(doctor._class)
    assert found.found == "has no port" and "192.168.1.20:9092" in found.fix


def test_a_class_whose_broker_answers_sees_who_has_a_name(in_a_class):
    with Served() as kafka:
        in_a_class(kafka.bootstrap)
        assert fact(doctor._class).found == "answers, and you are in it as ada"
        in_a_class(kafka.bootstrap, name="")
        found = fact(doctor._class)
        assert not found.good and "set MINIKAFKA_NAME, too" in found.fix
        in_a_class(kafka.bootstrap, name="x" * 65)
        found = fact(doctor._class)
        assert found.found.endswith(f"as {'x' * 64}") and "is cut" in found.fix


@pytest.mark.slow
def test_a_class_whose_broker_sends_its_clients_elsewhere_is_a_note(in_a_class):
    with Served(options=("--advertised-host", "kafka.invalid")) as kafka:
        port = kafka.bootstrap.rpartition(":")[2]
        in_a_class(f"127.0.0.1:{port}")
        found = fact(doctor._class)
    assert not found.good
    assert (
        f"sends you on to kafka.invalid:{port}, where no Kafka answers" in found.found
    )


@pytest.mark.slow
def test_a_class_whose_broker_sends_its_clients_to_another_program_is_a_note(
    in_a_class, monkeypatch
):
    monkeypatch.setattr(doctor.reachable, "PATIENCE_SECONDS", 3.0)
    [port] = free_ports(1)
    in_a_class(f"127.0.0.1:{port}")
    with strangers.silent() as elsewhere:
        advertised = elsewhere.rpartition(":")[2]
        with Served(port=port, options=("--advertised-port", advertised)):
            found = fact(doctor._class)
    assert not found.good
    assert f"sends you on to {elsewhere}, where no Kafka answers" in found.found


@pytest.mark.parametrize("stranger", [strangers.silent, strangers.http])
def test_a_class_whose_port_another_program_has_is_a_note_for_the_teacher(
    stranger, in_a_class, monkeypatch
):
    monkeypatch.setattr(doctor.reachable, "PATIENCE_SECONDS", 0.2)
    with stranger() as address:
        in_a_class(address)
        found = fact(doctor._class)
    assert found.found == f"something is at {address}, but no Kafka answers"
    assert not found.good and "another program has the port" in found.fix


def test_what_is_no_kafka_is_not_taken_for_one():
    with strangers.http() as address:
        assert doctor.reachable.brokers(address) is None
    assert doctor.reachable.brokers("nonsense") is None
