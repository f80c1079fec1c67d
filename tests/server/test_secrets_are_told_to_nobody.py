"""What is secret is told to nobody: every sensitive config, password and token is given
to a cluster as a process, in every way in which one can, and everything that it writes
and answers is searched. What a data folder keeps is another matter.
"""

import base64
import hmac
import itertools
import struct
from contextlib import ExitStack, suppress
from hashlib import sha256, sha512

import pytest

from minikafka.broker.config_table import BROKER_CONFIGS
from minikafka.cluster.metadata import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from minikafka.course.demo import recorded
from minikafka.server.embedded import Served
from minikafka.theatre import picture
from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_response, encode_request
from tests.conformance.raw import Connection
from tests.server.test_life import said

pytestmark = pytest.mark.timeout(1200)

SECRET = "Tr0ub4dor-and-3-of-the-shop"
MISTYPED = ("ssl.key.passwort", "listener.name.plaintext.ssl.key.passwort")
SENSITIVE = [name for name, row in BROKER_CONFIGS.items() if row.is_sensitive]
NAMES = [
    *SENSITIVE,
    *(f"listener.name.plaintext.{name}" for name in SENSITIVE),
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config",
    "a.plugin.of.ours.key",
]
SET, APPEND, SUBTRACT, UNKNOWN = 0, 2, 3, 4
BROKERS = "1", "2", "3"
KINDS = (
    (TOPIC_RESOURCE, "orders"),
    (GROUP_RESOURCE, "billing"),
    (CLIENT_METRICS_RESOURCE, "ours"),
    *((BROKER_RESOURCE, broker) for broker in ("", "9", *BROKERS)),
)


def forms_of(data):
    """As it is, and as hex and base64 would show it."""
    forms = {data, data.hex().encode()}
    for skipped in range(3):
        encoded = base64.b64encode(bytes(skipped) + data)
        forms.add(encoded[4:-4])
    return forms


SALT = b"pepper-and-salt"


def keys_of(password):
    """What is kept of a salted password (RFC 5802), with its salt."""
    keys = [SALT]
    for digest in (sha256, sha512):
        keys.append(hmac.digest(password, b"Server Key", digest))
        keys.append(digest(hmac.digest(password, b"Client Key", digest)).digest())
    return keys


FORMS = {
    form
    for data in (SECRET.encode(), SECRET.encode("utf-16-le"), *keys_of(SECRET.encode()))
    for form in forms_of(data)
}


def is_told_in(written):
    """A SCRAM credential is as secret as its password: who has it can check guesses."""
    data = written if isinstance(written, bytes) else written.encode()
    return any(form in data or form in data.lower() for form in FORMS)


class Asked:
    """A client that keeps what it hears, byte by byte, and the errors in it."""

    def __init__(self, address):
        self.connection = Connection(address)
        self.heard = []

    def ask(self, api, version, **body):
        self.connection.send(api, version, **body)
        frame = self.connection.read_frame()
        self.heard.append(frame)
        return decode_response(api, version, frame)[1]

    def close(self):
        self.connection.close()


def config_changes():
    """(api, version, body) of every way to give a config."""
    for name, only_validated in itertools.product(NAMES, (True, False)):
        for operation in (None, APPEND, SUBTRACT, UNKNOWN, SET):
            config = {"name": name, "value": SECRET}
            api, version = "AlterConfigs", 2
            if operation is not None:
                config["config_operation"] = operation
                api, version = "IncrementalAlterConfigs", 1
            resources = [
                {"resource_type": kind, "resource_name": of, "configs": [config]}
                for kind, of in KINDS
            ]
            yield (
                api,
                version,
                {"resources": resources, "validate_only": only_validated},
            )


def passwords():
    """The same of what isn't a config."""
    data = SECRET.encode()
    for name in ("sasl.jaas.config", "ssl.key.password", "a.plugin.of.ours.key"):
        topic = {"name": "new", "num_partitions": 1, "replication_factor": 1}
        topic["configs"] = [{"name": name, "value": SECRET}]
        yield "CreateTopics", 7, {"topics": [topic]}
    for user, mechanism, iterations in (
        ("ann", 1, 4096),
        ("ann", 2, 8192),
        ("ann", 9, 4096),
        ("bob", 1, 1),
        ("", 1, 4096),
    ):
        credential = {
            "name": user,
            "mechanism": mechanism,
            "iterations": iterations,
            "salt": SALT,
            "salted_password": data,
        }
        yield "AlterUserScramCredentials", 0, {"upsertions": [credential]}
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        yield "SaslHandshake", 1, {"mechanism": mechanism}
    for version in (0, 1, 2):
        yield "SaslAuthenticate", version, {"auth_bytes": b"\0ann\0" + data}
    yield "RenewDelegationToken", 2, {"hmac": data, "renew_period_ms": 1}
    yield "ExpireDelegationToken", 2, {"hmac": data, "expiry_time_period_ms": 1}


