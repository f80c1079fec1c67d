"""What strangers can do at a node before they have shown who they are: nothing that
harms it, or keeps others out, and they hear no more than how to log in.

The node is a process with a listener of each kind. Attacks follow a seed: the same
number is the same attack again, whichever thread makes it.
"""

import base64
import itertools
import random
import socket
import ssl
import struct
import threading
from collections import Counter, deque
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from minikafka.server import keys
from minikafka.server.embedded import Served
from minikafka.wire.errors import Error
from minikafka.wire.messages import BY_KEY, decode_response, encode_request
from tests.broker.node import values
from tests.broker.signed_tokens import key_set, signed
from tests.broker.test_login import scram_client, token
from tests.clients.brokers import overrides
from tests.conformance.raw import Connection, batch
from tests.kafka import free_ports
from tests.server.test_hostile_frames import RECORDED, framed, resident_bytes
from tests.server.test_secrets_are_told_to_nobody import SECRET, is_told_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.apart,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(),
        reason="reads the memory and the sockets of a process from /proc",
    ),
]

PLAIN_TEXT, TLS, LOGIN, BOTH = LISTENERS = (
    "PLAINTEXT",
    "SSL",
    "SASL_PLAINTEXT",
    "SASL_SSL",
)
WITH_TLS, WITH_LOGIN = (TLS, BOTH), (LOGIN, BOTH)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
# requests that are answered before a login
OPEN = {API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE}
MODULE = "org.apache.kafka.common.security.{}LoginModule required"
USER = "alice"
HOST = "localhost"
MEGABYTE = 1 << 20
MOST_GROWN = 32 * MEGABYTE
THREADS = 16
PATIENCE_SECONDS = 120  # for what must come at once
LAZY_BYTES = 4 * MEGABYTE  # of requests of a client that doesn't read


