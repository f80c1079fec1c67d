"""Lesson 21, around Kafka: what a right answer does."""

from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.judging.killed_joins import (
    CALLS,
    PROCESSES,
    End,
    Life,
    Record,
    joined,
    should_be,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "FORWARD, and a field without a default is left out",
        right=1,
        why=(
            "1. FORWARD: programs with the last version must read the new records. They"
            " look for cents, find none, and have no default."
        ),
    ),
    Question(
        "a state store without a changelog, on a machine that is lost",
        right=3,
        why=(
            "3. Committed offsets say where to go on, and words before them don't come"
            " again. Their counts were only on that machine: a changelog is what brings"
            " a state store back elsewhere."
        ),
    ),
    Question(
        "the largest order, at_least_once, killed before the commit",
        right=3,
        why=(
            "3. The orders come again, but the largest of a, b and b is that of a and b."
            " A repeat harms only what adds up: counts, sums, lists."
        ),
    ),
    Question(
        "how many records of a changelog a new instance reads",
        right=2,
        why=(
            "2. At most one for each key where the cleaner has been, and everything in"
            " the active segment, which it leaves alone."
        ),
        lesson="08",
    ),
    Question(
        "50 records of a transaction whose program was killed, Java's defaults",
        right=2,
        why=(
            "2. Java's default is read_uncommitted: it gets the 50 of the aborted"
            " transaction, and those that the restarted program sends."
        ),
        lesson="13",
    ),
)


def exercise_1():
    """A stream joined with a table, through kills and moves."""
    common = {"smaller": fewer, "describe": as_story}
    return Exercise(
        name="my_join",
        right="each order is joined once, wherever and however a life ends.",
        hints=(
            (
                "Whatever must outlive this life is in a topic. Which one tells you at the"
                " start who lives where? And what must be written when a customer moves?"
            ),
            (
                "Begin with an empty dict, and read task.changelog() into it. None as a"
                " value takes the key out, there as in customers. An empty string is"
                " a city."
            ),
            (
                "For each record: of customers, change the dict and send the same to"
                " the changelog; of orders, look into the dict and send to joined. Then"
                " task.commit(). Never before: what it commits has to be done."
            ),
        ),
        rungs=(
            Rung("nothing fails: each order is joined", wrong, CALM, describe=as_story),
            Rung(
                "its process ends, and another has the table",
                wrong,
                AGAIN,
                calm_lives,
                **common,
            ),
            Rung(
                "killed before or after any call, it loses and repeats nothing",
                wrong,
                KILLED,
                some_kills,
                **common,
            ),
            Rung(
                "moved to another process, and back",
                wrong,
                MOVED,
                some_moves,
                **common,
            ),
            Rung(
                "the changelog grows with customers alone",
                too_much_kept,
                LONG,
                describe=lambda case: "300 orders, 4 customers",
            ),
        ),
    )


def lives_in(key, city, partition=0):
    return Record("customers", partition, key, city)


def order(key, cents, partition=0):
    return Record("orders", partition, key, cents)


STORY = (
    lives_in("alice", "Arles"),
    order("alice", 20),
    lives_in("bob", "Cork"),
    lives_in("alice", "Faro"),
    order("alice", 30),
    order("bob", 5),
)
CALM = {
    "the first example": (Life((lives_in("alice", "Arles"), order("alice", 20))),),
    "the second example": (Life((order("bob", 5), lives_in("bob", "Cork"))),),
    "no record": (Life(()),),
    "a customer who moves": (Life(STORY),),
    "an order of 0 cents": (Life((lives_in("alice", "Arles"), order("alice", 0))),),
    "a city with an empty name": (Life((lives_in("alice", ""), order("alice", 20))),),
    "a customer who is gone": (
        Life((lives_in("bob", "Cork"), lives_in("bob", None), order("bob", 5))),
    ),
    "nobody who goes": (Life((lives_in("zoë", None), order("zoë", 5))),),
    "the same order twice": (
        Life((lives_in("7", "Cork"), order("7", 5), order("7", 5))),
    ),
    "two partitions": (
        Life((lives_in("bob", "Cork"), lives_in("Bob", "Faro", 1), order("Bob", 5, 1))),
    ),
}
LATER = (order("alice", 7), order("bob", 8))
AGAIN = {
    "orders come later": (Life(STORY), Life(LATER)),
    "gone before, orders come later": (
        Life((*STORY, lives_in("alice", None))),
        Life(LATER, "second"),
    ),
    "an empty name, orders come later": (
        Life((lives_in("alice", ""),)),
        Life(LATER, "second"),
    ),
    "back again later": (
        Life((lives_in("alice", None), lives_in("alice", "Arles"))),
        Life(LATER, "second"),
    ),
}
KILLED = {
    f"killed {when} {call} {nth}": (Life(STORY, "first", End(when, call, nth)),)
    for call in CALLS
    for nth in (1, 2, 3, 6)
    for when in ("before", "after")
}
MOVED = {
    "moves away and comes back": (
        Life((lives_in("alice", "Arles"),)),
        Life((lives_in("alice", "Faro"), lives_in("bob", "Cork")), "second"),
        Life(LATER, "first"),
    ),
    "moves away, somebody goes, comes back": (
        Life((lives_in("alice", "Arles"),)),
        Life((lives_in("alice", None),), "second"),
        Life(LATER, "first"),
    ),
} | {
    f"moved {when} {call} {nth}": (
        Life(STORY, "first", End(when, call, nth, moved=True)),
        Life(LATER, "second"),
        Life((lives_in("alice", None), *LATER), "first"),
    )
    for call in CALLS
    for nth in (1, 2, 4)
    for when in ("before", "after")
}
LONG = {
    "300 orders": (
        Life((*STORY, lives_in("carl", "Delft"), lives_in("carl", "Delft"))),
        Life(tuple(order("alice", number) for number in range(300)), "second"),
    )
}

