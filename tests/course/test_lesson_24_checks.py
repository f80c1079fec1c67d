"""Lesson 24's check, beside test_every_exercise.py and wrong_answers/: it agrees with
RFC 7677 and with a broker. And the lines of *At work* are what the clients take.
"""

import ast
import re

import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from minikafka.course import lessons
from minikafka.course.contents import contents
from minikafka.course.experiments import lesson_24_logins as logins
from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_logins import KafkaPythons
from minikafka.server.embedded import Served
from tests.clients.brokers import overrides
from tests.course.answers import solution, verdict
from tests.kafka import java_tool

pytestmark = pytest.mark.slow

checks = lessons.lesson("24")._module
USER, PASSWORD = "alice", "correct-horse"
MECHANISM = "SCRAM-SHA-512"
PATIENCE_S = 60
CLIENTS = ("Java", "librdkafka", "kafka-python", "Spark")


def test_rfc_7677_the_example_of_the_task():
    login = solution("24", 1)("user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert login.first() == "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert login.final(checks.EXAMPLE.challenge) == (
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert login.trusts("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_solution_logs_in_at_a_broker_and_a_wrong_answer_hears_its_words(capsys):
    logins.log_in(solution("24", 1))
    said = capsys.readouterr().out
    assert said.startswith("client  n,,n=alice,r=till-7-monday\n")
    assert "the client trusts the broker: True\nthe broker answers Metadata\n" in said

    class Forgetful(KafkaPythons):
        def __init__(self, user, password, nonce):
            super().__init__(user, "another password", nonce)

    logins.log_in(Forgetful)
    assert capsys.readouterr().out.startswith("refused: Authentication failed")


def test_kafka_pythons_client_passes_but_for_names_that_need_an_equals_sign():
    said = str(verdict("24", 1, KafkaPythons))
    assert "and should be 'n,,n=a=2Cb,r=till-7'" in said


def test_the_stub_is_no_attempt_and_methods_may_come_one_by_one():
    class Stub:
        """As it is handed out."""

        def __init__(self, user, password, nonce):
            self.user, self.nonce = user, nonce

        def first(self): ...

        def final(self, challenge): ...

        def trusts(self, verdict): ...

    assert not verdict("24", 1, Stub).attempted

    class Begun(Stub):
        def first(self):
            name = self.user.replace("=", "=3D").replace(",", "=2C")
            return f"n,,n={name},r={self.nonce}"

    said = str(verdict("24", 1, Begun))
    assert said.startswith("So far, so good: Scram.final is the next to write.")


def test_what_is_no_class_hears_so():
    assert "should be the class itself" in str(verdict("24", 1, 7))
    assert "should be the class itself" in str(verdict("24", 1, max))


# --- At work


def lines_for():
    """client -> its lines in the block of At work."""
    section = contents()["24"].section("at work").text
    block = re.search(r"```\n(.*?)```", section, re.DOTALL)[1]
    parts = re.split(
        r"^# (Java|librdkafka|kafka-python|Spark)\b.*\n", block, flags=re.M
    )
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert tuple(found) == CLIENTS
    return {
        name: [line for line in text.splitlines() if line]
        for name, text in found.items()
    }


@pytest.fixture(scope="module")
def locked():
    """A broker as the block means it: host:port, and the authority's certificate."""
    with wire.made_keys("localhost") as folder:
        port = wire.free_port()
        properties = {
            "listeners": f"SASL_SSL://127.0.0.1:{port}",
            "advertised.listeners": f"SASL_SSL://localhost:{port}",
            "sasl.enabled.mechanisms": MECHANISM,
            **wire.broker_keys(folder),
        }
        user = f"{MECHANISM}=[name={USER},password={PASSWORD}]"
        with Served(options=(*overrides(properties), "--add-scram", user)):
            yield f"localhost:{port}", folder / "ca.pem"


def properties_of(lines, ca):
    """What name=value lines say."""
    found = dict(line.split("=", 1) for line in lines)
    return {
        name: str(ca) if value == "ca.pem" else value for name, value in found.items()
    }


def test_the_lines_for_kafka_python_connect(locked):
    address, ca = locked
    given = properties_of(lines_for()["kafka-python"], ca)
    told = {
        name: value if name == "ssl_cafile" else ast.literal_eval(value)
        for name, value in given.items()
    }
    told["ssl_cafile"] = str(ca)
    admin = KafkaAdminClient(bootstrap_servers=address, **told)
    assert admin.list_topics() == []
    admin.close()


def test_the_lines_for_librdkafka_connect(locked):
    address, ca = locked
    told = properties_of(lines_for()["librdkafka"], ca)
    told |= {"bootstrap.servers": address, "broker.address.family": "v4"}
    assert AdminClient(told).list_topics(timeout=PATIENCE_S).topics == {}


@pytest.mark.java
def test_the_lines_for_java_connect(locked, tmp_path):
    address, ca = locked
    told = properties_of(lines_for()["Java"], ca)
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
    done = java_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", address, "--command-config", str(config), "--list"),
    )
    assert not done.returncode, done.stdout + done.stderr


def test_the_options_for_spark_are_javas_lines_with_kafka_in_front():
    options = [
        ast.literal_eval(re.fullmatch(r"\.option(\(.*\))", line)[1])
        for line in lines_for()["Spark"]
    ]
    java = [tuple(line.split("=", 1)) for line in lines_for()["Java"]]
    assert options == [(f"kafka.{name}", value) for name, value in java]
