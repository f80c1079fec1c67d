"""The command line: `minikafka serve | keys | lab | ...`. Each command imports its
own.
"""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, NoReturn

from minikafka.server.typed import (
    brokers,
    cluster_id,
    host,
    kafka_version,
    node,
    orders,
    path,
    port,
    racks,
    scram_user,
    server_property,
    voters,
)
from minikafka.trace import printable

SERVER_PROPERTIES = """\
Server properties are Apache Kafka's defaults, with these differences:
  group.initial.rebalance.delay.ms  0, not 3000: a group's first member reads at once
With --brokers 2 or more, so that a broker that is gone is noticed in two seconds:
  broker.heartbeat.interval.ms 300, broker.session.timeout.ms 2000, replica.lag.time.max.ms 5000,
  replica.fetch.backoff.ms 100, controller.quorum.election.timeout.ms 50, controller.quorum.fetch.timeout.ms 900
Listeners with locks, as in Apache Kafka (SECURITY.md says what they promise; minikafka keys DIR makes certificates):
  --override listeners=PLAINTEXT://:9092,SASL_SSL://:9095 and advertised.listeners, instead of --port and
  --advertised-host; an empty host means --host. With --brokers 3, every listener needs three consecutive ports.
  `ready` prints the first listener. For all listeners, or for one as listener.name.NAME.CONFIG:
  ssl.keystore.location (PEM or PKCS12), ssl.truststore.location, ssl.client.auth, ssl.principal.mapping.rules,
  sasl.enabled.mechanisms (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER), connections.max.reauth.ms.
"""
CUT_OFF = 141  # of one whose reader has gone
INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended, as shells count


class Version(argparse.Action):
    """Prints the version, which is looked up only when somebody asks."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print the version, and end the program."""
        from importlib.metadata import version

        print(f"minikafka {version('minikafka')}")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        """End the program with exit code 2, after one line that says what is wrong."""
        problem = printable(message.removeprefix("argument "))
        self.exit(2, f"{self.prog}: {problem} (all options: {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    all_of_them = Parser(
        prog="minikafka",
        description="A small real Kafka, and a course that runs on it.",
    )
    say_version = "say which version this is"
    all_of_them.add_argument("--version", action=Version, help=say_version)
    chosen = all_of_them.add_subparsers(
        dest="command", required=True, metavar=" | ".join(COMMANDS)
    )
    for name, command in COMMANDS.items():
        one = chosen.add_parser(
            name, help=command.help, description=command.description
        )
        command.add_options(one)
    return all_of_them


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    serve.epilog = SERVER_PROPERTIES
    serve.formatter_class = argparse.RawDescriptionHelpFormatter
    add_node_options(serve)
    add_cluster_options(serve)
    add_address_options(serve)
    add_broker_options(serve)
    add_fault_options(serve)
    # for a process that another one of ours starts
    add = serve.add_argument
    add("--kept-ports", action="store_true", help=argparse.SUPPRESS)
    add("--trace-began-ms", type=int, help=argparse.SUPPRESS)
    serve.set_defaults(handed_secret=None)


def add_node_options(serve: argparse.ArgumentParser) -> None:
    """How many nodes there are, and which one this is."""
    add = serve.add_argument
    add(
        "--brokers",
        type=brokers,
        default=1,
        metavar="N",
        help="how many brokers (default 1), all in this process",
    )
    add(
        "--processes",
        action="store_true",
        help=(
            "a process for each broker: kill -9 one, its id is in broker-N.pid in the"
            " data folder; it starts again"
        ),
    )
    add(
        "--no-restart",
        action="store_true",
        help="with --processes: a broker that died stays dead",
    )
    add(
        "--node",
        type=node,
        metavar="N[@HOST[:PORT]]",
        help=(
            "be node N of a cluster, with --voters; where it listens to the other nodes"
            " (default: where --voters says that it does; a node that does not vote:"
            " 127.0.0.1)"
        ),
    )


