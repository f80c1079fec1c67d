"""Listeners of `serve`: where they are (KIP-103), TLS with Kafka's configs, and what a
stranger can do at a listener with a lock before it has shown who it is.
"""

import argparse
import socket
import ssl
import struct
from pathlib import Path

import pytest

from minikafka.broker.certificate_names import changed_names, distinguished_name
from minikafka.broker.config import BrokerConfig
from minikafka.server import checks, doors, keys, newcomers
from minikafka.server.addresses import CannotServe
from minikafka.server.embedded import Served
from minikafka.server.locks import Locks
from minikafka.server.tls import ListenerTls, lines_of, own_certificate
from minikafka.wire import messages
from minikafka.wire.errors import KafkaError

pytestmark = pytest.mark.filterwarnings("ignore")
HOST = "localhost"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("keys")
    keys.make(made)
    return made


def tls_options(folder, kind="PEM", more=()):
    suffix = "pem" if kind == "PEM" else "p12"
    given = {
        "ssl.keystore.type": kind,
        "ssl.keystore.location": folder / f"broker.{suffix}",
        "ssl.keystore.password": "" if kind == "PEM" else keys.PASSWORD,
        "ssl.truststore.type": kind,
        "ssl.truststore.location": folder
        / ("ca.pem" if kind == "PEM" else "truststore.p12"),
        "ssl.truststore.password": "" if kind == "PEM" else keys.PASSWORD,
    } | dict(more)
    return {name: str(value) for name, value in given.items()}


def overrides(properties):
    options = []
    for name, value in properties.items():
        options += ["--override", f"{name}={value}"]
    return tuple(options)


def by_name(served, *names):
    """The ports of the listeners of broker 1, by asking it on its first one."""
    configs = ask(
        connected(served.bootstrap),
        "DescribeConfigs",
        1,
        resources=[
            {
                "resource_type": 4,
                "resource_name": "1",
                "configuration_keys": ["advertised.listeners"],
            }
        ],
    )
    text = configs.results[0].configs[0].value
    ports = {}
    for part in text.split(","):
        name, _, address = part.partition("://")
        ports[name] = int(address.rpartition(":")[2])
    return [ports[name] for name in names]


def connected(bootstrap):
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def sealed(port, folder, client=False):
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    if client:
        context.load_cert_chain(folder / "client.pem")
    sock = socket.create_connection((HOST, port), timeout=60)
    return context.wrap_socket(sock, server_hostname=HOST)


def ask(sock, api, version, **body):
    frame = b"".join(messages.encode_request(api, version, 1, "test", body))
    sock.sendall(struct.pack(">i", len(frame)) + frame)
    return messages.decode_response(api, version, received(sock))[1]


def received(sock):
    def exactly(size):
        got = b""
        while len(got) < size:
            more = sock.recv(size - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    return bytearray(exactly(struct.unpack(">i", exactly(4))[0]))


# -- where


def args(brokers=1, **properties):
    given = {name.replace("_", "."): text for name, text in properties.items()}
    return argparse.Namespace(
        brokers=brokers,
        host="127.0.0.1",
        port=9092,
        advertised_host=None,
        advertised_port=0,
        override=list(given.items()),
    )


def test_each_broker_takes_the_next_port_of_each_listener():
    of_three = args(3, listeners="PLAINTEXT://:9092,SSL://10.0.0.1:9095,SASL_SSL://:0")
    assert [doors.wanted(of_three, at) for at in range(2)] == [
        [
            ("PLAINTEXT", "127.0.0.1", 9092),
            ("SSL", "10.0.0.1", 9095),
            ("SASL_SSL", "127.0.0.1", 0),
        ],
        [
            ("PLAINTEXT", "127.0.0.1", 9093),
            ("SSL", "10.0.0.1", 9096),
            ("SASL_SSL", "127.0.0.1", 0),
        ],
    ]
    checks.check_listeners(of_three)
    with pytest.raises(CannotServe, match="must be 3 apart"):
        checks.check_listeners(args(3, listeners="PLAINTEXT://:9092,SSL://:9093"))


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"listeners": "PLAINTEXT"}, "Unable to parse PLAINTEXT"),
        ({"listeners": "A://:1,A://:2"}, "must have a different name"),
        ({"listeners": "A://:9092,B://:9092"}, "both come to port 9092"),
        ({"listeners": "A://0.0.0.0:9092"}, "clients can't connect to 0.0.0.0"),
        ({"advertised.listeners": "A://x:9092"}, "it goes with listeners"),
    ],
)
def test_listeners_that_make_no_sense_are_refused(properties, why):
    with pytest.raises(CannotServe, match=why):
        checks.check_listeners(args(**properties))


# -- TLS


