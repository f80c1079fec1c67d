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

from pathlib import Path

from minikafka.course.judging.conversation import Exchange, exchanges
from minikafka.server.proxy import Frame

FOLDER = Path(__file__).parent
BYTES_A_LINE = 32


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