NAMES = ("alice", "Alice", "bob", "zoë", "", "10")
CITIES = ("Arles", "Cork", "", "São Paulo", "Arles", None)


def some_records(source):
    """Each customer is of one partition, as equal keys are."""
    found = []
    for _ in range(source.randint(1, 6)):
        key = source.choice(NAMES)
        partition = NAMES.index(key) % 2
        if source.random() < 0.5:
            found.append(lives_in(key, source.choice(CITIES), partition))
        else:
            found.append(order(key, source.choice((0, 5, 5, 20)), partition))
    return tuple(found)


def calm_lives(source):
    return tuple(
        Life(some_records(source), source.choice(PROCESSES))
        for _ in range(source.randint(2, 4))
    )


def some_kills(source):
    return tuple(
        Life(some_records(source), source.choice(PROCESSES), an_end(source, False))
        for _ in range(source.randint(1, 4))
    )


def some_moves(source):
    return tuple(
        Life(
            some_records(source),
            source.choice(PROCESSES),
            an_end(source, source.random() < 0.7),
        )
        for _ in range(source.randint(2, 5))
    )


def an_end(source, moved):
    when, call = source.choice(("before", "after")), source.choice(CALLS)
    return End(when, call, source.randint(1, 4), moved)


def fewer(case):
    """Fewer lives, fewer ends, fewer records."""
    for at in range(len(case)):
        if len(case) > 1:
            yield case[:at] + case[at + 1 :]
        life = case[at]
        if life.end:
            yield (*case[:at], life._replace(end=None), *case[at + 1 :])
        for place in range(len(life.records)):
            left = life.records[:place] + life.records[place + 1 :]
            yield (*case[:at], life._replace(records=left), *case[at + 1 :])


def as_story(case):
    return "; ".join(map(as_life, case))


def as_life(life):
    came = ", ".join(map(as_record, life.records)) or "no record"
    line = f"{life.process} process: {came}"
    if life.end is None:
        return line
    what = "moved away" if life.end.moved else "killed"
    return f"{line} | {what} {life.end.when} {life.end.name} {life.end.nth}"


def as_record(record):
    return f"{record.topic} {record.key} {record.value!r}"


def wrong(answer, case):
    for _, partition in sorted(joined(answer, case).items()):
        if problem := wrong_in(partition):
            return problem
    return None


def wrong_in(partition):
    should, found = should_be(partition.records), partition.sent["joined"]
    if found != should:
        return not_joined(partition.records, should, found)
    if partition.committed < len(partition.records):
        left = len(partition.records) - partition.committed
        return f"all is joined, but not committed: a lag of {left} stays."
    return None


def not_joined(records, should, found):
    """The first place where they differ, in a line."""
    both = zip(should, found, strict=False)
    same = next((at for at, (one, other) in enumerate(both) if one != other), None)
    if same is None:
        same = min(len(should), len(found))
    shown = [as_joined(found[same]) if same < len(found) else "nothing"]
    shown += [as_joined(should[same]) if same < len(should) else "nothing more"]
    what = what_differs(records, should, found, same)
    return f"{what}: record {same} of joined is {shown[0]}, and should be {shown[1]}."


def what_differs(records, should, found, same):
    """found and should are the same before this place."""
    if same == len(found):
        return "an order is lost"
    this = cents_of(found[same])
    if [*map(cents_of, found)].count(this) > [*map(cents_of, should)].count(this):
        for order, reason in without_a_city(records, same):
            if (order.key, order.value) == this:
                return f"an order is joined, though its customer {reason} when it came"
        if found[same] in should:
            return "an order is joined twice"
    elif len(found) < len(should):
        return "an order is lost"
    return "an order is joined with something else"


def cents_of(sent):
    """The key and the cents of what was joined."""
    key, value = sent
    return key, value[0] if isinstance(value, list) and value else value


def without_a_city(records, after):
    """The orders that join to nothing behind so many that join, each with the
    reason.
    """
    cities, count, found = {}, 0, []
    for record in records:
        if record.topic == "customers":
            cities[record.key] = record.value
        elif cities.get(record.key) is not None:
            count += 1
        elif count == after:
            gone = record.key in cities
            found.append((record, "was gone" if gone else "had no city yet"))
    return found


def as_joined(sent):
    key, value = sent
    return f"{key} {tuple(value) if isinstance(value, list) else value!r}"


def too_much_kept(answer, case):
    for partition in joined(answer, case).values():
        kept = len(partition.sent["changelog"])
        told = sum(record.topic == "customers" for record in partition.records)
        if kept > told:
            return (
                f"the changelog has {kept} records, and customers has {told}: it grows"
                " with the orders, or with each life."
            )
    return wrong(answer, case)
