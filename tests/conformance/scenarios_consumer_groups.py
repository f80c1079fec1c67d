"""Groups of the consumer protocol, KIP-848: what is asked of both brokers (see
same_answers.py).
"""

from minikafka.wire.errors import Error
from tests.conformance.same_answers import UNKNOWN_ID
from tests.conformance.scenarios_groups import alone, find, joining
from tests.conformance.scenarios_offsets import commit_and_fetch, fetching


def beating(side, member_id, epoch, **more):
    """The fields of a ConsumerGroupHeartbeat."""
    return {"group_id": side.name, "member_id": member_id, "member_epoch": epoch} | more


def joining_848(side, member_id, *topics, **more):
    subscription = {
        "subscribed_topic_names": list(topics or [side.name]),
        "topic_partitions": [],
    }
    return beating(
        side, member_id, 0, rebalance_timeout_ms=30_000, **subscription | more
    )


def owned(side, *partitions, topic_id=None):
    return {
        "topic_partitions": [
            {
                "topic_id": topic_id or side.topic_id(side.name),
                "partitions": list(partitions),
            }
        ]
    }


def look(side, what, *versions):
    side.ask(what, "ConsumerGroupDescribe", *versions, group_ids=[side.name])
    side.ask(what, "ListGroups", 3, 5)


def consumer_group_heartbeat_is_checked(side):
    side.create_topic(partitions=2)
    side.settle()
    find(side)
    good = joining_848(side, "one")
    for what, wrong in {
        "no group": {"group_id": ""},
        "no member": {"member_id": ""},
        "a negative epoch": {"member_epoch": -3},
        "no timeout": {"rebalance_timeout_ms": -1},
        "a timeout of 0": {"rebalance_timeout_ms": 0},
        "no topics": {"subscribed_topic_names": None},
        "no owned": {"topic_partitions": None},
        "some owned": owned(side, 0),
        "an empty instance": {"instance_id": ""},
        "an empty rack": {"rack_id": ""},
        "an unknown assignor": {"server_assignor": "magic"},
        "an empty assignor": {"server_assignor": ""},
        "a long group": {"group_id": " "},
        "epoch 1": {"member_epoch": 1},
        "it leaves": {"member_epoch": -1},
        "a static one leaves for a while": {"member_epoch": -2},
        "with an instance": {"member_epoch": -2, "instance_id": "one"},
    }.items():
        versions = (1,) if what == "no member" else (0, 1)
        side.ask(what, "ConsumerGroupHeartbeat", *versions, **good | wrong)
    look(side, "there is no such group")
    side.ask(
        "operations",
        "ConsumerGroupDescribe",
        0,
        1,
        group_ids=[side.name],
        include_authorized_operations=True,
    )
    side.ask("no group", "ConsumerGroupDescribe", 0, 1, group_ids=[""])
    side.ask("none", "ConsumerGroupDescribe", 0, 1, group_ids=[])


def a_consumer_group_of_one(side):
    side.create_topic(partitions=3)
    side.settle()
    find(side)
    side.ask("it joins", "ConsumerGroupHeartbeat", 1, **joining_848(side, "one"))
    look(side, "it has all")
    side.ask(
        "operations",
        "ConsumerGroupDescribe",
        1,
        group_ids=[side.name],
        include_authorized_operations=True,
    )
    side.ask(
        "it says nothing new", "ConsumerGroupHeartbeat", 0, 1, **beating(side, "one", 1)
    )
    side.ask(
        "it owns them",
        "ConsumerGroupHeartbeat",
        0,
        1,
        **beating(side, "one", 1, **owned(side, 0, 1, 2)),
    )
    side.ask(
        "it owns fewer",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, **owned(side, 0)),
    )
    for epoch in (0, 2, 99):
        side.ask(
            f"of epoch {epoch}",
            "ConsumerGroupHeartbeat",
            1,
            **beating(side, "one", epoch),
        )
    side.ask("it joins again", "ConsumerGroupHeartbeat", 1, **joining_848(side, "one"))
    side.ask("another, epoch 1", "ConsumerGroupHeartbeat", 1, **beating(side, "two", 1))
    side.ask(
        "another assignor",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, server_assignor="range"),
    )
    look(side, "range it is")
    commits_and_fetches(side)
    side.ask("in use", "DeleteGroups", 2, groups_names=[side.name])
    forget = {"topics": [{"name": side.name, "partitions": [{"partition_index": 0}]}]}
    side.ask("it is read", "OffsetDelete", 0, group_id=side.name, **forget)
    side.ask("as a classic group", "DescribeGroups", 5, 6, groups=[side.name])
    mixing(side)
    side.ask("it leaves", "ConsumerGroupHeartbeat", 1, **beating(side, "one", -1))
    side.ask("it leaves twice", "ConsumerGroupHeartbeat", 1, **beating(side, "one", -1))
    look(side, "nobody is in")
    side.ask("its offsets stay", "OffsetFetch", 8, groups=[fetching(side, 0, 1)])
    side.ask("it goes", "DeleteGroups", 2, groups_names=[side.name])
    look(side, "it is gone")


