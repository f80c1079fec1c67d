"""ISO 8601 durations, as Java's Duration reads them: days, hours, minutes, seconds."""

import re

from minikafka.broker.config_table import LONG_MAX

DURATION = re.compile(
    r"([-+]?)P(?!$)(?:([-+]?\d+)D)?"
    r"(?:T(?!$)(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?"
    r"(?:(([-+]?)\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60
NANOS = 10**9


def duration_ms(text: str) -> int:
    """How long it is, in whole ms. Errors: ValueError, also where it is less than
    nothing, or where it or a part of it has more seconds than a long can hold.
    """
    found = DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no duration")
    sign, days, hours, minutes, seconds, sign_of_seconds, fraction = found.groups()
    nanos = int((fraction or "").ljust(9, "0"))
    total = -nanos if sign_of_seconds == "-" else nanos
    units = ((days, DAY_S), (hours, HOUR_S), (minutes, MINUTE_S), (seconds, 1))
    for number, unit_s in units:
        whole_s = int(number or 0) * unit_s  # of thousands of digits: ValueError
        if not -LONG_MAX - 1 <= whole_s <= LONG_MAX:
            raise ValueError(f"{number} is too many")
        total += whole_s * NANOS
    if sign == "-":
        total = -total
    if not 0 <= total < (LONG_MAX + 1) * NANOS:
        raise ValueError("negative, or too long")
    return total * 1000 // NANOS
