"""Lesson 03, producers: what a right answer does."""

from minikafka import Cluster
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, faults_for
from minikafka.course.judging.guard import plain
from minikafka.course.lessons import Question
from minikafka.faults import Crash, Cut, Delay, Freeze, Lose

EXIT_TICKET = (
    Question(
        "paid is in the log from producer id 12, and again from producer id 13",
        right=2,
        why=(
            "2. A retry carries the id of the producer that sent the batch first. Two"
            " ids mean two runs of one program, or two programs."
        ),
    ),
    Question(
        "A and B leave without an answer, and every retry succeeds; the log that is impossible",
        right=3,
        why=(
            "3. Every retry succeeded, so A is in the log at least once. If both"
            " requests arrived, the log is A B B A; if neither did, B A."
        ),
    ),
    Question(
        "a payment's future fails with a timeout; which of two sentences is right",
        right=3,
        why=(
            "3. It may be in the log: perhaps only the answer was lost. And if the"
            " program sends it again, it gets a new sequence number, so to the broker it"
            " is a new record."
        ),
    ),
    Question(
        "can the shop remove the second paid from the log",
        right=2,
        why=(
            "2. A log only grows at its end, and retention deletes whole segments at"
            " its beginning. Readers have to notice that it is the same order."
        ),
        lesson="01",
    ),
    Question(
        "created and paid have the same key, and a partition is added between the two",
        right=2,
        why=(
            "2. The key may go to another partition now, and idempotence keeps the"
            " order within one partition."
        ),
        lesson="02",
    ),
)


# --- 1: break a protocol ---

GOALS = {
    "twice": "an order is in the log twice",
    "overtaken": "every order is there once, in another order",
    "failed": "the program hears that an order failed, but the log has it",
}
SEEDS = range(6)
MOST_SHOWN = 20  # of the records in a log


def exercise_1():
    """Faults that make a producer without idempotence break each of three promises,
    then with one fault each.
    """
    return Exercise(
        name="plan",
        right="one fault is enough for each of the three.",
        hints=(
            (
                "If the broker has the orders and the shop doesn't know it, which message"
                " was lost? And if the broker never got them?"
            ),
            (
                'A lost answer makes "twice", a lost request "overtaken". For "failed",'
                " the log must get the orders, but the shop must get no answer until its"
                " delivery_timeout_ms of 120 s is over."
            ),
            (
                "Count requests from the first Produce on: order 0 is request number 1,"
                ' the five others are 2 to 6. For "failed", Lose(..., answer=True,'
                " times=...) can lose every answer from the nth on, with times large"
                " enough for two minutes of retries. Or cut the network at 1000 ms for"
                " more than 120 s: a message in transit arrives when the cut is over."
            ),
        ),
        call_seconds=4.0,
        rungs=(
            *(
                Rung(
                    holds=f'"{goal}": {promise}',
                    broken=goal_missed,
                    cases={f"seed {seed}": (goal, seed) for seed in SEEDS},
                    describe=lambda case: f'plan("{case[0]}")',
                    picture=what_happened,
                )
                for goal, promise in GOALS.items()
            ),
            Rung(
                holds="one fault is enough for each",
                broken=too_many,
                cases={goal: (goal, 0) for goal in GOALS},
                describe=lambda case: f'plan("{case[0]}")',
            ),
        ),
    )


def six_orders(faults, seed):
    """The cluster after the story of the exercise, and the orders that the program
    heard had failed.
    """
    cluster = Cluster(seed=seed, faults=faults)
    cluster.create_topic("orders")
    shop = cluster.producer(client_id="shop", enable_idempotence=False, linger_ms=0)
    futures = {0: shop.send("orders", key="alice", value="order 0")}
    cluster.run_ms(max(0, 1000 - cluster.now_ms))  # a fault may have held up the topic
    futures |= {
        number: shop.send("orders", key="alice", value=f"order {number}")
        for number in range(1, 6)
    }
    cluster.run(seconds=300)
    failed = [
        number
        for number, future in futures.items()
        if future.is_done and future.exception is not None
    ]
    return cluster, failed


EXAMPLE = "Delay('shop', 1, extra_ms=50)"
take_faults = faults_for(
    EXAMPLE, Lose, Cut, Delay, Crash, Freeze, places=("shop", 1, "broker 1")
)


def faults_of(answer, case):
    """The plan. Raises WrongKind if it isn't one."""
    faults = answer(case[0])
    try:
        faults = take_faults(faults)
    except WrongKind as error:
        raise WrongKind(
            f"plan({case[0]!r}): {error}".replace(": should", " should")
        ) from None
    if any(
        isinstance(fault, (Crash, Freeze)) and fault.node == "shop" for fault in faults
    ):
        raise WrongKind("the shop itself must stay up: break the network, not the shop")
    return faults


