"""Crashes, freezes, cuts and lost messages: by hand, and as a plan."""

import pytest

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.structs import TopicPartition
from minikafka.faults import Crash, Cut, Delay, Freeze, Lose, Reset, Skew
from minikafka.simulation.cluster import Cluster
from tests.seeds import seeds

LOG = TopicPartition("log", 0)


def made(**options):
    cluster = Cluster(seed=7, **options)
    cluster.create_topic("log")
    return cluster


def values(records):
    return [record.value.decode() for record in records]


def kinds(cluster, node):
    return [
        event.kind
        for event in cluster.trace
        if event.node == node and event.kind.startswith("Node")
    ]


# brokers


def test_a_broker_that_crashed_keeps_what_it_acknowledged_and_replays_its_metadata():
    cluster = made()
    producer = cluster.producer()
    producer.send("log", value="a").get()
    cluster.crash(1)
    assert "     1  down" in repr(cluster)
    late = producer.send("log", value="b")
    cluster.run(seconds=2)
    assert not late.is_done
    cluster.restart(1)
    assert late.get().offset == 1
    assert (
        values(cluster.records("log")) == ["a", "b"] and cluster.leader("log", 0) == 1
    )
    assert kinds(cluster, "broker 1") == ["NodeCrashed", "NodeRestarted"]


def test_without_a_broker_a_blocking_call_says_that_time_ran_out():
    cluster = made()
    producer = cluster.producer(
        delivery_timeout_ms=5000, request_timeout_ms=1000, linger_ms=0
    )
    producer.send("log", value="a").get()
    cluster.crash(1)
    failed = producer.send("log", value="b")
    with pytest.raises(
        KafkaTimeoutError, match="not acknowledged within delivery_timeout_ms"
    ):
        failed.get()
    with pytest.raises(KafkaTimeoutError, match="is one up"):
        cluster.create_topic("more")
    with pytest.raises(
        IllegalStateError, match=r"no broker is up: cluster.restart\(1\)"
    ):
        cluster.records("log")


def test_a_poll_without_a_broker_says_why_nothing_came(capsys):
    cluster = made()
    consumer = cluster.consumer("log")
    cluster.crash(1)
    assert consumer.poll(timeout_ms=1000) == {}
    assert capsys.readouterr().out == "broker 1 is not up: cluster.restart(1)\n"


def test_a_frozen_broker_answers_when_it_goes_on():
    cluster = made()
    producer = cluster.producer()
    producer.send("log", value="a").get()
    cluster.freeze(1, seconds=10)
    began = cluster.now_ms
    assert producer.send("log", value="b").get().offset == 1
    assert cluster.now_ms - began > 10_000
    assert kinds(cluster, "broker 1") == ["NodeFrozen", "NodeThawed"]


# lost messages


@pytest.mark.parametrize("answer", [False, True])
def test_kip_98_a_lost_request_or_answer_is_retried_and_nothing_is_written_twice(
    answer,
):
    cluster = made(faults=[Lose("producer 1", 1, "Produce", nth=2, answer=answer)])
    producer = cluster.producer()
    for value in "abc":
        producer.send("log", value=value).get()
    assert values(cluster.records("log")) == ["a", "b", "c"]
    assert sum(event.kind == "MessageLost" for event in cluster.trace) == 1


def test_without_idempotence_a_lost_answer_writes_a_record_twice():
    cluster = made(faults=[Lose("producer 1", 1, "Produce", nth=2, answer=True)])
    producer = cluster.producer(enable_idempotence=False)
    for value in "abc":
        producer.send("log", value=value).get()
    assert values(cluster.records("log")) == ["a", "b", "b", "c"]


