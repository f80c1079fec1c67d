"""Lesson 11, the control plane: what a right answer does."""

from minikafka.course.experiments.lesson_11_runs import image_of
from minikafka.course.experiments.lesson_11_votes import held, kafkas_vote
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.election_cases import (
    HISTORIES,
    ME,
    VOTES,
    a_history,
    a_request,
    fewer_steps,
)
from minikafka.course.judging.guard import plain
from minikafka.course.judging.metadata_logs import (
    OTHERS,
    a_log,
    all_kinds,
    brokers_only,
    case_of,
    change,
    fencing,
    no_removal,
    partition,
    registered,
    removed,
    shorter,
    topic,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a record is on three of five voters, and two of these die",
        right=1,
        why=(
            "1. Three are left, and a majority is three. So 4 and 5 would need the vote"
            " of 3, and 3 refuses, because its log is longer."
        ),
    ),
    Question(
        "three voters in A, two in B with the controller, and the link breaks",
        right=1,
        why=(
            "1. A has three of five voters, a majority, and elects a controller with a"
            " larger epoch. In B no record reaches a majority, so none is committed."
        ),
    ),
    Question(
        "an epoch of the metadata log that grows and grows",
        right=3,
        why=(
            "3. Every time that a voter becomes a candidate, a new epoch begins. Dead"
            " brokers and new topics are only records within an epoch."
        ),
    ),
    Question(
        "the dead broker was the active controller, too: when is there a new leader",
        right=3,
        why=(
            "3. The next controller, elected after 3 s, gives the dead broker a new"
            " session of 9 s, and fences it when that is over. Then it chooses a leader."
        ),
        lesson="10",
    ),
    Question(
        "three replicas, min.insync.replicas=1: how many may die",
        right=2,
        why=(
            "2. The controller takes each of the two out of the ISR, and then the last"
            " replica is the whole ISR. When it dies as well, the topic is offline."
        ),
        lesson="09",
    ),
)

# --- 2: write a piece ---

STATE = '{"leader": 1, "leader_epoch": 0, "isr": [1, 2]}'
FORM = (
    f'{{"brokers": {{1: "fenced"}}, "partitions": {{("orders", 0): {STATE}}}}},'
    " filled in"
)


CREATED = (
    registered(1),
    fencing(1, -1),
    topic("A", "orders"),
    partition("A", 0, (1, 2)),
)
NAMED_BROKERS = {
    "an empty log": case_of(),
    "one comes": case_of(registered(1)),
    "one comes and is unfenced": case_of(registered(1), fencing(1, -1)),
    "one goes silent": case_of(registered(1), fencing(1, -1), fencing(1, 1)),
    "one stops cleanly, and is not fenced yet": case_of(
        registered(1),
        fencing(1, -1),
        (
            "BrokerRegistrationChangeRecord",
            {"broker_id": 1, "in_controlled_shutdown": 1},
        ),
    ),
    "one comes back": case_of(
        registered(1), fencing(1, -1), fencing(1, 1), registered(1)
    ),
    "records of other kinds": case_of(*OTHERS, registered(2), *OTHERS),
    "the first example": case_of(registered(1)),
    "broker 0": case_of(registered(0), fencing(0, -1)),
    "one that was unfenced when it was noted": case_of(registered(3, fenced=False)),
}
NAMED_PARTITIONS = {
    "a topic": case_of(*CREATED),
    "another leader": case_of(*CREATED, change("A", 0, leader=2, isr=[2])),
    "only the ISR": case_of(*CREATED, change("A", 0, isr=[1])),
    "only the leader": case_of(*CREATED, change("A", 0, leader=2)),
    "nobody leads": case_of(*CREATED, change("A", 0, leader=-1)),
    "the same leader, elected again": case_of(*CREATED, change("A", 0, leader=1)),
    "the second example": (
        [topic("A", "orders"), partition("A", 0, (1, 2))],
        [(7, *change("A", 0, leader=2, isr=[2]))],
        8,
    ),
    "broker 0 leads": case_of(*CREATED, change("A", 0, leader=0, isr=[0])),
    "an empty ISR": case_of(*CREATED, change("A", 0, leader=-1, isr=[])),
    "partition 10": case_of(*CREATED, partition("A", 10, (2, 1), epoch=41)),
    "two partitions": case_of(
        *CREATED, partition("A", 1, (2, 1)), change("A", 1, leader=1)
    ),
}
NAMED_TAILS = {
    "nothing is committed yet": case_of(*CREATED, high_watermark=0),
    "the last one isn't committed": case_of(
        *CREATED, change("A", 0, leader=2), high_watermark=4
    ),
    "all is committed": case_of(*CREATED, change("A", 0, leader=2)),
}
NAMED_ENDS = {
    "a topic is removed": case_of(*CREATED, removed("A")),
    "removed, and made again": case_of(
        *CREATED,
        partition("A", 1, (2, 1)),
        removed("A"),
        topic("B", "orders"),
        partition("B", 0, (2,)),
    ),
    "a broker is forgotten": case_of(
        *CREATED, ("UnregisterBrokerRecord", {"broker_id": 1})
    ),
    "a snapshot alone": case_of(
        snapshot=[
            registered(1, fenced=False),
            topic("A", "orders"),
            partition("A", 0, (1,), 7),
        ]
    ),
    "a snapshot and the rest": (
        [
            registered(1, fenced=False),
            topic("A", "orders"),
            partition("A", 0, (1, 2), 7),
        ],
        [
            (40, *change("A", 0, leader=2)),
            (41, *fencing(1, 1)),
            (42, *change("A", 0, isr=[2])),
        ],
        42,
    ),
}


