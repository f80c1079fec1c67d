"""The result, in one sentence: which order is somewhere twice, and why, and what
prevented that for the others.
"""

from collections.abc import Mapping

from minikafka.theatre.pictures.sink.cast import (
    KILLED,
    KNOWN,
    STILL,
    Reader,
    Row,
    Sink,
    orders,
)
from minikafka.theatre.text import capital, lasting, listed


def in_short(sinks: Mapping[str, Sink], readers: Mapping[str, Reader]) -> str:
    """By their names. Nothing where no sink has anything."""
    filled = [sink for sink in sinks.values() if sink.rows]
    if not filled:
        return ""

    wrong = []
    right = []
    for sink in filled:
        if sink.twice:
            wrong.append(_twice(sink, readers))
        else:
            right.append(_once(sink, readers))

    said = [words for words in [*wrong, *right] if words]
    if not said:
        tables = listed([sink.name for sink in filled])
        amounts = filled[0].amounts
        said.append(f"each order is once in {tables}{amounts}")
    words = "; ".join(said)
    return f"{capital(words)}."


def _twice(sink: Sink, readers: Mapping[str, Reader]) -> str:
    """The first of its orders, and why."""
    offset = sink.twice[0]
    rows = [row for row in sink.rows if row.offset == offset]
    again = readers[rows[-1].writer]
    because = _why(again, rows[0])
    words = f"{orders(sink.twice)} {_is(len(sink.twice))} in {sink.name} twice"
    words += f"{sink.amounts}, because {because}"
    if again.refused:
        words += f", and Kafka refused only {again.name}'s commit, not its write"
    return words


def _why(again: Reader, first: Row) -> str:
    """again: who wrote an order once more. first: the row that was there before."""
    name = again.name
    for away in again.away:
        if away.what == KILLED and first.writer == name:
            return f"{name} was killed before its commit"
        if away.what == STILL:
            ms = away.until(away.begin_ms) - away.begin_ms
            lasted = lasting(round(ms, -3))
            return (
                f"{name} stood still for {lasted} with it in hand while"
                f" {first.writer} did it"
            )
    return f"{name} was handed it again"


def _once(sink: Sink, readers: Mapping[str, Reader]) -> str:
    """What prevented an order from being there twice, if anything had to."""
    name = sink.name
    for reader in readers.values():
        known = [span.offset for span in reader.spans if span.what == KNOWN]
        if not known or reader.table != name:
            continue
        what = orders(known)
        why = f"because offset {known[-1]} is noted in it"
        return f"{name} has {what} once{sink.amounts}, {why}"
    return ""


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