def properties(folder, ports):
    prefix = "listener.name.{}.{}.sasl.jaas.config"
    plain = f'{MODULE.format("plain.Plain")} user_{USER}="{SECRET}";'
    found = {
        "listeners": ",".join(
            f"{name}://{HOST}:{port}" for name, port in ports.items()
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.client.auth": "required",
        "listener.name.sasl_ssl.ssl.client.auth": "none",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": folder / "ours" / "broker.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": folder / "ours" / "ca.pem",
        "sasl.oauthbearer.jwks.endpoint.url": (folder / "keys.json").as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "us",
    }
    for listener in WITH_LOGIN:
        found[prefix.format(listener.lower(), "plain")] = plain
    return found


# -- clients that have the key


def sealed(sock, folder, shows=None):
    """shows: the folder of the client's own certificate."""
    context = ssl.create_default_context(cafile=folder / "ours" / "ca.pem")
    if shows is not None:
        context.load_cert_chain(folder / shows / "client.pem")
    return context.wrap_socket(sock, server_hostname=HOST)


class Honest(Connection):
    """One that gets in, by the listener's own way."""

    def __init__(self, ports, listener, folder):
        super().__init__(f"{HOST}:{ports[listener]}")
        if listener in WITH_TLS:
            shows = "ours" if listener == TLS else None
            self.socket = sealed(self.socket, folder, shows)
        if listener == LOGIN:
            self.choose("SCRAM-SHA-256")
            assert scram_client("SCRAM-SHA-256", USER, SECRET, self.say)
        elif listener == BOTH:
            self.choose("PLAIN")
            self.say(f"\0{USER}\0{SECRET}".encode())

    def choose(self, mechanism):
        assert not self.ask("SaslHandshake", 1, mechanism=mechanism).error_code

    def say(self, message):
        answer = self.ask("SaslAuthenticate", 2, auth_bytes=message)
        assert not answer.error_code, answer
        return answer.auth_bytes


class Legitimate(threading.Thread):
    """A client of one listener: as long as it is asked to it connects, writes a record,
    and reads what it wrote, each time on a new connection.
    """

    def __init__(self, ports, listener, folder, over):
        super().__init__(name=listener, daemon=True)
        self._place = ports, listener, folder
        self._topic = f"of-{listener}"
        self._over = over
        self.written = 0
        self.failed = None

    def run(self):
        try:
            while not (self.written and self._over.is_set()):
                self._once()
        except BaseException as error:
            self.failed = error

    def _once(self):
        value = str(self.written)
        with Honest(*self._place) as client:
            told = client.produce(self._topic, batch(value.encode()))
            assert (told.error_code, told.base_offset) == (0, self.written)
            assert values(client.fetch(self._topic, self.written)) == [value]
        self.written += 1


# -- strangers


class Told(NamedTuple):
    """What a stranger has heard. requests: the frames that it has sent, in full. heard:
    everything that came back to them.
    """

    requests: list
    heard: bytes


def request(api, version, correlation_id, **body):
    return b"".join(encode_request(api, version, correlation_id, "stranger", body))


METADATA = request("Metadata", 1, 999, topics=None)


def key_of(frame):
    return int.from_bytes(frame[:2], "big")


def check_told(told):
    """Every answer is to one of the requests that are open, or, after SaslHandshake 0,
    the next message of a mechanism; and none of them lets the stranger in.
    """
    heard = told.heard
    asked = deque(frame for frame in told.requests if key_of(frame) in OPEN)
    is_raw = any(frame[:4] == b"\0\x11\0\0" for frame in told.requests)
    answers = 0
    while heard:
        size = int.from_bytes(heard[:4], "big")
        answer, heard = heard[4 : 4 + size], heard[4 + size :]
        assert len(answer) == size, "half an answer"
        answers += 1
        if is_raw and answer.startswith((b"r=", b'{"status":"invalid')):
            continue
        while asked and asked[0][4:8] != answer[:4]:
            asked.popleft()
        assert asked, answer
        check_answer(asked.popleft(), answer)
    return answers


def check_answer(frame, answer):
    api, version = BY_KEY[key_of(frame)], int.from_bytes(frame[2:4], "big")
    if api.key == API_VERSIONS and answer[4:6] == b"\0\x23":
        version = 0  # UNSUPPORTED_VERSION
    _, body = decode_response(api.name, version, bytearray(answer))
    if api.key == SASL_AUTHENTICATE and not body.error_code:
        assert body.auth_bytes.startswith((b"r=", b'{"status":"invalid'))


def mutated(dice, data):
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        if changed:
            changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def garbage(dice):
    return dice.randbytes(dice.choice((0, 1, 3, 8, 20, 200)))


def message(dice):
    """A message of a mechanism, which lets nobody in."""
    first = f"n,,n={USER},r={dice.random()}"
    claims = {"sub": USER, "exp": 4102444800, "iat": 1, "aud": "kafka", "iss": "us"}
    right = signed(claims | {"exp": 2})
    found = dice.choice(
        (
            b"",
            b"\0" + USER.encode(),
            f"\0{USER}\0x{SECRET}".encode(),
            f"bob\0{USER}\0{SECRET}".encode(),
            first.encode(),
            f"n,,n=mallory,r={dice.random()}".encode(),
            f"{first},tokenauth=true".encode(),
            f"c=biws,r={dice.random()},p={base64.b64encode(bytes(32)).decode()}".encode(),
            *(
                f"n,,\1auth=Bearer {shown}\1\1".encode()
                for shown in (
                    token(claims),
                    token(claims, {"alg": ["RS256"]}),
                    right,
                    right[: dice.randrange(len(right))],
                    signed(claims, "theirs", kid="ours"),
                    "x" * 1000,
                )
            ),
        )
    )
    return dice.choice((found, found[: dice.randint(0, len(found))], garbage(dice)))


def api_versions(dice, correlation_id):
    version = dice.choice((0, 3, 4, 99))
    if version == 99:
        return struct.pack(">hhih", API_VERSIONS, version, correlation_id, -1)
    names = {"client_software_name": "x", "client_software_version": "1"}
    return request("ApiVersions", version, correlation_id, **names if version else {})


def login(dice, mechanisms, correlation_id):
    """The beginning of one, with up to two messages of the mechanism."""
    version = dice.randrange(2)
    mechanism = dice.choice(mechanisms)
    found = [request("SaslHandshake", version, correlation_id, mechanism=mechanism)]
    for more in range(dice.randint(0, 2)):
        said = message(dice)
        if version:
            at = correlation_id + 1 + more
            said = request("SaslAuthenticate", dice.randrange(3), at, auth_bytes=said)
        found.append(said)
    return found


def frames(dice):
    """Whole frames, of which the last one can't be asked before a login; half of them
    get as far as one can without a key, and ask then.
    """
    found = []
    if dice.random() < 0.5:
        if dice.random() < 0.7:
            found.append(api_versions(dice, 900))
        if dice.random() < 0.5:
            found += login(dice, MECHANISMS, 901)
        found.append(dice.choice((METADATA, dice.choice(RECORDED))))
    for at in range(0, 10 * dice.randint(1, 25), 10):
        kind = dice.randrange(6)
        if kind == 0:
            found.append(garbage(dice))
        elif kind == 1:
            found.append(dice.choice(RECORDED))
        elif kind == 2:
            found.append(mutated(dice, dice.choice(RECORDED)))
        elif kind == 3:
            found.append(api_versions(dice, at) + garbage(dice))
        else:
            found += login(dice, (*MECHANISMS, "GSSAPI", "", "x" * 300), at)
    return [*found, METADATA]


def bad_length(dice, most=524_288):
    """Four bytes that begin no request."""
    size = dice.choice((-1, -(2**31), 2**31 - 1, most + 1, 1_195_725_856))
    return struct.pack(">i", size)


class Siege:
    """Strangers at one node. sent: frames so far. Each attack is one connection."""

    def __init__(self, ports, folder, seed, frames):
        self._ports, self._folder, self._seed = ports, folder, seed
        self._frames = frames
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self.sent = 0
        self.answers = 0
        self.kinds = Counter()
        self.failed = None

    def run(self):
        threads = [threading.Thread(target=self._go_on) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _go_on(self):
        while self.sent < self._frames and self.failed is None:
            number = next(self._numbers)
            try:
                self._attack(number)
            except BaseException as error:
                error.add_note(f"attack {number} of seed {self._seed}")
                self.failed = error

    def _attack(self, number):
        dice = random.Random(f"{self._seed} {number}")
        attack = dice.choice(ATTACKS)
        with ExitStack() as stack:
            listener, told = attack(self, dice, stack)
        answers = 0
        if listener != PLAIN_TEXT:
            answers = check_told(told)
        assert listener != TLS or not told.heard
        with self._lock:
            self.sent += max(1, len(told.requests))
            self.answers += answers
            self.kinds[attack.__name__] += 1

    # -- each returns the listener, and what the stranger was told

    def says_what_it_may_not(self, dice, stack):
        """Whole requests, at once or in pieces: the node hangs up by itself."""
        listener = dice.choice((TLS, LOGIN, BOTH, LOGIN))
        sock = self._inside(listener, stack, dice)
        sent = frames(dice)
        data = b"".join(map(framed, sent))
        if dice.random() < 0.2:
            sent, data = sent[:-1], data[: -len(framed(METADATA))] + bad_length(dice)
        return listener, Told(sent, exchanged(sock, pieces(dice, data)))

    def breaks_off(self, dice, stack):
        """It hangs up within a request, or within a login."""
        listener = dice.choice(LISTENERS)
        sock = self._inside(listener, stack, dice)
        sent = [garbage(dice)] if listener == PLAIN_TEXT else frames(dice)
        data = b"".join(map(framed, sent))
        with suppress(OSError):
            sock.sendall(data[: dice.randrange(len(data))])
        return listener, Told(sent, b"")

    def sends_garbage_to_all(self, dice, stack):
        """Where nobody logs in, what is no request ends the connection, too."""
        sock = self._connected(PLAIN_TEXT, stack)
        if dice.random() < 0.5:
            data = bad_length(dice, 100 * MEGABYTE) + garbage(dice)
        else:
            data = framed(garbage(dice)) + framed(b"\x7f") + garbage(dice)
        sock.sendall(data)
        return PLAIN_TEXT, Told([data], until_the_end(sock))

    def takes_one_listener_for_another(self, dice, stack):
        """TLS where there is none, and none where there is."""
        listener = dice.choice(LISTENERS)
        sock = self._connected(listener, stack)
        if listener in WITH_TLS:
            data = framed(dice.choice(RECORDED))
        else:
            data = client_hello(self._folder)
        # what is no record at all, whatever came before
        with suppress(OSError):
            sock.sendall(data + b"\xff" * 70_000)
        until_the_end(sock)
        return listener, Told([data], b"")

    def stops_within_the_handshake(self, dice, stack):
        """A handshake that is cut, twisted, or never finished."""
        listener = dice.choice(WITH_TLS)
        sock = self._connected(listener, stack)
        hello = client_hello(self._folder)
        kind = dice.randrange(3)
        if kind == 0:
            hello = hello[: dice.randrange(len(hello))]
        elif kind == 1:
            hello = mutated(dice, hello)
        with suppress(OSError):
            sock.sendall(hello)
            if kind == 2:
                sock.recv(dice.randint(1, 4000))
        return listener, Told([hello], b"")

    def breaks_its_records(self, dice, stack):
        """After the handshake, what is no record, half of one, or a broken one."""
        sock = self._connected(BOTH, stack)
        came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=self._folder / "ours" / "ca.pem")
        tls = context.wrap_bio(came, goes, server_hostname=HOST)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(goes.read())
                came.write(sock.recv(1 << 16))
        sent = frames(dice)
        tls.write(b"".join(map(framed, sent)))
        record = goes.read()
        kind = dice.randrange(3)
        if kind == 0:
            sock.sendall(record[: dice.randrange(len(record))])
            return BOTH, Told(sent, b"")
        broken = b"\xff" * 5 if kind == 1 else record[:-1] + bytes([record[-1] ^ 1])
        with suppress(OSError):
            sock.sendall(broken)
        until_the_end(sock)
        return BOTH, Told(sent, b"")

    def proves_nothing(self, dice, stack):
        """A whole exchange of SCRAM, and a wrong proof at its end."""
        listener = dice.choice(WITH_LOGIN)
        sock = self._inside(listener, stack, dice)
        mechanism = dice.choice(("SCRAM-SHA-256", "SCRAM-SHA-512"))
        sent = [request("SaslHandshake", 1, 1, mechanism=mechanism)]
        first = f"n={USER},r=of-a-stranger"
        sent.append(
            request("SaslAuthenticate", 2, 2, auth_bytes=f"n,,{first}".encode())
        )
        sock.sendall(b"".join(map(framed, sent)))
        stream = sock.makefile("rb")
        heard = b""
        for _ in sent:
            size = stream.read(4)
            heard += size + stream.read(int.from_bytes(size, "big"))
        _, answer = decode_response(
            "SaslAuthenticate",
            2,
            bytearray(heard[8 + int.from_bytes(heard[:4], "big") :]),
        )
        nonce = answer.auth_bytes.decode().partition(",")[0]
        assert nonce.startswith("r=of-a-stranger")
        proof = base64.b64encode(dice.randbytes(dice.choice((0, 31, 32, 64)))).decode()
        final = dice.choice(
            (
                f"c=biws,{nonce},p={proof}",
                f"c=biws,{nonce}x,p={proof}",
                f"c=eSws,{nonce},p={proof}",
                f"c=biws,{nonce}",
                f"n,,{first}",
            )
        )
        last = request("SaslAuthenticate", 2, 3, auth_bytes=final.encode())
        # and a second try, which comes too late
        sock.sendall(framed(last) + framed(last[:7] + b"\4" + last[8:]))
        refusal = stream.read()
        _, answer = decode_response("SaslAuthenticate", 2, bytearray(refusal[4:]))
        assert answer.error_code == Error.SASL_AUTHENTICATION_FAILED
        heard += refusal
        return listener, Told([*sent, last], heard)

    def _connected(self, listener, stack):
        address = HOST, self._ports[listener]
        return stack.enter_context(socket.create_connection(address, PATIENCE_SECONDS))

    def _inside(self, listener, stack, dice):
        """Behind TLS, where there is some. Where a certificate is wanted it shows none,
        or one of another authority.
        """
        sock = self._connected(listener, stack)
        if listener not in WITH_TLS:
            return sock
        shows = None
        if listener == TLS:
            shows = dice.choice((None, "theirs"))
        return stack.enter_context(sealed(sock, self._folder, shows))


ATTACKS = [
    *[Siege.says_what_it_may_not] * 6,
    Siege.breaks_off,
    Siege.sends_garbage_to_all,
    Siege.takes_one_listener_for_another,
    Siege.stops_within_the_handshake,
    Siege.breaks_its_records,
    Siege.proves_nothing,
]


def client_hello(folder):
    goes = ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=folder / "ours" / "ca.pem")
    tls = context.wrap_bio(ssl.MemoryBIO(), goes, server_hostname=HOST)
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return goes.read()