def context(folder, **more):
    properties = tls_options(folder) | {
        name.replace("_", "."): str(text) for name, text in more.items()
    }
    config = BrokerConfig({"SSL": (HOST, 9093)}, properties)
    return ListenerTls(config, "SSL").context()


@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3", "TLSv1.2,TLSv1.3"])
@pytest.mark.parametrize("client_auth", ["none", "required"])
def test_a_broker_knows_its_own_certificate(folder, versions, client_auth):
    its = context(folder, ssl_enabled_protocols=versions, ssl_client_auth=client_auth)
    before = its.verify_mode
    found = own_certificate(its)
    assert distinguished_name(found["subject"]) == f"CN={HOST}"
    assert ("DNS", HOST) in found["subjectAltName"]
    assert its.verify_mode == before


def test_a_listener_that_cannot_use_its_new_files_goes_on(folder, tmp_path, capsys):
    """And other configs may be set meanwhile (KIP-226). What was wrong is checked again
    when its own configs change.
    """
    config = BrokerConfig({"SSL": (HOST, 9093)}, tls_options(folder))
    its = Locks(config)
    before = its.doors["SSL"].context
    location = "listener.name.ssl.ssl.keystore.location"
    gone = {location: str(tmp_path / "gone.pem")}
    its.open_stores(gone)
    assert "gone.pem: No such file" in capsys.readouterr().err
    assert its.doors["SSL"].context is before
    its.check_stores(gone | {"log.cleaner.threads": "2"})
    with pytest.raises(KafkaError, match=r"update of SSLFactory failed.*elsewhere"):
        its.check_stores({location: str(tmp_path / "elsewhere.pem")})
    its.check_stores({})


@pytest.mark.parametrize(
    ("name", "hosts", "may", "why"),
    [
        ("localhost", ("localhost",), (False, False), None),
        ("LocalHost ", ("localhost", "more"), (False, False), None),
        ("other", ("localhost",), (False, True), "DistinguishedName does"),
        ("other", ("localhost",), (True, False), None),
        ("localhost", ("other",), (True, False), "SubjectAltNames do"),
        ("localhost", (), (False, True), None),
    ],
)
def test_a_new_certificate_has_the_names_of_the_old_one(name, hosts, may, why):
    """Unless ssl.allow.dn.changes or ssl.allow.san.changes says otherwise."""

    def certificate(name, hosts):
        names = tuple(("DNS", host) for host in hosts)
        return {"subject": ((("commonName", name),),), "subjectAltName": names}

    old, new = certificate("localhost", ("localhost",)), certificate(name, hosts)
    found = changed_names(old, new, *may)
    assert found is None if why is None else f"Keystore {why} not match:" in found


def test_pem_may_stand_in_the_properties_themselves(folder):
    chain = (folder / "broker.pem").read_text()
    key, _, certificate = chain.partition("-----BEGIN CERT")
    for as_one in (
        lambda text: text.replace("\n", "\\n"),
        lambda text: " ".join(text.split("\n")),
    ):
        assert context(
            folder,
            ssl_keystore_location="",
            ssl_keystore_key=as_one(key),
            ssl_keystore_certificate_chain=as_one("-----BEGIN CERT" + certificate),
        )
    assert lines_of("nothing") == b""


def test_what_python_cannot_read_is_refused_with_a_way_out(folder, tmp_path):
    jks = tmp_path / "broker.jks"
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    large = tmp_path / "large.pem"
    large.write_bytes(bytes(2**20 + 1))
    for more, why in (
        ({"ssl_keystore_type": "JKS", "ssl_keystore_location": jks}, "keytool -import"),
        ({"ssl_keystore_type": "JKS"}, "ssl.keystore.type=PEM"),
        ({"ssl_keystore_location": ""}, "minikafka keys DIR"),
        ({"ssl_keystore_location": "/nowhere"}, "No such file"),
        ({"ssl_keystore_location": folder / "ca.pem"}, "can't be used"),
        ({"ssl_keystore_location": "/dev/zero"}, "it is no file"),
        ({"ssl_keystore_location": "\0"}, "null byte"),
        ({"ssl_keystore_location": large}, "more than 1048576 bytes"),
        ({"ssl_keystore_password": "no"}, "doesn't go with PEM"),
        ({"ssl_keystore_key": "x", "ssl_keystore_certificate_chain": "x"}, "are both"),
        ({"ssl_enabled_protocols": "TLSv1"}, "there are TLSv1.2 and TLSv1.3"),
        (
            {"ssl_client_auth": "required", "ssl_truststore_location": ""},
            "whose are trusted",
        ),
    ):
        with pytest.raises(CannotServe, match=why):
            context(folder, **more)


