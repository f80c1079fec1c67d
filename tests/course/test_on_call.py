"""Lesson 22's incidents: what is shown leads to the end of each, other ways lead
elsewhere, and a teacher can write another.
"""

import pytest

from minikafka.course import lessons
from minikafka.course.on_call import fates, on_call, plans
from minikafka.course.on_call.apps import Death, Pod
from minikafka.course.on_call.incident import Incident
from tests.course.answers import verdict
from tests.course.nights import at_night, case, in_a_fork, kept
from tests.course.right_nights import RIGHT

pytestmark = [pytest.mark.first, pytest.mark.slow, pytest.mark.timeout(1200)]

NIGHTS = [name for name in plans.names() if plans.read(name).exercise is not None]


@pytest.fixture
def night(request):
    """The one that a test asks for, as it is when somebody is called."""
    return kept(request.param)


def played(night, *lines):
    """How an incident ends after these lines; a number is minutes of waiting."""
    for line in lines:
        if isinstance(line, str):
            night.act(line)
        else:
            night.wait(line)
    return night.outcome()


SENSIBLE = (
    "kubectl get pods",
    "kubectl get events",
    "kubectl logs deployment/{app}",
    "kafka-topics --describe --topic {topic}",
    "kafka-consumer-groups --list --state",
    "kafka-consumer-groups --describe --all-groups",
    "journalctl kafka-1",
    "metrics",
)


def look_at(night):
    """Eight sensible questions."""
    [app] = [app.name for app in night.world.readers]
    for line in SENSIBLE:
        night.ask(line.format(app=app, topic=night.plan.topics[0]["name"]))


def ending(night):
    """The solution's play after eight questions: (incident, verdict)."""

    def opened(name):
        assert name == night.plan.name
        look_at(night)
        return night

    source = lessons.solutions("22")[str(night.plan.exercise)]
    names = {"on_call": opened, "lesson": lessons.lesson}
    play, _, check = source.rpartition("\n")
    exec(play, names)
    return names["incident"], eval(check, names)


def last(incident):
    return incident.world.samples[-1]


def lost(night):
    """Orders that billing will never handle."""
    return fates.lost(night.world.apps["billing"], night.world.brokers)


# what an opening says is so when somebody is called
OPENINGS = {
    "night-01": lambda night: last(night).lag["billing"] > 200,
    "night-02": lambda night: any(
        pod.restarts > 3 for pod in night.world.apps["billing"].pods
    ),
    "night-03": lambda night: last(night).lag["billing"] > 50,
    "night-04": lambda night: last(night).lag["billing"] < 10 and len(lost(night)) >= 5,
    "night-05": lambda night: last(night).refused and not night.world.brokers.is_up(2),
    "night-06": lambda night: (
        last(night).under_replicated == 0 and len(lost(night)) >= 5
    ),
    "night-07": lambda night: last(night).offline == 1,
    "night-08": lambda night: (
        last(night).under_replicated > 0 and not night.world.brokers.is_up(2)
    ),
    "night-09": lambda night: last(night).lag["ledger"] > 40,
    "night-10": lambda night: 100 < last(night).lag["reports"] < 200,
    "night-11": lambda night: (
        last(night).lag["billing"] < 10 and len(lost(night)) >= 20
    ),
    "night-12": lambda night: last(night).controllers == 0 and last(night).refused,
    "night-13": lambda night: (
        last(night).waiting > 0 and last(night).lag["billing"] < 10
    ),
}


@at_night(*NIGHTS)
def test_an_opening_is_true_when_somebody_is_called(night):
    assert night.world.now_ms == night.plan.called_ms
    assert OPENINGS[night.plan.name](night)


def test_each_exercise_is_one_incident():
    exercises = sorted(plans.read(name).exercise for name in NIGHTS)
    assert exercises == list(range(1, 14))


@at_night(*NIGHTS)
def test_the_solution_ends_its_incident_by_what_is_shown(night):
    incident, found = ending(night)
    assert found.right, found
    assert incident.outcome().wrong == ()
    refused = [text for text in incident.told if "Usage:\n" in text]
    assert not refused


RETENTION = (
    "kafka-configs --alter --entity-type topics --entity-name {} --add-config {}"
)
RESET = "kafka-consumer-groups --reset-offsets --group {} --topic orders {} --execute"
ENV = "kubectl set env deployment/{} {}"
SCALE = "kubectl scale deployment/{} --replicas {}"


UNCLEAN = "kafka-leader-election --election-type unclean --topic orders --partition 1"


