"""What lesson 15 says of RabbitMQ, told by the model queue and by RabbitMQ itself: the
same lines.
"""

import random

import pytest

from tests.conformance.queue_stages import OnModel, OnRabbitMQ, Stage
from tests.rabbitmq import RabbitMQ

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.rabbitmq,
    pytest.mark.timeout(300),
]

DEAD = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": "dead"}


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory):
    with RabbitMQ(tmp_path_factory.mktemp("rabbitmq")) as server:
        yield server


def told_by_both(story, rabbitmq) -> list[str]:
    """The story's lines, which both tell."""
    model, real = OnModel(), OnRabbitMQ(rabbitmq)
    story(model)
    try:
        story(real)
    finally:
        real.close()
    assert model.told == real.told
    return model.told


def got(told: list[str], name: str) -> list[str]:
    """The bodies that a consumer got, those that came again with a mark."""
    lines = [line for line in told if line.startswith(f"{name} gets ")]
    return [
        line.split()[2].rstrip(",") + "!" * (" redelivered" in line) for line in lines
    ]


def test_with_prefetch_1_a_slow_consumer_holds_up_nobody(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("slow")
        stage.consume("fast")
        stage.publish("a", "b", "c", "d", "e")
        for tag in (1, 2, 3):
            stage.say("fast", "ack", tag)
        stage.count()

    told = told_by_both(story, rabbitmq)
    assert got(told, "slow") == ["a"]
    assert got(told, "fast") == ["b", "c", "d", "e"]


def test_without_prefetch_all_is_pushed_at_once_in_turns(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("slow", prefetch=0)
        stage.consume("fast", prefetch=0)
        stage.publish("a", "b", "c", "d", "e")
        stage.count()

    told = told_by_both(story, rabbitmq)
    assert got(told, "slow") == ["a", "c", "e"]
    assert got(told, "fast") == ["b", "d"]
    assert told[-1] == "jobs: 0 ready"


def test_what_a_dead_consumer_had_comes_again_before_the_rest_marked_redelivered(
    rabbitmq,
):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("dies", prefetch=3)
        stage.publish("a", "b", "c", "d", "e")
        stage.say("dies", "ack", 2)
        stage.die("dies")
        stage.count()
        stage.consume("heir", prefetch=0)

    told = told_by_both(story, rabbitmq)
    assert got(told, "dies") == ["a", "b", "c", "d"]
    assert got(told, "heir") == ["a!", "c!", "d!", "e"]


def test_what_is_nacked_goes_back_to_its_old_place(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w", prefetch=3)
        stage.publish("a", "b", "c", "d", "e", "f")
        stage.say("w", "nack", 3)
        stage.say("w", "nack", 1)
        stage.say("w", "nack", 0, multiple=True)
        stage.say("w", "reject", 6, requeue=True)
        stage.count()

    told = told_by_both(story, rabbitmq)
    assert got(told, "w") == ["a", "b", "c", "c!", "a!", "a!", "b!", "c!", "a!"]


def test_a_poison_message_that_is_requeued_comes_back_for_ever(rabbitmq):
    """A classic queue counts nothing; only the consumer can end it."""

    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w")
        stage.publish("poison", "b")
        for tag in range(1, 25):
            stage.say("w", "nack", tag)

    told = told_by_both(story, rabbitmq)
    assert got(told, "w") == ["poison"] + ["poison!"] * 24


def test_what_is_rejected_goes_to_the_dead_letters_and_says_why(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("dead")
        stage.declare("jobs", **DEAD)
        stage.consume("w")
        stage.publish("a", "b", "c")
        stage.say("w", "reject", 1, requeue=False)
        stage.say("w", "ack", 2)
        stage.say("w", "nack", 3, requeue=False)
        stage.count()
        stage.consume("undertaker", "dead", prefetch=0)

    told = told_by_both(story, rabbitmq)
    assert got(told, "undertaker") == ["a", "c"]
    assert "died queue=jobs reason=rejected count=1" in told[-1]


def test_what_is_rejected_is_gone_where_there_are_no_dead_letters(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w")
        stage.publish("a", "b")
        stage.say("w", "reject", 1, requeue=False)
        stage.die("w")
        stage.consume("heir", prefetch=0)
        stage.count()

    assert got(told_by_both(story, rabbitmq), "heir") == ["b!"]


def test_there_may_be_more_consumers_than_messages_and_the_turn_goes_on(rabbitmq):
    names = ["w1", "w2", "w3", "w4", "w5"]

    def story(stage: Stage) -> None:
        stage.declare("jobs")
        for name in names:
            stage.consume(name, prefetch=2)
        stage.publish("a", "b", "c")
        stage.publish("d", "e", "f")

    told = told_by_both(story, rabbitmq)
    had = [got(told, name) for name in names]
    assert had == [["a", "f"], ["b"], ["c"], ["d"], ["e"]]


def test_a_consumer_that_was_full_joins_the_end_of_the_line(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        for name in ("w1", "w2", "w3"):
            stage.consume(name)
        stage.publish("a", "b", "c")
        stage.say("w3", "ack", 1)
        stage.say("w1", "ack", 1)
        stage.publish("d", "e", "f")
        stage.say("w2", "ack", 1)
        stage.count()

    told = told_by_both(story, rabbitmq)
    assert got(told, "w2") == ["b", "f"]


def test_a_fanout_exchange_copies_and_a_queue_bound_later_has_nothing_of_before(
    rabbitmq,
):
    def story(stage: Stage) -> None:
        stage.channel("admin").exchange_declare("news", exchange_type="fanout")
        for team in ("billing", "fraud"):
            stage.declare(team)
            stage.channel("admin").queue_bind(team, "news")
        stage.publish("a", "b", exchange="news", to="")
        stage.declare("audit")
        stage.channel("admin").queue_bind("audit", "news")
        stage.publish("c", exchange="news", to="any")
        stage.count()
        for team in ("billing", "fraud", "audit"):
            stage.consume(f"of {team}", team, prefetch=0)

    told = told_by_both(story, rabbitmq)
    assert [line.split()[0] for line in told if " gets c" in line] == ["of"] * 3
    assert "audit: 1 ready" in told and "billing: 3 ready" in told


def test_a_direct_exchange_goes_by_the_routing_key_and_drops_what_fits_nowhere(
    rabbitmq,
):
    def story(stage: Stage) -> None:
        stage.channel("admin").exchange_declare("news", exchange_type="direct")
        stage.declare("jobs")
        stage.channel("admin").queue_bind("jobs", "news", routing_key="job")
        stage.publish("a", exchange="news", to="job")
        stage.publish("b", exchange="news", to="other")
        stage.publish("c", to="no such queue")
        stage.count()
        stage.consume("w", prefetch=0)

    assert got(told_by_both(story, rabbitmq), "w") == ["a"]


def test_what_is_acknowledged_is_gone_and_can_not_be_replayed(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w", prefetch=0)
        stage.publish("a", "b", "c")
        stage.say("w", "ack", 2, multiple=True)
        stage.die("w")
        stage.count()
        stage.consume("replays", prefetch=0)

    assert got(told_by_both(story, rabbitmq), "replays") == ["c!"]


def test_with_auto_ack_what_a_dead_consumer_had_is_lost(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w", prefetch=1, auto_ack=True)
        stage.publish("a", "b", "c")
        stage.die("w")
        stage.count()
        stage.consume("heir", prefetch=0)

    told = told_by_both(story, rabbitmq)
    assert got(told, "w") == ["a", "b", "c"] and got(told, "heir") == []


def test_what_waits_too_long_goes_to_the_dead_letters(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("dead")
        stage.declare("jobs", x_message_ttl=300, **DEAD)
        stage.consume("undertaker", "dead", prefetch=0)
        stage.publish("a")
        stage.wait_until_got("undertaker")
        stage.count()

    told = told_by_both(story, rabbitmq)
    assert "died queue=jobs reason=expired count=1" in told[-3]


def test_a_queue_that_nobody_reads_delays_and_the_deaths_are_counted(rabbitmq):
    """Retry after a delay: jobs' dead letters wait in a queue whose dead letters are
    jobs.
    """

    def story(stage: Stage) -> None:
        back = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": "jobs"}
        stage.declare("dead", x_message_ttl=200, **back)
        stage.declare("jobs", **DEAD)
        stage.consume("w")
        stage.publish("a")
        for tag in (1, 2):
            stage.say("w", "reject", tag, requeue=False)
            stage.wait_until_got("w")

    told = told_by_both(story, rabbitmq)
    assert got(told, "w") == ["a", "a", "a"]
    assert "died queue=dead reason=expired count=2" in told[-1]
    assert "died queue=jobs reason=rejected count=2" in told[-1]


def test_an_unknown_delivery_tag_closes_the_channel_and_all_goes_back(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("w", prefetch=2)
        stage.publish("a", "b", "c")
        stage.say("w", "ack", 1)
        stage.say("w", "ack", 1)
        stage.count()
        stage.consume("heir", prefetch=0)

    told = told_by_both(story, rabbitmq)
    assert (
        "w's channel is closed: 406 PRECONDITION_FAILED - unknown delivery tag 1"
        in told
    )
    assert got(told, "heir") == ["b!", "c!"]


def test_an_exclusive_queue_goes_with_its_connection(rabbitmq):
    def story(stage: Stage) -> None:
        stage.declare("jobs")
        stage.consume("caller")
        stage.channel("caller").queue_declare("answers", exclusive=True)
        stage.told.append(f"answers: {stage.has_queue('answers')}")
        stage.die("caller")
        stage.told.append(f"answers: {stage.has_queue('answers')}")

    told = told_by_both(story, rabbitmq)
    assert told[-1] == "answers: False" and "answers: True" in told


@pytest.mark.parametrize("seed", range(8))
def test_whatever_clients_do_both_brokers_push_the_same_to_the_same(seed, rabbitmq):
    def story(stage: Stage) -> None:
        source = random.Random(seed)
        stage.declare("dead")
        stage.declare("jobs", **(DEAD if seed % 2 else {}))
        in_hand: dict[str, list[int]] = {}
        for step in range(60):
            whatever(source, stage, in_hand, step)
            in_hand = hands_of(stage.told)
        stage.count()

    told_by_both(story, rabbitmq)


def whatever(source, stage: Stage, in_hand: dict[str, list[int]], step: int) -> None:
    """One thing that somebody does."""
    draw = source.random()
    busy = sorted(name for name, tags in in_hand.items() if tags)
    if draw < 0.25 or not in_hand:
        name = f"w{step}"
        if draw < 0.1 or not in_hand:
            stage.consume(name, prefetch=source.randint(0, 3))
            return
    if draw < 0.5 or not busy:
        count = source.randint(1, 4)
        stage.publish(*(f"m{step}.{number}" for number in range(count)))
        return
    name = source.choice(busy)
    tag = source.choice(in_hand[name])
    if draw < 0.75:
        stage.say(name, "ack", tag, multiple=source.random() < 0.2)
    elif draw < 0.87:
        stage.say(name, "nack", tag, multiple=source.random() < 0.3)
    elif draw < 0.94:
        stage.say(name, "reject", tag, requeue=False)
    else:
        stage.die(name)


def hands_of(told: list[str]) -> dict[str, list[int]]:
    """Who has which delivery tags, as the story so far tells it."""
    hands: dict[str, list[int]] = {}
    for line in told:
        words = line.split()
        if " consumes from " in line:
            hands[words[0]] = []
        elif " gets " in line:
            hands[words[0]].append(int(line.split("delivery tag ")[1].split()[0]))
        elif line.endswith(" dies"):
            del hands[words[0]]
        elif words[0].endswith(":") and words[0][:-1] in hands:
            name, tag = words[0][:-1], int(words[2])
            everything = "'multiple': True" in line
            hands[name] = [
                each
                for each in hands[name]
                if not (each == tag or (everything and each <= tag))
            ]
    return hands
