"""The sinks' lanes, on an axis to scale: how long an order was in the sink and not
committed, which readers were away, and how far each has committed.
"""

from collections.abc import Sequence

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.axis import Scene, Span, Time
from minikafka.theatre.broker_lanes import lasted
from minikafka.theatre.pictures.sink.cast import AGAIN, DONE, KNOWN, Away, Lasted
from minikafka.theatre.pictures.sink.stage import Actors
from minikafka.theatre.play import Space
from minikafka.theatre.time_lanes import Bar, TimeLane, gone

SHORTEST = 100  # of an axis: what part of it is the shortest bar
MOST_ENLARGED = 1 / 40  # of the whole axis


def enlarged(scenes: Sequence[Scene], time: Time) -> Time | None:
    """The end of the story, from when the last one that was away is back, where that is
    too short to be seen, and something was written then.
    """
    if not scenes:
        return None
    back = []
    written = []
    for reader in scenes[-1]["space"]["readers"]:
        for each in reader["away"]:
            away = Away(*each)
            back.append(away.until(time.last_ms))
        for each in reader["spans"]:
            order = Lasted(*each)
            written.append(order.begin_ms)

    begin_ms = max(back, default=time.first_ms)
    length_ms = time.last_ms - begin_ms
    if not 0 < length_ms <= time.length_ms * MOST_ENLARGED:
        return None
    if max(written, default=time.first_ms) < begin_ms:
        return None
    chapters = [each for each in time.chapters if each.at_ms >= begin_ms]
    return Time(begin_ms, time.last_ms, chapters)


def lanes(
    actors: Actors, scene: Scene, time: Time, close: Time | None
) -> list[TimeLane]:
    """A lane for each reader. close: what is enlarged."""
    found = []
    for member, reader in zip(actors.members, scene["space"]["readers"], strict=True):
        actor = actors.number(member.name)
        is_refused = bool(reader["refused"])
        lane = TimeLane(
            key=member.name,
            name=member.name,
            bars=_bars(reader, actor, scene["at"], time, close),
            colour=actor_colour(actor),
            number=_up_to(reader),
            trouble=is_refused,
        )
        found.append(lane)
    return found


def _up_to(reader: Space) -> str:
    """The result of a reader's commits."""
    if reader["refused"]:
        return "refused"
    offset = reader["committed"]
    return "" if offset is None else f"committed {offset}"


def _bars(
    reader: Space, actor: int, now_ms: int, time: Time, close: Time | None
) -> list[Bar]:
    """The bars of a reader's lane, in their order."""
    bars = []
    for each in reader["spans"]:
        order = Lasted(*each)
        if _is_long(order, now_ms, time, close):
            bars.append(_bar(order, actor, now_ms))
    for each in reader["away"]:
        away = Away(*each)
        span = Span(
            away.begin_ms,
            away.until(now_ms),
            away.what,
            away.number,
        )
        how_long = lasted(span)
        words = [f"{away.what}, {how_long}", away.what, how_long]
        bars.append(gone(span, words))
    bars.sort(key=_begin_ms)
    return bars


def _begin_ms(bar: Bar) -> int:
    return bar.span.begin_ms


def _is_long(order: Lasted, now_ms: int, time: Time, close: Time | None) -> bool:
    """Whether its bar is seen; else it is a mark."""
    ms = order.until(now_ms) - order.begin_ms
    axis = time
    if close and order.begin_ms >= close.first_ms:
        axis = close
    return ms * SHORTEST >= axis.last_ms - axis.first_ms


def _bar(order: Lasted, actor: int, now: int) -> Bar:
    """An order that is in the sink and not committed; or that was left out."""
    offset = order.offset
    span = Span(
        order.begin_ms,
        order.until(now),
        offset,
        order.number,
    )
    words = [str(offset)]
    tip = f"order {offset}: in the sink, not committed"
    if order.what != DONE:
        words.insert(0, f"{offset} {order.what}")
    if order.what == AGAIN:
        return Bar(
            span,
            words,
            f"{tip}, again",
            fill="trouble",
            ink="paper",
        )
    if order.what == KNOWN:
        return Bar(
            span,
            words,
            f"order {offset} is known: nothing is added",
            fill="paper",
            line=actor_colour(actor),
        )
    return Bar(
        span,
        words,
        tip,
        fill=actor_colour(actor),
        ink=ink_on_actor(actor),
    )
