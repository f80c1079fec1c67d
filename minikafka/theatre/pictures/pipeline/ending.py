"""The result, in one sentence: how many records are in the log, and why some are there
twice, late, or not at all; or why nothing went wrong although something was lost.
"""

from collections.abc import Sequence

from minikafka.theatre.pictures.pipeline.batches import Batch
from minikafka.theatre.pictures.pipeline.records import Records
from minikafka.theatre.text import counted, lasting

MOST_LISTED = 12  # records of a log that a sentence lists


def in_short(
    records: Records, batches: Sequence[Batch], requests: int, shop: str
) -> str:
    """batches: all that were sent. requests: how many carried them."""
    twice = _twice(records, shop)
    overtaken = _overtaken(records, batches)
    if twice and overtaken:
        overtaken = (
            f"{len(records.late)} are overtaken: what came back last left first."
        )
    troubles = [_told_wrong(records, batches, shop), _lost(records), twice, overtaken]
    said = [words for words in troubles if words]
    return " ".join(said) or _all_well(records, batches, requests)


def _told_wrong(records: Records, batches: Sequence[Batch], shop: str) -> str:
    """In the log, and failed for all that the program knows."""
    untrue = [each for each in records.told() if each.untrue]
    failed = [each.number for each in untrue if each.word == "failed"]
    if not failed:
        return ""
    waited_ms = max(batch.waited_ms for batch in batches)
    they = "it" if len(failed) == 1 else "they"
    return (
        f"{records.called(failed)} {_is(failed)} in the log, and the program was told"
        f" that {they} failed: {shop} heard no answer and gave up after"
        f" {lasting(waited_ms)}."
    )


def _lost(records: Records) -> str:
    lost = records.missing(sorted(records.lost))
    if not lost:
        return ""
    done = [number for number in lost if records.heard.get(number)]
    what = f"{len(lost)} of {counted(len(records.sent), 'record')} {_is(lost)}"
    if done:
        return (
            f"{what} lost, and the program was told that all is done: with acks=0"
            " nobody waits for an answer, so nobody sends again."
        )
    return f"{what} not in the log."


def _twice(records: Records, shop: str) -> str:
    twice = [number for number, copies in records.copies.items() if copies > 1]
    if not twice:
        return ""
    sent = counted(len(records.sent), "record")
    written = sum(records.copies.values())
    return (
        f"{sent} became {written}: {records.called(twice)} {_is(twice)} in the log"
        f" twice, because {shop} heard no answer and sent again, and to the broker"
        " that was a new batch."
    )


def _overtaken(records: Records, batches: Sequence[Batch]) -> str:
    late = len(records.late)
    if not late:
        return ""
    back = sum(batch.attempts > 1 for batch in batches)
    came = f"{back} batches came back" if back > 1 else "A batch came back"
    words = f"{came} when the connection broke"
    if back > 1:
        words += ", each to the front of the buffer, so the last one left first"
    words += f": {counted(late, 'record')} {'is' if late == 1 else 'are'} overtaken"
    held = records.held()
    if len(held) <= MOST_LISTED:
        words += f", and the log holds {' '.join(held)}"
    return f"{words}."


def _all_well(records: Records, batches: Sequence[Batch], requests: int) -> str:
    sent = counted(len(records.sent), "record")
    known = [batch for batch in batches if batch.is_known]
    if known:
        first = known[0]
        times = "twice" if first.attempts == 2 else f"{first.attempts} times"
        is_sent = "was" if len(first.records) == 1 else "were"
        return (
            f"{records.called(first.records)} {is_sent} sent {times} and"
            f" {_is(first.records)} in the log once: the first answer was lost, and the"
            f" broker recognised the repeat by sequence number {first.base_sequence}."
        )
    if any(batch.attempts > 1 for batch in batches):
        return (
            f"{sent} took {requests} requests, because some came back and left again:"
            " each is in the log once, and in order."
        )
    return (
        f"{sent} in {counted(requests, 'request')}: no message was lost, so each is in"
        " the log once, and in order."
    )


def _is(numbers: Sequence[int]) -> str:
    return "is" if len(numbers) == 1 else "are"