def add_cluster_options(serve: argparse.ArgumentParser) -> None:
    """Options about the cluster to which the nodes belong."""
    add = serve.add_argument
    add(
        "--voters",
        type=voters,
        metavar="1@HOST:PORT,...",
        help=(
            "the nodes that vote on metadata, and where they listen to each other (an"
            " odd number of them)"
        ),
    )
    add(
        "--cluster-secret",
        type=path,
        metavar="FILE",
        help=(
            "a file with what all nodes of the cluster know and nobody else, at least"
            " 16 characters; without it the variable MINIKAFKA_CLUSTER_SECRET; needed"
            " where nodes listen to each other on another address than this machine's"
            " own (--brokers makes one itself)"
        ),
    )
    add(
        "--racks",
        type=racks,
        default=[],
        metavar="A,B,C",
        help="the brokers' racks, in turn",
    )
    add(
        "--cluster-id",
        type=cluster_id,
        metavar="ID",
        help="the cluster's id: 22 characters, the same for all its nodes",
    )


def add_address_options(serve: argparse.ArgumentParser) -> None:
    """Where clients reach the brokers."""
    add = serve.add_argument
    add(
        "--host",
        type=host,
        default="127.0.0.1",
        help="the address to listen on (default 127.0.0.1: this machine)",
    )
    add(
        "--port",
        type=port,
        default=9092,
        help=(
            "the port to listen on (default 9092; 0 picks a free one); more brokers"
            " take the next ones"
        ),
    )
    add(
        "--advertised-host",
        type=host,
        metavar="HOST",
        help="the name that clients connect to (default: --host)",
    )
    add(
        "--advertised-port",
        type=port,
        default=0,
        metavar="PORT",
        help=(
            "the port that clients connect to, a proxy's for example (default: --port);"
            " more brokers take the next ones"
        ),
    )


def add_broker_options(serve: argparse.ArgumentParser) -> None:
    """Options about what each broker stores, reports, and is configured to."""
    add = serve.add_argument
    add(
        "--data",
        type=path,
        metavar="DIR",
        help="where to keep the data (default: a temporary folder, removed at exit)",
    )
    add(
        "--trace",
        type=path,
        metavar="FILE",
        help="write what happens to FILE, one JSON object a line",
    )
    add(
        "--metrics",
        type=port,
        metavar="PORT",
        help=(
            "tell Prometheus the metrics of the broker at http://HOST:PORT/metrics, with"
            " the names that Apache Kafka's have there (0 picks a free port); more"
            " brokers take the next ones"
        ),
    )
    add(
        "--kafka-version",
        type=kafka_version,
        metavar="X.Y",
        help=(
            "offer clients the APIs, versions and features of an older Kafka's brokers"
            " (3.6 to 4.3), as far as they are served here; a new cluster begins with"
            " that Kafka's features"
        ),
    )
    add("--verbose", action="store_true", help="say who connects and what they speak")
    add(
        "--ready",
        choices=("text", "json"),
        default="text",
        help=(
            "how to say that clients may come: `ready HOST:PORT` (the default), or an"
            " object in one line with bootstrap_servers, cluster_id and pid, and with"
            " --control also with control, its address, and token"
        ),
    )
    add(
        "--exit-with-parent",
        action="store_true",
        help=(
            "stop when the process that started this one has ended, even by kill -9, or"
            " has closed the pipe that it gave as standard input (on Windows give a"
            " pipe: nothing else is looked at)"
        ),
    )
    add(
        "--override",
        type=server_property,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a server property, by Kafka's name; may be given many times",
    )
    add(
        "--add-scram",
        type=scram_user,
        action="append",
        default=[],
        metavar="MECHANISM=[name=NAME,password=...]",
        help=(
            "a user of a new cluster, who logs in by SCRAM-SHA-256 or SCRAM-SHA-512, as"
            " kafka-storage format makes one; may be given many times"
        ),
    )


