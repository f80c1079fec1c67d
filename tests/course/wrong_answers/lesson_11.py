"""Lesson 11: a cluster's image from its metadata log."""

import copy

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right

FENCED = {True: "fenced", False: "unfenced", -1: "unfenced"}  # 1 is True


class Known:
    """A method a type; partitions are kept within their topic."""

    def __init__(self):
        self.brokers, self.topics = {}, {}

    def RegisterBrokerRecord(self, broker_id, fenced):
        self.brokers[broker_id] = FENCED[fenced]

    def BrokerRegistrationChangeRecord(self, broker_id, fenced=0, **_):
        if fenced:
            self.brokers[broker_id] = FENCED[fenced]

    def UnregisterBrokerRecord(self, broker_id):
        self.brokers.pop(broker_id)

    def TopicRecord(self, topic_id, name):
        self.topics[topic_id] = (name, {})

    def RemoveTopicRecord(self, topic_id):
        del self.topics[topic_id]

    def PartitionRecord(self, topic_id, partition_id, **state):
        self.topics[topic_id][1][partition_id] = state

    def PartitionChangeRecord(self, topic_id, partition_id, **changed):
        state = self.topics[topic_id][1][partition_id]
        self.topics[topic_id][1][partition_id] = {
            **state,
            **changed,
            "leader_epoch": state["leader_epoch"] + ("leader" in changed),
        }


@right(2)
def method_by_method(snapshot, log, high_watermark):
    known = Known()
    for name, fields in [
        *snapshot,
        *(each[1:] for each in log if each[0] < high_watermark),
    ]:
        getattr(known, name, lambda **_: None)(**fields)
    partitions = {}
    for name, found in known.topics.values():
        partitions |= {(name, number): state for number, state in found.items()}
    return {"brokers": known.brokers, "partitions": partitions}


def folded(
    snapshot,
    log,
    high_watermark,
    *,
    skip=(),
    epoch=lambda state, fields: "leader" in fields,
):
    """The state after all records but those of the types in `skip`; epoch: by how much
    a change makes it larger.
    """
    image = {"brokers": {}, "partitions": {}}
    ids = {}
    committed = [
        (name, fields) for offset, name, fields in log if offset < high_watermark
    ]
    for name, fields in copy.deepcopy([*snapshot, *committed]):
        brokers, partitions = image["brokers"], image["partitions"]
        place = (ids.get(fields.get("topic_id")), fields.get("partition_id"))
        match name:
            case _ if name in skip:
                continue
            case "RegisterBrokerRecord":
                brokers[fields["broker_id"]] = FENCED[fields["fenced"]]
            case "BrokerRegistrationChangeRecord" if "fenced" in fields:
                brokers[fields["broker_id"]] = FENCED[fields["fenced"]]
            case "UnregisterBrokerRecord":
                del brokers[fields["broker_id"]]
            case "TopicRecord":
                ids[fields["topic_id"]] = fields["name"]
            case "RemoveTopicRecord":
                gone = ids.pop(fields["topic_id"])
                image["partitions"] = {
                    place: each
                    for place, each in partitions.items()
                    if place[0] != gone
                }
            case "PartitionRecord":
                partitions[place] = {
                    key: fields[key] for key in ("leader", "leader_epoch", "isr")
                }
            case "PartitionChangeRecord":
                state = partitions[place]
                state["leader_epoch"] += epoch(state, fields)
                state |= {
                    key: fields[key] for key in ("leader", "isr") if key in fields
                }
    return image


@right(2)
def by_name(snapshot, log, high_watermark):
    """Drops a topic's partitions as soon as it is removed, so that names are enough."""
    return folded(snapshot, log, high_watermark)


@right(2)
def isrs_are_sets(snapshot, log, high_watermark):
    found = folded(snapshot, log, high_watermark)
    for state in found["partitions"].values():
        state["isr"] = frozenset(state["isr"])
    return found


def with_changes(snapshot, log, high_watermark, keep):
    """Fields of a change that keep(name, value) refuses count as if they were not
    there.
    """

    def kept(name, fields):
        if name != "PartitionChangeRecord":
            return fields
        ids = "topic_id", "partition_id"
        return {k: v for k, v in fields.items() if k in ids or keep(k, v)}

    return folded(
        [(name, kept(name, fields)) for name, fields in snapshot],
        [(offset, name, kept(name, fields)) for offset, name, fields in log],
        high_watermark,
    )


@wrong(2, "has leader 0, and your image says")
def if_the_leader_is_true(snapshot, log, high_watermark):
    return with_changes(
        snapshot, log, high_watermark, lambda name, value: name != "leader" or value
    )


