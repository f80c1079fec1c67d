"""Programs: greenlets on the virtual clock that can end at any blocking call."""

import pytest

from minikafka import Cluster
from minikafka.simulation.clock import Clock
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.programs import CALLS_AT_ONCE, Program
from minikafka.trace import Trace


class House:
    """A kernel without a network, and the two calls that a program makes here."""

    def __init__(self):
        self.log = []
        self.clock = Clock()
        self.kernel = Kernel(self.clock, self.crash)

    def crash(self, program):
        program.state = "crashed"

    def start(self, function, *args):
        program = Program(
            function.__name__, function, args, {}, Trace(function.__name__)
        )
        self.kernel.programs.begin(program)
        return program

    def sleep(self, ms):
        self.kernel.programs.enter("sleep")
        self.kernel.wait(lambda: False, ms)

    def say(self, word):
        self.log.append((self.clock.now_ms, word))

    def run(self, ms):
        self.sleep(ms)


@pytest.fixture
def house():
    return House()


def test_programs_take_turns_on_one_virtual_clock(house):
    def every(ms):
        def program():
            for _ in range(3):
                house.sleep(ms)
                house.say(ms)

        return program

    house.start(every(30))
    house.start(every(20))
    house.run(100)
    assert house.log == [(20, 20), (30, 30), (40, 20), (60, 30), (60, 20), (90, 30)]
    assert house.clock.now_ms == 100


def test_a_program_waits_until_its_condition_holds_and_not_longer(house):
    box = []

    def reader():
        assert house.kernel.wait(lambda: bool(box), 1000)
        house.say("read")

    def writer():
        house.sleep(70)
        box.append(1)
        house.sleep(1000)

    house.start(reader)
    house.start(writer)
    house.run(500)
    assert house.log == [(70, "read")]


def test_a_crash_ends_a_program_at_a_blocking_call_and_no_finally_runs(house):
    def program():
        try:
            house.say("began")
            house.sleep(10)
            house.say("never")
        finally:
            house.say("finally")

    running = house.start(program)
    house.run(5)
    house.crash(running)
    house.run(100)
    assert house.log == [(0, "began")]


def test_a_program_can_be_crashed_on_entering_its_nth_blocking_call(house):
    def program():
        for n in range(5):
            house.say(n)
            house.sleep(1)

    for call, said in ((1, [0]), (3, [0, 1, 2])):
        house.log.clear()
        house.start(program).crash_at_call = call
        house.run(100)
        assert [word for _, word in house.log] == said


def test_calls_of_a_dead_program_end_it_even_if_it_catches_everything(house):
    def program():
        try:
            house.sleep(10)
        finally:
            house.say("finally")
            while True:
                try:
                    house.sleep(1)
                except BaseException:
                    house.say("caught")
                    raise

    running = house.start(program)
    house.run(5)
    house.crash(running)
    house.kernel.programs.close()
    assert house.log == [(5, "finally"), (5, "caught")] and house.clock.now_ms == 5


def test_an_error_in_a_program_is_raised_by_the_run_with_its_own_lines(house):
    def program():
        house.sleep(10)
        return {}["nothing"]

    running = house.start(program)
    with pytest.raises(KeyError) as caught:
        house.run(100)
    assert caught.traceback[-1].name == "program" and "nothing" in str(
        caught.traceback[-1].statement
    )
    assert "at 0.010 virtual seconds" in caught.value.__notes__[0]
    assert running.state == "failed" and house.clock.now_ms == 10
    house.run(100)  # said once


def test_a_program_that_never_waits_for_anything_still_lets_time_pass(house):
    def program():
        while True:
            calls.append(house.clock.now_ms)
            house.kernel.wait(lambda: True, None)

    calls = []
    house.start(program)
    house.run(3)
    assert [calls.count(ms) for ms in range(4)] == [CALLS_AT_ONCE + 1] * 4


def test_no_time_passes_in_the_condition_of_a_wait(house):
    def condition():
        house.sleep(1000)
        return True

    assert house.kernel.wait(condition, None) and house.clock.now_ms == 0


def test_an_interrupt_in_a_program_ends_the_run_and_the_program(house):
    def program():
        house.sleep(10)
        raise KeyboardInterrupt

    running = house.start(program)
    with pytest.raises(KeyboardInterrupt):
        house.run(100)
    house.run(100)
    assert running.state == "failed"


def test_a_program_that_keeps_the_first_runs_cluster_is_told_so_when_the_run_is_replayed():
    with Cluster() as cluster:

        def nap():
            while True:
                cluster.sleep(1)

        cluster.start(nap)
        cluster.run(seconds=5)
        with pytest.raises(
            RuntimeError, match=r"another cluster.*cluster\.start\(program, cluster\)"
        ):
            cluster.replay(3000)