def test_a_client_is_whom_its_certificate_names(folder):
    """KIP-371; and Metadata names the listener that the client came on."""
    properties = tls_options(
        folder,
        "PKCS12",
        {
            "listeners": "PLAINTEXT://:0,SSL://localhost:0",
            "ssl.client.auth": "requested",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/U",
        },
    )
    with Served(options=overrides(properties)) as kafka:
        [port] = by_name(kafka, "SSL")
        for client, name in ((True, "ALICE"), (False, "ANONYMOUS")):
            with sealed(port, folder, client) as sock:
                answer = ask(sock, "CreateDelegationToken", 3, renewers=[])
                assert answer.token_requester_principal_name == name
                brokers = ask(sock, "Metadata", 1, topics=[]).brokers
                assert [(each.host, each.port) for each in brokers] == [(HOST, port)]
        assert "keystore" not in kafka.said()


def test_without_a_certificate_nobody_comes_in_where_one_is_required(folder):
    properties = tls_options(
        folder,
        more={"listeners": "SSL://localhost:0", "ssl.client.auth": "required"},
    )
    with Served(options=overrides(properties)) as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        with sealed(port, folder, client=True) as sock:
            assert ask(sock, "ApiVersions", 0).api_keys
        with (
            pytest.raises((ssl.SSLError, OSError, EOFError)),
            sealed(port, folder) as sock,
        ):
            ask(sock, "ApiVersions", 0)
        assert "peer did not return a certificate" in kafka.said()


@pytest.mark.parametrize("said", [b"\0\0\0\x0f\0\x12\0\0", b"GET / HTTP/1.1\r\n\r\n"])
def test_who_speaks_no_tls_hears_an_alert_and_is_gone(folder, said):
    """As from Java's TLS: some clients tell their user what it means."""
    properties = tls_options(folder, more={"listeners": "SSL://localhost:0"})
    with (
        Served(options=overrides(properties)) as kafka,
        connected(kafka.bootstrap) as sock,
    ):
        sock.sendall(said)
        heard = b"".join(iter(lambda: sock.recv(100), b""))
    assert heard == bytes.fromhex("15 0303 0002 02 50")


def test_whoever_hangs_up_politely_is_gone(folder):
    """A goodbye of TLS (close_notify) is the end, and nobody waits for more."""
    properties = tls_options(folder, more={"listeners": "SSL://localhost:0"})
    with Served(options=overrides(properties)) as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        with sealed(port, folder) as sock:
            assert ask(sock, "ApiVersions", 0).api_keys
            sock.unwrap()
        with sealed(port, folder) as sock:
            assert ask(sock, "ApiVersions", 0).api_keys


def test_large_requests_and_answers_pass_through_tls_whole(folder):
    properties = tls_options(folder, more={"listeners": "SSL://localhost:0"})
    with Served(options=overrides(properties)) as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        with sealed(port, folder) as sock:
            names = [f"{at:05}" + "x" * 200 for at in range(5000)]
            topics = [{"name": name} for name in names]
            answer = ask(
                sock, "Metadata", 4, topics=topics, allow_auto_topic_creation=False
            )
            assert [each.name for each in answer.topics] == names


# -- strangers


def test_strangers_are_few_and_those_that_wait_longest_give_way(folder, monkeypatch):
    """Half-open connections, of TLS or of a login, don't keep others out."""
    most = 20
    patch = f"import minikafka.server.newcomers as n; n.MOST = {most}\n"
    site = folder / "sitecustomize.py"
    site.write_text(patch)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(checks.__file__).parents[2]}")
    assert most < newcomers.MOST
    properties = tls_options(folder, more={"listeners": "SSL://localhost:0"})
    with Served(options=overrides(properties)) as kafka:
        port = int(kafka.bootstrap.rpartition(":")[2])
        silent = [socket.create_connection((HOST, port), 60) for _ in range(3 * most)]
        with sealed(port, folder) as sock:
            assert ask(sock, "ApiVersions", 0).api_keys
            for each in silent[:most]:
                try:
                    assert each.recv(1) == b""
                except ConnectionResetError:
                    pass
            assert ask(sock, "ApiVersions", 0).api_keys
        for each in silent:
            each.close()
    site.unlink()


def test_before_a_login_a_request_is_small(folder):
    """sasl.server.max.receive.size"""
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    more = {
        "listeners": "SASL_PLAINTEXT://localhost:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{jaas} user_a="b";',
    }
    with Served(options=overrides(more)) as kafka:
        with connected(kafka.bootstrap) as sock:
            sock.sendall(struct.pack(">i", 524_289))
            assert sock.recv(1) == b""
        with connected(kafka.bootstrap) as sock:
            ask(sock, "SaslHandshake", 1, mechanism="PLAIN")
            ask(sock, "SaslAuthenticate", 1, auth_bytes=b"\0a\0b")
            topics = [{"name": "x" * 200} for _ in range(5000)]
            assert ask(sock, "Metadata", 1, topics=topics).topics
