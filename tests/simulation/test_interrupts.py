"""What a notebook's stop button does to a run: it ends within a moment, says so in a
sentence, and the cluster is still a cluster. The signal comes from a thread, as the
kernel's does; `interrupt_main` is how it comes on Windows, too.
"""

import signal
import sys
import threading
from _thread import interrupt_main

import pytest

from minikafka import Cluster
from minikafka.simulation.interrupts import BROKEN, Interrupted


@pytest.fixture(autouse=True)
def the_signal_is_pythons():
    """Whoever had a Spark session in this process has taken it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def press():
    """Call it where the stop button is to be pressed: a thread then does it, a moment
    later.
    """
    wanted, main = threading.Event(), threading.get_ident()

    def wait():
        wanted.wait()
        # the button is pressed in the program, not in the call that asks for it
        while sys._current_frames()[main].f_code.co_filename == threading.__file__:
            pass
        interrupt_main()

    presser = threading.Thread(target=wait, daemon=True)
    presser.start()
    yield wanted.set
    wanted.set()
    presser.join()


def paid(cluster):
    """Whether the cluster takes a record and gives it back."""
    cluster.create_topic("after")
    cluster.producer().send("after", "paid")
    cluster.run(1)
    return [record.value for record in cluster.records("after")] == [b"paid"]


def never_gives_way(cluster, press):
    cluster.sleep(1)
    press()
    while True:
        pass


def swallows_what_it_can(cluster, press):
    cluster.sleep(1)
    press()
    while True:
        try:
            [number for number in range(1000)]
        except Exception:
            pass


@pytest.mark.parametrize("program", [never_gives_way, swallows_what_it_can])
def test_a_program_that_never_gives_way_ends_where_it_stands(program, press):
    with Cluster(seed=7) as cluster:
        started = cluster.start(program, cluster, press)
        with pytest.raises(
            Interrupted, match=f"in the program '{program.__name__}', at line [0-9]+"
        ):
            cluster.run(10)
        assert started.state == "failed"
        assert paid(cluster)


def test_a_program_that_sends_without_an_end_goes_on_after_the_interrupt(press):
    sent = []

    def sends(producer):
        while len(sent) < 5000:
            producer.send("orders", str(len(sent)))
            sent.append(1)
            if len(sent) == 10:
                press()
        producer.flush()

    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        program = cluster.start(sends, cluster.producer(client_id="sender"))
        with pytest.raises(Interrupted):
            while True:
                cluster.run(60)
        # the signal came while the client worked, not in the loop itself
        if program.state == "running":
            cluster.run(60)
            assert program.state == "ended"
            assert len(cluster.records("orders")) == 5000
        assert paid(cluster)


def test_days_of_a_cluster_end_between_two_things_that_happen(press):
    def watch(cluster):
        cluster.sleep(10)
        press()
        while True:
            cluster.sleep(1)

    with Cluster(brokers=3, seed=7) as cluster:
        program = cluster.start(watch, cluster)
        with pytest.raises(
            Interrupted,
            match="The cluster is as it was then, and goes on with the next call",
        ):
            cluster.run(10**9)
        assert program.state == "running" or "watch" in str(program)
        assert cluster.calls[-1].method == "run_ms"
        assert cluster.calls[-1].args[0] < 10**12
        assert paid(cluster)


def test_a_condition_that_never_comes_back_is_interrupted_where_it_is(press):
    def condition():
        press()
        while True:
            pass

    with Cluster(seed=7) as cluster:
        with pytest.raises(Interrupted, match=r"at line [0-9]+ of condition"):
            cluster.run_until(condition)
        assert paid(cluster)


def test_a_signal_in_the_middle_of_our_own_work_waits_until_that_is_done():
    """Here: while a producer chooses a partition."""

    def choose(*_):
        signal.raise_signal(signal.SIGINT)
        return 0

    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        producer = cluster.producer(partitioner=choose)
        with pytest.raises(Interrupted):
            producer.send("orders", "paid")
        cluster.run(1)
        assert [record.value for record in cluster.records("orders")] == [b"paid"]


def test_who_presses_twice_gets_out_and_is_told_what_that_costs():
    def choose(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        producer = cluster.producer(partitioner=choose)
        with pytest.raises(Interrupted, match="can't be trusted any more"):
            producer.send("orders", "paid")
        with pytest.raises(RuntimeError) as refused:
            cluster.run(1)
        assert str(refused.value) == BROKEN


def test_whoever_listens_to_the_signal_already_keeps_it():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with Cluster(seed=7) as cluster:
            cluster.start(lambda: signal.raise_signal(signal.SIGINT))
            cluster.run(1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


def test_outside_a_run_the_signal_is_pythons():
    with Cluster(seed=7) as cluster:
        cluster.run(1)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
