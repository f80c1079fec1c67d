"""`transfers`: money that moves between the customers' accounts, in double entry.

A transfer is two postings, one for each account: what one loses the other gains, so the
sum over all accounts is zero whenever no transfer is half there. The two have different
keys, so that they lie in different partitions; the second may be late, and some
postings come twice.
"""

from collections.abc import Iterator

from .events import (
    DAY_MS,
    DAY_STARTS,
    MINUTE,
    PEOPLE,
    SECOND,
    Dice,
    Event,
    as_json,
    by_ingest,
)

STREAMS = ("transfers",)
COUNTED = "transfers"


def generate(count: int = 1000, seed: int = 7) -> Iterator[Event]:
    """The postings of `count` transfers, in the order of their ingest."""
    return by_ingest(_made(count, Dice(seed)))


def _made(count: int, dice: Dice) -> Iterator[Event | int]:
    for number in range(count):
        slot = DAY_STARTS + number * DAY_MS // count
        yield slot
        at = slot + dice.below(DAY_MS // count)
        payer = dice.ranked(PEOPLE)
        payee = dice.one_of([name for name in PEOPLE if name != payer])
        cents = 100 + dice.below(50_000)
        delays = (
            20 + dice.below(80),
            20 + dice.below(5 * MINUTE if dice.percent(3) else SECOND),
        )
        for leg, (account, amount, delay) in enumerate(
            zip((payer, payee), (-cents, cents), delays, strict=True), 1
        ):
            posting = {
                "posting_id": f"t-{number + 1:05}-{leg}",
                "transfer_id": f"t-{number + 1:05}",
            }
            value = as_json(
                {
                    **posting,
                    "account_id": account,
                    "amount_cents": amount,
                    "event_time_ms": at,
                }
            )
            event = Event("transfers", account.encode(), value, [], at + delay)
            yield event
            if dice.percent(1):
                yield event._replace(
                    ingest_ms=event.ingest_ms + 200 + dice.below(3 * SECOND)
                )
