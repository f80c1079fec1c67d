"""Lesson 24's check, beside test_every_exercise.py and wrong_answers/: it agrees with
RFC 7677 and with a broker. And the lines of *At work* are what the clients take.
"""

import ast
import re
import shlex
import ssl
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaAdminClient, KafkaProducer

from minikafka.course import lessons
from minikafka.course.contents import contents, extras
from minikafka.course.experiments import lesson_24_logins as logins
from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_logins import KafkaPythons
from minikafka.course.experiments.lesson_24_rules import AUTHORIZER
from minikafka.server import keys
from minikafka.server.embedded import Served
from tests.clients.brokers import overrides, until
from tests.course.answers import solution, verdict
from tests.kafka import (
    BOTH,
    CONFIG_COMMAND,
    MINIKAFKA,
    SMALL_JVM,
    ApacheKafka,
    free_ports,
    java_tool,
)

pytestmark = pytest.mark.slow

checks = lessons.lesson("24")._module
USER, PASSWORD = "alice", "correct-horse"
MECHANISM = "SCRAM-SHA-512"
PATIENCE_S = 60
THE_CLUSTER = ResourceType.BROKER, "kafka-cluster"  # as librdkafka calls it
CLIENTS = ("Java", "librdkafka", "kafka-python", "Spark")
TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-configs.sh": CONFIG_COMMAND,
}


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


def test_a_broker_that_was_taken_for_the_right_one_is_named_once():
    class Trusting(solution("24", 1)):
        def trusts(self, verdict):
            return True

    smallest = verdict("24", 1, Trusting).lines[0]
    assert smallest.startswith("smallest case: the signature of an earlier login, ")


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


def blocks():
    """The lines for each client, the commands, a broker's lines, and the command that
    loads its new certificate.
    """
    section = contents()["24"].section("at work").text
    return re.findall(r"```\n(.*?)```", section, re.DOTALL)


def lines_for():
    """client -> its lines."""
    lines, *_ = blocks()
    parts = re.split(
        r"^# (Java|librdkafka|kafka-python|Spark)\b.*\n", lines, flags=re.M
    )
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert tuple(found) == CLIENTS
    return {
        name: [line for line in text.splitlines() if line]
        for name, text in found.items()
    }