def goal_missed(answer, case):
    goal, seed = case
    faults = faults_of(answer, case)
    cluster, failed = six_orders(faults, seed)
    orders = [
        int(record.value.decode().removeprefix("order "))
        for record in cluster.records("orders")
    ]
    cluster.close()
    if goal == "twice":
        reached = any(orders.count(number) > 1 for number in orders)
    elif goal == "overtaken":
        reached = sorted(orders) == list(range(6)) and orders != sorted(orders)
    else:
        reached = any(number in orders for number in failed)
    if reached:
        return None
    told = (
        f"The program was told that these orders failed: {' '.join(map(str, failed))}."
        if failed
        else "No future failed."
    )
    log = " ".join(map(str, orders[:MOST_SHOWN]))
    if len(orders) > MOST_SHOWN:
        log += f" ... ({len(orders)} in all)"
    return (
        f'"{goal}" did not happen.\nwith {faults}, seed {seed}, the log is'
        f" {log}. {told}"
    )


def too_many(answer, case):
    faults = faults_of(answer, case)
    if len(faults) <= 1:
        return None
    return f'"{case[0]}" happens with your {len(faults)} faults. One fault can do it.'


def what_happened(answer, case):
    """The pipeline under the plan."""
    return six_orders(faults_of(answer, case), case[1])[0].play(name="pipeline")


# --- 2: write a piece ---


HINTS_2 = (
    (
        "Keep one open batch: its records, its bytes, and when it began. Before you"
        " add a record, ask whether the open batch has left by then. It leaves"
        " linger_ms after its FIRST record."
    ),
    (
        "Then ask whether the record fits. If not, the open batch is full: it"
        " leaves now, at this record's time, and the record begins the next"
        " one."
    ),
    (
        "Two things are easy to forget. A batch that is exactly full leaves at once,"
        " and doesn't wait for a record that doesn't fit. And the batch that is"
        " still open at the end leaves too, linger_ms after its first record."
    ),
)


ALL_OF_THEM = {
    "no record": ([], 100, 5),
    "one record": ([(0, 10)], 100, 5),
    "two": ([(0, 10), (1, 10)], 100, 5),
    "forty": ([(number, 1) for number in range(40)], 100, 5),
}
SIZES = {
    "just fits": ([(0, 60), (1, 40)], 100, 5),
    "one byte too many": ([(0, 60), (1, 41)], 100, 5),
    "small ones count too": ([(0, 96), (1, 5)], 100, 5),
    "a record larger than a batch": (
        [(0, 10), (1, 150), (2, 10)],
        100,
        5,
    ),
}
MOMENTS = {
    "one record lingers": ([(0, 10)], 100, 5),
    "linger counts from the first record": (
        [(0, 10), (3, 10), (6, 10)],
        100,
        5,
    ),
    "a record at the very moment comes too late": (
        [(0, 10), (5, 10)],
        100,
        5,
    ),
    "exactly full": ([(0, 60), (1, 40), (2, 10)], 100, 5),
    "the next one does not fit": ([(0, 60), (3, 60)], 100, 5),
    "linger 0": ([(0, 10), (0, 10), (1, 10)], 100, 0),
    "a record larger than a batch": ([(0, 150)], 100, 5),
    "another behind it": ([(0, 150), (1, 10)], 100, 5),
    "the second example": ([(0, 60), (1, 60)], 100, 5),
    "exactly full, alone": ([(0, 100), (0, 10)], 100, 5),
    "a day later": ([(86_400_000, 10), (86_400_003, 10)], 100, 5),
}


def exercise_2():
    """When batches leave, in three rungs: every record once; none too large; at the
    right moment.
    """
    common = {
        "scenario": a_stream,
        "smaller": simpler,
        "describe": as_call,
        "picture": in_the_pipeline,
    }
    return Exercise(
        name="my_batches",
        right="your batches leave when Kafka's do.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds="every record is in one batch, and the order is kept",
                broken=not_every_record_once,
                cases=ALL_OF_THEM,
                **common,
            ),
            Rung(
                holds="no batch is larger than batch_size, unless one record alone is",
                broken=too_large,
                cases=SIZES,
                **common,
            ),
            Rung(
                holds=(
                    "each batch leaves at the right moment, with as much as it may hold"
                ),
                broken=not_kafkas_batches,
                cases=MOMENTS,
                **common,
            ),
        ),
    )


def kafkas_batches(records, batch_size, linger_ms):
    """As the accumulator does it (tests compare the two): [(when it leaves, [numbers of
    its records])].
    """
    batches, numbers, size, began = [], [], 0, 0
    for number, (at_ms, size_bytes) in enumerate(records):
        if numbers and at_ms >= began + linger_ms:
            batches.append((began + linger_ms, numbers))
            numbers = []
        if numbers and size + size_bytes > batch_size:
            batches.append((at_ms, numbers))
            numbers = []
        if not numbers:
            numbers, size, began = [], 0, at_ms
        numbers.append(number)
        size += size_bytes
        if size == batch_size:
            batches.append((at_ms, numbers))
            numbers = []
    if numbers:
        batches.append((began + linger_ms, numbers))
    return batches


