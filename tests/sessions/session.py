"""A session as a text file: each frame that passed between one client and a broker, in
order.

    0 > 2 ApiVersions 4
    0012 0004 0000 0002 ...
    0 < 2
    0000 0002 0000 ...

0 is the connection, > what the client sent and < what it got, 2 the correlation id.
The API and its version are there for the reader; the bytes say it, too. Lines that
begin with # say where the session comes from.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikafka.server.proxy import Frame
from minikafka.wire.messages import (
    UnsupportedVersion,
    api_name,
    decode_request,
    decode_response,
)
from minikafka.wire.schema import Message

FOLDER = Path(__file__).parent
BYTES_A_LINE = 32


class Asked(NamedTuple):
    """What a request's header says. body: None where it is of a version that came
    after ours, as a client's first ApiVersions may be (KIP-511).
    """

    api: str
    version: int
    correlation_id: int
    client_id: str | None
    body: Message | None

    @property
    def answer_version(self) -> int:
        """A version that the broker doesn't know is answered in the oldest one."""
        return 0 if self.body is None else self.version


class Exchange(NamedTuple):
    """A frame, and the request that it is, or that it answers."""

    connection: int
    is_request: bool
    data: bytes
    asked: Asked

    @property
    def of(self) -> tuple[int, int]:
        """Connection and correlation id: a request and its answer have the same."""
        return self.connection, self.asked.correlation_id

    @property
    def answer(self) -> Message:
        """Of one that is an answer."""
        asked = self.asked
        _, body = decode_response(asked.api, asked.answer_version, self.data)
        return body


def asked_by(frame: bytes) -> Asked:
    """Raises DecodeError."""
    try:
        read = decode_request(frame)
    except UnsupportedVersion as newer:
        return Asked(
            api=api_name(frame),
            version=newer.version,
            correlation_id=newer.correlation_id,
            client_id=None,
            body=None,
        )
    return Asked(
        api=read.api.name,
        version=read.version,
        correlation_id=read.correlation_id,
        client_id=read.client_id,
        body=read.body,
    )


def exchanges(frames: list[Frame]) -> Iterator[Exchange]:
    """Each frame beside its request."""
    open_: dict[tuple[int, int], Asked] = {}
    for connection, is_request, data in frames:
        if is_request:
            asked = asked_by(data)
            open_[connection, asked.correlation_id] = asked
        else:
            asked = open_.pop((connection, int.from_bytes(data[:4], "big")))
        yield Exchange(connection, is_request, data, asked)


def write(path: Path, said: list[str], frames: list[Frame]) -> None:
    """said: lines about the session."""
    lines = [f"# {line}" for line in said]
    for each in exchanges(frames):
        asked = each.asked
        first = f"{each.connection} {'>' if each.is_request else '<'}"
        first += f" {asked.correlation_id}"
        if each.is_request:
            first += f" {asked.api} {asked.version}"
        lines.append(first)
        for at in range(0, len(each.data), BYTES_A_LINE):
            lines.append(each.data[at : at + BYTES_A_LINE].hex(" ", -2))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def read(path: Path) -> list[Exchange]:
    """What `write` has written."""
    frames: list[Frame] = []
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        first = line.split()
        if {">", "<"} & {*first}:
            frames.append(Frame(int(first[0]), first[1] == ">", b""))
        else:
            data = frames[-1].data + bytes.fromhex(line)
            frames[-1] = frames[-1]._replace(data=data)
    return list(exchanges(frames))


def sessions() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))