@pytest.mark.parametrize("seed", seeds(range(20)))
def test_kip_98_five_in_flight_and_a_bad_network_keep_order_and_lose_nothing(seed):
    faults = [
        Lose("producer 1", 1, "Produce", chance_percent=20, answer=answer)
        for answer in (False, True)
    ]
    cluster = Cluster(seed=seed, faults=faults)
    cluster.create_topic("log")
    producer = cluster.producer(batch_size=150, linger_ms=1)
    for n in range(60):
        producer.send("log", value=f"{n:02}" + "x" * 30)
        cluster.run(seconds=0.002)
    producer.flush()
    assert [value[:2] for value in values(cluster.records("log"))] == [
        f"{n:02}" for n in range(60)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_consumer_on_a_bad_network_reads_everything_once(seed):
    apis = ("Fetch", "ListOffsets", "Metadata")
    faults = [
        Lose("consumer 1", 1, api, chance_percent=20, answer=True) for api in apis
    ]
    cluster = Cluster(seed=seed, faults=faults)
    cluster.create_topic("log")
    producer, consumer = (
        cluster.producer(),
        cluster.consumer("log", auto_offset_reset="earliest"),
    )
    found = []
    for n in range(30):
        producer.send("log", value=str(n)).get()
        found += values(consumer.poll(timeout_ms=50).get(LOG, []))
    found += values(consumer.poll(timeout_ms=60_000).get(LOG, []))
    assert found == [str(n) for n in range(30)]


def test_a_cut_holds_messages_back_until_it_heals():
    cluster = made()
    producer = cluster.producer()
    producer.send("log", value="a").get()
    cluster.cut(producer, 1)
    sent = producer.send("log", value="b")
    cluster.run(seconds=5)
    assert not sent.is_done and len(cluster.records("log")) == 1
    cluster.heal()
    assert sent.get().offset == 1


def test_a_cut_by_hand_is_told_and_one_of_several_heals_alone():
    cluster = made(brokers=2)
    producer = cluster.producer()
    for broker in (1, 2):
        cluster.cut(producer, broker)
    cluster.heal(producer, 2)
    cluster.heal()
    told = [
        (event.kind, event.detail["one"])
        for event in cluster.trace
        if event.kind.startswith("Link")
    ]
    cut, healed = "LinkCut", "LinkHealed"
    assert told == [
        (cut, "broker 1"),
        (cut, "broker 2"),
        (healed, "broker 2"),
        (healed, "broker 1"),
    ]
    with pytest.raises(TypeError, match="heal"):
        cluster.heal(producer)


def test_a_request_that_is_not_answered_in_time_costs_the_connection_and_is_sent_again():
    cluster = made(faults=[Cut("producer 1", "broker 1", at_ms=500, for_ms=3000)])
    producer = cluster.producer(request_timeout_ms=1000)
    producer.send("log", value="a").get()
    cluster.run(seconds=1)
    assert producer.send("log", value="b").get().offset == 1
    assert values(cluster.records("log")) == ["a", "b"]
    connections = {
        e.detail["connection"]
        for e in cluster.trace
        if e.kind == "RequestSent" and e.node == "producer 1"
    }
    assert len(connections) > 1


def test_a_cut_of_the_plan_and_its_end_are_told_as_by_hand():
    planned = made(faults=[Cut("shop", 1, at_ms=500, for_ms=1000)])
    by_hand = made()
    for cluster in (planned, by_hand):
        cluster.producer(client_id="shop").send("log", value="a").get()
        cluster.run_ms(500 - cluster.now_ms)
        if cluster is by_hand:
            cluster.cut("shop", 1)
        cluster.run_ms(1000)
        if cluster is by_hand:
            cluster.heal("shop", 1)
        cluster.run_ms(10)
    assert links(planned) == links(by_hand)
    assert [kind for kind, _ in links(planned)] == ["LinkCut", "LinkHealed"]


def links(cluster):
    return [
        (event.kind, event.at)
        for event in cluster.trace
        if event.kind.startswith("Link")
    ]


def test_a_broker_that_goes_without_a_word_costs_its_clients_their_request_timeout():
    cluster = made(faults=[Crash(1, at_ms=1000, restart_after_ms=500, silent=True)])
    producer = cluster.producer(request_timeout_ms=3000)
    producer.send("log", value="a").get()
    cluster.run(seconds=2)
    began = cluster.now_ms
    assert producer.send("log", value="b").get().offset == 1, (
        "the machine is back, and resets the connection"
    )
    assert cluster.now_ms - began < 1000
    cluster.crash(1, silent=True)
    waiting = producer.send("log", value="c")
    cluster.run(seconds=1)
    cluster.restart(1)
    began = cluster.now_ms
    assert waiting.get().offset == 2
    assert 1900 < cluster.now_ms - began < 3000, (
        "what was sent before is gone, and nobody says so"
    )


def test_a_reset_breaks_connections_and_loses_what_is_on_its_way():
    cluster = made(faults=[Reset("producer 1", 1, at_ms=1000)])
    producer = cluster.producer()
    producer.send("log", value="a").get()
    cluster.run_ms(999 - cluster.now_ms)
    assert producer.send("log", value="b").get().offset == 1
    assert producer._process.core.connections == 2


def test_a_plan_crashes_freezes_and_delays_at_its_times():
    plan = [
        Crash(1, at_ms=1000, restart_after_ms=500),
        Freeze(1, at_ms=3000, for_ms=700),
        Delay(1, "producer 1", 100),
    ]
    cluster = made(faults=plan)
    began = cluster.now_ms
    cluster.producer().send("log", value="a").get()
    assert cluster.now_ms - began > 700
    cluster.run(seconds=5)
    assert [
        (e.at, e.kind)
        for e in cluster.trace
        if e.node == "broker 1" and e.kind.startswith("Node")
    ] == [
        (1000, "NodeCrashed"),
        (1500, "NodeRestarted"),
        (3000, "NodeFrozen"),
        (3700, "NodeThawed"),
    ]


def test_a_wall_clock_that_is_off_shows_in_timestamps_and_moves_no_deadline():
    def timestamps(*faults):
        cluster = made(faults=faults)
        cluster.create_topic(
            "stamped", configs={"message.timestamp.type": "LogAppendTime"}
        )
        producer = cluster.producer()
        return [
            producer.send(topic, value="x").get().timestamp
            for topic in ("log", "stamped")
        ], cluster.now_ms

    (created, appended), now_ms = timestamps()
    assert timestamps(Skew("producer 1", -5000)) == ([created - 5000, appended], now_ms)
    assert timestamps(Skew(1, 7000)) == ([created, appended + 7000], now_ms)


def test_a_fault_is_one_line_to_paste():
    fault = Crash("write_invoices", call=4)
    assert eval(repr(fault)) == fault
    with pytest.raises(TypeError, match="'crash' is no fault"):
        Cluster(faults=["crash"])


# clients and programs


def test_a_crashed_client_says_so_and_starts_again_without_memory():
    cluster = made()
    producer, consumer = (
        cluster.producer(linger_ms=60_000),
        cluster.consumer("log", auto_offset_reset="earliest"),
    )
    cluster.producer().send("log", value="a").get()
    assert len(consumer.poll(timeout_ms=1000)[LOG]) == 1
    producer.send("log", value="lost")
    cluster.crash(producer)
    cluster.crash(consumer)
    for call in (lambda: producer.send("log", value="x"), consumer.poll):
        with pytest.raises(IllegalStateError, match=r"crashed: cluster\.restart"):
            call()
    cluster.restart(producer)
    cluster.restart(consumer)
    assert values(consumer.poll(timeout_ms=1000)[LOG]) == ["a"]
    producer.flush()
    assert values(cluster.records("log")) == ["a"]


def test_a_program_runs_on_the_virtual_clock_beside_the_others():
    cluster = made()
    cluster.create_topic("invoices")
    orders, consumer = (
        cluster.producer(),
        cluster.consumer("log", auto_offset_reset="earliest"),
    )

    def billing(consumer, producer):
        for record in consumer:
            producer.send("invoices", value=b"invoice for " + record.value)

    program = cluster.start(billing, consumer, cluster.producer())
    for n in range(3):
        orders.send("log", value=str(n))
        cluster.run(seconds=1)
    assert values(cluster.records("invoices")) == [
        "invoice for 0",
        "invoice for 1",
        "invoice for 2",
    ]
    assert repr(program) == "<program billing: running, waits in poll>"


def test_a_program_may_make_its_clients_itself_and_they_vanish_with_it():
    cluster = made()

    def reader():
        for _ in cluster.consumer("log", auto_offset_reset="earliest"):
            pass

    program = cluster.start(reader)
    cluster.run(seconds=1)
    cluster.crash(program)
    assert kinds(cluster, "consumer 1") == ["NodeCrashed"]
    cluster.restart(program)
    cluster.run(seconds=1)
    assert program.state == "running" and kinds(cluster, "consumer 2") == []


def test_crashing_a_client_crashes_the_program_that_it_belongs_to():
    cluster = made()
    consumer = cluster.consumer("log")

    def reader(consumer):
        for _ in consumer:
            pass

    program = cluster.start(reader, consumer)
    cluster.run(seconds=1)
    cluster.crash(consumer)
    assert program.state == "crashed"
    cluster.restart(consumer)
    cluster.run(seconds=1)
    assert program.state == "running"


def test_a_client_that_was_closed_starts_again_without_having_crashed():
    cluster = made()
    consumer = cluster.consumer("log", auto_offset_reset="earliest")

    def reader(consumer):
        consumer.poll(timeout_ms=1000)
        consumer.close()

    program = cluster.start(reader, consumer)
    cluster.run(seconds=2)
    assert not program.alive
    cluster.producer().send("log", value="a").get()
    cluster.restart(program)
    cluster.run(seconds=2)
    assert kinds(cluster, consumer.name) == ["NodeRestarted"]
    assert [event.kind for event in cluster.trace if event.node == consumer.name].count(
        "RecordsPolled"
    ) == 1


def test_a_program_that_crashes_itself_goes_no_further():
    cluster, said = made(), []

    def rash():
        said.append("before")
        cluster.crash(rash)
        said.append("after")

    cluster.start(rash)
    cluster.run(seconds=1)
    assert said == ["before"]


def test_a_frozen_program_stands_still_and_goes_on():
    cluster, at = made(), []

    def ticking(consumer):
        while True:
            consumer.poll(timeout_ms=1000)
            at.append(cluster.now_ms)

    consumer = cluster.consumer("log")
    cluster.start(ticking, consumer)
    cluster.run(seconds=3)
    before = len(at)
    cluster.freeze(consumer, seconds=10)
    cluster.run(seconds=9)
    assert len(at) == before
    cluster.run(seconds=5)
    assert len(at) >= before + 3


def invoices(call):
    """Lesson 04 on paper: orders to invoices, committed after each; crashed at a
    blocking call and started again.
    """
    cluster = made(faults=[] if call is None else [Crash("write_invoices", call=call)])
    cluster.create_topic("invoices")
    shop = cluster.producer()
    for n in range(4):
        shop.send("log", value=str(n))
    shop.flush()
    committed = {LOG: 0}

    def write_invoices(consumer, producer):
        consumer.assign([LOG])
        consumer.seek(LOG, committed[LOG])
        for record in consumer:
            producer.send("invoices", value=record.value)
            producer.flush()
            cluster.sleep(0.1)  # until groups are here: a commit takes a while
            committed[LOG] = record.offset + 1

    program = cluster.start(
        write_invoices,
        cluster.consumer(auto_offset_reset="earliest"),
        cluster.producer(),
    )
    cluster.run(seconds=10)
    if call is not None:
        assert program.state == "crashed"
        cluster.restart(program)
        cluster.run(seconds=10)
    found = values(cluster.records("invoices"))
    calls = program.calls
    cluster.close()
    return found, calls


def test_lesson_04_committing_after_the_work_is_at_least_once_wherever_it_crashes():
    found, calls = invoices(call=None)
    assert found == ["0", "1", "2", "3"] and calls[:5] == [
        "poll",
        "send",
        "flush",
        "sleep",
        "poll",
    ]
    outcomes = {call: invoices(call)[0] for call in range(1, len(calls) + 1)}
    assert all(set(found) == {"0", "1", "2", "3"} for found in outcomes.values())
    repeated = {calls[call - 1] for call, found in outcomes.items() if len(found) > 4}
    assert repeated == {"sleep"}  # the invoice is written, the offset not committed


def test_an_error_in_a_program_is_raised_by_the_next_run_with_its_lines():
    cluster = made()

    def broken(consumer):
        for record in consumer:
            int(record.value)

    program = cluster.start(
        broken, cluster.consumer("log", auto_offset_reset="earliest")
    )
    cluster.producer().send("log", value="not a number")
    with pytest.raises(ValueError, match="not a number") as caught:
        cluster.run(seconds=10)
    assert caught.traceback[-1].name == "broken" and program.state == "failed"
    [failed] = [event for event in cluster.trace if event.kind == "ProgramFailed"]
    assert failed.detail["error"].startswith("ValueError: invalid literal")