def subscriptions_by_regular_expression(side):
    """KIP-848. Apache Kafka looks for the topics after the heartbeat, and tells the
    member with a later one.
    """
    names = [side.create_topic(suffix) for suffix in (".a", ".b", ".other")]
    find(side)
    for pattern in ("a(", "(?=a)", "(a)\\1", "a**", "[z-a]", "x{2,1}"):
        wrong = joining_848(
            side, "one", subscribed_topic_names=None, subscribed_topic_regex=pattern
        )
        answer = side.client.ask("ConsumerGroupHeartbeat", 1, **wrong)
        begins = (answer.error_message or "").partition(": ")[0]
        side.answers[f"it is no {pattern}"] = {
            "error": Error(answer.error_code).name,
            "begins": begins,
        }

    def read_by(pattern, wanted, epoch=0):
        """Heartbeats until the member has these topics; what it has then."""
        fields = joining_848(
            side, "one", subscribed_topic_names=[], subscribed_topic_regex=pattern
        )
        if epoch:
            fields = beating(side, "one", epoch, subscribed_topic_regex=pattern)
        found = None
        while found != sorted(wanted):
            answer = side.client.ask("ConsumerGroupHeartbeat", 1, **fields)
            assert answer.error_code == 0, answer
            fields = beating(side, "one", answer.member_epoch, topic_partitions=[])
            if answer.assignment is not None:
                known = {side.topic_id(name): name for name in names}
                found = sorted(
                    known.get(each.topic_id, "another")
                    for each in answer.assignment.topic_partitions
                )
        return answer.member_epoch

    prefix = side.name.replace(".", "[.]")
    epoch = read_by(f"{prefix}.[ab]", names[:2])
    [group] = side.client.ask("ConsumerGroupDescribe", 1, group_ids=[side.name]).groups
    [member] = group.members
    side.answers["described"] = {
        "names": list(member.subscribed_topic_names),
        "regex": member.subscribed_topic_regex,
    }
    read_by(f"{prefix}[.]oth", [], epoch)


def commits_and_fetches(side):
    members = {
        "the member": ("one", None),
        "an old epoch": ("one", 0),
        "a new one": ("one", 99),
        "no epoch": ("one", -1),
        "another": ("two", 1),
        "nobody": ("", -1),
    }
    commit_and_fetch(side, members, current_epoch)


def current_epoch(side):
    [group] = side.client.ask("ConsumerGroupDescribe", 0, group_ids=[side.name]).groups
    return group.group_epoch


def mixing(side):
    """A living consumer group takes no classic members that it can't understand."""
    side.ask(
        "a classic beat",
        "Heartbeat",
        4,
        group_id=side.name,
        member_id="one",
        generation_id=1,
    )
    side.ask(
        "a classic sync",
        "SyncGroup",
        3,
        group_id=side.name,
        member_id="one",
        generation_id=1,
    )
    side.ask(
        "a classic farewell",
        "LeaveGroup",
        3,
        group_id=side.name,
        members=[{"member_id": "who"}],
    )
    side.ask(
        "a classic worker", "JoinGroup", 3, **joining(side, protocol_type="connect")
    )


def a_consumer_group_of_two(side):
    """The second gets its partitions once the first has said that it gave them up."""
    side.create_topic(partitions=4)
    side.settle()
    find(side)
    side.ask("first joins", "ConsumerGroupHeartbeat", 1, **joining_848(side, "one"))
    side.ask(
        "first has all",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, **owned(side, 0, 1, 2, 3)),
    )
    wait_for_the_interval(side, "two")
    side.ask(
        "second joined",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "two", 2, topic_partitions=[]),
    )
    look(side, "first must give up two")
    side.ask("first is told", "ConsumerGroupHeartbeat", 1, **beating(side, "one", 1))
    look(side, "first is asked")
    side.ask(
        "second waits",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "two", 2, topic_partitions=[]),
    )
    [kept] = given(side, "one")
    side.ask(
        "first gave up",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, **owned(side, *kept)),
    )
    side.ask(
        "second is given",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "two", 2, topic_partitions=[]),
    )
    look(side, "both have two")
    side.ask(
        "first with its old epoch",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1),
    )
    side.ask("second leaves", "ConsumerGroupHeartbeat", 1, **beating(side, "two", -1))