def exercise_2():
    """The cluster's state from its metadata log, in four rungs."""
    common = {"smaller": shorter, "describe": as_call, "scenarios": 300}
    return Exercise(
        name="my_image",
        right="in 1,200 metadata logs your image was the same as every broker's.",
        hints=(
            (
                "Use one loop over the records, and a dict for each kind of thing: brokers,"
                " names of topics, partitions. A record's type says which dict it"
                " changes. A type that you don't know changes nothing."
            ),
            (
                "A PartitionChangeRecord holds only what has changed. What isn't in its"
                " fields stays as it was. If leader is in it, the leader epoch goes up,"
                " even if the leader is the same broker."
            ),
            (
                "Partitions belong to a topic_id, not to a name. Keep them by"
                " (topic_id, partition_id), and look up the names at the end. Apply the"
                " whole snapshot first, then the log, while the offset is below"
                " high_watermark."
            ),
        ),
        rungs=(
            Rung(
                "who is fenced, and who isn't",
                wrong_brokers,
                NAMED_BROKERS,
                a_log(brokers_only),
                **common,
            ),
            Rung(
                "leaders, leader epochs and ISRs",
                wrong,
                NAMED_PARTITIONS,
                a_log(no_removal),
                **common,
            ),
            Rung(
                "what isn't committed yet is left out",
                wrong,
                NAMED_TAILS,
                a_log(no_removal, tail=True),
                **common,
            ),
            Rung(
                "snapshots, and what was removed",
                wrong,
                NAMED_ENDS,
                a_log(all_kinds, tail=True, cut=True),
                **common,
            ),
        ),
    )


# -- verdicts


def as_call(case):
    snapshot, log, high_watermark = case
    return (
        f"my_image(snapshot of {len(snapshot)}, log of {len(log)},"
        f" high_watermark={high_watermark})"
    )


def given(case):
    """The records of a case, a line each."""
    snapshot, log, high_watermark = case
    lines = [f"  snapshot  {name} {fields}" for name, fields in snapshot]
    for offset, name, fields in log:
        lines.append(
            f"  {offset:8}  {name} {fields}"
            + ("" if offset < high_watermark else "   (not committed yet)")
        )
    return "\n".join(lines)


def found_by(answer, case):
    """Its image, in one form. Raises WrongKind for what is none."""
    found = plain(answer(*case))
    if not isinstance(found, dict) or set(found) != {"brokers", "partitions"}:
        raise WrongKind(f"it returned {short(found)}, and should return {FORM}")
    if not all(isinstance(each, dict) for each in found.values()):
        raise WrongKind(f"brokers and partitions should be dicts: {FORM}")
    for key, state in found["partitions"].items():
        if not isinstance(state, dict) or set(state) != {
            "leader",
            "leader_epoch",
            "isr",
        }:
            raise WrongKind(
                f"partition {short(key)} is {short(state)}, and should have leader,"
                " leader_epoch and isr"
            )
    return found