def is_not_over(ended):
    return bool(ended.wrong)


def loses(count):
    def lost(ended):
        return ended.lost >= count

    return lost


WORSE = [
    ("night-01", [SCALE.format("billing", 6), 6], is_not_over),
    (
        "night-01",
        [
            SCALE.format("billing", 0),
            2,  # a pod that was killed is a member until its session ends
            RESET.format("billing", "--to-latest"),
            SCALE.format("billing", 3),
            3,
        ],
        loses(90),
    ),
    ("night-02", ["kubectl rollout restart deployment/billing", 3], is_not_over),
    (
        "night-02",
        [
            SCALE.format("billing", 0),
            2,  # a pod that was killed is a member until its session ends
            RESET.format("billing", "--to-latest"),
            SCALE.format("billing", 3),
            3,
        ],
        loses(20),
    ),
    ("night-03", [SCALE.format("billing", 6), 6], is_not_over),
    (
        "night-03",
        ["kafka-topics --alter --topic orders --partitions 12", 6],
        is_not_over,
    ),
    ("night-04", [SCALE.format("billing", 4), 3], is_not_over),
    ("night-04", [ENV.format("billing", "commit=after"), 3], loses(5)),
    ("night-05", ["systemctl start kafka-2", 2], is_not_over),
    (
        "night-05",
        [RETENTION.format("orders", "min.insync.replicas=1"), 2],
        is_not_over,
    ),
    (
        "night-06",
        [RETENTION.format("orders", "min.insync.replicas=3"), 11],
        loses(15),
    ),
    ("night-06", ["systemctl restart kafka-1", 2], is_not_over),
    (
        "night-07",
        [
            UNCLEAN,
            8,
            "systemctl start kafka-2",
            2,
        ],
        loses(20),
    ),
    ("night-07", ["systemctl restart kafka-3", 3], is_not_over),
    ("night-08", ["systemctl start kafka-2", 8], is_not_over),
    ("night-08", [RETENTION.format("orders", "retention.ms=60000"), 3], is_not_over),
    (
        "night-09",
        [ENV.format("ledger", "isolation.level=read_uncommitted"), 3],
        lambda ended: ended.false > 0,
    ),
    ("night-09", [SCALE.format("ledger", 3), 3], is_not_over),
    ("night-10", [15], loses(20)),
    ("night-10", [SCALE.format("reports", 2), 3], is_not_over),
    ("night-11", [ENV.format("billing", "auto.offset.reset=earliest"), 3], loses(20)),
    (
        "night-11",
        [
            SCALE.format("billing", 0),
            2,  # a pod that was killed is a member until its session ends
            RESET.format("billing", "--to-latest"),
            SCALE.format("billing", 2),
            3,
        ],
        is_not_over,
    ),
    ("night-12", ["systemctl restart kafka-1", 3], is_not_over),
    (
        "night-12",
        [RETENTION.format("orders", "min.insync.replicas=1"), 3],
        is_not_over,
    ),
    ("night-13", ["kubectl rollout undo deployment/shop", 3], is_not_over),
    ("night-13", ["kubectl rollout restart deployment/billing", 3], is_not_over),
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("night", "lines", "is_worse"), [case(*each) for each in WORSE], indirect=["night"]
)
@in_a_fork
def test_another_way_has_a_worse_end(night, lines, is_worse):
    assert is_worse(played(night, *lines))


@at_night(*NIGHTS)
def test_another_right_way_is_right_too(night):
    cause, lines = RIGHT[night.plan.name]
    night.ask("metrics")
    night.cause(cause)
    played(night, *lines)
    found = verdict("22", night.plan.exercise, night)
    assert found.right, found


def test_each_incident_has_two_ways_that_are_worse():
    counted = [name for name, _, _ in WORSE]
    assert {name: counted.count(name) for name in NIGHTS} == dict.fromkeys(NIGHTS, 2)


@pytest.mark.nightly
def test_the_same_lines_print_the_same_again(capsys):
    texts = []
    for _ in range(2):
        night = on_call("quiet-night")
        night.ask("kafka-consumer-groups --describe --group billing")
        night.ask("journalctl kafka-1")
        night.wait(minutes=1)
        night.report()
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def unasked(name):
    return Incident(plans.read(name))


