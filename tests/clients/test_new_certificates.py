"""A listener's keystore and truststore are replaced while its broker runs, by minikafka as
by Apache Kafka (KIP-226): a broker checks the new ones before it takes them, and shows
them to whoever connects from then on.
"""

import shutil
import socket
import ssl
import struct
from contextlib import contextmanager

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from minikafka.server import keys
from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_response, encode_request
from tests.clients.brokers import until
from tests.clients.locked import (
    Try,
    locked_apache_kafka,
    locked_minikafka,
    make_keys,
)
from tests.clients.locked_clients import by_kafka_python
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA

BROKER, SET, DELETE = 4, 0, 1
STORE = "listener.name.expired.ssl.keystore."
LOCATION, TYPE, PASSWORD = (f"{STORE}{end}" for end in ("location", "type", "password"))
KEY_PASSWORD = "listener.name.expired.ssl.key.password"
TRUST = "listener.name.mutual.ssl.truststore.location"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """more: for a host more than the others."""
    made = tmp_path_factory.mktemp("locked")
    make_keys(made)
    keys.make(made / "more", ("localhost", "127.0.0.1"))
    (made / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    whole = (made / "good" / "broker.pem").read_bytes()
    key = load_pem_private_key(whole, None)
    locked = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"key-password")
    )
    (made / "locked.pem").write_bytes(locked + whole[whole.index(b"-----BEGIN CERT") :])
    return made


@pytest.fixture(params=BOTH)
def started(request, folder):
    """Starts a broker that the test may change."""
    by = locked_minikafka if request.param == MINIKAFKA else locked_apache_kafka

    @contextmanager
    def start(data=None):
        with by(folder, data=data) as broker:
            yield broker

    return start


@pytest.fixture
def broker(started):
    with started() as made:
        yield made


def altered(broker, configs):
    """What the broker answers: an error's number, and its words. None: take it back."""
    asked = [
        {
            "name": name,
            "config_operation": DELETE if text is None else SET,
            "value": None if text is None else str(text),
        }
        for name, text in configs.items()
    ]
    of_one = {"resource_type": BROKER, "resource_name": "1", "configs": asked}
    with Connection(broker.at("PLAINTEXT")) as connection:
        answer = connection.ask("IncrementalAlterConfigs", 1, resources=[of_one])
    return answer.responses[0].error_code, answer.responses[0].error_message


def shown(broker, listener="EXPIRED"):
    """The folder whose certificate a new connection is shown."""
    with trusting(broker, listener) as sock:
        certificate = ssl.DER_cert_to_PEM_cert(sock.getpeercert(True))
    for file in broker.folder.glob("*/broker.pem"):
        if certificate.strip() in file.read_text():
            return file.parent.name
    return None


def trusting(broker, listener):
    """A connection whose client looks at no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    sock = socket.create_connection(("localhost", broker.port[listener]), timeout=60)
    return context.wrap_socket(sock)


def impatient(listener, shows=""):
    """A client that is to stay outside."""
    how = Try(listener, shows=shows)
    how.patience_ms = 3_000
    return how


def is_answered(sock):
    frame = b"".join(encode_request("ApiVersions", 0, 1, "test", {}))
    sock.sendall(struct.pack(">i", len(frame)) + frame)
    with sock.makefile("rb") as file:
        [size] = struct.unpack(">i", file.read(4))
        return bool(decode_response("ApiVersions", 0, file.read(size))[1].api_keys)


def test_a_new_certificate_is_for_new_clients_and_others_stay_connected(broker):
    with trusting(broker, "EXPIRED") as sock:
        assert is_answered(sock)
        assert by_kafka_python(broker, impatient("EXPIRED"))
        assert altered(broker, {LOCATION: broker.folder / "good/broker.pem"}) == (
            0,
            None,
        )
        # each of Apache Kafka's network threads learns of it for itself
        until(lambda: by_kafka_python(broker, Try("EXPIRED")) == "")
        assert is_answered(sock)


def test_what_cannot_take_its_place_is_refused_and_changes_nothing(broker):
    folder = broker.folder
    for configs, why in (
        ({LOCATION: "/nowhere.pem"}, "/nowhere.pem"),
        ({LOCATION: folder / "broken.pem"}, "keystore"),
        ({LOCATION: folder / "locked.pem"}, "keystore"),
        ({LOCATION: folder / "locked.pem", KEY_PASSWORD: "no"}, "keystore"),
        (
            {LOCATION: folder / "elsewhere/broker.pem"},
            "Keystore DistinguishedName does",
        ),
        ({LOCATION: folder / "good/broker.p12", TYPE: "PKCS12", PASSWORD: "no"}, ""),
        ({PASSWORD: keys.PASSWORD}, "PEM"),
        ({f"{STORE}certificate.chain": "x"}, ""),
        ({TRUST: folder / "broken.pem"}, ""),
    ):
        error, words = altered(broker, configs)
        assert error == Error.INVALID_REQUEST, configs
        assert "Validation of dynamic config update of SSLFactory failed" in words
        assert why in words
    assert shown(broker) == "expired"


def test_a_certificate_may_be_for_further_hosts_but_for_none_less(broker):
    assert altered(broker, {LOCATION: broker.folder / "more/broker.pem"}) == (0, None)
    until(lambda: shown(broker) == "more")
    error, words = altered(broker, {LOCATION: broker.folder / "good/broker.pem"})
    assert error == Error.INVALID_REQUEST
    assert "Keystore SubjectAltNames do not match" in words
    error, _ = altered(broker, {LOCATION: None})  # back to that of the start
    assert error == Error.INVALID_REQUEST
    assert shown(broker) == "more"


def test_a_file_is_read_again_when_its_path_is_set_again(broker, tmp_path):
    """KAFKA-14136. Its configs haven't changed, so nobody looks at it before: one that
    can't be used is only reported.
    """
    store = tmp_path / "broker.pem"

    def set_with(content):
        shutil.copy(content, store)
        return altered(broker, {LOCATION: store})

    for name in ("good", "more"):
        assert set_with(broker.folder / name / "broker.pem") == (0, None)
        until(lambda now=name: shown(broker) == now)
    said = broker.said()
    assert set_with(broker.folder / "broken.pem") == (0, None)
    until(lambda: broker.said() != said)
    assert shown(broker) == "more"


def test_what_was_set_at_run_time_comes_before_the_start(started, tmp_path):
    with started(tmp_path / "data") as broker:
        altered(
            broker,
            {
                LOCATION: broker.folder / "good/broker.p12",
                TYPE: "PKCS12",
                PASSWORD: keys.PASSWORD,
            },
        )
        until(lambda: shown(broker) == "good")
    with started(tmp_path / "data") as broker:
        assert shown(broker) == "good"


def test_whom_a_listener_trusts_changes_for_new_clients(broker):
    assert by_kafka_python(broker, Try("MUTUAL", shows="good")) == ""
    assert altered(broker, {TRUST: broker.folder / "other/ca.pem"}) == (0, None)
    until(lambda: by_kafka_python(broker, Try("MUTUAL", shows="other")) == "")
    assert by_kafka_python(broker, impatient("MUTUAL", shows="good"))
