"""openssl and ls, for the certificates on the brokers' machines and those that the brokers
show, in the words of OpenSSL 3.0; nc, for their ports, in the words of OpenBSD's.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatch

from minikafka.course.on_call import certificates, elsewhere
from minikafka.course.on_call.addresses import NAMED
from minikafka.course.on_call.brokers import BROKERS
from minikafka.course.on_call.certificates import (
    AUTHORITY,
    FOLDER,
    OF_KAFKA,
    Certificate,
)
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.tls import HOST, PORT
from minikafka.course.on_call.usage import Given, Refused, number_in
from minikafka.course.on_call.world import World
from minikafka.course.on_call.x509 import date_of, name_of, x509_lines

NEW = timedelta(days=182)
KEY_SIZE = 241  # of a private key, in the same file as its certificate
WHICH = (
    "Say on which machine: ssh kafka-1 openssl x509 -noout -enddate -in"
    " /etc/kafka/ssl/broker.pem."
)
NO_SUCH_HOST = (
    "error:10080002:BIO routines:BIO_lookup_ex:system lib:Name or service not known\n"
    "connect:errno=0"
)
REFUSED = (
    "error:8000006F:system library:BIO_connect:Connection refused:calling connect()\n"
    "connect:errno=111"
)
NOT_TLS = (
    "error:0A000126:SSL routines:ssl3_read_n:unexpected eof while reading\n"
    "(Port 9092 doesn't speak TLS.)"
)
NO_CERTIFICATE = "CONNECTED(00000003)\n---\nno peer certificate available\n---"
PLAIN_PORT = 9092
ANSWERS = "Connection to {} ({}) {} port [tcp/*] succeeded!"
DOES_NOT = "nc: connect to {} ({}) port {} (tcp) failed: Connection refused"
NOWHERE = 'nc: getaddrinfo for host "{}" port {}: Name or service not known'
NO_SUCH_FILE = "ls: cannot access '{}': No such file or directory"
SUBFOLDER = "drwxr-xr-x 2 kafka kafka 4096 Dec 16 13:00 ssl"
NO_FILE = (
    "Could not open file or uri for loading certificate from {}\n"
    "error:80000002:system library:file_open:No such file or directory\n"
    "Unable to load certificate"
)

ENDED = 10, "certificate has expired"
NO_ISSUER = 20, "unable to get local issuer certificate"
NOT_VERIFIED = 21, "unable to verify the first certificate"
OK = 0, "ok"

CHAIN = """\
CONNECTED(00000003)
---
Certificate chain
 0 s:{subject}
   i:{issuer}
   a:PKEY: id-ecPublicKey, 256 (bit); sigalg: ecdsa-with-SHA256
   v:NotBefore: {begins}; NotAfter: {ends}
