"""The pipeline's picture as text: the producer's settings under its title, and a scene
in one line.
"""

from collections.abc import Mapping
from typing import Any

from minikafka.theatre.pictures.pipeline.logs import lamps_of
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

SETTINGS = {
    "acks": "acks",
    "linger_ms": "linger_ms",
    "batch_size": "batch_size",
    "max_in_flight_requests_per_connection": "in flight at most",
}


def settings(config: Mapping[str, Any]) -> list[str]:
    """The producer's settings that decide on the fate of its records."""
    said = []
    for name, words in SETTINGS.items():
        if name in config:
            said.append(f"{words} {config[name]}")
    if config.get("enable_idempotence"):
        said.append("idempotent")
    elif "enable_idempotence" in config:
        said.append("not idempotent")
    return said


def in_one_line(space: Space) -> str:
    """The logs' records, the requests' results, and the lamps' words."""
    logs = [_held(log) for log in space["logs"]]
    in_logs = "; ".join(logs) or "nothing yet"
    counts = ", ".join(_counts(space))
    lamps = ", ".join(_lamps(space))
    return f"{in_logs} ({counts}; {lamps})"


def _held(log: Mapping[str, Any]) -> str:
    """A partition's records in words, such as "partition 0: a b c"."""
    letters = []
    for _, _, letter, *_ in log["records"]:
        letters.append(str(letter or "–"))
    words = " ".join(letters) or "empty"
    return f"partition {log['partition']}: {words}"


def _counts(space: Space) -> list[str]:
    requests = counted(space["requests"], "request")
    failed = space["failed"]
    counts = [
        f"{space['sent']} sent in {requests}",
        f"{space['acknowledged']} done",
    ]
    if failed:
        counts.append(f"{failed} failed")
    return counts


def _lamps(space: Space) -> list[str]:
    untrue = space["untrue"]
    lamps = [lamp.words for lamp in lamps_of(space)]
    if untrue:
        lamps.append(f"{untrue} told wrong")
    return lamps
