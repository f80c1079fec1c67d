"""Streams groups of KIP-1071: who runs which task, and in which steps. (What is answered
to which request, tests/conformance asks of both Kafkas.)
"""

import random

import pytest

from minikafka.coordinators.streams_assignor import (
    MemberSpec,
    SubtopologySpec,
    assign_sticky,
)
from minikafka.wire.errors import Error, KafkaError
from tests.coordinators.modern_groups import Topics, beat_until_quiet, hard_state
from tests.coordinators.purity import state_of
from tests.coordinators.streams_groups import STORE, Coordinator, Thread
from tests.seeds import seeds

SCHEDULES, STEPS = 100, 60


@pytest.fixture
def coordinator():
    return Coordinator(Topics(orders=6, **{STORE: 6}))


def threads(coordinator, *names, **options):
    return [Thread(coordinator, name, **options) for name in names]


def test_kip_1071_the_first_member_gets_every_task(coordinator):
    (a,) = threads(coordinator, "a")
    assert a.beat().member_epoch == 2
    assert a.numbers == [0, 1, 2, 3, 4, 5]
    assert coordinator.group.state_name == "Stable"
    written = len(coordinator.log)
    assert a.beat().active_tasks is None
    assert len(coordinator.log) == written, "a heartbeat without news writes nothing"


def test_kip_1071_a_task_moves_only_after_its_owner_said_that_it_gave_it_up(
    coordinator,
):
    a, b = threads(coordinator, "a", "b")
    a.beat()
    b.beat()
    assert b.numbers == []
    a.beat(slow=True)
    assert coordinator.group.state.members["a"].must_revoke
    b.beat()
    assert b.numbers == [], "a has them still"
    a.beat()
    a.beat()
    b.beat()
    assert (a.numbers, b.numbers) == ([0, 1, 2], [3, 4, 5])


def test_kip_1071_without_its_topics_nobody_gets_a_task():
    coordinator = Coordinator(Topics(orders=2))
    (a,) = threads(coordinator, "a")
    answer = a.beat()
    assert [each.status_code for each in answer.status] == [3]
    assert coordinator.missing == [STORE]
    assert coordinator.group.state_name == "NotReady"
    coordinator.topics.create(STORE, 2)
    assert a.beat().status == []
    assert a.numbers == [0, 1]


def test_kip_1071_who_does_not_give_up_tasks_in_time_is_put_out(coordinator):
    (a,) = threads(coordinator, "a", rebalance_timeout_ms=10_000)
    (b,) = threads(coordinator, "b")
    a.beat()
    b.beat()
    a.beat(slow=True)
    coordinator.sleep(11)
    assert coordinator.group.member_ids == ["b"]
    b.beat()
    assert b.numbers == [0, 1, 2, 3, 4, 5]
    with pytest.raises(KafkaError) as refused:
        a.beat()
    assert refused.value.error is Error.UNKNOWN_MEMBER_ID


def test_kip_1071_who_is_silent_for_a_session_is_put_out(coordinator):
    a, b = threads(coordinator, "a", "b")
    beat_until_quiet(a, b)
    coordinator.sleep(30)
    b.beat()
    coordinator.sleep(20)
    assert coordinator.group.member_ids == ["b"]
    kinds = [event.kind for event in coordinator.events]
    assert kinds.count("MemberJoined") == 2 and kinds.count("MemberLeft") == 1


def test_kip_1071_an_empty_group_waits_for_more_members():
    topics = Topics(orders=4, **{STORE: 4})
    coordinator = Coordinator(topics, initial_rebalance_delay_ms=3000)
    a, b = threads(coordinator, "a", "b")
    for each in (a, b):
        assert [status.status_code for status in each.beat().status] == [5]
    coordinator.sleep(2.9)
    assert coordinator.group.state.assignment_epoch == 1
    coordinator.sleep(0.1)
    assert coordinator.group.state.assignment_epoch == 3
    for each in (a, b):
        each.beat()
    assert (len(a.active), len(b.active)) == (2, 2)


def test_kip_1071_a_member_that_dies_during_the_delay_does_not_hold_up_the_group():
    topics = Topics(orders=4, **{STORE: 4})
    coordinator = Coordinator(
        topics, initial_rebalance_delay_ms=45_000, session_timeout_ms=45_000
    )
    (a,) = threads(coordinator, "a")
    a.beat()
    coordinator.sleep(60)
    assert coordinator.group.member_ids == []
    assert coordinator.group.next_deadline() is None


def test_kip_1071_a_standby_task_is_in_another_process_than_its_active_one():
    topics = Topics(orders=6, **{STORE: 6})
    coordinator = Coordinator(topics, num_standby_replicas=1)
    members = [
        Thread(coordinator, name, process_id=name[0]) for name in ("a1", "a2", "b1")
    ]
    beat_until_quiet(*members)
    copies = {}
    for each in members:
        for task in each.active | each.standby:
            copies.setdefault(task, []).append(each.process_id)
    assert all(sorted(processes) == ["a", "b"] for processes in copies.values())
    assert len(copies) == 6