@pytest.fixture(scope="module")
def locked():
    """A broker as the lines mean it, whose authorizer lets the user do everything:
    host:port, and the authority's certificate.
    """
    with wire.made_keys("localhost") as folder:
        port = wire.free_port()
        properties = {
            "listeners": f"SASL_SSL://127.0.0.1:{port}",
            "advertised.listeners": f"SASL_SSL://localhost:{port}",
            "sasl.enabled.mechanisms": MECHANISM,
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{USER}",
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


def as_kafka_python(locked):
    """What its lines tell a client of this broker."""
    address, ca = locked
    given = dict(line.split("=", 1) for line in lines_for()["kafka-python"])
    told = {name: ast.literal_eval(value) for name, value in given.items()}
    assert told["ssl_cafile"] == "ca.pem"
    return told | {"ssl_cafile": str(ca), "bootstrap_servers": address}


def test_the_lines_for_kafka_python_connect(locked):
    admin = KafkaAdminClient(**as_kafka_python(locked))
    assert USER in admin.describe_user_scram_credentials([USER])
    admin.close()


def test_the_lines_for_librdkafka_connect(locked):
    address, ca = locked
    told = properties_of(lines_for()["librdkafka"], ca)
    told |= {"bootstrap.servers": address, "broker.address.family": "v4"}
    admin = AdminClient(told)
    found = admin.describe_user_scram_credentials([USER])
    assert len(found[USER].result(PATIENCE_S).scram_credential_infos) == 1


def run(command, locked, folder):
    """What a tool prints that logs in with Java's lines."""
    address, ca = locked
    config = folder / "client.properties"
    told = properties_of(lines_for()["Java"], ca)
    config.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
    entry = folder / "entry.properties"
    entry.write_text(f"{MECHANISM}=password={PASSWORD}\n")
    return typed(command, address, config, ENTRY=str(entry))


def typed(command, address, config, **more):
    """What a tool prints; more: files that its words name."""
    filled = {"H": address, "FILE": str(config), **more}
    tool, *words = shlex.split(command)
    done = java_tool(TOOLS[tool], *(filled.get(word, word) for word in words))
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.mark.java
def test_javas_lines_and_the_commands_show_and_make_rules_and_show_entries(
    locked, tmp_path
):
    _, commands, *_ = blocks()
    change, entries, show, make, make_writer = commands.splitlines()
    assert "Completed updating config for user alice" in run(change, locked, tmp_path)
    assert "(principal=User:alice" in run(make, locked, tmp_path)
    assert "operation=WRITE" in run(make_writer, locked, tmp_path)
    shown = run(show, locked, tmp_path)
    assert "resourceType=TOPIC, name=orders, patternType=LITERAL" in shown
    assert "operation=READ, permissionType=ALLOW" in shown
    assert f"{MECHANISM}=iterations=4096" in run(entries, locked, tmp_path)


def of_all(command):
    return command.replace("--entity-name loader", "--entity-default")


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("kind", BOTH)
def test_kip_55_the_extras_command_gives_a_user_a_quota_and_one_to_all_others(
    kind, locked, tmp_path
):
    extra = extras()["24_extra_a_noisy_neighbour"]
    text = extra.section("a moment above the limit").text
    [command] = re.findall(r"^kafka-configs\.sh .*$", text, re.M)
    asked = re.sub(r"--alter (.*) --add-config \S+", r"--describe \1", command)
    with ExitStack() as stack:
        if kind == MINIKAFKA:
            told = partial(run, locked=locked, folder=tmp_path)
        else:
            nothing = tmp_path / "client.properties"
            nothing.touch()
            address = stack.enter_context(ApacheKafka()).bootstrap
            told = partial(typed, address=address, config=nothing)
        for each in (command, of_all(command)):
            assert "Completed updating" in told(each)
        for each, whose in (
            (asked, "user-principal 'loader'"),
            (of_all(asked), "the default user-principal"),
        ):
            found = f"Quota configs for {whose} are producer_byte_rate=50000.0"
            assert found in told(each)


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "is_told"), [("localhost", False), ("kafka-1.example", True)]
)
def test_rfc_6066_java_names_only_a_host_with_a_dot_in_its_first_message(
    name, is_told, tmp_path
):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.1 kafka-1.example\n")
    port = wire.free_port()
    with wire.made_keys(name) as folder, wire.Wiretap(port) as tap:
        config = folder / "client.properties"
        config.write_text(
            "security.protocol=SSL\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={folder / 'ca.pem'}\n"
        )
        address = f"{name}:{tap.port}"
        configs = wire.broker_keys(folder)
        with wire.broker("SSL", port, advertised=address, configs=configs):
            done = java_tool(
                "org.apache.kafka.tools.BrokerApiVersionsCommand",
                *("--bootstrap-server", address, "--command-config", str(config)),
                jvm=(*SMALL_JVM, f"-Djdk.net.hosts.file={hosts}"),
            )
        assert f"{address} (id: " in done.stdout, done.stdout + done.stderr
        assert (name.encode() in tap.heard) == is_told


