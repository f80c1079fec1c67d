"""`minikafka watch [BOOTSTRAP] [--trace FILE]`."""

import argparse
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minikafka.server.addresses import CannotServe
from minikafka.server.serve import serve_until_stopped
from minikafka.watching import page
from minikafka.watching.asking import NO_ANSWER, Looking, client_of
from minikafka.watching.following import Following
from minikafka.watching.server import PageServer
from minikafka.watching.watched import Watched

USUAL = "localhost:9092"
EVERY_S = 1.0


class Watching:
    """Looks once a second, until `stop`."""

    def __init__(self, bootstrap: str | None, trace: Path | None) -> None:
        self.following = None if trace is None else Following(trace)
        self.bootstrap = bootstrap
        self.watched = Watched(named(bootstrap) if bootstrap else str(trace))
        self._client = client_of(self._addresses)
        self._lock = threading.Lock()  # pages are asked for in other threads
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def _addresses(self) -> list[str]:
        """Where brokers are, or were when they were last heard of."""
        named = [] if self.bootstrap is None else self.bootstrap.split(",")
        return [*dict.fromkeys([*named, *self.watched.brokers.values()])]

    def _run(self) -> None:
        while not self._stopping.is_set():
            is_behind = self.look()
            self._stopping.wait(0 if is_behind else EVERY_S)

    def look(self) -> bool:
        """Returns whether there is more to read already."""
        now_s = time.monotonic()
        is_behind = False
        try:
            if self.following is not None:
                with self._lock:
                    is_behind = self.following.read_on()
                    seen = self.following.seen(now_s)
            if self.bootstrap is not None:
                seen = Looking(self._client).seen(now_s)
        except NO_ANSWER as error:
            return self._missed(now_s, reason(error))
        except Exception as error:  # one look fails, and not the next one
            bug = f"a bug of minikafka's; please report it: {error!r}"
            return self._missed(now_s, bug)
        if not is_behind:
            with self._lock:
                self.watched.saw(seen)
        return is_behind

    def _missed(self, now_s: float, why: str) -> bool:
        with self._lock:
            self.watched.missed_it(now_s, why)
        return False

    def news(self, width: int, last: int) -> Mapping[str, Any]:
        with self._lock:
            return page.news(self.watched, self.following, width, last)

    def html(self) -> tuple[str, str]:
        told = ["looked at once a second"]
        if self.following is not None and self.bootstrap is not None:
            told.append(f"follows {self.following.path}")
        return page.html(self.watched, " · ".join(told)), page.policy()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._client.close()


def named(bootstrap: str) -> str:
    """The first address, and how many more there are."""
    first, *more = bootstrap.split(",")
    return f"{first} and {len(more)} more" if more else first


def reason(error: Exception) -> str:
    """In words that a sentence can end with."""
    first = error.__cause__ or error
    words = getattr(first, "strerror", None) or str(first) or type(first).__name__
    if "closed the connection" in words:
        words += " (if it wants TLS or a login, name a listener without them)"
    return words


def main(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    trace = None if args.trace is None else Path(args.trace)
    bootstrap = args.bootstrap
    if bootstrap is None and trace is None:
        bootstrap = USUAL
    for each in [] if bootstrap is None else bootstrap.split(","):
        host, _, port = each.rpartition(":")
        if not host or not port.isdecimal():
            print(f"minikafka watch: {each!r} is no HOST:PORT", file=sys.stderr)
            return 2
    watching = Watching(bootstrap, trace)
    try:
        server = PageServer(args.port, watching.html, watching.news)
        serve_until_stopped(server.serve, lambda: show(server, not args.no_browser))
    except CannotServe as error:
        print(f"minikafka watch: {error}", file=sys.stderr)
        return 1
    finally:
        watching.stop()
    return 0


def show(server: PageServer, in_browser: bool) -> None:
    print(f"watch {server.address}", flush=True)
    if in_browser and not os.environ.get("MINIKAFKA_NO_BROWSER"):
        webbrowser.open(server.address)
