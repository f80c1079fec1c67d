"""`metrics`: the temperatures that 200 devices report, each once a minute, from four
sites.

A site's devices write to a partition of their own. Sensor 17 gets stuck and repeats
itself; device 42 overheats slowly; some devices fall silent for a while; and when the
harbour closes at noon, its partition has nothing more to say.
"""

from collections.abc import Iterator

from .events import DAY_STARTS, HOUR, MINUTE, SECOND, Dice, Event, as_json, by_ingest

STREAMS = ("metrics",)
COUNTED = "minutes"

SITES = ("harbour", "mill", "station", "tower")
DEVICES = 200
STUCK, OVERHEATS = 17, 42
NOON_MS = DAY_STARTS + 4 * HOUR


def generate(count: int = 30, seed: int = 7) -> Iterator[Event]:
    """The readings of `count` minutes (600 are the whole day), in the order of their
    ingest.
    """
    return by_ingest(_made(count, Dice(seed)))


def closes_ms(count: int) -> int:
    """When the harbour closes: at noon, in a shorter run after half of it."""
    return min(NOON_MS, DAY_STARTS + count * MINUTE // 2)


def _made(count: int, dice: Dice) -> Iterator[Event | int]:
    tenths = [180 + dice.below(60) for _ in range(DEVICES)]  # of a degree Celsius
    silent_until = [0] * DEVICES
    for minute in range(count):
        begins = DAY_STARTS + minute * MINUTE
        yield begins
        for device in range(DEVICES):
            site = device % len(SITES)
            at = begins + device * MINUTE // DEVICES + dice.below(200)
            if device == OVERHEATS:
                tenths[device] += 2 + dice.below(3)
            elif device != STUCK:
                tenths[device] += dice.below(5) - 2
            if dice.below(2000) == 0:
                silent_until[device] = at + 3 * MINUTE + dice.below(20 * MINUTE)
            if at < silent_until[device] or (
                SITES[site] == "harbour" and at >= closes_ms(count)
            ):
                continue
            yield _reading(dice, device, site, tenths[device], at)


def _reading(dice: Dice, device: int, site: int, tenths: int, at: int) -> Event:
    name = f"{SITES[site]}-{device:03}"
    value = as_json(
        {
            "device_id": name,
            "site": SITES[site],
            "tenths_celsius": tenths,
            "event_time_ms": at,
        }
    )
    late = dice.below(3 * MINUTE) if dice.percent(1) else 0
    return Event(
        "metrics",
        name.encode(),
        value,
        [],
        at + 20 + dice.below(2 * SECOND) + late,
        site,
    )
