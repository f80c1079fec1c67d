"""Durations in configs, as Java's Duration.parse reads them and Apache Kafka 4.3.1 takes
them (share.auto.offset.reset, KIP-932).
"""

import pytest

from minikafka.broker.durations import duration_ms

DAY_MS = 86_400_000
NINES = "9" * 400


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", DAY_MS),
        ("p1dt1h", DAY_MS + 3_600_000),
        ("P1DT2H3M4.5S", DAY_MS + 7_384_500),
        ("PT0S", 0),
        ("PT0.0009S", 0),
        ("PT1.S", 1000),
        ("PT1,5S", 1500),
        ("PT+1S", 1000),
        ("PT1H-1M", 59 * 60_000),
        ("-PT-1H", 3_600_000),
        ("PT0000000000000000000000000000001S", 1000),
        ("PT9223372036854775807S", (2**63 - 1) * 1000),
        ("P106751991167300DT15H30M7.999999999S", 2**63 * 1000 - 1),
    ],
)
def test_a_duration_is_read_as_java_reads_it(text, ms):
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1DT", "1D", "P1W", "P1Y", "PT.5S", "PT1.5H", "PT1H1H"),
        *("PT1e3S", "PTNaNS", "PT٣S", " P1D", "PT1.1234567890S", "PT1S\n"),
        *("-P1D", "P-1D", "PT-0.5S", "PT1M-1H"),
        *("PT9223372036854775808S", "P106751991167301D", "PT2562047788015216H"),
        "P106751991167300DT15H30M8S",
        f"P{NINES}D",
        f"PT{NINES}S",
        f"PT-{NINES}S",
        f"PT{NINES * 50}S",
    ],
)
def test_one_that_java_refuses_or_that_is_less_than_nothing_is_none(text):
    with pytest.raises(ValueError):
        duration_ms(text)