def test_an_unknown_incident_says_which_there_are():
    with pytest.raises(ValueError, match='there are "night-01", "night-02"'):
        on_call("rebalance")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "Not attempted yet"),
        ("night-03", 'should be on_call("night-03")'),
        (lambda: unasked("night-02"), 'here it is "night-03"'),
        (
            lambda: unasked("night-03"),
            "Not attempted yet: you haven't asked anything yet.",
        ),
    ],
)
def test_what_is_no_incident_is_told(answer, words):
    given = answer() if callable(answer) else answer
    assert words in str(verdict("22", 3, given))


@at_night("night-10")
def test_the_cause_that_was_named_is_judged_first(night):
    night.cause(1)
    assert "doesn't explain it" in str(verdict("22", 10, night))
    night.cause(2)
    assert "it isn't over" in str(verdict("22", 10, night))
    ended = night.outcome()._replace(wrong=(), minutes=73 / 6)
    night.outcome = lambda: ended
    assert "12.2 minutes of outage; it can be" in str(verdict("22", 10, night))


# -- a teacher's own

MINE = """
title = "Small hours"
seed = 5
called_after_min = 1.5
late_s = 60
right = 1
opens = "00:01  ALERT  billing has no pods"
best = "Somebody had scaled billing to 0."
causes = [
    { text = "billing is switched off", because = "kubectl get pods shows none." },
    { text = "the topic is gone", because = "kafka-topics --list shows it." },
]
limits = { lost = 0, twice = 0, minutes = 3 }
well = [{ test = "pods", app = "billing" }, { test = "lag", group = "billing", most = 3 }]

[[topics]]
name = "orders"
partitions = 2
replicas = 3

[[apps]]
kind = "shop"
name = "shop"
topic = "orders"

[[apps]]
kind = "reader"
name = "billing"
topic = "orders"

[[plan]]
at_min = 1
run = "kubectl scale deployment/billing --replicas 0"
"""


def test_a_teacher_writes_a_fourteenth(tmp_path, capsys):
    file = tmp_path / "small-hours.toml"
    file.write_text(MINE, encoding="utf-8")
    incident = on_call(str(file))
    incident.ask("kubectl get pods")
    assert "billing" not in incident.told[-1]
    assert "billing has no pods" in incident.outcome().wrong
    incident.cause(1)
    incident.act("kubectl scale deployment/billing --replicas 1")
    incident.wait(minutes=3)
    ended = incident.outcome()
    assert (ended.lost, ended.twice, ended.wrong) == (0, 0, ())
    incident.report()
    assert "the cause is gone   yes" in capsys.readouterr().out


def test_a_teachers_file_that_lacks_something_is_told(tmp_path):
    file = tmp_path / "small-hours.toml"
    file.write_text(MINE.replace("right = 1\n", ""), encoding="utf-8")
    with pytest.raises(ValueError, match="lacks 'right'"):
        on_call(str(file))


@at_night("night-07")
def test_what_a_cut_log_lost_stays_lost_whatever_else_is_deleted(night):
    elect = "kafka-leader-election --election-type unclean --topic orders --partition 1"
    night.act(elect)
    night.wait(minutes=7)
    night.act("systemctl start kafka-2")
    night.wait(minutes=3)
    lost = night.outcome().lost
    night.act("kafka-topics --create --topic x")
    night.act("kafka-topics --delete --topic x")
    night.wait(minutes=1)
    assert night.outcome().lost == lost > 0


@at_night("night-12")
def test_whoever_restarts_the_only_voter_first_loses_time_and_no_partition(night):
    """What kafka-1 had at its clean stop it has when it is back: it can lead again."""
    night.act("systemctl restart kafka-1")
    night.act("systemctl start kafka-2")
    night.wait(minutes=3)
    night.ask("kafka-topics --describe --topic orders --unavailable-partitions")
    assert night.outcome().wrong == ()
    assert "Leader: none" not in night.told[-1]


@at_night("night-09")
def test_ending_the_transaction_does_not_bring_back_the_program_that_stands_still(
    night,
):
    night.act("kafka-transactions forceTerminateTransaction --transactionalId payouts")
    night.wait(minutes=3)
    night.ask("kubectl logs deployment/payouts")
    assert "began a transaction: payouts" in night.told[-1].splitlines()[-1]
    [wrong] = night.outcome().wrong
    assert "payouts has committed no transaction since 00:04:" in wrong
    night.act("kubectl rollout restart deployment/payouts")
    night.wait(minutes=2)
    assert night.outcome().wrong == ()