def a_stream(source):
    """Records at rising times, of mixed sizes, and settings that make some batches full
    and some linger.
    """
    at_ms, records = 0, []
    for _ in range(source.randint(1, 14 if source.random() < 0.9 else 60)):
        at_ms += source.choice((0, 0, 1, 2, 3, 8))
        records.append((at_ms, source.choice((7, 8, 10, 20, 30, 50, 90, 140))))
    return records, source.choice((15, 50, 100, 120)), source.choice((0, 1, 4, 5, 10))


def simpler(case):
    records, batch_size, linger_ms = case
    for number in range(len(records)):
        yield records[:number] + records[number + 1 :], batch_size, linger_ms
    for number, (at_ms, size) in enumerate(records):
        if size > 10:
            yield (
                [*records[:number], (at_ms, 10), *records[number + 1 :]],
                batch_size,
                linger_ms,
            )
    if records and records[0][0]:
        yield (
            [(at_ms - records[0][0], size) for at_ms, size in records],
            batch_size,
            linger_ms,
        )


def as_call(case):
    records, batch_size, linger_ms = case
    return f"my_batches({records}, batch_size={batch_size}, linger_ms={linger_ms})"


def found_batches(answer, case):
    """The answer's batches, and what is wrong with their form, if anything is."""
    records, batch_size, linger_ms = case
    found = plain(answer(records, batch_size, linger_ms))
    if not isinstance(found, list):
        return (
            [],
            (
                f"it returned {found!r}, and should return a list of batches:"
                " [(leaves_at_ms, [0, 1]), ...]"
            ),
        )
    for batch in found:
        if (
            not isinstance(batch, list)
            or len(batch) != 2
            or not isinstance(batch[1], list)
        ):
            return (
                [],
                (
                    f"{batch!r} is no batch. A batch is a pair: when it leaves, and the"
                    " numbers of its records"
                ),
            )
    return [(leaves_at, numbers) for leaves_at, numbers in found], None


def not_every_record_once(answer, case):
    batches, wrong = found_batches(answer, case)
    if wrong:
        return wrong
    if any(not numbers for _, numbers in batches):
        return f"a batch without records leaves. Yours: {batches}"
    sent = [number for _, numbers in batches for number in numbers]
    expected = list(range(len(case[0])))
    missing = [number for number in expected if number not in sent]
    twice = sorted({number for number in sent if sent.count(number) > 1}, key=str)
    if missing:
        return f"record {missing[0]} never leaves. Yours: {batches}"
    if twice:
        return f"record {twice[0]} leaves twice. Yours: {batches}"
    return None if sent == expected else f"the records leave in the order {sent}"


def too_large(answer, case):
    records, batch_size, _ = case
    batches, wrong = found_batches(answer, case)
    if wrong:
        return wrong
    for _, numbers in batches:
        size = sum(records[number][1] for number in numbers)
        if size > batch_size and len(numbers) > 1:
            return (
                f"the batch with the records {numbers} has {size} bytes, and batch_size"
                f" is {batch_size}."
            )
    return None


def not_kafkas_batches(answer, case):
    batches, wrong = found_batches(answer, case)
    truth = kafkas_batches(*case)
    if wrong or batches == truth:
        return wrong
    for mine, kafkas in zip(batches, truth, strict=False):
        if mine == kafkas:
            continue
        if mine[1] == kafkas[1]:
            line = (
                f"the batch {mine[1]} leaves at {mine[0]!r} ms, and Kafka's at"
                f" {kafkas[0]} ms."
            )
        else:
            line = f"your batch holds the records {mine[1]}, and Kafka's {kafkas[1]}."
        return f"{line}\n{why_then(case, kafkas)}\nyours:   {batches}\nKafka's: {truth}"
    return (
        f"Kafka sends {len(truth)} batches, and you {len(batches)}.\nyours:  "
        f" {batches}\nKafka's: {truth}"
    )


def why_then(case, batch):
    """What made Kafka's batch leave."""
    records, batch_size, linger_ms = case
    leaves_at, numbers = batch
    began, size = records[numbers[0]][0], sum(records[number][1] for number in numbers)
    if size == batch_size:
        return f"with {size} bytes it is full, so it doesn't linger"
    if leaves_at == began + linger_ms:
        return (
            f"its first record came at {began} ms, and linger_ms={linger_ms} counts"
            " from there"
        )
    return (
        f"record {numbers[-1] + 1} came at {leaves_at} ms and does not fit, so the"
        " batch is full and leaves"
    )


def in_the_pipeline(answer, case):
    """The same stream through a real producer: Kafka's batches. A record's size stands
    for its value's.
    """
    records, batch_size, linger_ms = case
    cluster = Cluster(seed=3)
    cluster.create_topic("orders")
    shop = cluster.producer(
        client_id="kafkas", linger_ms=linger_ms, batch_size=61 + batch_size
    )
    now_ms = 0
    for number, (at_ms, size) in enumerate(records):
        cluster.run_ms(at_ms - now_ms)
        now_ms = at_ms
        shop.send("orders", value=f"{number} ".ljust(size - 7, "."))
    cluster.run(seconds=1)
    return cluster.play(name="pipeline")