class Node:
    """An Apache Kafka that is broker and controller, by a broker's lines with this
    machine's name and its ports. More properties, or None to leave one out, make a step
    on the way there. It keeps its data.
    """

    def __init__(self, folder):
        self.folder = folder
        self.clients, self.brokers, self.plain, self.inside = free_ports(4)
        self.controller, self.plain_controller = free_ports(2)
        self.address = f"localhost:{self.clients}"
        self.as_itself = {
            "bootstrap.servers": f"localhost:{self.brokers}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(folder / "ca.pem"),
            "ssl.certificate.location": str(folder / "broker.pem"),
            "ssl.key.location": str(folder / "broker.pem"),
        }

    def properties(self):
        replaced = {
            "kafka-1.example:9093": f"localhost:{self.clients}",
            "kafka-1.example:9094": f"localhost:{self.brokers}",
            "CLIENTS://:9093": f"CLIENTS://localhost:{self.clients}",
            "BROKERS://:9094": f"BROKERS://localhost:{self.brokers}",
            "CN=kafka-1.example": "CN=localhost",
            "broker.pem": str(self.folder / "broker.pem"),
            "ca.pem": str(self.folder / "ca.pem"),
        }
        given = {}
        for line in blocks()[2].splitlines():
            if line.startswith("#"):
                continue
            name, given[name] = line.split("=", 1)
            for old, new in replaced.items():
                given[name] = given[name].replace(old, new)
        # one that is always open, and says whether it has started
        for name in ("listeners", "advertised.listeners"):
            given[name] += f",INSIDE://localhost:{self.inside}"
        given["listeners"] += f",QUORUM://localhost:{self.controller}"
        given["listener.security.protocol.map"] += ",INSIDE:PLAINTEXT"
        given["controller.quorum.voters"] = f"1@localhost:{self.controller}"
        return given

    @contextmanager
    def started(self, **changes):
        given = self.properties() | changes
        kept = {name: value for name, value in given.items() if value is not None}
        log = "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=debug"
        kafka = ApacheKafka(kept, data=self.folder / "data", jvm=("-Xmx512m", log))
        kafka.port = self.inside
        self.log, self.marked = kafka.log, 0
        with kafka:
            yield AdminClient({"bootstrap.servers": f"localhost:{self.inside}"})

    def mark(self):
        self.marked = len(self.log())

    def plain_too(self):
        """The plain ports beside the others: properties."""
        given = self.properties()
        plain = f",PLAINTEXT://localhost:{self.plain}"
        return {
            "listeners": given["listeners"]
            + plain
            + f",CONTROLLER://localhost:{self.plain_controller}",
            "advertised.listeners": given["advertised.listeners"] + plain,
            "listener.security.protocol.map": given["listener.security.protocol.map"]
            + ",PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }

    def client_of(self, user):
        told = properties_of(lines_for()["librdkafka"], self.folder / "ca.pem")
        return told | {"sasl.username": user, "bootstrap.servers": self.address}


@pytest.mark.java
@pytest.mark.nightly
def test_apache_kafka_goes_in_five_steps_from_no_locks_to_a_brokers_lines(tmp_path):
    """Each step on the same data. INSIDE stands for the plain port until the end, when
    what it may do shows that nobody is let in without a login.
    """
    without = {"authorizer.class.name": None, "super.users": None}
    old_quorum = {
        "controller.listener.names": "CONTROLLER,QUORUM",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    authority = keys.new_authority("Shop CA")
    keys.write(tmp_path / "ca.pem", keys.pem(authority.certificate))
    renewed(authority, tmp_path)
    node = Node(tmp_path)
    plain = node.plain_too()
    voters = f"1@localhost:{node.plain_controller}"
    first = plain | without | old_quorum | {"controller.quorum.voters": voters}
    alice, bob, carol = (node.client_of(user) for user in (USER, "bob", "carol"))
    with node.started(**first) as admin:
        make_topics(admin, "orders", "others")
        for user in (USER, "bob", "carol"):
            add_user(admin, user, PASSWORD)
        assert hears(alice) is None
        assert refused(admin, rule(USER, "WRITE")) == KafkaError.SECURITY_DISABLED
    both_ways = {"security.inter.broker.protocol": "SSL"}
    with pytest.raises(RuntimeError, match=r"Only one of inter\.broker\.listener"):
        node.started(**first, **both_ways).__enter__()
    second = first | {"inter.broker.listener.name": "BROKERS"}
    with node.started(**second):
        assert hears(alice) is None
    both = {"controller.listener.names": "QUORUM,CONTROLLER"}
    with node.started(**plain, **without, **both):
        assert hears(alice) is None
    open_to_all = {"allow.everyone.if.no.acl.found": "true"}
    with node.started(**plain, **both, **open_to_all) as admin:
        sees_new_certificates(node, authority, tmp_path)
        sees_whom_the_rules_forget(node, admin, alice, bob, carol)
    with node.started() as anybody:
        assert hears(alice) is None
        assert hears(bob, "others") == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert reads(carol) is None
        assert not anybody.list_topics(timeout=PATIENCE_S).topics
        itself = AdminClient(node.as_itself).list_topics(timeout=PATIENCE_S)
        assert {"orders", "others"} <= set(itself.topics)


def renewed(authority, folder):
    """Writes broker.pem: another key and certificate, for the same name."""
    pair = keys.signed(authority, "localhost", ("localhost",), days=30)
    certificate = keys.pem(pair.certificate)
    (folder / "broker.pem").unlink(missing_ok=True)
    keys.write(folder / "broker.pem", keys.key_pem(pair.key) + certificate)
    return certificate.decode()


def sees_new_certificates(node, authority, folder):
    """The lesson's command, for either listener of a broker that runs."""
    new = renewed(authority, folder)
    [command] = blocks()[3].splitlines()
    command = command.replace("broker.pem", str(folder / "broker.pem"))
    for listener, port in (("clients", node.clients), ("brokers", node.brokers)):
        assert shown(port) != new
        one = command.replace("name.clients.", f"name.{listener}.")
        locked = node.address, folder / "ca.pem"
        assert "Completed updating config" in run(one, locked, folder)
        until(lambda port=port: shown(port) == new)


def shown(port):
    """The certificate that a new connection is shown."""
    return ssl.get_server_certificate(("localhost", port))


def sees_whom_the_rules_forget(node, admin, alice, bob, carol):
    """Without ACLs nobody is refused and the log says who does what. With them it says
    who was forgotten, and what a producer asks for that needs none.
    """
    assert hears(alice) is None
    assert reads(carol) is None
    assert admin.list_topics(timeout=PATIENCE_S).topics
    assert {
        ("User:alice", "WRITE", "Topic:LITERAL:orders"),
        ("User:carol", "READ", "Topic:LITERAL:orders"),
        ("User:carol", "READ", "Group:LITERAL:month-end"),
        ("User:ANONYMOUS", "DESCRIBE", "Topic:LITERAL:others"),
    } <= marked(node, "Allowed", "DefaultAllow")

    for operation in ("WRITE", "DESCRIBE", "CREATE"):
        assert refused(admin, rule(USER, operation)) is None
    until(lambda: reads(carol) == KafkaError.TOPIC_AUTHORIZATION_FAILED)
    denied = marked(node, "Denied", "")
    assert ("User:carol", "DESCRIBE", "Topic:LITERAL:orders") in denied
    assert hears(bob) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert hears(bob, "others") is None

    month_end = ResourceType.GROUP, "month-end"
    for acl in (rule("carol", "READ"), rule("carol", "READ", month_end)):
        assert refused(admin, acl) is None
    until(lambda: reads(carol) is None)

    for at_the_start in (
        ("User:alice", "IDEMPOTENT_WRITE", "Cluster:LITERAL:kafka-cluster"),
        ("User:alice", "WRITE", "Topic:LITERAL:hardcode"),
    ):
        node.mark()
        assert hears(alice) is None
        marks = marked(node, "Allowed", "DefaultAllow")
        assert {each for each in marks if each[0] == "User:alice"} == {at_the_start}
        # then the cluster has an ACL, which closes it to whoever isn't named there
        refused(admin, rule("admin", "DESCRIBE", THE_CLUSTER))
    may_not = KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert refused(admin, rule("admin", "DESCRIBE")) == may_not


def marked(node, answer, rule):
    """Principal, operation and resource of what was answered so by this rule, since
    the mark.
    """
    line = re.compile(
        rf"Principal = (\S+) is {answer} operation = (\S+) from host = \S+ on resource"
        rf" = (\S+) for request = .* based on rule {rule}"
    )
    return set(line.findall(node.log()[node.marked :]))


def make_topics(admin, *names):
    for future in admin.create_topics([NewTopic(n, 1, 1) for n in names]).values():
        future.result(PATIENCE_S)


def rule(user, operation, resource=(ResourceType.TOPIC, "orders")):
    """An ACL that allows it from anywhere."""
    return AclBinding(
        *resource,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )


def refused(admin, acl):
    """The error of making this ACL, or None."""
    [future] = admin.create_acls([acl]).values()
    try:
        future.result(PATIENCE_S)
    except KafkaException as error:
        return error.args[0].code()
    return None


def add_user(admin, name, password):
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    added = UserScramCredentialUpsertion(name, info, password.encode())
    for future in admin.alter_user_scram_credentials([added]).values():
        future.result(PATIENCE_S)


def hears(told, topic="orders"):
    """The error of a record that is sent with these configs, or None."""
    heard = []
    producer = Producer(told | {"enable.idempotence": True})
    producer.produce(
        topic, b"one bicycle", on_delivery=lambda error, _: heard.append(error)
    )
    assert producer.flush(PATIENCE_S) == 0
    return heard[0] and heard[0].code()


def reads(told, topic="orders"):
    """The error of reading a record of this topic in a group, or None."""
    group = {"group.id": "month-end", "auto.offset.reset": "earliest"}
    consumer = Consumer(told | group | {"enable.auto.commit": False})
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message, "nothing came"
    return message.error() and message.error().code()


def options_for_spark():
    return [
        ast.literal_eval(re.fullmatch(r"\.option(\(.*\))", line)[1])
        for line in lines_for()["Spark"]
    ]


def test_the_options_for_spark_are_javas_lines_with_kafka_in_front():
    java = [tuple(line.split("=", 1)) for line in lines_for()["Java"]]
    assert options_for_spark() == [(f"kafka.{name}", value) for name, value in java]


@pytest.mark.spark
@pytest.mark.nightly
def test_spark_reads_a_topic_with_the_options_for_spark(locked):
    from minikafka.course.spark import session

    address, ca = locked
    producer = KafkaProducer(**as_kafka_python(locked))
    producer.send("for-spark", b"one bicycle").get(PATIENCE_S)
    producer.close()
    spark = session("lesson 24")
    try:
        reader = spark.read.format("kafka").option("subscribe", "for-spark")
        reader = reader.option("kafka.bootstrap.servers", address)
        for name, value in options_for_spark():
            reader = reader.option(name, str(ca) if value == "ca.pem" else value)
        [row] = reader.load().select("value").collect()
    finally:
        spark.stop()
    assert bytes(row.value) == b"one bicycle"
