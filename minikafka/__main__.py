"""The command line: `minikafka serve | doctor | lesson`. Each command imports only its own part."""

from __future__ import annotations

import argparse
import sys

SERVER_PROPERTIES = """\
server properties that differ from Apache Kafka's:
  offsets.topic.replication.factor, transaction.state.log.replication.factor   min(3, brokers) instead of 3
  num.partitions                                                                as in Kafka: 1
"""


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    commands = argparse.ArgumentParser(prog="minikafka", description="A small real Kafka, and a course that runs on it.")
    chosen = commands.add_subparsers(dest="command", required=True, metavar="serve | doctor | lesson")
    add_serve(chosen.add_parser(
        "serve",
        help="run a broker that any Kafka client can use",
        description="Run a broker that any Kafka client can use. Prints `ready HOST:PORT` when it accepts clients; Ctrl-C stops it.",
        epilog=SERVER_PROPERTIES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ))
    chosen.add_parser("doctor", help="say what is missing on this machine, and the exact fix")
    lesson = chosen.add_parser("lesson", help="write a fresh copy of a lesson", description="Write a copy of a lesson to my/.")
    lesson.add_argument("number", help="the lesson's number, for example 05")
    edition = lesson.add_mutually_exclusive_group()
    edition.add_argument("--fresh", action="store_true", help="start over; your old copy is kept under another name")
    edition.add_argument("--solved", action="store_true", help="with the exercises solved")
    edition.add_argument("--blank", action="store_true", help="for live coding: code cells are empty")
    return commands


def add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--brokers", type=int, default=1, metavar="N", help="how many brokers (default 1)")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1: this machine only)")
    serve.add_argument("--port", type=port, default=9092, help="the port to listen on (default 9092; 0 picks a free one)")
    serve.add_argument("--advertised-host", metavar="HOST", help="the name that clients connect to (default: --host)")
    serve.add_argument("--data", metavar="DIR", help="where to keep the data (default: a temporary folder, removed at exit)")
    serve.add_argument("--trace", metavar="FILE", help="write what happens to FILE, one JSON object a line")
    serve.add_argument("--verbose", action="store_true", help="say who connects and what they speak")
    serve.add_argument("--exit-with-parent", action="store_true", help=argparse.SUPPRESS)


def port(text: str) -> int:
    """A TCP port from the command line."""
    number = int(text) if text.isdigit() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: a number from 0 to 65535")
    return number


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    args = parser().parse_args(argv)
    if args.command == "serve":
        from minikafka.server.serve import main as run
    elif args.command == "doctor":
        from minikafka.course.doctor import main as run
    else:
        from minikafka.course.editions import main as run
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