def pieces(dice, data):
    while data:
        size = dice.choice((1, 7, 300, len(data)))
        yield data[:size]
        data = data[size:]


def exchanged(sock, parts):
    with suppress(OSError):
        for part in parts:
            sock.sendall(part)
    return until_the_end(sock)


def until_the_end(sock):
    """What comes until the node hangs up, which it must do by itself."""
    heard = b""
    try:
        while more := sock.recv(1 << 16):
            heard += more
    except TimeoutError:
        raise
    except OSError:
        pass
    return heard


# -- those that stay


def silent(ports, count):
    """Half-open: they have connected, and say nothing, or half of something."""
    found = []
    for at in range(count):
        listener = (TLS, LOGIN, BOTH)[at % 3]
        sock = socket.create_connection((HOST, ports[listener]), PATIENCE_SECONDS)
        sock.sendall((b"", b"\x16\x03\x01\x02", b"\0\0\1\0" + bytes(20))[at % 3])
        found.append(sock)
    return found


def lazy(ports, listener, folder):
    """It asks as much as it can, and reads nothing."""
    sock = socket.create_connection((HOST, ports[listener]), PATIENCE_SECONDS)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    if listener in WITH_TLS:
        sock = sealed(sock, folder)
    sock.setblocking(False)
    asked = framed(struct.pack(">hhih", API_VERSIONS, 99, 1, -1)) * 1000
    if listener == PLAIN_TEXT:
        asked = framed(METADATA) * 1000
    sent = 0
    with suppress(OSError):
        while sent < LAZY_BYTES:
            sent += sock.send(asked)
    return sock