@wrong(2, "has isr [], and your image says")
def if_the_isr_is_true(snapshot, log, high_watermark):
    return with_changes(
        snapshot, log, high_watermark, lambda name, value: name != "isr" or value
    )


@wrong(2, "it raised")
def raises_on_a_config(snapshot, log, high_watermark):
    if any(name == "ConfigRecord" for _, name, _ in log):
        raise KeyError("ConfigRecord")
    return folded(snapshot, log, high_watermark)


@wrong(2, "your image says")
def every_broker_registers_fenced(snapshot, log, high_watermark):
    return folded(
        snapshot,
        [
            (offset, name, {**fields, "fenced": True})
            if name == "RegisterBrokerRecord"
            else (offset, name, fields)
            for offset, name, fields in log
        ],
        high_watermark,
    )


@wrong(2, "your image says")
def epochs_begin_at_0(snapshot, log, high_watermark):
    return folded(
        snapshot,
        [
            (offset, name, {**fields, "leader_epoch": 0})
            if name == "PartitionRecord"
            else (offset, name, fields)
            for offset, name, fields in log
        ],
        high_watermark,
    )


@wrong(2, "broker 1 is missing in your image.")
def nothing(snapshot, log, high_watermark):
    return {"brokers": {}, "partitions": {}}


@wrong(2, "broker 1 is unfenced, and your image says 'fenced'")
def registrations_only(snapshot, log, high_watermark):
    return folded(
        snapshot, log, high_watermark, skip={"BrokerRegistrationChangeRecord"}
    )


@wrong(
    2,
    "broker 1 is fenced, and your image says 'unfenced'",
    "broker 1 is unfenced, and your image says 'fenced'",
)
def upside_down(snapshot, log, high_watermark):
    """Takes -1 for fenced, since it is true in Python."""
    found = folded(snapshot, log, high_watermark)
    other = {"fenced": "unfenced", "unfenced": "fenced"}
    return {
        **found,
        "brokers": {broker: other[state] for broker, state in found["brokers"].items()},
    }


@wrong(2, "it raised KeyError: 'fenced'")
def fenced_is_always_there(snapshot, log, high_watermark):
    for _, name, fields in log:
        if name == "BrokerRegistrationChangeRecord":
            fields["fenced"]
    return folded(snapshot, log, high_watermark)


@wrong(2, "has leader_epoch 0, and your image says 1")
def every_change_is_an_epoch(snapshot, log, high_watermark):
    return folded(snapshot, log, high_watermark, epoch=lambda state, fields: 1)


@wrong(2, "has leader_epoch 1, and your image says 0")
def only_another_leader_is_an_epoch(snapshot, log, high_watermark):
    def moves(state, fields):
        return fields.get("leader", state["leader"]) != state["leader"]

    return folded(snapshot, log, high_watermark, epoch=moves)


@wrong(2, "has leader_epoch 1, and your image says 0")
def nobody_has_no_epoch(snapshot, log, high_watermark):
    return folded(
        snapshot,
        log,
        high_watermark,
        epoch=lambda state, fields: fields.get("leader", -1) != -1,
    )


@wrong(
    2,
    "broker 1 is in your image, and shouldn't be.",
    "is in your image, and shouldn't be.",
)
def everything_counts(snapshot, log, high_watermark):
    return folded(snapshot, log, 10**9)


@wrong(2, "is in your image, and shouldn't be.", "has leader 1, and your image says 2")
def up_to_and_with_the_high_watermark(snapshot, log, high_watermark):
    return folded(snapshot, log, high_watermark + 1)


@wrong(
    2,
    "broker 1 is missing in your image.",
    "is missing in your image.",
    "it raised KeyError",
)
def no_snapshot(snapshot, log, high_watermark):
    return folded([], log, high_watermark)


@wrong(
    2,
    "partition ('orders', 0) is in your image, and shouldn't be.",
    "is in your image, and shouldn't be.",
)
def topics_stay(snapshot, log, high_watermark):
    return folded(snapshot, log, high_watermark, skip={"RemoveTopicRecord"})


@wrong(2, "is in your image, and shouldn't be.")
def brokers_stay(snapshot, log, high_watermark):
    return folded(snapshot, log, high_watermark, skip={"UnregisterBrokerRecord"})


@wrong(2, "is missing in your image.")
def keyed_by_the_id(snapshot, log, high_watermark):
    found = folded(snapshot, log, high_watermark)
    return {
        **found,
        "partitions": {
            f"{name}-{number}": state
            for (name, number), state in found["partitions"].items()
        },
    }