---
Server certificate
{pem}
subject={subject}
issuer={issuer}
---
No client certificate CA names sent
Peer signing digest: SHA256
Peer signature type: ECDSA
Server Temp Key: X25519, 253 bits
---
{verified}
---
New, TLSv1.3, Cipher is TLS_AES_256_GCM_SHA384
Server public key is 256 bit
Verify return code: {code} ({words})
---"""
BRIEF = """\
CONNECTION ESTABLISHED
Protocol version: TLSv1.3
Ciphersuite: TLS_AES_256_GCM_SHA384
Peer certificate: {subject}
Hash used: SHA256
Signature type: ECDSA
{verified}
Server Temp Key: X25519, 253 bits"""

WITH_CONFIG = ("--command-config", "--consumer.config")
SPEAKS_TLS = (
    f"Port {PORT} speaks TLS, for which a tool needs a file of configs:"
    " --command-config client.properties. Port 9092 needs none."
)
TURNED_AWAY = (
    "ERROR [AdminClient clientId=adminclient-1] Connection to node -1 ({address}) failed"
    " authentication due to: SSL handshake failed"
    " (org.apache.kafka.clients.NetworkClient)\n"
    "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed\n"
    "Caused by: javax.net.ssl.SSLHandshakeException: PKIX path validation failed:"
    " java.security.cert.CertPathValidatorException: validity check failed\n"
    "Caused by: java.security.cert.CertificateExpiredException: NotAfter: {ended}"
)


# -- what a port shows


def s_client(world: World, given: Given) -> Said:
    """openssl s_client -connect HOST:PORT: the certificate that a broker shows."""
    host, _, port = given["-connect"].partition(":")
    host = host or given.get("BROKER", "")
    if host in ("localhost", "127.0.0.1"):
        host = given.get("BROKER", host)
    if host not in NAMED:
        return Said("", NO_SUCH_HOST)
    broker = NAMED[host]
    if not world.brokers.is_up(broker):
        return Said("", REFUSED)
    if port == "9092":
        return Said(NO_CERTIFICATE, NOT_TLS)
    if world.tls is None or number_in(port) != PORT:
        return Said("", REFUSED)
    knows = given.get("-CAfile", "").endswith("ca.pem")
    shown = world.tls.shown(broker)
    found = _verified(shown, certificates.at(world.now_ms), knows)
    code, words = found[-1]
    verified = "Verification: OK" if code == 0 else f"Verification error: {words}"
    texts = {
        "subject": name_of(shown.name),
        "issuer": name_of(AUTHORITY),
        "begins": date_of(shown.begins),
        "ends": date_of(shown.ends),
        "pem": shown.pem,
        "verified": verified,
        "code": code,
        "words": words,
    }
    is_brief = "-brief" in given
    errors = _while_verifying(shown, found, knows, is_brief)
    if is_brief:
        return Said("", "\n".join([*errors, BRIEF.format(**texts), "DONE"]))
    return Said(CHAIN.format(**texts), "\n".join(errors), "DONE")


def probe(world: World, given: Given) -> Said:
    """nc -zv HOST PORT: whether a broker's port answers. Without -v it says nothing."""
    host, port = given["HOST"], given["PORT"]
    if host in ("localhost", "127.0.0.1"):
        host = given.get("BROKER", host)
    if host not in NAMED:
        return Said("", NOWHERE.format(host, port))
    broker = NAMED[host]
    open_ports = [PLAIN_PORT] if world.tls is None else [PLAIN_PORT, PORT]
    is_open = world.brokers.is_up(broker) and number_in(port) in open_ports
    said = ANSWERS if is_open else DOES_NOT
    return Said("", said.format(host, HOST.format(broker), port) * ("-v" in given))


def _verified(
    shown: Certificate, now: datetime, knows_authority: bool
) -> list[tuple[int, str]]:
    """What OpenSSL has against a certificate, in its order; the last one counts."""
    found = [] if knows_authority else [NO_ISSUER, NOT_VERIFIED]
    if shown.has_ended(now):
        found.append(ENDED)
    return found or [OK]


def _while_verifying(
    shown: Certificate,
    found: Sequence[tuple[int, str]],
    knows_authority: bool,
    is_brief: bool,
) -> list[str]:
    """The lines that s_client writes on standard error meanwhile: with -brief only
    those on what is wrong.
    """
    lines: list[str] = []
    if is_brief and found == [OK]:
        return lines
    if knows_authority and not is_brief:
        lines += [f"depth=1 {name_of(AUTHORITY)}", "verify return:1"]
    depth = f"depth=0 {name_of(shown.name)}"
    for code, words in found:
        lines.append(depth)
        if (code, words) != OK:
            lines.append(f"verify error:num={code}:{words}")
        if (code, words) == ENDED:
            lines.append(f"notAfter={date_of(shown.ends)}")
        if not is_brief:
            lines.append("verify return:1")
    return lines


