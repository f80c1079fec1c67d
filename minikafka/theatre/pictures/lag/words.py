"""How the picture of the lag puts rates and spells into words."""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.pictures.lag.chart import Span
from minikafka.theatre.pictures.lag.ends import Busy
from minikafka.theatre.pictures.lag.spells import lasting
from minikafka.theatre.pictures.lag.sums import Rates
from minikafka.theatre.play import Space

MOST_ROWS = 4  # lines of brackets


class Unit(NamedTuple):
    """The unit in which a play gives its rates, and its duration."""

    name: str
    ms: int
    longest_ms: int

    @staticmethod
    def of(whole_ms: int) -> "Unit":
        """For a play of this length."""
        for unit in UNITS:
            if whole_ms <= unit.longest_ms:
                return unit
        return UNITS[-1]


UNITS = (
    Unit("second", 1000, 600_000),
    Unit("minute", 60_000, 86_400_000),
    Unit("hour", 3_600_000, 10**15),
)


def rates_in_words(speed: Rates, unit: Unit, group: str, lag: int) -> str:
    """How much is written, committed and lost, and what that does to the lag. lag: of
    all, now.
    """
    written = speed.written * unit.ms
    done = speed.done * unit.ms
    lost = speed.lost * unit.ms
    number = in_figures if _add_up(written, done) else _to_a_decimal
    words = f"{number(written)} written a {unit.name}"
    words += f", {number(done - lost)} committed"
    if lost:
        words += f", {number(lost)} lost"
    keeps_up = speed.stand_still and done and not lost
    if not lag and not keeps_up:
        return f"{words}: the lag is 0."
    if not speed.stand_still:
        verb = "grows" if written > done else "falls"
        change = number(abs(written - done))
        return f"{words}: the lag {verb} by {change} a {unit.name}."
    if keeps_up:
        return f"{words}: {group} keeps up."
    return f"{words}: the lag stands still."


def in_figures(rate: float) -> str:
    """With a decimal only where that says more."""
    off = abs(rate - round(rate))
    is_nearly_whole = off < 0.06 * rate
    if rate >= 9.5 or rate < 0.05 or is_nearly_whole:
        return f"{rate:.0f}"
    return f"{rate:.1f}"


def _to_a_decimal(rate: float) -> str:
    return f"{rate:.1f}"


def _add_up(written: float, done: float) -> bool:
    """Whether the difference of the two, as they are told, is the difference told."""
    change = abs(written - done)
    told_written = float(in_figures(written))
    told_done = float(in_figures(done))
    told = abs(told_written - told_done)
    return abs(told - change) <= 0.25 * change


# -- brackets


def spans(space: Space, now: int, speed: Rates | None) -> list[Span]:
    """How long it took until nothing waited any more, and whether that is getting
    closer; or how long a member was busy when it was first evicted for it.
    """
    if "busy" in space:
        first = Busy(*space["busy"][0])
        out = f"out after {first.allowed}"
        words, short = f"{first.words} of work: {out}", f"{first.words}: {out}"
        return [Span(first.handed_ms, first.out_ms, words, short, first.polled_ms)]
    since = min([now + 1, *space["catching"]])
    found = []
    for begin, end in space["caught_up"]:
        if end < since:
            words = f"caught up in {lasting(end - begin)}"
            found.append(Span(begin, end, words))
    if space["catching"]:
        words = "catching up" if _comes_nearer(speed) else "behind"
        found.append(Span(since, now, words))
    for spell in space.get("spells", ()):
        found.append(_spell(spell, now))
    return sorted(found)[-MOST_ROWS:]


def _spell(spell: Space, now: int) -> Span:
    """How long somebody was slow or away, and what the lag did meanwhile."""
    begin = spell["begin"]
    end = spell["end"]
    if end is None:
        end = now
    what = f"{spell['who']} {spell['state']} {lasting(end - begin)}"
    lag = f"lag {spell['before']} → {spell['after']}"
    return Span(begin, end, f"{what}: {lag}")


def _comes_nearer(speed: Rates | None) -> bool:
    """Whether less waits from moment to moment."""
    if speed is None:
        return True
    if speed.stand_still:
        return False
    return speed.done > speed.written


def rows(scenes: Sequence[Space]) -> int:
    """Lines of brackets that these scenes need at most."""
    return max([1, *(_rows(scene["space"]) for scene in scenes)])


def _rows(space: Space) -> int:
    """One for all, unless spells are compared."""
    spells = len(space.get("spells", ()))
    if not spells:
        return 1
    caught_up = len(space["caught_up"]) + bool(space["catching"])
    return min(spells + caught_up, MOST_ROWS)
