"""A port to listen on, the program that has it when it is taken, and connections to
other nodes.
"""

import asyncio
import errno
import ipaddress
import os
import socket
from pathlib import Path
from typing import Any, NamedTuple


class NodeAt(NamedTuple):
    """--node: which node, and where it listens to the other nodes, unless --voters says
    that. port 0: any free one.
    """

    number: int
    host: str | None = None
    port: int = 0


class CannotServe(Exception):
    """The server can't run; str() is the message for the person at the terminal."""


def listen_socket(
    host: str,
    port: int,
    kept: bool = False,
    keeps: bool = False,
    option: str = "--host",
) -> socket.socket:
    """A socket that listens; clients that come before the broker accepts wait in its
    queue. Port 0 picks a free one. kept: another process of ours keeps the port, with a
    socket that does not listen (keeps: while nobody listens, connections are refused).
    option: the command line option that gave the address, for the error message.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise CannotServe(
            f"{option}: the name {host!r} is not known here ({error.strerror})."
        ) from error
    except UnicodeError as error:  # a label of more than 63 characters
        raise CannotServe(f"{option}: {host!r} is not a host name.") from error
    listener = socket.socket(family, kind, protocol)
    # on POSIX this frees a port that is in TIME_WAIT after our last run; on Windows the
    # option means something else
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kept:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind(address)
        if not keeps:
            # two programs may bind one port with SO_REUSEADDR: only listening shows the
            # conflict
            listener.listen(1)
    except OSError as error:
        listener.close()
        raise CannotServe(why_not(host, port, error, option)) from error
    return listener


async def reach(host: str, port: int) -> socket.socket:
    """A connection to another node. Errors: OSError."""
    loop, wanted = asyncio.get_running_loop(), socket.SOCK_STREAM
    try:
        found = socket.getaddrinfo(host, port, type=wanted, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        # resolving a name may take time, so a thread does it
        found = await loop.getaddrinfo(host, port, type=wanted)
    failed = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, address)
            return sock
        except OSError as error:
            sock.close()
            failed = error
        except BaseException:  # cancelled
            sock.close()
            raise
    raise failed


def is_loopback(sock: socket.socket) -> bool:
    """Whether a listening socket can be reached only from this machine."""
    return address_of(sock).is_loopback


def is_unspecified(sock: socket.socket) -> bool:
    """Whether a socket listens on all addresses of this machine, so that it has no
    address to give to clients.
    """
    return address_of(sock).is_unspecified


def address_of(sock: socket.socket) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(sock.getsockname()[0].partition("%")[0])


def named(peername: Any) -> str:
    """The address of the other end, in the usual notation."""
    host, port = peername[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_to_listen_on(
    host: str, port: int, kept: bool = False, option: str = "--host"
) -> socket.socket:
    """A socket for a broker that doesn't listen yet, so that connections are refused
    until it does: see listen_on.
    """
    if port:
        # if another program has the port, the error names it
        listen_socket(host, port, kept=kept, option=option).close()
    return listen_socket(host, port, kept=kept, keeps=True, option=option)


def listen_on(port: socket.socket, queue: int) -> None:
    """Listen: clients may connect from now on. Errors: CannotServe if another program
    has begun to listen there meanwhile.
    """
    try:
        port.listen(queue)
    except OSError as error:
        host, number = port.getsockname()[:2]
        raise CannotServe(why_not(host, number, error, option="--host")) from error


def keep_port(host: str, port: int, option: str = "--host") -> socket.socket:
    """Keep a port for another process of ours, which listens there (`kept`) and may
    come and go. While none does, connections are refused.
    """
    if port:
        # if another program has the port, the error names it
        listen_socket(host, port, option=option).close()
    return listen_socket(host, port, kept=True, keeps=True, option=option)


def why_not(host: str, port: int, error: OSError, option: str) -> str:
    """The reason in plain words, with a way out."""
    for_clients = option == "--host"
    if error.errno in (errno.EADDRINUSE, errno.EACCES) and port >= 1024:
        another = (
            f"another port:  minikafka serve --port {port + 1}   (0 picks a free one)"
        )
        return (
            f"port {port} is taken by another program{holder_of(port)}: stop it, or"
            f" choose {another if for_clients else f'another port in {option}.'}"
        )
    if error.errno == errno.EACCES:
        example = "--port 9092" if for_clients else f"9093 in {option}"
        return (
            f"only an administrator may listen on port {port}: choose one above 1023,"
            f" for example {example}."
        )
    if error.errno == errno.EADDRNOTAVAIL and for_clients:
        return (
            f"{host} is not an address of this machine: --host says where to listen"
            " (127.0.0.1, 0.0.0.0)."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{option}: {host} is not an address of this machine. If others reach it so"
            " nevertheless, say where to listen to them: --node N@ADDRESS:PORT."
        )
    return f"can't listen on {host}:{port}: {error.strerror}."


def holder_of(port: int) -> str:
    """' (pid 4711, "java")' if Linux's /proc shows it, otherwise ""."""
    try:
        sockets = {f"socket:[{inode}]" for inode in listening_inodes(port)}
        for process in Path("/proc").iterdir():
            if sockets and process.name.isdigit() and holds_one(process, sockets):
                return (
                    f' (pid {process.name}, "{(process / "comm").read_text().strip()}")'
                )
    except OSError:
        pass
    return ""


def listening_inodes(port: int) -> list[str]:
    listening = "0A"
    inodes = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if (
                    fields[3] == listening
                    and int(fields[1].rpartition(":")[2], 16) == port
                ):
                    inodes.append(fields[9])
    return inodes


def holds_one(process: Path, sockets: set[str]) -> bool:
    try:
        return any(
            os.readlink(handle) in sockets for handle in (process / "fd").iterdir()
        )
    except OSError:  # another user's process, or one that has just ended
        return False
