"""Lesson 13, idempotence and transactions: what a right answer does."""

from minikafka.course.experiments.lesson_13_runs import APIS, ORDERS, Schedule, copied
from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.lessons import Question
from minikafka.theatre import picture

EXIT_TICKET = (
    Question(
        "a log with an aborted and an open transaction: what is handed over",
        right=1,
        why=(
            "1. a was aborted, so the client leaves it out. c is open, so reading"
            " stops before it, and d comes after that."
        ),
    ),
    Question(
        "a transaction is open since offset 100: the lag, and what can be read",
        right=2,
        why=(
            "2. The tool counts to the high watermark: 120 - 95. The group gets offsets"
            " 95 to 99, up to the last stable offset, which is 100."
        ),
    ),
    Question(
        "a random transactional id at each start",
        right=2,
        why=(
            "2. The successor has another name, so the coordinator can't know which"
            " program it replaces. The transaction stays open until its timeout."
        ),
    ),
    Question(
        "a member that was evicted wakes up and commits",
        right=3,
        why=(
            "3. The coordinator doesn't know this member any more: UNKNOWN_MEMBER_ID."
            " (A member that it still knows is refused if its generation is old.)"
        ),
        lesson="05",
    ),
    Question(
        "billing has processed record 41 and commits",
        right=2,
        why=(
            "2. The committed offset is the next one to read, in a transaction as"
            " anywhere else."
        ),
        lesson="04",
    ),
)

MOST_CALLS = 19  # of a right answer, until all is done
EACH_ORDER = tuple(order for _, order in ORDERS)
BUSY = {order: Schedule(busy=(order,)) for order in EACH_ORDER} | {
    "all": Schedule(busy=EACH_ORDER),
    "twice at one order": Schedule(busy=("alice 2",) * 2),
}


def orders_of(*keys, count):
    """Orders of these customers in turns."""
    numbered = [(keys[at % len(keys)], at // len(keys) + 1) for at in range(count)]
    return tuple((key, f"{key} {number}") for key, number in numbered)


# (orders, partitions)
WORLDS = (
    (ORDERS, 2),
    (orders_of("Zoë", "bo", "bob", count=7), 1),
    (orders_of("eve", count=5), 3),
    (orders_of("ann", "anna", "7", count=9), 3),
)
WITH_A_GAP = Schedule(orders=WORLDS[1][0], partitions=1, gap=True)
KILLED = {f"call {call}": Schedule(kills=(call,)) for call in range(1, MOST_CALLS)} | {
    f"a gap, call {call}": WITH_A_GAP._replace(kills=(call,)) for call in (6, 8, 10, 12)
}
LOST = {
    f"{api} {answer}": Schedule(lost=(api, 1, answer))
    for api in APIS
    for answer in (False, True)
}
# 60 requests are lost in more than max.block.ms, 110 in more than twice that
UNCLEAR = {
    f"EndTxn {nth} {answer} {count}": Schedule(
        lost=("EndTxn", nth, answer), in_a_row=count
    )
    for nth, answer, count in ((1, False, 110), (1, True, 60), (2, True, 60))
}
FENCED = {order: Schedule(fenced=order) for order in EACH_ORDER[:5]}
LARGE = {order: Schedule(large=order) for order in (EACH_ORDER[0], EACH_ORDER[4])}
NOTHING_FAILS = {
    "nothing fails": Schedule(),
    "other customers": Schedule(orders=WORLDS[1][0], partitions=1),
}


HINTS_1 = (
    (
        "Put a batch of orders into one transaction: its receipts, and the offsets to"
        " commit, so that both count or neither. Which call commits offsets within a"
        " transaction? It isn't orders.commit()."
    ),
    (
        "At TillBusy nothing of this batch may count, so abort. But poll has already"
        " moved on. What makes the batch come again? And which errors need something"
        " else? Catch each error by its name."
    ),
    (
        "init_transactions() once, before the first poll. For each batch:"
        " begin_transaction(), a send for each order,"
        " send_offsets_to_transaction(behind(batch), orders.group_metadata()), and"
        " commit_transaction(). Call that again after each KafkaTimeoutError. Only at"
        " TillBusy: abort_transaction() and go_back(orders, batch). Let all other errors"
        " out."
    ),
)


def exercise_1():
    """The loop that reads, works and writes in transactions, whatever fails."""
    common = {"smaller": smaller, "describe": str, "picture": as_picture}
    return Exercise(
        name="my_bill",
        right="each order has one receipt, whatever fails.",
        hints=HINTS_1,
        rungs=(
            Rung(
                "nothing fails: each order has one receipt, and the lag is 0",
                wrong,
                NOTHING_FAILS,
                describe=str,
                picture=as_picture,
            ),
            Rung("a busy till: the batch comes again", wrong, BUSY, **common),
            Rung(
                "killed before any call, and started again",
                wrong,
                KILLED,
                several_kills,
                4,
                **common,
            ),
            Rung(
                "requests and answers get lost, and everything at once",
                wrong,
                LOST,
                anything,
                12,
                **common,
            ),
            Rung("a commit that times out is called again", wrong, UNCLEAR, **common),
            Rung("fenced: it ends", wrong, FENCED, **common),
            Rung("a receipt that is too large: it ends", wrong, LARGE, **common),
        ),
    )


def several_kills(source):
    return Schedule(
        kills=tuple(source.randint(1, MOST_CALLS) for _ in range(source.randint(2, 3)))
    )


def anything(source):
    kills = tuple(source.randint(3, MOST_CALLS) for _ in range(source.randint(0, 2)))
    orders, partitions = source.choice(WORLDS)
    busy = tuple(source.choice(orders)[1] for _ in range(source.randint(0, 3)))
    lost = source.choice(APIS), source.randint(1, 3), source.random() < 0.5
    return Schedule(kills, busy, lost, orders, partitions)


def smaller(case):
    """Without one of the failures; with an earlier kill."""
    if case.lost:
        yield case._replace(lost=None)
    for name in ("kills", "busy"):
        for at in range(len(getattr(case, name))):
            each = getattr(case, name)
            yield case._replace(**{name: each[:at] + each[at + 1 :]})
    for at, call in enumerate(case.kills):
        if call > 1:
            yield case._replace(
                kills=(*case.kills[:at], call - 1, *case.kills[at + 1 :])
            )


def run(answer, case):
    return copied(answer.__wrapped__, case, guard=answer.guard)


def as_picture(answer, case):
    return picture("transaction", run(answer, case).trace, transactional_id="till")


def wrong(answer, case):
    """What is wrong in the end, and the last calls of each life that was ended."""
    found = run(answer, case)
    if found.wrong is None:
        return None
    lives = [
        f"life {number}: {' '.join(calls[-6:])}"
        for number, calls in enumerate(found.calls, 1)
    ]
    return "\n".join([found.wrong, *lives])
