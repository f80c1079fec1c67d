"""`user_events`: what visitors of the book shop's web site and of its app did, page by
page.

A visit is a session: views, perhaps a basket, perhaps a purchase, with seconds to
minutes between. Sessions have no number: whoever wants them has to find the gaps. The
app keeps events while the phone has no network, and sends them together later. Bots
look at a page every few seconds for an hour.
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

STREAMS = ("user_events",)
COUNTED = "visits"

PAGES = ("home", "search", "atlas", "cookbook", "diary", "novel", "poems", "thriller")
BOT_EVERY = 50  # visits
# a longer silence ends a session; within one there is none longer than 10 minutes
SESSION_GAP_MS = 30 * MINUTE


def generate(count: int = 1000, seed: int = 7) -> Iterator[Event]:
    """The events of `count` visits, in the order of their ingest."""
    return by_ingest(_made(count, Dice(seed)))


def _made(count: int, dice: Dice) -> Iterator[Event | int]:
    made = 0
    for number in range(count):
        slot = DAY_STARTS + number * DAY_MS // count
        yield slot
        begins = slot + dice.below(DAY_MS // count)
        if number % BOT_EVERY == BOT_EVERY - 1:
            visit = _bot(dice, f"bot-{number // BOT_EVERY + 1}", begins)
        else:
            visit = _visit(dice, begins)
        for user, client, page, action, at, ingest_ms in visit:
            made += 1
            value = {
                "event_id": f"u-{made:06}",
                "user_id": user,
                "client": client,
                "page": page,
                "action": action,
            }
            yield Event(
                "user_events",
                user.encode(),
                as_json({**value, "event_time_ms": at}),
                [("client", client.encode())],
                ingest_ms,
            )


# user, client, page, action, event time, ingest time
Step = tuple[str, str, str, str, int, int]


def _visit(dice: Dice, at: int) -> Iterator[Step]:
    user = dice.ranked(PEOPLE)
    client = dice.one_of(("web", "web", "app"))
    steps = 2 + dice.below(9)
    buys = dice.percent(20)
    times = [at]
    for _ in range(steps - 1):
        times.append(
            times[-1]
            + 3 * SECOND
            + dice.below(10 * MINUTE if dice.percent(5) else MINUTE)
        )
    # A phone without network: what was done meanwhile arrives in one go, up to an hour
    # and a half later.
    back_online = (
        times[-1] + MINUTE + dice.below(90 * MINUTE)
        if client == "app" and dice.percent(15)
        else 0
    )
    offline_from = dice.below(steps)
    for number, happened in enumerate(times):
        action = "view"
        if buys and number >= steps - 2:
            action = "add_to_basket" if number == steps - 2 else "buy"
        on_time = happened + 20 + dice.below(400)
        offline = back_online and number >= offline_from
        yield (
            user,
            client,
            dice.one_of(PAGES),
            action,
            happened,
            back_online + number if offline else on_time,
        )


def _bot(dice: Dice, user: str, at: int) -> Iterator[Step]:
    for number in range(300):
        happened = at + number * 12 * SECOND
        yield (
            user,
            "web",
            PAGES[number % len(PAGES)],
            "view",
            happened,
            happened + 20 + dice.below(80),
        )
