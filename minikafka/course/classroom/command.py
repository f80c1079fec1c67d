"""`minikafka class`: how far the learners of a class are, live."""

import argparse
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path

from minikafka.course.classroom import board
from minikafka.course.classroom.telling import TOPIC
from minikafka.course.classroom.topic import Reader, append
from minikafka.course.clusters import reachable
from minikafka.course.connect import Connection, NobodyAnswers
from minikafka.course.contents import contents

_NOBODY = """minikafka class: nobody answers at {bootstrap}. A broker for the class, on this machine:
  minikafka serve --host 0.0.0.0 --advertised-host ADDRESS-OF-THIS-MACHINE --data build/class-broker"""
_NO_KAFKA = """minikafka class: something is at {bootstrap}, but no Kafka answers.
  If another program has the port, add --port 9093 to minikafka serve, and write 9093 here and for the learners."""
_ELSEWHERE = """minikafka class: the broker at {bootstrap} sends its clients to {told}, where no Kafka answers.
  That's the --advertised-host with which it was started: start it again with the address that this machine has now."""
_ASK_AGAIN_S = 1


def main(args: argparse.Namespace) -> int:
    """`minikafka class [--lesson 05] [--once | --csv FILE | --lower NAME]`: the table, or what
    was predicted, again whenever somebody gets on; Ctrl-C ends it.
    """
    args.lesson = args.lesson and args.lesson.zfill(2)
    if args.lesson is not None and args.lesson not in contents():
        known = ", ".join(contents())
        print(
            f"minikafka class: there is no lesson {args.lesson}, but {known}",
            file=sys.stderr,
        )
        return 2
    # a KeyboardInterrupt would be lost where it strikes a callback of the client's
    stopping = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stopping.set())
    try:
        seen = watch(args, stopping)
        if args.lower is not None and args.lower not in seen.names():
            print(f"minikafka class: nobody is called {args.lower!r}", file=sys.stderr)
            return 1
        if args.lower is not None:
            lower(args.bootstrap, args.lower, seen.hands(args.lower))
        if args.csv is not None:
            save(seen, Path(args.csv), args.lesson)
    except NobodyAnswers as error:
        print(str(error) or _NOBODY.format(bootstrap=args.bootstrap), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"minikafka class: {error}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def watch(args: argparse.Namespace, stopping: threading.Event) -> board.Board:
    """Print the table whenever it changes, until told to stop; with --once as it is
    now; with --csv and --lower not at all. Returns what was read.
    """
    connection = Connection(args.bootstrap)
    _check(args.bootstrap)
    connection.check()
    _create_topic(connection)
    seen, shown, silent = board.Board(), "", False
    before = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""  # clears the screen
    with closing(Reader(args.bootstrap, TOPIC)) as reader:
        while not (stopping.is_set() or (args.once and shown)):
            try:
                records = reader.read()
            except OSError as error:
                if not silent:
                    print(
                        f"minikafka class: {args.bootstrap} does not answer just now"
                        f" ({error}). It's asked every second, and the table comes back"
                        " when it answers.",
                        file=sys.stderr,
                    )
                shown, silent = "", True
                stopping.wait(_ASK_AGAIN_S)
                continue
            silent = False
            seen.take(records)
            if reader.caught_up and (args.csv, args.lower) != (None, None):
                break
            text = seen.text(reader.unreadable, args.lesson)
            if reader.caught_up and text != shown:
                print(f"{before}{text}", flush=True)
                shown, before = text, before or "\n"
    return seen


def _check(bootstrap: str) -> None:
    """Raises NobodyAnswers where no client would get anywhere."""
    asked = [address for address in bootstrap.split(",") if reachable.listens(address)]
    if not asked:
        raise NobodyAnswers
    for address in asked:
        told = reachable.brokers(address)
        if told and not any(map(reachable.brokers, told)):
            raise NobodyAnswers(
                _ELSEWHERE.format(bootstrap=address, told=", ".join(told))
            )
        if told is not None:
            return
    raise NobodyAnswers(_NO_KAFKA.format(bootstrap=bootstrap))


def save(seen: board.Board, path: Path, lesson: str | None) -> None:
    """Write a row for each learner and lesson, of one lesson or all. The file begins
    with a BOM, or Excel would take its UTF-8 for the system's code page.
    """
    places = seen.every_row(lesson)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        board.write_csv(places, file)
    rows = "row" if len(places) == 1 else "rows"
    print(f"{path}: {len(places)} {rows}")


def lower(bootstrap: str, name: str, hands: list[board.Place]) -> None:
    """Take these hands of a learner down. The time stays when the learner was last heard
    of. Errors: OSError.
    """
    for place in hands:
        append(bootstrap, TOPIC, *board.lowered(place), round(place.at * 1000))
    print(f"{name}: {'the hand is down' if hands else 'no hand is up'}.")


def _create_topic(connection: Connection) -> None:
    """Errors: OSError."""
    from kafka.errors import KafkaError, TopicAlreadyExistsError

    try:
        with closing(connection.admin()) as admin:
            admin.create_topics({TOPIC: {"num_partitions": 1}})
    except TopicAlreadyExistsError:
        pass
    except KafkaError as error:
        raise OSError(f"the topic {TOPIC} can't be created: {error}") from error