def add_fault_options(serve: argparse.ArgumentParser) -> None:
    """Options of brokers that fail when they are told to."""
    tests = serve.add_argument_group(
        "for tests (minikafka/testing/README.md; the data is in memory)"
    )
    tests.add_argument(
        "--faults",
        type=path,
        metavar="FILE",
        help=(
            "a plan, in TOML, of what goes wrong between clients and brokers: answers"
            " that are lost, brokers that die"
        ),
    )
    tests.add_argument(
        "--control",
        type=port,
        metavar="PORT",
        help=(
            "let a test on this machine begin faults, move the time, kill and freeze"
            " brokers, over HTTP (0 picks a free port); needs --ready json, which tells"
            " the address and a token"
        ),
    )


def add_keys_options(keys: argparse.ArgumentParser) -> None:
    add = keys.add_argument
    add("folder", metavar="DIR", help="a new folder, or an empty one")
    add(
        "--host",
        type=host,
        action="append",
        metavar="HOST",
        help=(
            "a name or an address that the broker's certificate is for; may be given"
            " many times (default: localhost, 127.0.0.1 and ::1)"
        ),
    )
    add(
        "--client",
        default="alice",
        metavar="NAME",
        help="the name in the client's certificate (default alice)",
    )
    add(
        "--expired",
        action="store_true",
        help="both certificates ended yesterday: see what clients say then",
    )
    add(
        "--wrong-name",
        action="store_true",
        help="the broker's certificate is for another host: see what clients say then",
    )


def add_lab_options(lab: argparse.ArgumentParser) -> None:
    add = lab.add_argument
    where = "your folder (default: MINIKAFKA_HOME, or ~/minikafka-course)"
    add("folder", metavar="DIR", nargs="?", help=where)
    add("--port", type=port, help="of JupyterLab (default: a free one from 8888 on)")
    add("--no-browser", action="store_true", help="open no browser")


def add_gallery_options(gallery: argparse.ArgumentParser) -> None:
    what = "a new folder, an empty one, or an older gallery"
    gallery.add_argument("folder", metavar="DIR", help=what)


def add_class_options(room: argparse.ArgumentParser) -> None:
    add, usual = room.add_argument, "127.0.0.1:9092"
    add("--bootstrap", metavar="HOST:PORT", default=usual, help=f"default {usual}")
    add(
        "--lesson",
        metavar="NN",
        help="how many chose which option of this lesson's predictions, without names;"
        " with --csv: only this lesson",
    )
    ends = room.add_mutually_exclusive_group().add_argument
    ends("--once", action="store_true", help="show the table as it is now, and end")
    ends(
        "--csv",
        metavar="FILE",
        help="write a row for each learner and lesson, and end",
    )
    ends(
        "--lower",
        metavar="NAME",
        help="take down the hand of this row, whose owner's laptop is gone, and end",
    )


def add_error_options(error: argparse.ArgumentParser) -> None:
    error.add_argument(
        "words",
        nargs="*",
        help="the message in quotes, or an error's number (none: all)",
    )


def no_options(command: argparse.ArgumentParser) -> None:
    pass


def add_lesson_options(lesson: argparse.ArgumentParser) -> None:
    lesson.add_argument("number", help="the lesson's number, for example 05")
    add = lesson.add_mutually_exclusive_group().add_argument
    fresh = "start over; your old copy is kept under another name"
    add("--fresh", action="store_true", help=fresh)
    add("--solved", action="store_true", help="with the exercises and the exit ticket")
    add("--blank", action="store_true", help="for live coding")


