"""The certificates on the brokers' machines, on a night whose clients come with TLS."""

import tomllib
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from minikafka.simulation.clock import MIDNIGHT_MS

OF_KAFKA = "/etc/kafka"
FOLDER = f"{OF_KAFKA}/ssl"
AUTHORITY = "Shop CA"  # signs them all, and itself


class Certificate(NamedTuple):
    """name: of the subject. serial: in hexadecimal. begins, ends: between them it is
    valid. pem: all of it, as a text.
    """

    name: str
    serial: str
    begins: datetime
    ends: datetime
    pem: str

    @property
    def hosts(self) -> list[str]:
        """The names of its subjectAltName: an authority has none."""
        return [] if self.name == AUTHORITY else [self.name]

    def is_valid(self, now: datetime) -> bool:
        """Whether it is not too early and not too late for it."""
        return self.begins <= now <= self.ends

    def has_ended(self, now: datetime) -> bool:
        """Whether its last moment is over."""
        return now > self.ends


def at(now_ms: int) -> datetime:
    """A moment of the night, in UTC."""
    return datetime.fromtimestamp(MIDNIGHT_MS / 1000, UTC) + timedelta(
        milliseconds=now_ms
    )


@cache
def files() -> dict[tuple[int, str], Certificate]:
    """The text of the files on a machine, by broker and path."""
    text = Path(__file__).with_name("certificates.toml").read_text(encoding="utf-8")
    found = {}
    for file in tomllib.loads(text)["file"]:
        certificate = Certificate(
            name=file["name"],
            serial=file["serial"],
            begins=file["begins"],
            ends=file["ends"],
            pem=file["pem"].strip(),
        )
        for broker in file["brokers"]:
            found[broker, file["path"]] = certificate
    return found


def by_pem(text: str) -> Certificate | None:
    """The first certificate in a text, if it is one of those."""
    found = None
    first = len(text)
    for certificate in files().values():
        where = text.find(certificate.pem)
        if 0 <= where < first:
            found, first = certificate, where
    return found
