"""What `openssl x509` prints of a certificate, in the words of OpenSSL 3.0."""

import hashlib
from base64 import b64decode
from collections.abc import Sequence
from datetime import datetime

from minikafka.course.on_call.certificates import AUTHORITY, Certificate

OPTIONS = (
    "-noout",
    "-subject",
    "-issuer",
    "-serial",
    "-dates",
    "-startdate",
    "-enddate",
    "-ext",
    "-fingerprint",
    "-text",
)
NOT_READ = "Could not read certificate from <stdin>\nUnable to load certificate"
TEXT = """\
Certificate:
    Data:
        Version: 3 (0x2)
        Serial Number: {number} (0x{serial})
        Signature Algorithm: ecdsa-with-SHA256
        Issuer: {issuer}
        Validity
            Not Before: {begins}
            Not After : {ends}
        Subject: {subject}
        Subject Public Key Info:
            Public Key Algorithm: id-ecPublicKey
                Public-Key: (256 bit)"""


def x509_lines(found: Certificate, asked: Sequence[str]) -> list[str]:
    """What x509 prints of a certificate for these options, in their order."""
    lines: list[str] = []
    for option in asked:
        lines += _asked(found, option)
    return lines if "-noout" in asked else [*lines, *found.pem.splitlines()]


def _asked(found: Certificate, option: str) -> list[str]:
    """The lines for one option."""
    begins, ends = date_of(found.begins), date_of(found.ends)
    subject, issuer = name_of(found.name), name_of(AUTHORITY)
    names = ["X509v3 Subject Alternative Name: "]
    names.append("    " + ", ".join(f"DNS:{host}" for host in found.hosts))
    if not found.hosts:
        names = ["No extensions matching given criteria"]
    text = TEXT.format(
        number=int(found.serial, 16),
        serial=found.serial.lower(),
        issuer=issuer,
        subject=subject,
        begins=begins,
        ends=ends,
    ).splitlines()
    if found.hosts:
        text += [
            "        X509v3 extensions:",
            *(f"            {each}" for each in names),
        ]
    return {
        "-subject": [f"subject={subject}"],
        "-issuer": [f"issuer={issuer}"],
        "-serial": [f"serial={found.serial}"],
        "-dates": [f"notBefore={begins}", f"notAfter={ends}"],
        "-startdate": [f"notBefore={begins}"],
        "-enddate": [f"notAfter={ends}"],
        "-ext": names,
        "-fingerprint": [f"SHA1 Fingerprint={_fingerprint(found)}"],
        "-text": text,
    }.get(option, [])


def name_of(common_name: str) -> str:
    """A subject, as OpenSSL writes it."""
    return f"O = Shop, CN = {common_name}"


def date_of(moment: datetime) -> str:
    """As OpenSSL writes it: Jan  1 00:05:00 2026 GMT."""
    return f"{moment:%b} {moment.day:2} {moment:%H:%M:%S %Y} GMT"


def _fingerprint(found: Certificate) -> str:
    """The SHA-1 of the whole certificate."""
    _, *lines, _ = found.pem.splitlines()
    whole = b64decode("".join(lines))
    return hashlib.sha1(whole, usedforsecurity=False).digest().hex(":").upper()