def sockets(process):
    found = 0
    for handle in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(OSError):
            found += str(handle.readlink()).startswith("socket:")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("siege")
    keys.make(made / "ours", (HOST,), USER)
    keys.make(made / "theirs", (HOST,), USER)
    (made / "keys.json").write_text(key_set("ours"))
    return made


@pytest.mark.parametrize(
    ("seed", "count", "half_open"),
    [(1, 4000, 60), pytest.param(2, 100_000, 700, marks=pytest.mark.nightly)],
)
def test_strangers_harm_nobody_and_hear_only_how_to_log_in(
    folder, seed, count, half_open
):
    """KIP-43, KIP-152: the node lives, its memory and its sockets come back, who has the
    key is served by each listener meanwhile, and nothing secret is in the log.
    """
    ports = dict(zip(LISTENERS, free_ports(4), strict=True))
    options = ("--verbose", *overrides(properties(folder, ports)))
    options += ("--add-scram", f"SCRAM-SHA-256=[name={USER},password={SECRET}]")
    options += ("--add-scram", f"SCRAM-SHA-512=[name={USER},password={SECRET}]")
    with Served(options=options) as served, ExitStack() as stack:
        witness = stack.enter_context(Honest(ports, PLAIN_TEXT, folder))
        for listener in LISTENERS:
            witness.create_topic(f"of-{listener}")
            Honest(ports, listener, folder).close()
        before, open_before = resident_bytes(served), sockets(served.process)
        over = threading.Event()
        clients = [Legitimate(ports, name, folder, over) for name in LISTENERS]
        for client in clients:
            client.start()
        staying = silent(ports, half_open)
        staying += [lazy(ports, name, folder) for name in (PLAIN_TEXT, *WITH_LOGIN)]
        siege = Siege(ports, folder, seed, count)
        siege.run()
        over.set()
        for client in clients:
            client.join()
        for sock in staying:
            sock.close()
        for failed in (siege.failed, *(client.failed for client in clients)):
            if failed is not None:
                raise failed
        while sockets(served.process) > open_before:
            assert witness.offset(f"of-{LOGIN}", -1).error_code == 0
        grown = resident_bytes(served) - before
        print(
            f"{siege.sent} frames, {siege.answers} answers, {dict(siege.kinds)};"
            f" {[client.written for client in clients]} records by"
            f" {LISTENERS}; grown by {grown / MEGABYTE:.1f} MB"
        )
        assert siege.sent >= count and siege.answers > count // 100
        assert set(siege.kinds) == {attack.__name__ for attack in ATTACKS}
        assert grown < MOST_GROWN
        for client in clients:
            offset = witness.offset(f"of-{client.name}", -1).offset
            assert offset == client.written > 0
        said = served.said()
        assert served.process.poll() is None
        assert "Traceback" not in said and "met a bug" not in said
        assert not is_told_in(said)
