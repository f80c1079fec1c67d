"""A port to listen on, and who has it when it is taken."""

import errno
import os
import socket
from pathlib import Path


class CannotServe(Exception):
    """The server can't run; str() is what the person at the terminal should read."""


def listen_socket(host: str, port: int, kept: bool = False, keeps: bool = False) -> socket.socket:
    """A socket that listens; those who come before the broker accepts wait in its queue. Port 0 picks a free one.
    kept: another process of ours keeps the port, by a socket that does not listen (keeps).
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CannotServe(f"--host: the name {host!r} is not known here ({error.strerror}).") from error
    except UnicodeError as error:  # a label of more than 63 characters
        raise CannotServe(f"--host: {host!r} is not a host name.") from error
    listener = socket.socket(family, kind, protocol)
    if os.name == "posix":  # a port in TIME_WAIT after our last run is free; on Windows the option means something else
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kept:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind(address)
        if not keeps:
            listener.listen(1)  # two programs may bind one port with SO_REUSEADDR: only listening tells
    except OSError as error:
        listener.close()
        raise CannotServe(why_not(host, port, error)) from error
    return listener


def keep_port(host: str, port: int) -> socket.socket:
    """A port kept for another process of ours, which listens there (`kept`) and may come and go. While nobody does,
    connections are refused.
    """
    if port:
        listen_socket(host, port).close()  # says who has it, if somebody has
    return listen_socket(host, port, kept=True, keeps=True)


def why_not(host: str, port: int, error: OSError) -> str:
    """In plain words, with the way out."""
    if error.errno in (errno.EADDRINUSE, errno.EACCES) and port >= 1024:
        return (
            f"port {port} is taken by another program{holder_of(port)}: "
            f"stop it, or choose another port:  minikafka serve --port {port + 1}   (0 picks a free one)"
        )
    if error.errno == errno.EACCES:
        return f"only an administrator may listen on port {port}: choose one above 1023, for example --port 9092."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine: --host says where to listen (127.0.0.1, 0.0.0.0)."
    return f"can't listen on {host}:{port}: {error.strerror}."


def holder_of(port: int) -> str:
    """' (pid 4711, "java")' where Linux's /proc tells, else nothing."""
    try:
        sockets = {f"socket:[{inode}]" for inode in listening_inodes(port)}
        for process in Path("/proc").iterdir():
            if sockets and process.name.isdigit() and holds_one(process, sockets):
                return f' (pid {process.name}, "{(process / "comm").read_text().strip()}")'
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
                if fields[3] == listening and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.append(fields[9])
    return inodes


def holds_one(process: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(handle) in sockets for handle in (process / "fd").iterdir())
    except OSError:  # another user's process, or one that has just ended
        return False
