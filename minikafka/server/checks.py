"""What `serve` checks before it touches anything: options that make no sense, and data
folders that belong to somebody else.

Each finding is one sentence, saying what is wrong and what to do, and nothing on the
disk is changed.
"""

import ipaddress
import os
import random
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from minikafka.broker.config import random_uuid
from minikafka.server.addresses import CannotServe, is_loopback, named
from minikafka.server.doors import ADVERTISED, LISTENERS, NODE_ID, parsed, wanted
from minikafka.server.folder_disk import FolderDisk
from minikafka.server.log import log
from minikafka.server.node_handshake import made_secret
from minikafka.server.typed import MOST_NODE
from minikafka.storage.checkpoints import uuid_text
from minikafka.storage.data_folder import (
    META_PROPERTIES,
    check_identity,
    read_meta_properties,
    refuse_others,
)
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    import argparse

MOST_BROKERS = 9
SECRET_VARIABLE = "MINIKAFKA_CLUSTER_SECRET"
# bytes; with a recorded greeting, all short secrets can be tried out offline
LEAST_SECRET = 16
MOST_SECRET = 4096
READ_BY_ALL = 0o004  # a bit of a file's mode
NEW_SECRET = 'python -c "import secrets; print(secrets.token_hex(32))"'


def check(args: "argparse.Namespace") -> None:
    """Check options that don't fit together, or have no effect. Errors: CannotServe."""
    if not 1 <= args.brokers <= MOST_BROKERS:
        raise CannotServe(f"--brokers: from 1 to {MOST_BROKERS} on one machine.")
    check_which(args)
    if args.node:
        check_node(args)
    is_alone = not args.node and args.brokers == 1
    if args.cluster_secret is not None and is_alone:
        raise CannotServe(
            "--cluster-secret: one broker has no other nodes; it goes with --node, or"
            " with --brokers 3."
        )
    for option, first in (
        ("--port", args.port),
        ("--advertised-port", args.advertised_port),
        ("--metrics", args.metrics),
    ):
        if first and first + args.brokers - 1 > 65535:
            raise CannotServe(
                f"{option}: {args.brokers} brokers take the ports from {first} on, and"
                " end beyond 65535."
            )
    if args.metrics and args.port and abs(args.metrics - args.port) < args.brokers:
        raise CannotServe(
            f"--metrics: clients have the ports from {args.port} on; choose another"
            f" one, for example {args.port + args.brokers}."
        )
    check_listeners(args)


def check_listeners(args: "argparse.Namespace") -> None:
    """Check that the brokers' listeners don't get in each other's way, and that clients
    can reach what they are told. Errors: CannotServe.
    """
    given = dict(args.override)
    if ADVERTISED in given and LISTENERS not in given:
        raise CannotServe(
            f"--override {ADVERTISED}: it goes with listeners; without, there are"
            " --advertised-host and --advertised-port."
        )
    if LISTENERS in given and args.advertised_port:
        raise CannotServe(
            f"--advertised-port: with listeners, {ADVERTISED} says what clients are"
            " told."
        )
    taken: dict[int, str] = {}
    for at in range(args.brokers):
        for name, _, port in wanted(args, at):
            if port > 65535:
                raise CannotServe(
                    f"{LISTENERS}: {args.brokers} brokers take consecutive ports, and"
                    " end beyond 65535."
                )
            if port and port in taken:
                raise CannotServe(
                    f"{LISTENERS}: {name} and {taken[port]} both come to port {port}:"
                    f" {args.brokers} brokers take consecutive ports, so theirs must"
                    f" be {args.brokers} apart."
                )
            taken[port] = name
    told = args.advertised_host
    hosts = [host for _, host, _ in wanted(args, 0)] if told is None else [told]
    if ADVERTISED in given:
        hosts = [host for _, host, _ in parsed(ADVERTISED, given[ADVERTISED])]
    for host in hosts:
        if means_all_addresses(host):
            option = ADVERTISED if LISTENERS in given else "--advertised-host"
            example = f"{ADVERTISED}=NAME://localhost:PORT"
            if option != ADVERTISED:
                example = "--advertised-host localhost"
            what = LISTENERS if LISTENERS in given else "--host"
            raise CannotServe(
                f"{what}: clients can't connect to {host}: say which name they should"
                f" use, for example {example}."
            )