@at_night("night-01")
def test_the_report_says_who_handled_orders_twice_and_why(night):
    ended = night.outcome()
    assert ended.twice > 0
    assert any(
        "the first commit failed, UNKNOWN_MEMBER_ID" in line for line in ended.again
    )
    count, *reasons = ended.again
    assert "a third time" in count
    assert all("by billing-a" in line for line in reasons)
    [row] = [row for row in ended.lines() if row.startswith("handled twice")]
    assert ended.lines()[ended.lines().index(row) + 1].strip() == count


@at_night("night-04")
def test_lost_orders_count_as_lost_and_not_as_an_outage(night):
    """Nobody will ever handle them, so their outage would have no end."""
    ended = night.outcome()
    assert ended.lost >= 5 and ended.minutes == 0
    [row] = [row for row in ended.lines() if row.startswith("minutes of outage")]
    assert row.endswith("lost orders don't count here")


@at_night("quiet-night")
def test_who_sets_offsets_back_reads_in_the_report_that_this_is_why(night):
    night.act(SCALE.format("billing", 0))
    night.act(RESET.format("billing", "--to-earliest"))
    night.act(SCALE.format("billing", 2))
    night.wait(minutes=1)
    again = night.outcome().again
    assert again and all("the offset was set back" in line for line in again)


@at_night("night-05")
def test_whoever_restarts_the_shop_first_can_still_be_right(night):
    """Orders in flight in the pod that ends get no answer, and nobody waits for them."""
    night.act("kubectl rollout restart deployment/shop")
    night.act(RETENTION.format("orders", "min.insync.replicas=2"))
    night.wait(minutes=5)
    before = night.outcome().minutes
    night.wait(minutes=5)
    assert night.outcome().minutes == before


def test_a_pod_that_dies_again_and_again_waits_longer_each_time():
    """CrashLoopBackOff: 10 s, then twice as long, up to 5 minutes."""
    pod = Pod("billing-a1", None, "10.0.0.11")
    pod.lives.append(0)
    waits = []
    for _ in range(7):
        pod.die(Death(pod.lives[-1] + 1000, "Error", 1))
        waits.append((pod.due_ms - pod.death.at_ms) // 1000)
        pod.lives.append(pod.due_ms)
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    pod.die(Death(pod.lives[-1] + 600_000, "Error", 1))
    assert pod.due_ms - pod.death.at_ms == 10_000


@at_night("night-10")
def test_a_deleted_segment_stays_on_the_disk_for_a_minute(night):
    night.act(RETENTION.format("orders", "retention.ms=60000"))
    sizes = []
    for _ in range(24):
        night.world.run(10)
        disk = night.world.brokers.disk(1)
        seen = sum(file.size for file in disk.files().values())
        sizes.append(disk.used_bytes - seen)
    assert max(sizes) > 0 and sizes[0] == 0


@at_night("night-08")
def test_a_deleted_topic_stays_on_the_disks_for_a_minute(night):
    """Kafka's file.delete.delay.ms holds here, too."""
    disk = night.world.brokers.disk(1)
    before = disk.used_bytes
    night.act("kafka-topics --delete --topic clicks-debug")
    night.world.run(30)
    assert disk.used_bytes > before - 100_000
    night.ask("df -h kafka-1")
    night.world.run(30)
    assert disk.used_bytes < before - 400_000
    seen = sum(file.size for file in disk.files().values())
    assert disk.used_bytes == seen


@at_night("night-08")
def test_a_topic_that_is_deleted_and_written_again_fills_the_disks_again(night):
    ended = played(
        night,
        "kafka-topics --delete --topic clicks-debug",
        "lvextend -r -L +100K kafka-2",
        "systemctl start kafka-2",
        5,
    )
    [wrong] = ended.wrong
    assert wrong.endswith("will be full again")
    assert played(night, SCALE.format("tracker", 0)).wrong == ()
    assert played(night, SCALE.format("tracker", 1)).wrong
    short = "retention.ms=120000,segment.ms=60000"
    assert played(night, RETENTION.format("clicks-debug", short)).wrong == ()


@at_night("night-10")
def test_reports_can_not_come_back_before_its_database(night):
    night.act(SCALE.format("reports", 2))
    night.ask("kubectl logs deployment/reports")
    assert "no connection to its database" in night.told[-1]
    assert all(pod.restarts > 0 for pod in night.world.apps["reports"].pods)


@at_night("night-07")
def test_what_an_unclean_election_throws_away_was_not_billed_yet(night):
    night.act(UNCLEAN)
    night.wait(minutes=1)
    waiting = night.world.orders.not_done("billing").values()
    gone = [place for place in waiting if place.at_ms < 570_000]  # kafka-2 was there
    assert len(gone) >= 20
