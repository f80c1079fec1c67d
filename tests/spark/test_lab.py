"""The session builder and the Lab: what they ask for when something is missing, and
what goes when they go.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from kafka.admin import ConfigResource

from minikafka.course import spark
from minikafka.course.connect import Connection
from minikafka.course.data import dataset
from minikafka.course.spark import Lab, SparkMissing
from minikafka.server.embedded import Served


@pytest.fixture(scope="module")
def kafka():
    with Served() as served:
        yield Connection(served.bootstrap)


def a_java(folder, version):
    """A `java` that says it has this version."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n"
    )
    program.chmod(0o755)
    return str(folder)


def test_a_topic_and_a_checkpoint_are_new_each_time(kafka):
    lab = Lab("17", kafka)
    topics = {
        lab.topic("orders"),
        lab.topic("orders"),
        Lab("17", kafka).topic("orders"),
    }
    checkpoints = {lab.checkpoint("copy"), lab.checkpoint("copy")}
    assert len(topics) == 3 and len(checkpoints) == 2
    assert all(list(Path(checkpoint).iterdir()) == [] for checkpoint in checkpoints)
    lab.close()


def test_topics_and_checkpoints_go_together(kafka):
    lab = Lab("17", kafka)
    topic, checkpoint = lab.topic("orders", partitions=2), Path(lab.checkpoint("copy"))
    admin = kafka.admin()
    assert topic in admin.list_topics() and checkpoint.exists()
    lab.close()
    assert topic not in admin.list_topics() and not checkpoint.exists()
    lab.close()  # once more does no harm
    admin.close()


def test_what_a_lab_sends_can_be_counted_and_read(kafka):
    lab = Lab("17", kafka)
    topic = lab.topic("orders", partitions=2)
    events = dataset("orders").stream("orders", count=30, seed=7)
    lab.send(topic, events)
    ends = lab.ends(topic)
    assert set(ends) == {0, 1} and sum(ends.values()) == len(events)
    read = {
        (record.key, record.value, record.timestamp) for record in lab.records(topic)
    }
    assert read == {(event.key, event.value, event.ingest_ms) for event in events}
    lab.close()


def test_closing_a_lab_is_calm_when_the_cluster_is_gone():
    with Served() as served:
        lab = Lab("17", Connection(served.bootstrap))
        lab.topic("orders")
    lab.close()


def test_records_of_virtual_dates_do_not_expire_in_a_lab(kafka):
    lab = Lab("17", kafka)
    admin = kafka.admin()
    forever, short = (
        lab.topic("orders"),
        lab.topic("orders", configs={"retention.ms": "60000"}),
    )
    for topic, retention in (forever, "-1"), (short, "60000"):
        found = admin.describe_configs(
            [ConfigResource("TOPIC", topic, ["retention.ms"])]
        )
        assert found["topic"][topic]["retention.ms"]["value"] == retention
    admin.close()
    lab.close()


def test_without_java_the_message_says_size_time_and_command(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SparkMissing, match=r"there is none here\. It needs Java 17 or 21: about 200 MB"
    ) as raised:
        spark.require_java()
    assert "conda install -c conda-forge openjdk=17" in str(raised.value)


@pytest.mark.skipif(
    sys.platform == "win32", reason="the stand-in for java is a shell script"
)
@pytest.mark.parametrize(
    "version, good",
    [
        ("17.0.2", 17),
        ("21.0.1", 21),
        ("1.8.0_402", None),
        ("11.0.2", None),
        ("25", None),
    ],
)
def test_java_must_be_one_that_spark_runs_on(tmp_path, monkeypatch, version, good):
    monkeypatch.setenv("JAVA_HOME", a_java(tmp_path, version))
    if good:
        assert spark.require_java() == good
    else:
        with pytest.raises(SparkMissing, match="It needs Java 17 or 21"):
            spark.require_java()


def test_without_pyspark_the_message_says_size_time_and_command(monkeypatch):
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with pytest.raises(SparkMissing, match="485 MB and one to five minutes") as raised:
        spark.session()
    assert f'"{sys.executable}" -m pip install' in str(
        raised.value
    ) and '"pyspark' in str(raised.value)
    assert "extra" not in str(raised.value)