def wrong_brokers(answer, case):
    return differs(
        "broker", found_by(answer, case)["brokers"], image_of(*case)["brokers"], case
    )


def wrong(answer, case):
    line = wrong_brokers(answer, case)
    if line:
        return line
    mine, right = found_by(answer, case)["partitions"], image_of(*case)["partitions"]
    line = differs("partition", mine.keys(), right.keys(), case)
    if line:
        return line
    for place, state in right.items():
        for key, value in state.items():
            if in_one_form(key, mine[place][key]) != in_one_form(key, value):
                said = (
                    f"{place[0]}-{place[1]} has {key} {value}, and your image says"
                    f" {short(mine[place][key])}"
                )
                return f"{said}.\n{given(case)}"
    return None


def in_one_form(key, value):
    """An ISR is a set: in any order, as a list, a tuple or a set."""
    if key != "isr" or not isinstance(value, list | set | frozenset | tuple):
        return type(value), value
    return sorted(value, key=str)


def differs(what, mine, right, case):
    """Something is missing, or too much, or in another state."""
    for key in right:
        if key not in mine:
            return f"{what} {key} is missing in your image.\n{given(case)}"
    for key in mine:
        if key not in right:
            return (
                f"{what} {short(key)} is in your image, and shouldn't"
                f" be.\n{given(case)}"
            )
    if what == "broker":
        for key, state in right.items():
            if mine[key] != state:
                return (
                    f"broker {key} is {state}, and your image says"
                    f" {short(mine[key])}.\n{given(case)}"
                )
    return None


# --- 1: do you grant it? ---

VOTE = '(True, {"epoch": 5, "voted_for": 2, "log": (4, 10)}), filled in'


def exercise_1():
    """Does a voter grant its vote, in two rungs: what must never happen; when it
    must.
    """
    return Exercise(
        name="my_vote",
        right="no epoch had two controllers, and no controller lacked a committed record.",
        hints=(
            (
                "Three questions decide it. Is the epoch of the request old, yours or new?"
                " Have you voted in that epoch already? Whose log is longer?"
            ),
            (
                "A request with a larger epoch takes you into that epoch, even if you"
                " say no. Note the epoch, and that you haven't voted in it yet. If the"
                " candidate that has your vote asks again, say yes again."
            ),
            (
                "A log is longer if its last record has a larger epoch; with the same"
                " epoch, if it has more records. Python compares (epoch, end) tuples"
                " in just this way. Equal is long enough."
            ),
        ),
        rungs=(
            Rung(
                "no epoch has two controllers, and no controller lacks a committed record",
                breaks,
                HISTORIES,
                a_history,
                smaller=fewer_steps,
                describe=as_history,
            ),
            Rung(
                "it votes when it may, and notes what it must",
                another_vote,
                VOTES,
                a_request,
                describe=as_vote,
            ),
        ),
    )


def voted(answer, state, request):
    """Its answer in one form. Raises WrongKind for what is none."""
    found = plain(answer({**state}, {**request}))
    if (
        not isinstance(found, list)
        or len(found) != 2
        or not isinstance(found[0], bool)
        or not isinstance(found[1], dict)
        or set(found[1]) != set(ME)
    ):
        raise WrongKind(f"it returned {short(found)}, and should return {VOTE}")
    noted = found[1]
    epoch = noted["epoch"]
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise WrongKind(f"an epoch is a whole number, and this is {short(epoch)}")
    return found[0], {**noted, "log": tuple(noted["log"])}


def breaks(answer, history):
    def vote(state, request):
        return voted(answer, state, request)

    election = held(vote, history)
    if election.wrong is None:
        return None
    return "\n".join([election.wrong, *(f"  {line}" for line in election.told)])


def another_vote(answer, case):
    state, request = case
    granted, noted = voted(answer, state, request)
    should, note = kafkas_vote(state, request)
    if granted != should:
        said = {True: "yes", False: "no"}
        return f"it says {said[granted]}, and should say {said[should]}."
    for key in ("epoch", "voted_for", "log"):
        if noted[key] != note[key]:
            return f"it notes {key} {noted[key]!r}, and should note {note[key]!r}."
    return None


def as_history(history):
    return f"voters {', '.join(map(str, history.voters))}"


def as_vote(case):
    state, request = case
    return f"my_vote({state}, {request})"