def add_demo_options(demo: argparse.ArgumentParser) -> None:
    add = demo.add_argument
    add(
        "--protocol",
        choices=("range", "cooperative-sticky", "kip-848"),
        default="range",
        help="which one the page shows at first (default range)",
    )
    add("--seed", type=int, default=7, help="another seed, another run (default 7)")
    add("--trace", metavar="FILE", help="show a recorded trace instead of a simulation")
    add(
        "--picture",
        choices=(
            "rebalance",
            "replica-set",
            "quorum",
            "share-partition",
            "fork",
            "gate",
        ),
        default="rebalance",
        help=(
            "what to show (default rebalance); fork: two leaders of one log; gate: a"
            " transaction that others wait behind; replica-set and quorum of a recorded"
            " trace only"
        ),
    )
    add(
        "--group",
        metavar="NAME",
        help=(
            "which group of the recorded trace (default: the one that rebalances most)"
        ),
    )
    add(
        "--out",
        metavar="FILE",
        help="where to write the page (default: a temporary file)",
    )


def add_watch_options(watch: argparse.ArgumentParser) -> None:
    add = watch.add_argument
    add(
        "bootstrap",
        metavar="BOOTSTRAP",
        nargs="?",
        help=(
            "HOST:PORT of a broker, or several with commas (default: localhost:9092,"
            " unless --trace is given); a listener without TLS and logins"
        ),
    )
    add(
        "--trace",
        metavar="FILE",
        help=(
            "follow the file that `minikafka serve --trace FILE` writes, and tell what"
            " happens; without BOOTSTRAP nobody is asked"
        ),
    )
    add("--port", type=port, default=0, help="of the page (default: a free one)")
    add("--no-browser", action="store_true", help="open no browser")