def first_node(args: "argparse.Namespace") -> int:
    """The id of the only broker, or of the first of several. Errors: CannotServe."""
    text = dict(args.override).get(NODE_ID, "1")
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise CannotServe(f"--override {NODE_ID}: {text!r} is not a number.")
    if int(text) + args.brokers - 1 > MOST_NODE:
        raise CannotServe(
            f"--override {NODE_ID}: a node is numbered up to {MOST_NODE}."
        )
    return int(text)


def nodes_of(args: "argparse.Namespace") -> range:
    """The ids of the brokers that --brokers asks for."""
    first = first_node(args)
    return range(first, first + args.brokers)


def check_which(args: "argparse.Namespace") -> None:
    """Check the options that say what to run: one broker, several in this process or in
    processes of their own, or one node of a cluster.
    """
    is_one = args.brokers == 1
    if args.processes and (is_one or args.node):
        raise CannotServe(
            "--processes: one process for each of several brokers, for example"
            " --brokers 3 --processes."
        )
    if args.no_restart and not args.processes:
        raise CannotServe(
            "--no-restart: only processes are started again: --brokers 3 --processes"
            " --no-restart."
        )
    first_node(args)
    if args.node and NODE_ID in dict(args.override):
        raise CannotServe(f"--override {NODE_ID}: --node N says which node this is.")
    lacks_its_other = bool(args.node) != bool(args.voters)
    if lacks_its_other or (args.node and not is_one):
        raise CannotServe(
            "--node N --voters 1@HOST:PORT,2@HOST:PORT,3@HOST:PORT: one node, and all"
            " that vote."
        )


def check_node(args: "argparse.Namespace") -> None:
    """Check the options of one node of a cluster whose other nodes run elsewhere."""
    count = len(args.voters)
    # Apache Kafka accepts an even number; it only costs a machine, and is usually a
    # mistake
    if count % 2 == 0:
        raise CannotServe(
            f"--voters: name an odd number of them, for example {count + 1}: {count} do"
            f" no more than {count - 1}, since a majority of all must be there."
        )
    _, port = args.voters.get(args.node.number, (None, 0))
    if args.port and args.port == (args.node.port or port):
        raise CannotServe(
            f"--port: on {args.port} this node listens to the other nodes; choose"
            " another port for clients."
        )
    if not args.cluster_id and not (args.data and holds_data(args.data)):
        raise CannotServe(
            "--cluster-id: all nodes name the same one, for example"
            f" {new_cluster_id()}."
        )


def new_cluster_id() -> str:
    """A new id, as kafka-storage random-uuid prints one."""
    return uuid_text(random_uuid(random.Random()))


def means_all_addresses(host: str) -> bool:
    """Whether a host stands for all addresses: 0.0.0.0, ::, or another spelling of them
    (0).
    """
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        pass
    try:
        return socket.inet_aton(host) == bytes(4)
    except OSError:  # a name
        return False


# --- the secret ---


def cluster_secret(args: "argparse.Namespace") -> bytes | None:
    """The secret that only the nodes of this cluster know. It comes from a file or the
    environment, because everybody on this machine can read a command line; if all nodes
    are started here, it is a new one. None if there is no secret.
    """
    # given by the process that started this one, through a pipe or its memory
    if args.handed_secret is not None:
        return bytes(args.handed_secret)
    if not args.node and args.brokers == 1:
        return None
    if args.cluster_secret is not None:
        where = f"--cluster-secret: the secret in {args.cluster_secret}"
        return usable(secret_in(args.cluster_secret), where)
    if SECRET_VARIABLE in os.environ:
        secret = os.fsencode(os.environ[SECRET_VARIABLE])
        return usable(secret, f"{SECRET_VARIABLE}: the secret")
    return None if args.node else made_secret()