def handshake(world: World, words: Sequence[str], named: Sequence[str]) -> str:
    """What a Kafka tool prints if the brokers that its line names turn it away at the
    port with TLS; otherwise "". named: their addresses. Raises Refused for a line
    without the configs of a client that speaks TLS.
    """
    tls = world.tls
    up = [each for each in map(_with_tls, named) if each and world.brokers.is_up(each)]
    if tls is None or not up:
        return ""
    if not any(word.partition("=")[0] in WITH_CONFIG for word in words):
        raise Refused(SPEAKS_TLS)
    now = certificates.at(world.now_ms)
    shown = [tls.shown(broker) for broker in up]
    if len(up) < len(named) or not all(each.has_ended(now) for each in shown):
        return ""
    ended = f"{shown[0].ends:%a %b %d %H:%M:%S UTC %Y}"
    return TURNED_AWAY.format(address=named[0], ended=ended)


def _with_tls(address: str) -> int | None:
    """The broker whose port with TLS this is; None for other addresses."""
    host, _, port = address.partition(":")
    return NAMED.get(host) if number_in(port) == PORT else None


# -- what is in a file


def x509(world: World, given: Given) -> Said:
    """openssl x509 -in FILE: on the machine that ssh names."""
    path = given["-in"]
    found = _read(world, given, path)
    if found is None:
        return Said("", NO_FILE.format(path))
    lines = x509_lines(found, list(given))
    if "-checkend" in given:
        lines.append(_ends_within(world, found, given["-checkend"]))
    return Said("\n".join(lines))


def _ends_within(world: World, found: Certificate, text: str) -> str:
    """-checkend SECONDS. Raises Refused."""
    seconds = number_in(text)
    if seconds is None or seconds < 0:
        raise Refused(f"-checkend is a number of seconds, not {text!r}.")
    if found.has_ended(certificates.at(world.now_ms + 1000 * seconds)):
        return "Certificate will expire"
    return "Certificate will not expire"


def verify(world: World, given: Given) -> Said:
    """openssl verify -CAfile FILE PATH: a certificate in a file, by the authority's."""
    path = given["PATH"]
    found = _read(world, given, path)
    if found is None:
        return Said("", NO_FILE.format(path))
    if found.has_ended(certificates.at(world.now_ms)):
        code, words = ENDED
        return Said(
            "",
            f"{name_of(found.name)}\nerror {code} at 0 depth lookup: {words}\n"
            f"error {path}: verification failed",
        )
    return Said(f"{path}: OK")


def listed(world: World, given: Given) -> str | Said:
    """ls -l /etc/kafka/ssl: on the machine that ssh names."""
    if world.tls is None:
        raise Refused(elsewhere.NO_FOLDERS)
    broker = _broker(given)
    wanted = given["FOLDER"].rstrip("/")
    if wanted == OF_KAFKA:
        return SUBFOLDER
    lines = []
    for (machine, path), found in sorted(certificates.files().items()):
        is_wanted = wanted == FOLDER or fnmatch(path, wanted)
        if machine == broker and is_wanted:
            lines.append(_row(path, found, certificates.at(world.now_ms)))
    if not lines:
        return Said("", NO_SUCH_FILE.format(given["FOLDER"]))
    return "\n".join(lines)


def _row(path: str, found: Certificate, now: datetime) -> str:
    """A file, as `ls -l` has it: with the time where it is new, with the year where it
    isn't.
    """
    size = len(found.pem) + (KEY_SIZE if found.hosts else 0)
    rights = "-rw-r-----" if found.hosts else "-rw-r--r--"
    written = found.begins
    clock = f"{written:%H:%M}" if now - written < NEW else f" {written:%Y}"
    name = path.removeprefix(f"{FOLDER}/")
    day = f"{written:%b} {written.day:2} {clock}"
    return f"{rights} 1 kafka kafka {size:4} {day} {name}"


def _read(world: World, given: Given, path: str) -> Certificate | None:
    """What is in a file of a machine; None if there is no such file."""
    if world.tls is None:
        return None
    broker = _broker(given)
    return certificates.files().get((broker, path))


def _broker(given: Given) -> int:
    """The machine on which it is run. Raises Refused."""
    for broker in BROKERS:
        if given.get("BROKER") == f"kafka-{broker}":
            return broker
    raise Refused(WHICH)