def add_pipeline_options(pipeline: argparse.ArgumentParser) -> None:
    add = pipeline.add_argument
    add(
        "--follow",
        action="store_true",
        help=(
            "go on until Ctrl-C, without a crash, and show lag, rate and state; Ctrl-C"
            " ends it after its micro-batch, once more Ctrl-C at once"
        ),
    )
    add(
        "--from-topic",
        metavar="NAME",
        help=(
            "read orders of your own: a topic of the Kafka that --bootstrap or"
            " MINIKAFKA_BOOTSTRAP names, from its beginning. JSON with event_id,"
            " customer_id, amount_cents and event_time_ms is an order; what is none"
            " goes to the table unreadable. The topic stays as it is"
        ),
    )
    add(
        "--count",
        type=orders,
        default=1000,
        metavar="N",
        help="how many orders of the shop; half as many changes (default 1000)",
    )
    add("--seed", type=int, default=7, help="another seed, other data (default 7)")
    add(
        "--bootstrap",
        metavar="HOST:PORT",
        help="a Kafka to use (default: the one that MINIKAFKA_BOOTSTRAP names, else a"
        " small one of its own)",
    )
    add(
        "--out",
        metavar="DIR",
        help=(
            "a new folder, or an empty one, that keeps the Parquet files; who reads it"
            " meanwhile sees each micro-batch whole or not at all"
        ),
    )


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    args = parser().parse_args(argv)
    missing = [
        package
        for module, package in COMMANDS[args.command].needs.items()
        if find_spec(module) is None
    ]
    if missing:
        print(
            f"minikafka: `minikafka {args.command}` needs"
            f" {', '.join(dict.fromkeys(missing))}, which is not installed here:  pip"
            f' install "minikafka[{COMMANDS[args.command].extra}]"',
            file=sys.stderr,
        )
        return 1
    try:
        code = program(module_of(args))(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_OFF


def module_of(args: argparse.Namespace) -> str:
    """The module that runs a command: brokers that fail when they are told to are those
    of testing/.
    """
    if args.command == "serve" and (args.faults or args.control is not None):
        return "testing.command"
    return COMMANDS[args.command].module


def program(module: str) -> Callable[[argparse.Namespace], int]:
    """The function that runs a command: `main` of its module. Nothing that is imported
    becomes garbage, so the collector is off during the import, and leaves the imported
    objects alone afterwards.
    """
    gc.disable()
    run: Callable[[argparse.Namespace], int] = import_module(f"minikafka.{module}").main
    gc.freeze()
    gc.enable()
    return run


class Command(NamedTuple):
    """One command. module: whose `main(args)` runs it. needs: module -> package, of what
    a plain `pip install minikafka` does not bring. extra: which brings it.
    """

    module: str
    help: str
    description: str | None = None
    add_options: Callable[[argparse.ArgumentParser], None] = no_options
    needs: Mapping[str, str] = {}
    extra: str = "lab"


COMMANDS = {
    "serve": Command(
        "server.command",
        "run a broker that any Kafka client can use",
        "Run a broker that any Kafka client can use. It prints `ready HOST:PORT`;"
        " Ctrl-C stops it.",
        add_serve_options,
    ),
    "watch": Command(
        "watching.command",
        "show a running Kafka live: brokers, leaders, groups and their lag",
        "Open a page that shows a running Kafka, minikafka or Apache Kafka 4.0 and"
        " later, as it is at this second: brokers, the leader and replicas of every"
        " partition, groups with their members, and how far they are behind. It says"
        " plainly what is wrong. The page is for this machine only; Ctrl-C ends it.",
        add_watch_options,
    ),
    "keys": Command(
        "server.keys",
        "make keys and certificates for listeners with TLS",
        "Make a certificate authority for practice, and certificates for a broker and a"
        " client, in PEM and PKCS12, and print the settings that clients need.",
        add_keys_options,
        {"cryptography": "cryptography"},
        extra="keys",
    ),
    "lab": Command(
        "course.lab",
        "open the course in JupyterLab",
        "Open the course in JupyterLab, with your own copies of the lessons in DIR/my."
        " What is there already is never overwritten.",
        add_lab_options,
        {
            "jupyterlab": "jupyterlab",
            "ipykernel": "ipykernel",
            "nbformat": "jupyterlab",
        },
    ),
    "demo": Command(
        "course.demo",
        "watch a consumer group rebalance, in the browser",
        "Simulate a consumer group that rebalances, and open it as a page in the"
        " browser. Or show the group of a trace that `minikafka serve --trace FILE`"
        " wrote.",
        add_demo_options,
    ),
    "gallery": Command(
        "course.publishing.gallery",
        "write the lessons' pictures as a folder for a web host",
        "Run the lessons' cells, and write their pictures to a folder of static files:"
        " one page a picture, and a list, index.html. Any web host can serve it, or"
        " open it as files. It takes about a minute.",
        add_gallery_options,
    ),
    "doctor": Command(
        "course.doctor", "say what is missing on this machine, and the exact fix"
    ),
    "error": Command(
        "course.errors",
        "say what a message of a Kafka client means, and the command that mends it",
        add_options=add_error_options,
    ),
    "lesson": Command(
        "course.editions",
        "write a copy of a lesson",
        "Write a copy to my/.",
        add_lesson_options,
        {"nbformat": "jupyterlab"},
    ),
    "class": Command(
        "course.classroom.command",
        "show how far the learners of a class are, who is stuck and who asks",
        "Show how far the learners are who have set MINIKAFKA_CLASS to this broker, and"
        " MINIKAFKA_NAME. Raised hands come first, then who is stuck.",
        add_class_options,
        {"kafka": "kafka-python"},
    ),
    "pipeline": Command(
        "course.pipeline.command",
        "run a shop's data through Kafka and Spark, with a crash in the middle",
        "Send a shop's orders and the changes of its customers to Kafka; Spark makes"
        " Parquet files of them and sends revenue by hour and city back to a topic."
        " Orders come late and twice, one can't be read, and Spark is killed in the"
        " middle. The result is compared with what plain Python computes. It needs"
        " Java and PySpark, takes a few minutes, and leaves nothing behind.",
        add_pipeline_options,
        {"kafka": "kafka-python", "yaml": "pyyaml"},
    ),
}


if __name__ == "__main__":
    sys.exit(main())