def secret_in(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            secret = file.read(MOST_SECRET + 1)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        why = f"can't read {path}: {error.strerror}."
        raise CannotServe(f"--cluster-secret: {why}") from error
    # not refused, because mounted files of secrets often have this mode
    if os.name == "posix" and mode & READ_BY_ALL:
        log(
            f"--cluster-secret: everybody on this machine may read {path}: chmod 600"
            f" {path}."
        )
    return secret


def usable(secret: bytes, what: str) -> bytes:
    secret = secret.strip()
    if not LEAST_SECRET <= len(secret) <= MOST_SECRET:
        size = "short" if len(secret) < LEAST_SECRET else "long"
        raise CannotServe(
            f"{what} is too {size}, from {LEAST_SECRET} to {MOST_SECRET} characters:"
            f" {NEW_SECRET} makes a good one."
        )
    return secret


def check_node_listener(
    args: "argparse.Namespace", listener: socket.socket, secret: bytes | None
) -> None:
    """Check that the address where a node listens to the others is reachable for them,
    but not open to everybody. Errors: CannotServe.
    """
    node = args.node.number
    voter_host, _ = args.voters.get(node, (None, 0))
    others = {host for host, _ in args.voters.values()}
    others -= {args.node.host, voter_host}
    is_here_only = is_loopback(listener)
    address = named(listener.getsockname())
    if is_here_only and not all(map(is_this_machine, others)):
        raise CannotServe(
            f"--node {node}: other nodes run on other machines, and {address} is"
            f" reached from this one only: name the address where they reach node"
            f" {node}, --node {node}@ADDRESS:PORT."
        )
    if not is_here_only and secret is None:
        raise CannotServe(
            f"--cluster-secret: strangers may reach {address},"
            f" where node {node} listens to the other nodes: put one secret into a file"
            f" of each machine ({NEW_SECRET} makes one), and name it with"
            " --cluster-secret FILE."
        )


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine, as far as one can tell without a lookup."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --- folders ---


def place_of(folder: str, node: int, several: bool) -> str:
    """The folder of one node: a single broker has the data folder for itself; of
    several, each has its own folder in it.
    """
    return os.path.join(folder, f"broker-{node}") if several else folder


def check_folders(
    folder: str, nodes: Sequence[int], cluster_id: str | None
) -> str | None:
    """Check that the data in a folder, if there are any, belong to these nodes and to
    one cluster.

    Returns that cluster's id; None if there is no data yet. Errors: CannotServe.
    """
    several = len(nodes) > 1
    if holds_data(folder):
        if several:
            raise CannotServe(
                f"{folder} holds the data of one broker: choose another folder with"
                " --data."
            )
    elif not several:
        others = len(brokers_in(folder))
        if others:
            raise CannotServe(
                f"{folder} holds the data of {others} brokers: serve them with"
                f" --brokers {others}, or choose another folder with --data."
            )
    for node in nodes:
        cluster_id = check_folder(place_of(folder, node, several), node, cluster_id)
    return cluster_id


def holds_data(folder: str) -> bool:
    """Whether it is a broker's data folder."""
    return os.path.exists(os.path.join(folder, META_PROPERTIES))


def check_folder(place: str, node: int, cluster_id: str | None) -> str | None:
    """Check the folder of one node: see check_folders."""
    try:
        if not os.path.exists(place):
            return cluster_id
        disk = FolderDisk(place)
        refuse_others(disk)
        properties = read_meta_properties(disk)
    except KafkaError as error:
        raise CannotServe(f"{error.message}.") from error
    except OSError as error:
        why = f"can't use {place} as data folder: {error.strerror}."
        raise CannotServe(why) from error
    if properties is None:
        return cluster_id
    try:
        return check_identity(properties, node, cluster_id).cluster_id
    except KafkaError as error:
        raise CannotServe(f"{place}: {error.message}.") from error


def brokers_in(folder: str) -> list[str]:
    """The folders that an earlier run with several brokers has left in a data
    folder.
    """
    places = [place_of(folder, node, True) for node in range(MOST_BROKERS + 1)]
    return [place for place in places if holds_data(place)]
