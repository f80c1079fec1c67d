"""The causes of "Invalid PEM keystore configs": which files Apache Kafka's clients take
for a keystore (KIP-651), and what `openssl pkcs8` makes of the others.
"""

import subprocess

import pytest

from minikafka.course.errors import nearest
from tests.course.provoking import java_class
from tests.kafka import free_ports, java_tool

pytestmark = [pytest.mark.java, pytest.mark.nightly, pytest.mark.timeout(1200)]

KEYS = """
openssl req -x509 -newkey rsa:2048 -nodes -keyout rsa -out rsa.crt -days 30 -subj /CN=a
openssl req -x509 -newkey ed25519 -nodes -keyout ed -out ed.crt -days 30 -subj /CN=a
openssl rsa -in rsa -traditional -out pkcs1
openssl pkcs8 -topk8 -nocrypt -in pkcs1 -out pkcs8
openssl pkcs8 -topk8 -in rsa -passout pass:secret -out pbes2
openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES -in rsa -passout pass:secret -out pbe
"""
NO_PASSWORD, RIGHT, WRONG = "", "secret", "another"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("keys")
    for line in KEYS.strip().splitlines():
        subprocess.run(line.split(), cwd=made, check=True, capture_output=True)
    return made


def heard(folder, files, password):
    """What a producer says whose keystore is these files, one after the other."""
    keystore = folder / "keystore.pem"
    keystore.write_text("".join((folder / name).read_text() for name in files))
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "max.block.ms": "500",
    }
    if password:
        properties["ssl.key.password"] = password
    [nobodys] = free_ports(1)
    words = ["--bootstrap-server", f"localhost:{nobodys}", "--topic", "orders"]
    for name, value in properties.items():
        words += ["--command-property", f"{name}={value}"]
    done = java_tool(java_class("kafka-console-producer.sh"), *words, input="one\n")
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("files", "password"),
    [
        (["rsa", "rsa.crt"], NO_PASSWORD),
        (["pkcs8", "rsa.crt"], NO_PASSWORD),
        (["pbe", "rsa.crt"], RIGHT),
    ],
)
def test_kip_651_a_keystore_is_a_key_in_pkcs8_and_its_certificate(
    files, password, folder
):
    said = heard(folder, files, password)
    assert "Invalid PEM" not in said and "could not be established" in said, said


@pytest.mark.parametrize(
    ("files", "password", "reason"),
    [
        (["rsa.crt"], NO_PASSWORD, "No matching PRIVATE KEY entries"),
        (["rsa"], NO_PASSWORD, "No matching CERTIFICATE entries"),
        (["pkcs1", "rsa.crt"], NO_PASSWORD, "Private key could not be loaded"),
        (["ed", "ed.crt"], NO_PASSWORD, "Private key could not be loaded"),
        (["pbe", "rsa.crt"], NO_PASSWORD, "Private key could not be loaded"),
        (["pbe", "rsa.crt"], WRONG, "BadPaddingException"),
        (["pbes2", "rsa.crt"], RIGHT, "PBES2"),
    ],
)
def test_kip_651_any_other_file_is_none(files, password, reason, folder):
    said = heard(folder, files, password)
    assert "Invalid PEM keystore configs" in said and reason in said, said
    assert nearest(said).id == "invalid-pem-keystore"