@pytest.mark.spark
def test_a_jar_that_maven_has_only_the_description_of_is_named_with_its_folders(
    tmp_path,
):
    """Spark's resolver finds the description, looks for the jar there alone, and keeps
    a note of that: both folders have to go. No network is asked for anything.
    """
    group, name, version = spark.PACKAGES.split(":")
    maven = tmp_path / ".m2" / "repository" / Path(*group.split(".")) / name / version
    maven.mkdir(parents=True)
    (maven / f"{name}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId>"
        f"<artifactId>{name}</artifactId><version>{version}</version></project>"
    )
    ivy = tmp_path / "ivy"
    program = (
        "from minikafka.course.spark import session\n"
        f"session(own={{'spark.jars.ivy': {str(ivy)!r}}})"
    )
    home = {"JAVA_TOOL_OPTIONS": f"-Duser.home={tmp_path}"}

    def told():
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **home},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode
        return done.stderr

    first = told()
    assert f"Delete these folders, and run the cell again:\n\n    {maven}" in first
    assert f"    {ivy / 'cache' / group / name}\n" in first
    assert "needs the network" not in first
    shutil.rmtree(maven)
    second = told()
    assert f"    {ivy / 'cache' / group / name}\n" in second
    assert str(maven) not in second.partition("Delete these")[2]


def test_what_no_jar_is_fetched_for_is_in_pysparks_own_folder():
    pyspark = pytest.importorskip("pyspark")
    jars = Path(pyspark.__path__[0], "jars")
    missing = [
        each
        for each in spark.THERE_ALREADY
        if not list(jars.glob(f"{each.partition(':')[2]}-[0-9]*.jar"))
    ]
    assert missing == []


def test_the_connector_stands_in_one_place_and_the_environment_replaces_it(monkeypatch):
    monkeypatch.delenv(spark.VARIABLE, raising=False)
    assert spark.settings()["spark.jars.packages"] == spark.PACKAGES
    monkeypatch.setenv(spark.VARIABLE, "org.example:connector_2.13:5.0.0")
    assert spark.settings()["spark.jars.packages"] == "org.example:connector_2.13:5.0.0"
    monkeypatch.setenv(spark.VARIABLE, "")
    assert "spark.jars.packages" not in spark.settings()


def test_a_session_with_delta_tables_fetches_delta_beside_the_connector(monkeypatch):
    monkeypatch.delenv(spark.VARIABLE, raising=False)
    with_delta = spark.settings(delta=True)
    assert with_delta["spark.jars.packages"] == f"{spark.PACKAGES},{spark.DELTA}"
    assert spark.DELTA_SETTINGS.items() <= with_delta.items()
    assert not spark.DELTA_SETTINGS.keys() & spark.settings().keys()
    monkeypatch.setenv(spark.VARIABLE, "")
    assert spark.settings(delta=True)["spark.jars.packages"] == spark.DELTA


def test_delta_beside_sparks_own_jars_is_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv(spark.VARIABLE, "")
    there = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(spark, "find_spec", lambda _: there)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "io.delta_delta-spark_4.2_2.13-4.4.0.jar").touch()
    assert spark.packages(delta=True) == ""


def test_what_could_not_be_fetched_is_named():
    wanted = f"{spark.PACKAGES},{spark.DELTA}"
    said = spark._advice("unresolved dependency: io.delta", wanted)
    assert f"could not fetch {spark.PACKAGES}, {spark.DELTA}.\n" in said
    assert "needs the network once" in said


def test_a_connector_beside_sparks_own_jars_is_not_fetched(monkeypatch, tmp_path):
    """Set-up from a folder of wheels has put it there."""
    monkeypatch.delenv(spark.VARIABLE, raising=False)
    there = SimpleNamespace(origin=str(tmp_path / "pyspark" / "__init__.py"))
    monkeypatch.setattr(spark, "find_spec", lambda _: there)
    assert spark.packages() == spark.PACKAGES
    jars = tmp_path / "pyspark" / "jars"
    jars.mkdir(parents=True)
    (jars / "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar").touch()
    assert spark.packages() == ""


def test_sparks_pages_are_there_where_there_is_a_cluster_to_look_at(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_SPARK_MASTER", raising=False)
    assert spark.settings()["spark.ui.enabled"] == "false"
    monkeypatch.setenv("MINIKAFKA_SPARK_MASTER", "spark://spark-master:7077")
    assert spark.settings()["spark.ui.enabled"] == "true"