@wrong(2, "is in your image, and shouldn't be.", "and your image says")
def the_high_watermark_is_a_count(snapshot, log, high_watermark):
    """Right as long as the log begins at 0."""
    return folded(snapshot, log[:high_watermark], 10**9)


@wrong(2, "it returned None, and should return")
def forgets_to_return(snapshot, log, high_watermark):
    folded(snapshot, log, high_watermark)


@wrong(2, 'and should return {"brokers"')
def a_pair(snapshot, log, high_watermark):
    found = folded(snapshot, log, high_watermark)
    return found["brokers"], found["partitions"]


@wrong(2, "and should have leader, leader_epoch and isr")
def the_record_as_it_is(snapshot, log, high_watermark):
    """Keeps topic_id and partition_id within the partition."""
    found = folded(snapshot, log, high_watermark)
    for (_, number), state in found["partitions"].items():
        state["partition_id"] = number
    return found


@wrong(2, "it changed its argument snapshot", "it changed its argument log")
def changes_what_it_was_given(snapshot, log, high_watermark):
    found = folded(snapshot, log, high_watermark)
    log.clear()
    return found


# --- 2: do you grant it? ---


def votes(me, request, **how):
    """As Kafka's, with one thing of it changed."""
    old = how.get("old", lambda asked, mine: asked < mine)
    if old(request["epoch"], me["epoch"]):
        return False, me
    note = dict(me)
    if request["epoch"] > me["epoch"]:
        note |= how.get("enter", {"epoch": request["epoch"], "voted_for": None})
    candidate = request["candidate"]
    free = how.get("free", lambda voted, who: voted is None or voted == who)
    long = how.get("long", lambda theirs, mine: theirs >= mine)
    if not free(note["voted_for"], candidate) or not long(request["log"], note["log"]):
        return False, how.get("refusal", lambda me, note: note)(me, note)
    return True, note | how.get("noted", {"voted_for": candidate})


@right(1)
def step_by_step(me, request):
    return votes(me, request)


@right(1)
def by_cases_as_a_list(me, request):
    epoch, log = request["epoch"], list(request["log"])
    if epoch < me["epoch"]:
        return [False, me]
    voted = me["voted_for"] if epoch == me["epoch"] else None
    granted = voted in (None, request["candidate"]) and log >= list(me["log"])
    voted = request["candidate"] if granted else voted
    return [granted, {"epoch": epoch, "voted_for": voted, "log": list(me["log"])}]


TWO = "has two controllers"
LACKS = "which was committed: a majority had it."
NO, YES = "it says no, and should say yes.", "it says yes, and should say no."


def another(name, *words, **how):
    def answer(me, request):
        return votes(me, request, **how)

    answer.__name__ = name
    wrong(1, *words)(answer)


for name, words, how in [
    ("votes_for_everybody", (TWO, LACKS), {"free": lambda voted, who: True}),
    ("forgets_its_vote", (TWO,), {"noted": {}}),
    ("any_log_will_do", (LACKS,), {"long": lambda theirs, mine: True}),
    ("counts_records_only", (LACKS,), {"long": lambda a, b: a[1] >= b[1]}),
    ("looks_at_the_epoch_only", (LACKS,), {"long": lambda a, b: a[0] >= b[0]}),
    (
        "compares_as_text",
        (LACKS, NO, YES),
        {"long": lambda a, b: list(map(str, a)) >= list(map(str, b))},
    ),
    ("only_a_longer_log", (NO,), {"long": lambda a, b: a > b}),
    ("nobody_twice", (NO,), {"free": lambda voted, who: voted is None}),
    (
        "candidate_0_is_none",
        (TWO, YES),
        {"free": lambda voted, who: not voted or voted == who},
    ),
    ("old_epochs_too", (TWO, LACKS, YES), {"old": lambda asked, mine: False}),
    ("only_new_epochs", (NO,), {"old": lambda asked, mine: asked <= mine}),
    (
        "stays_in_its_epoch",
        (TWO, LACKS, "it notes epoch"),
        {"enter": {"voted_for": None}},
    ),
    (
        "a_refusal_leaves_no_note",
        ("it notes epoch 4, and should note 5.",),
        {"refusal": lambda me, note: me},
    ),
]:
    another(name, *words, **how)


@wrong(1, "it returned True, and should return")
def only_the_answer(me, request):
    return votes(me, request)[0]


@wrong(1, NO)
def never(me, request):
    return False, me


@wrong(1, "it raised")
def raises_on_the_first_example(me, request):
    if me["log"] == (4, 10):
        raise ValueError(me)
    return votes(me, request)


@wrong(1, NO, "it notes voted_for")
def keeps_its_old_vote(me, request):
    return votes(me, request, enter={"epoch": request["epoch"]})