def test_kip_1071_standby_tasks_count_where_a_target_is_too_large():
    topics = Topics(orders=15_000, **{STORE: 15_000})
    Thread(Coordinator(topics), "a").beat()
    (a,) = threads(Coordinator(topics, num_standby_replicas=2), "a")
    with pytest.raises(KafkaError, match=r"45000 partitions .* more than 40000"):
        a.beat()


def test_kip_1071_the_tasks_of_who_dies_go_where_copies_are_while_there_is_room():
    topics = Topics(orders=6, **{STORE: 6})
    coordinator = Coordinator(topics, num_standby_replicas=1)
    a, b, c = threads(coordinator, "a", "b", "c")
    beat_until_quiet(a, b, c)
    lost = set(a.active)
    had_copies = [(each, each.standby & lost) for each in (b, c)]
    a.leave()
    beat_until_quiet(b, c)
    assert lost <= b.active | c.active
    for each, copies in had_copies:
        assert copies <= each.active or len(each.active) == 3


def test_kip_1071_a_task_that_nobody_has_goes_to_whose_disk_has_most_of_its_state():
    task, other = ("0", 0), ("0", 1)
    members = {
        "a": MemberSpec("process of a", offsets={task: 5, other: 5}),
        "b": MemberSpec("process of b", offsets={task: 9}),
    }
    target = assign_sticky(members, {"0": SubtopologySpec(2, True)}, 0)
    assert (target["a"].active, target["b"].active) == ({other}, {task})


def test_kip_1071_a_new_coordinator_goes_on_where_the_last_one_was(coordinator):
    a, b = threads(coordinator, "a", "b")
    a.beat()
    b.beat()
    coordinator.restart()
    beat_until_quiet(a, b)
    assert (a.numbers, b.numbers) == ([0, 1, 2], [3, 4, 5])
    coordinator.restart()
    coordinator.sleep(46)
    assert coordinator.group.member_ids == [], "everybody had a session to come back"


class Schedule:
    """Threads that come, go, fall silent, miss answers; a coordinator that moves;
    topics that change.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.topics = Topics(orders=4, **{STORE: 4})
        self.coordinator = Coordinator(
            self.topics,
            assignment_interval_ms=self.choose([0, 1000]),
            initial_rebalance_delay_ms=self.choose([0, 3000]),
            num_standby_replicas=self.choose([0, 0, 1, 2]),
        )
        self.threads = []
        self.named = 0

    def choose(self, options):
        return options[int(self.random.random() * len(options))]

    def step(self):
        actions = [self.beat] * 10 + [self.join] * 3
        actions += [self.leave, self.crash, self.sleep, self.coordinator.restart]
        try:
            self.choose(actions)()
        except KafkaError as error:
            names = ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
            assert error.error.name in names, error

    def beat(self):
        if self.threads:
            how = self.choose([{}, {}, {"slow": True}, {"lost": True}])
            self.choose(self.threads).beat(**how)

    def join(self):
        if len(self.threads) < 5:
            self.named += 1
            process_id = self.choose(["p", "q", "r"])
            thread = Thread(self.coordinator, f"m{self.named}", process_id)
            thread.beat()
            self.threads.append(thread)

    def leave(self):
        if self.threads:
            thread = self.choose(self.threads)
            self.threads.remove(thread)
            thread.leave()

    def crash(self):
        if self.threads:
            self.threads.remove(self.choose(self.threads))

    def sleep(self):
        self.coordinator.sleep(self.choose([0.5, 5, 20, 61]))

    def check(self):
        runners = self.coordinator.runners()
        assert all(len(members) == 1 for members in runners.values()), runners
        state = self.coordinator.group.state
        assert state.runs.keys() == runners.keys()
        for thread in self.threads:
            member = state.members.get(thread.member_id)
            if member is not None and thread.epoch == member.member_epoch:
                held = {*member.tasks.active, *member.pending.active}
                assert thread.active <= held

    def check_replay(self):
        again = self.coordinator.replayed(self.coordinator.log)
        group = self.coordinator.group
        assert state_of(hard_state(again)) == state_of(hard_state(group))

    def end(self):
        """All come to rest: each task is run once, shares are equal."""
        self.coordinator.sleep(61)
        if not self.threads:
            self.join()
        for _ in range(12):
            for thread in self.threads:
                try:
                    thread.beat()
                except KafkaError:
                    thread.beat()
            self.coordinator.sleep(2)
        run = [task for thread in self.threads for task in thread.active]
        assert sorted(run) == [("0", number) for number in range(4)]
        assert self.coordinator.group.state_name == "Stable"
        shares = [len(thread.active) for thread in self.threads]
        if self.coordinator.config["group.streams.num.standby.replicas"] == 0:
            assert max(shares) - min(shares) <= 1, shares


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(SCHEDULES)))
def test_kip_1071_whatever_happens_a_task_runs_once_and_in_the_end_all_run(seed):
    schedule = Schedule(seed)
    for _ in range(STEPS):
        schedule.step()
        schedule.check()
    schedule.check_replay()
    schedule.end()
    schedule.check_replay()