def questions():
    """Whatever might tell what was set."""
    described = [
        {
            "resource_type": BROKER_RESOURCE,
            "resource_name": of,
            "configuration_keys": None,
        }
        for of in ("", *BROKERS)
    ]
    flags = {"include_synonyms": True, "include_documentation": True}
    for resource in described:
        yield "DescribeConfigs", 4, {"resources": [resource]} | flags
    for name in NAMES:
        resource = described[1] | {"configuration_keys": [name]}
        yield "DescribeConfigs", 4, {"resources": [resource]} | flags
    yield "DescribeUserScramCredentials", 0, {"users": None}
    yield "DescribeUserScramCredentials", 0, {"users": [{"name": "ann"}]}
    yield "DescribeCluster", 2, {}
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    topic = {"topic": "__cluster_metadata", "partitions": [partition]}
    yield "Fetch", 12, {"max_bytes": 1 << 20, "topics": [topic]}


def strange_frames():
    """What a client may send that takes this for another listener, or breaks off."""
    data = SECRET.encode()
    token = b"\0ann\0" + data
    yield struct.pack(">i", len(token)) + token  # after a SaslHandshake 0
    config = {"name": "ssl.key.password", "value": SECRET, "config_operation": SET}
    resource = {"resource_type": BROKER_RESOURCE, "resource_name": "1"}
    body = {"resources": [resource | {"configs": [config]}]}
    frame = b"".join(encode_request("IncrementalAlterConfigs", 1, 1, "raw", body))
    for broken in (frame[:-3], frame.replace(b"Tr0ub4dor", b"Tr0ub4do\xff")):
        yield struct.pack(">i", len(broken)) + broken
    yield b"GET / HTTP/1.1\r\nAuthorization: Basic " + base64.b64encode(data) + b"\r\n"
    yield b"POST / HTTP/1.1\r\n\r\n" + data


def talk(bootstrap, given):
    """All that clients hear. given: what to send besides the questions."""
    heard, errors = [], set()
    with ExitStack() as stack:
        clients = [Asked(address) for address in bootstrap.split(",")]
        for client in clients:
            stack.callback(client.close)
        for client in clients:
            for api, version, body in itertools.chain(given, questions()):
                answer = client.ask(api, version, **body)
                if api in ("AlterConfigs", "IncrementalAlterConfigs"):
                    errors |= {Error(one.error_code).name for one in answer.responses}
            heard += client.heard
    return heard, errors


def loud(bootstrap):
    """Every broker tells as much as it can (KIP-412)."""
    for broker, address in zip(BROKERS, bootstrap.split(","), strict=True):
        levels = [
            {"name": name, "value": "TRACE", "config_operation": SET}
            for name in ("root", "kafka.request.logger")
        ]
        resource = {"resource_type": BROKER_LOGGER_RESOURCE, "resource_name": broker}
        with Connection(address) as client:
            answer = client.ask(
                "IncrementalAlterConfigs",
                1,
                resources=[resource | {"configs": levels}],
            )
            assert answer.responses[0].error_code == Error.NONE


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("--processes",)], ids=["one", "many"])
def test_no_sensitive_config_password_or_token_is_in_trace_log_picture_or_answer(
    tmp_path, processes
):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    options = [
        "--brokers",
        "3",
        "--verbose",
        "--cluster-secret",
        str(secret),
        *processes,
    ]
    for name in (*SENSITIVE, *MISTYPED):
        options += ["--override", f"{name}={SECRET}"]
    log, trace = tmp_path / "log", tmp_path / "trace"
    given = [*config_changes(), *passwords()]
    for run in (given, []):  # what was stored is told by no restart
        with Served(
            tmp_path / "data", trace=trace, log=log, options=tuple(options)
        ) as served:
            loud(served.bootstrap)
            heard, errors = talk(served.bootstrap, run)
            for frame in strange_frames():
                with Connection(served.bootstrap.split(",")[0]) as client:
                    client.send_bytes(frame)
                    with suppress(ConnectionError):
                        heard.append(client.socket.recv(1 << 16))
            assert not [each for each in heard if is_told_in(each)]
            if run:
                assert {"NONE", "INVALID_REQUEST", "INVALID_CONFIG"} <= errors
            said_at_start = served.said()
        assert "without effect here" in said_at_start
        for name in MISTYPED:
            assert f"no broker config is called {name}" in said_at_start
        assert "asks IncrementalAlterConfigs" in log.read_text()
        for path in (log, *tmp_path.glob("trace*")):
            assert not is_told_in(path.read_bytes()), path.name
        events = recorded(trace)
        altered = [event for event in events if event.kind == "ConfigsAltered"]
        assert bool(altered) == bool(run)
        assert not is_told_in("\n".join(map(str, events)))
        shown = picture("quorum", events)
        assert shown.scenes and not is_told_in(shown.page())


@pytest.mark.parametrize(
    "override",
    [
        "ssl.key.password {}",
        "ssl.key.password:{}",
    ],
)
def test_an_override_that_is_refused_is_told_without_its_value(override):
    code, errors = said("--port", "0", "--override", override.format(SECRET))
    name = override.partition("=")[0].removesuffix("{}").strip(" :")
    assert code and name in errors and not is_told_in(errors)


def test_the_search_finds_a_secret_in_any_of_its_forms():
    data = SECRET.encode()
    for told in (data, repr(data).encode(), data.hex().encode()):
        assert is_told_in(b"a " + told)
    for before in range(5):
        assert is_told_in(base64.b64encode(bytes(before) + data + b"tail"))
    assert not is_told_in(b"[hidden]")
