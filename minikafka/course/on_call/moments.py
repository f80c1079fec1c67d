"""Times as people type them: how long ago, or at what time of the night."""

import re
from datetime import UTC, datetime

from minikafka.course.on_call.usage import Refused
from minikafka.simulation.clock import MIDNIGHT_MS

PART = re.compile(r"(\d{1,6})\s*([a-z]+)")
UNITS_MS = {
    "ms": 1,
    "s": 1000,
    "sec": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
}
WORDS = {"second": "s", "minute": "min", "hr": "h"}
CLOCK = re.compile(r"(?:\d{4}-\d\d-\d\d[ T])?(\d{1,2}):(\d\d)(?::(\d\d))?")
HOW_LONG = "{} is how long ago, such as 10m or 1h30m, not {!r}."
WHEN = '{} is a time such as 00:05, or "10 min ago", not {!r}.'


def duration_ms(name: str, text: str) -> int:
    """10m, 1h30m, "10 minutes": in ms. name: the option, for a refusal."""
    found = _duration_ms(text)
    if found is None:
        raise Refused(HOW_LONG.format(name, text))
    return found


def _duration_ms(text: str) -> int | None:
    """In ms; None if it is no duration."""
    total = 0
    rest = text.strip().lower()
    if not rest:
        return None
    while rest:
        part = PART.match(rest)
        if not part:
            return None
        unit = part[2] if part[2] in UNITS_MS else part[2].removesuffix("s")
        unit = WORDS.get(unit, unit)
        if unit not in UNITS_MS:
            return None
        total += int(part[1]) * UNITS_MS[unit]
        rest = rest[part.end() :].lstrip()
    return total


def moment_ms(name: str, text: str, now_ms: int) -> int:
    """A time of this night: 00:05, today, "10 min ago", -10m. Raises Refused."""
    words = text.strip()
    clock = CLOCK.fullmatch(words)
    if clock:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return ((hours * 60 + minutes) * 60 + seconds) * 1000
    if words in ("today", "yesterday"):
        return 0
    if words == "now":
        return now_ms
    ago = _duration_ms(words.removeprefix("-").removesuffix("ago"))
    if ago is None:
        raise Refused(WHEN.format(name, text))
    return now_ms - ago


def timestamp_ms(name: str, text: str) -> int:
    """A date and a time as Kafka's tools have them, in ms since 1970. Raises
    Refused.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        night = datetime.fromtimestamp(MIDNIGHT_MS / 1000, UTC)
        example = night.strftime("%Y-%m-%dT00:05:00.000")
        raise Refused(f"{name} is a time such as {example}, not {text!r}.") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)