def wait_for_the_interval(side, member_id):
    """A member joins, and asks until its target is made: not more often than
    group.consumer.assignment.interval.ms.
    """
    side.client.ask("ConsumerGroupHeartbeat", 1, **joining_848(side, member_id))
    while True:
        [group] = side.client.ask(
            "ConsumerGroupDescribe", 0, group_ids=[side.name]
        ).groups
        if group.assignment_epoch == group.group_epoch:
            return
        side.client.ask(
            "ConsumerGroupHeartbeat",
            1,
            **beating(side, member_id, group.assignment_epoch),
        )


def given(side, member_id):
    """The partitions of a member's target, by topic."""
    [group] = side.client.ask("ConsumerGroupDescribe", 0, group_ids=[side.name]).groups
    [member] = [each for each in group.members if each.member_id == member_id]
    return [topic.partitions for topic in member.target_assignment.topic_partitions]


def static_members_848(side):
    side.create_topic(partitions=2)
    side.settle()
    find(side)
    instance = {"instance_id": "one"}
    side.ask(
        "a static member",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "a", **instance),
    )
    side.ask(
        "another of its name",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "b", **instance),
    )
    side.ask(
        "it leaves for a while",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "a", -2, **instance),
    )
    look(side, "it is away")
    side.ask(
        "it comes back",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "b", **instance),
    )
    look(side, "it is back")
    side.ask(
        "its former self",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "a", 1, **instance),
    )
    side.ask(
        "its former self without the name",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "a", 1),
    )
    side.ask(
        "it without its name", "ConsumerGroupHeartbeat", 1, **beating(side, "b", 1)
    )
    side.ask(
        "it with another name",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "b", 1, instance_id="two"),
    )
    side.ask(
        "it leaves", "ConsumerGroupHeartbeat", 1, **beating(side, "b", -1, **instance)
    )
    look(side, "nobody is in")


def topics_that_are_not_there(side):
    find(side)
    side.ask(
        "it joins",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "one", side.name + ".none"),
    )
    look(side, "it has nothing")
    unknown = owned(side, 0, topic_id=UNKNOWN_ID)
    side.ask(
        "it owns what is not there",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, **unknown),
    )
    side.ask(
        "it reads nothing",
        "ConsumerGroupHeartbeat",
        1,
        **beating(side, "one", 1, subscribed_topic_names=[]),
    )
    look(side, "it wants nothing")


def kinds_of_groups_do_not_mix(side):
    side.create_topic()
    side.settle()
    find(side)
    member_id, _ = alone(side, protocol_type="connect")
    side.ask(
        "a consumer in another's group",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "one"),
    )
    side.ask("it is not one", "ConsumerGroupHeartbeat", 1, **beating(side, "one", 1))
    look(side, "a classic group")
    alone(side, "a consumer", group="-2")
    named = joining_848(side, "one") | {"group_id": side.name + "-2"}
    side.ask("a consumer in consumers' group", "ConsumerGroupHeartbeat", 1, **named)
    side.ask(
        "a worker in consumers' group",
        "JoinGroup",
        3,
        **joining(side, group="-2", protocol_type="connect"),
    )
    side.ask("it leaves", "LeaveGroup", 1, group_id=side.name, member_id=member_id)
    side.ask(
        "an empty group changes its kind",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "one"),
    )
    look(side, "a consumer group")
    side.ask("it leaves, too", "ConsumerGroupHeartbeat", 1, **beating(side, "one", -1))
    side.until(Error.NONE, "OffsetFetch", 7, group_id=side.name, topics=[])
    alone(side, "back")
    side.ask("a classic group again", "DescribeGroups", 6, groups=[side.name])


SCENARIOS = (
    subscriptions_by_regular_expression,
    consumer_group_heartbeat_is_checked,
    a_consumer_group_of_one,
    a_consumer_group_of_two,
    static_members_848,
    topics_that_are_not_there,
    kinds_of_groups_do_not_mix,
)
