"""Lesson 22's night with TLS: what openssl prints is what OpenSSL prints, and what a
certificate that has expired does to those who connect.
"""

import re
import shutil
import socket
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from minikafka.course.on_call import certificates, tls, tools_tls
from minikafka.course.on_call.certificates import Certificate
from minikafka.course.on_call.x509 import OPTIONS, x509_lines
from tests.clients.brokers import until
from tests.course.nights import at_night, in_a_fork, kept
from tests.kafka import CONFIG_COMMAND, SMALL_JVM, ApacheKafka, free_ports, java_tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("night night-13"),
]

FIX = (
    "kafka-configs --alter --entity-type brokers --entity-name 2 --add-config"
    " listener.name.clients.ssl.keystore.location=/etc/kafka/ssl/broker-2026.pem"
)
PACKAGE = "org.apache.kafka.tools"
NEEDS_OPENSSL = pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")


@pytest.fixture
def night(request):
    return kept(getattr(request, "param", "night-13"))


def openssl(*words, given="", folder=None):
    return subprocess.run(
        ["openssl", *words],
        input=given,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def plain(text):
    """OpenSSL 3.2 and later write CN=kafka-1 without spaces."""
    return text.replace(" = ", "=")


# -- openssl


@NEEDS_OPENSSL
@pytest.mark.parametrize("file", sorted(certificates.files()), ids=str)
def test_x509_prints_what_openssl_prints(file):
    found = certificates.files()[file]
    for option in OPTIONS:
        words = ["subjectAltName"] if option == "-ext" else []
        if option == "-noout":
            continue
        asked = ["-noout", option, *words]
        real = openssl("x509", *asked, given=found.pem).stdout.splitlines()
        ours = x509_lines(found, asked)
        if option == "-ext" and not found.hosts:
            continue  # it says so on standard error
        if option == "-text":
            assert ours[:5] and set(map(plain, ours)) <= set(map(plain, real))
        else:
            assert list(map(plain, ours)) == list(map(plain, real))


@NEEDS_OPENSSL
def test_every_certificate_is_signed_by_the_authority(tmp_path):
    authority = tmp_path / "ca.pem"
    authority.write_text(certificates.files()[1, f"{certificates.FOLDER}/ca.pem"].pem)
    for found in certificates.files().values():
        day = str(int(found.begins.timestamp()) + 60)
        words = ("verify", "-attime", day, "-CAfile", str(authority))
        assert openssl(*words, given=found.pem).stdout == "stdin: OK\n"


def listens(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def authority(folder):
    """ca.pem, and its key."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30"
    files = "-keyout ca.key -out ca.pem -subj"
    openssl(*words.split(), *files.split(), "/O=Shop/CN=Shop CA", folder=folder)


def signed(folder, name, days):
    """NAME.key and NAME.crt, which is valid for so many days from now on."""
    (folder / "san").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    words = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    files = f"-keyout {name}.key -out {name}.csr -subj"
    openssl(*words.split(), *files.split(), "/O=Shop/CN=kafka-2", folder=folder)
    words = f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -extfile san"
    files = f"-days {days} -out {name}.crt"
    openssl(*words.split(), *files.split(), folder=folder)


@contextmanager
def serving(folder, days):
    """`openssl s_server` with a certificate that is valid for so many days. Yields its
    address, and the certificate as a night has it.
    """
    authority(folder)
    signed(folder, "b", days)
    asked = openssl("x509", "-noout", "-dates", "-in", "b.crt", folder=folder).stdout
    begins, ends = (
        datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)
        for text in re.findall("=(.*)", asked)
    )
    pem = (folder / "b.crt").read_text().strip()
    [port] = free_ports(1)
    with subprocess.Popen(
        ["openssl", *f"s_server -quiet -accept {port} -key b.key -cert b.crt".split()],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            until(lambda: listens(port), seconds=30)
            yield f"127.0.0.1:{port}", Certificate("kafka-2", "", begins, ends, pem)
        finally:
            server.kill()


@NEEDS_OPENSSL
@pytest.mark.parametrize("days", [-1, 30])
def test_s_client_prints_what_openssl_prints(days, tmp_path):
    now = datetime.now(UTC)
    now_ms = round((now - certificates.at(0)).total_seconds() * 1000)
    with serving(tmp_path, days) as (address, shown):
        world = SimpleNamespace(
            now_ms=now_ms,
            brokers=SimpleNamespace(is_up=lambda broker: True),
            tls=SimpleNamespace(shown=lambda broker: shown),
        )
        for more in (
            [],
            ["-CAfile", "ca.pem"],
            ["-brief"],
            ["-brief", "-CAfile", "ca.pem"],
        ):
            real = openssl("s_client", "-connect", address, *more, folder=tmp_path)
            given = {"-connect": "kafka-2:9094"}
            given |= {word: "ca.pem" for word in more if word.startswith("-")}
            said = tools_tls.s_client(world, given)
            ours = [*said.err.splitlines(), *said.out.splitlines(), said.end]
            theirs = [*real.stderr.splitlines(), *real.stdout.splitlines(), ""]
            missing = set(map(plain, ours)) - set(map(plain, theirs))
            assert not missing, (more, missing)
            errors = [line for line in theirs if line.startswith("verify error")]
            assert errors == [line for line in ours if line.startswith("verify error")]


# -- the night


@at_night("night-13")
def test_whoever_is_connected_goes_on_and_who_connects_is_turned_away(night):
    failures = night.world.tls.failures
    assert {(each.client, each.broker) for each in failures} == {("shop-b1", 2)}
    assert failures[0].at_ms > 7 * 60_000  # two minutes after the certificate's end
    sample = night.world.samples[-1]
    assert sample.under_replicated == sample.failed_produces == 0
    night.ask("kafka-consumer-groups --describe --group billing")
    assert "billing-a3" in night.told[-1]


@at_night("night-13")
def test_no_log_names_the_cause(night):
    for line in ("kubectl logs deployment/shop --tail -1", "journalctl kafka-2"):
        night.ask(line)
        said = night.told[-1].lower()
        assert "ssl handshake failed" in said
        assert "expired" not in said and "certificate" not in said


@pytest.mark.nightly
@at_night("night-13")
def test_a_restart_of_the_broker_helps_until_it_leads_again(night):
    """auto.leader.rebalance.enable: after five minutes the preferred leaders lead."""
    night.act("systemctl restart kafka-2")
    night.wait(minutes=2)
    assert not night.world.samples[-1].is_outage
    night.wait(minutes=6)
    night.ask("kubectl get pods")
    assert "CrashLoopBackOff" in night.told[-1]
    night.ask("kubectl logs deployment/billing --tail 1")
    assert night.told[-1].endswith(
        "exits: SslAuthenticationException: SSL handshake failed"
    )
    assert night.world.samples[-1].is_outage


@at_night("night-13")
def test_a_new_keystore_is_loaded_while_the_broker_runs(night):
    night.act(FIX)
    night.ask(
        "echo | openssl s_client -connect kafka-2:9094 | openssl x509 -dates -noout"
    )
    assert "notAfter=Dec 16 13:00:00 2026 GMT" in night.told[-1]
    night.wait(minutes=1)
    assert not night.world.samples[-1].is_outage


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("security.protocol", "PLAINTEXT", "speaks TLS and nothing else"),
        ("bootstrap.servers", "kafka-1:9092", "no way to another port than 9094"),
        ("ssl.truststore.location", "/tmp/all.pem", "one truststore in a pod"),
        ("enable.ssl.certificate.verification", "false", "is librdkafka's"),
        ("ssl.endpoint.identification.algorithm", "none", "https, or nothing"),
        ("ssl.engine.factory.class", "Trusting", "shop does not know"),
    ],
)
@in_a_fork
def test_no_client_can_be_told_to_trust_whatever_it_is_shown(name, value, words):
    night = kept("night-13")
    night.act(f"kubectl set env deployment/shop {name}={value}")
    assert words in night.told[-1]
    assert night.world.apps["shop"].pods[0].name == "shop-b1"


@at_night("night-13")
def test_without_a_look_at_the_name_the_date_counts_all_the_same(night):
    night.act("kubectl set env deployment/shop ssl.endpoint.identification.algorithm=")
    night.wait(minutes=1)
    assert night.world.tls.failures[-1].client == "shop-c1"


LINES = {
    "openssl s_client -connect kafka-2:9094": "num=10:certificate has expired",
    "openssl s_client -connect kafka-2:9094 -servername kafka-2 -showcerts </dev/null"
    " 2>/dev/null | openssl x509 -noout -subject": "subject=O = Shop, CN = kafka-2",
    "echo Q | timeout 5 openssl s_client -connect kafka-1:9094 2>/dev/null"
    " | openssl x509 -noout -text | grep 'Not After'": "Dec 16 13:00:00 2026",
    "openssl s_client -connect kafka-3:9094 -CAfile /etc/kafka/ssl/ca.pem -brief": (
        "Verification: OK"
    ),
    "openssl s_client -connect kafka-3:9094": "num=21:unable to verify the first",
    "openssl s_client -connect kafka-2:9092": "no peer certificate available",
    "openssl s_client -connect kafka-2:9095": "connect:errno=111",
    "openssl s_client -connect kafka-9:9094": "Name or service not known",
    "ssh kafka-2 openssl s_client -connect localhost:9094 -brief": "has expired",
    "openssl s_client -connect kafka-2:9094 | openssl verify": "openssl x509 -noout",
    "openssl s_client -connect kafka-2:9094 | openssl x509 -modulus": "has no -modulus",
    "kubectl get pods | openssl x509 -noout -dates": "Could not read certificate",
    "ssh kafka-2 openssl x509 -in /etc/kafka/ssl/broker.pem -noout -enddate": (
        "notAfter=Jan  1 00:05:00 2026 GMT"
    ),
    "ssh kafka-2 openssl x509 -noout -checkend 86400 -in /etc/kafka/ssl/broker-2026.pem": (
        "Certificate will not expire"
    ),
    "ssh kafka-2 openssl verify -CAfile /etc/kafka/ssl/ca.pem /etc/kafka/ssl/broker.pem": (
        "error 10 at 0 depth lookup: certificate has expired"
    ),
    "ssh kafka-1 sudo openssl verify -CAfile /etc/kafka/ssl/ca.pem"
    " /etc/kafka/ssl/broker.pem": "/etc/kafka/ssl/broker.pem: OK",
    "ssh kafka-2 openssl x509 -noout -enddate -in broker.pem": "No such file",
    "openssl x509 -noout -enddate -in /etc/kafka/ssl/broker.pem": "Say on which machine",
    "ssh kafka-2 ls -la /etc/kafka/ssl/": "802 Jan  1  2025 broker.pem",
    "ssh kafka-2 ls -l /etc/kafka/ssl/*.pem": "ca.pem",
    "ls -l /etc/kafka/ssl": "Say on which machine",
    "ls -l /etc/kafka/ kafka-2": "kafka 4096 Dec 16 13:00 ssl",
    "ls -l /etc/kafka/ssl kafka-1": "ca.pem",
    "ssh kafka-2 ls /etc/kafka/secrets": "ls: cannot access '/etc/kafka/secrets'",
    "ssh kafka-2 ls /var/lib/kafka/data": "ls -l /etc/kafka/ssl kafka-1",
    "cat /etc/kafka/server.properties": "--all what is in server.properties",
    "nc -vz kafka-2 9094": "Connection to kafka-2 (10.0.0.2) 9094 port [tcp/*] succeed",
    "ssh kafka-1 nc -zv -w 3 kafka-2 9094": "succeeded!",
    "nc -zv kafka-2 9095": (
        "nc: connect to kafka-2 (10.0.0.2) port 9095 (tcp) failed: Connection refused"
    ),
    "telnet kafka-2 9094": "nc -zv kafka-2 9092 says whether a port answers",
    "openssl s_client -connect kafka-2:9092 | head -1": "CONNECTED",
    "ssh kafka-2 openssl pkcs12 -in /etc/kafka/ssl/broker.pem": "are PEM here",
    "keytool -printcert -sslserver kafka-2:9094": "openssl s_client -connect",
    "kafka-configs --describe --entity-type brokers --entity-name 1": (
        "ssl.keystore.location=/etc/kafka/ssl/broker-2026.pem sensitive=false"
        " synonyms={DYNAMIC_BROKER_CONFIG:listener.name.clients.ssl.keystore.location"
        "=/etc/kafka/ssl/broker-2026.pem, STATIC_BROKER_CONFIG:listener.name.clients"
        ".ssl.keystore.location=/etc/kafka/ssl/broker.pem}"
    ),
    "kafka-configs --describe --entity-type brokers --entity-name 2 --all | grep"
    " ^..listeners": "listeners=PLAINTEXT://kafka-2:9092,CLIENTS://kafka-2:9094 ",
    "kubectl set env deployment/shop --list": "security.protocol=SSL",
    "kafka-topics --bootstrap-server kafka-2:9094 --list": "--command-config client",
    "kafka-topics --bootstrap-server kafka-2:9094 --list --command-config c.properties": (
        "CertificateExpiredException: NotAfter: Thu Jan 01 00:05:00 UTC 2026"
    ),
    "kafka-topics --bootstrap-server kafka-2:9094,kafka-3:9094 --list"
    " --command-config c.properties": "__consumer_offsets\norders",
    "ssh kafka-2 cp /etc/kafka/ssl/broker-2026.pem /etc/kafka/ssl/broker.pem": (
        "kafka-configs changes those"
    ),
}


@in_a_fork
def test_what_a_shift_types_about_certificates_is_understood():
    night = kept("night-13")
    for line, words in LINES.items():
        night.ask(line)
        assert words in night.told[-1], line


@in_a_fork
def test_a_keystore_that_a_broker_can_not_load_is_refused_in_apache_kafkas_words():
    night = kept("night-13")
    for path in ("/etc/kafka/ssl/broker-2027.pem", "/etc/kafka/ssl/ca.pem"):
        night.act(FIX.replace("/etc/kafka/ssl/broker-2026.pem", path))
        assert f"Failed to load PEM SSL keystore {path} for conf" in night.told[-1]
    night.act(FIX.replace("name.clients", "name.external"))
    assert night.told[-1].endswith("Completed updating config for broker 2.")
    assert "2026-01-01 00:05" in str(night.world.tls.shown(2).ends)


@in_a_fork
def test_a_night_without_tls_has_no_such_port_and_no_such_files():
    night = kept("quiet-night")
    for line, words in {
        "openssl s_client -connect kafka-1:9094": "connect:errno=111",
        "ssh kafka-1 openssl x509 -noout -enddate -in /etc/kafka/ssl/broker.pem": (
            "No such file"
        ),
        "ssh kafka-1 ls -l /etc/kafka/ssl": "There are no files to look at here",
        "nc -zv kafka-1 9094": "failed: Connection refused",
        "nc -zv kafka-1 9092": "succeeded!",
    }.items():
        night.ask(line)
        assert words in night.told[-1]
    night.act("kubectl set env deployment/shop security.protocol=SSL")
    assert "shop does not know security.protocol" in night.told[-1]


# -- Apache Kafka


@NEEDS_OPENSSL
@pytest.mark.nightly
@pytest.mark.java
def test_apache_kafka_says_it_in_these_words_and_loads_a_keystore_while_it_runs(
    tmp_path,
):
    authority(tmp_path)
    for name, days in (("old", -1), ("new", 30)):
        signed(tmp_path, name, days)
        parts = [(tmp_path / f"{name}.{kind}").read_text() for kind in ("key", "crt")]
        (tmp_path / f"{name}.pem").write_text("".join(parts))
    client = tmp_path / "client.properties"
    client.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={tmp_path}/ca.pem\n"
    )
    [port] = free_ports(1)
    log = "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.network.Selector=info"
    kafka = ApacheKafka(jvm=("-Xmx512m", *SMALL_JVM, log))
    for name in ("listeners", "advertised.listeners"):
        kafka.properties[name] += f",CLIENTS://127.0.0.1:{port}"
    kafka.properties |= {
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENTS:SSL"
        ),
        "listener.name.clients.ssl.keystore.type": "PEM",
        tls.KEYSTORE: f"{tmp_path}/old.pem",
    }

    def configs(*words):
        asked = ("--bootstrap-server", kafka.bootstrap, "--entity-type", "brokers")
        done = java_tool(CONFIG_COMMAND, *asked, "--entity-name", "1", *words)
        return done.stdout + done.stderr

    def load(path):
        return configs("--alter", "--add-config", f"{tls.KEYSTORE}={path}")

    def listed():
        asked = ("--bootstrap-server", f"127.0.0.1:{port}", "--list")
        config = ("--command-config", str(client))
        done = java_tool(f"{PACKAGE}.TopicCommand", *asked, *config)
        return done.stdout + done.stderr

    with kafka:
        said = listed()
        words = tls.OF_CLIENT.format(
            kind="AdminClient",
            client="adminclient-1",
            broker="-1",
            host="127.0.0.1",
            port=port,
        )
        assert words.replace("kafka--1", "") in said
        assert "CertificateExpiredException" in said
        words = tls.OF_BROKER.format(broker=1, host="127.0.0.1")
        head, end = words.removeprefix("kafka-1 ").split(" (SSL")
        assert re.search(
            rf"{re.escape(head)} \(channelId=.*\) \(SSL{re.escape(end)}", kafka.log()
        )
        for bad in ("/etc/kafka/ssl/broker-2027.pem", f"{tmp_path}/ca.pem"):
            assert tls.NOT_LOADED.format(bad) in load(bad)
        plain_port = openssl("s_client", "-connect", kafka.bootstrap)
        assert tools_tls.NO_CERTIFICATE.splitlines()[-2] in plain_port.stdout
        assert "Completed updating" in load(f"{tmp_path}/new.pem")
        assert "SslAuthenticationException" not in listed()
        night = kept("night-13")
        night.ask("kafka-configs --describe --entity-type brokers --entity-name 1")
        ours = night.told[-1].splitlines()[1:]
        for shown, here in (("broker-2026", "new"), ("broker", "old")):
            ours = [
                line.replace(f"/etc/kafka/ssl/{shown}.pem", f"{tmp_path}/{here}.pem")
                for line in ours
            ]
        assert ours == configs("--describe").strip().splitlines()
