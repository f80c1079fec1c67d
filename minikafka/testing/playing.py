"""The page that plays what happened in a test, drawn by the theatre, which is loaded
for it only.
"""

import hashlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minikafka.testing.asked import Asked
from minikafka.testing.client import CLIENT_ID
from minikafka.testing.heard import Heard
from minikafka.theatre import fitting, picture
from minikafka.theatre.drawing import LAYOUTS
from minikafka.trace import Event

THE_TEST = "the test"
MOST_OF_NAME = 80
NO_NAME = re.compile(r"\W+")


def written(heard: Heard, test: str, folder: Path | None) -> Path | None:
    """Write the page of a test into the folder, or a temporary one, and return where
    it is. None: nothing happened that a picture shows. Errors: OSError; those of a
    picture that can't be drawn, because the beginning of its story is forgotten.
    """
    trace = trace_of(heard)
    shown = picture(fitting(trace), trace)
    if not shown.scenes:
        return None
    page = shown.page(widths=LAYOUTS)
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="minikafka-"))
    path = folder / f"{file_name(test)}.html"
    path.write_text(page, encoding="utf-8")
    return path


def file_name(test: str) -> str:
    """As much of a test's id as a file's name holds, and what tells it from others."""
    digest = hashlib.sha256(test.encode()).hexdigest()[:6]
    return f"{NO_NAME.sub('-', test).strip('-')[-MOST_OF_NAME:]}-{digest}"


def trace_of(heard: Heard) -> Sequence[Event]:
    """The events of the brokers, and those of the clients whose requests caused them,
    with times since the test began.
    """
    told = heard.events()
    causes = {event.cause for _, event in told}
    for asked in heard.asked():
        if asked.cause in causes:
            told.append((asked.number, sent(asked)))
    told.sort(key=lambda numbered: numbered[0])
    return [replace(event, at=event.at - heard.began_ms) for _, event in told]


def sent(asked: Asked) -> Event:
    """The event of the client that sent a request."""
    name = THE_TEST if asked.client == CLIENT_ID else asked.client or "a client"
    connection, correlation_id = asked.cause
    detail = {
        "api": asked.api,
        "version": asked.version,
        "to": asked.broker,
        "connection": connection,
        "correlation_id": correlation_id,
    }
    number = (f"client {name}", asked.number)
    return Event(number, asked.at_ms, name, "RequestSent", None, detail)
