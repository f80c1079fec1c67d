"""Writes a data set as JSON lines: `python -m datasets orders --count 1000 --out
orders.jsonl`.

The same name, seed and count give the same bytes on every machine.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from . import NAMES
from .events import Event, to_line

TOLD_EVERY = 50_000  # events


def of(name: str, **given: Any) -> Iterator[Event]:
    """A data set's events. given: count, seed, and stream for one of its streams; None
    is the data set's own.
    """
    stream = given.pop("stream", None)
    if stream is not None and stream not in streams(name):
        raise ValueError(
            f"{name} has no stream {stream!r}; it has {', '.join(streams(name))}"
        )
    made: Iterator[Event] = _module(name).generate(
        **{key: value for key, value in given.items() if value is not None}
    )
    return (event for event in made if stream in (None, event.stream))


def streams(name: str) -> tuple[str, ...]:
    """The streams of a data set."""
    found: tuple[str, ...] = _module(name).STREAMS
    return found


def _module(name: str) -> ModuleType:
    return import_module(f"{__package__}.{name}")


def told(made: Iterable[Event], screen: TextIO) -> Iterator[Event]:
    """The same events; how many there have been, on a screen that somebody looks at."""
    number = 0
    for number, event in enumerate(made, 1):
        if number % TOLD_EVERY == 0 and screen.isatty():
            print(f"\r{number:,} events", end="", file=screen, flush=True)
        yield event
    if number >= TOLD_EVERY and screen.isatty():
        print(f"\r{number:,} events", file=screen)


def arguments(prog: str, description: str) -> argparse.ArgumentParser:
    """The options that say which data."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("name", choices=NAMES, help="the data set")
    parser.add_argument(
        "--seed",
        type=whole,
        default=7,
        help="another seed makes other data (default 7)",
    )
    parser.add_argument(
        "--count",
        type=whole,
        help="how many orders, visits, minutes, changes or transfers",
    )
    parser.add_argument("--stream", help="one of the data set's streams (default: all)")
    return parser


def whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


def main(argv: list[str] | None = None) -> int:
    parser = arguments("python -m datasets", (__doc__ or "").split(":", 1)[0] + ".")
    parser.add_argument(
        "--out", type=Path, help="the file to write (default: standard output)"
    )
    args = parser.parse_args(argv)
    try:
        made = told(
            of(args.name, count=args.count, seed=args.seed, stream=args.stream),
            sys.stderr,
        )
    except ValueError as error:
        parser.error(str(error))
    if args.out is None:
        sys.stdout.buffer.writelines(map(to_line, made))
        return 0
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("wb") as file:
        file.writelines(map(to_line, made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
