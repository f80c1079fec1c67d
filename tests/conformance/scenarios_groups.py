"""Classic groups: what is asked of both brokers (see same_answers.py).

Members are only requests here: nobody is more than what it said last. A request that
waits for others is started on a connection of its own.
"""

from functools import partial

from minikafka.wire.errors import Error
from minikafka.wire.messages import encode_versioned

RANGE = [
    {
        "name": "range",
        "metadata": encode_versioned(
            "ConsumerProtocolSubscription", 1, {"topics": ["orders"]}
        ),
    }
]
# what SyncGroup must name from version 5 on
NAMES = {"protocol_type": "consumer", "protocol_name": "range"}
OPAQUE = [{"name": "a", "metadata": b"1"}, {"name": "b", "metadata": b"2"}]


def joining(side, member_id="", group="", **changes):
    """The fields of a JoinGroup."""
    return {
        "group_id": side.name + group,
        "session_timeout_ms": 300_000,
        "rebalance_timeout_ms": 30_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": RANGE,
    } | changes


def of(side, member, group=""):
    """The fields that say who speaks: member is (id, generation)."""
    return {
        "group_id": side.name + group,
        "member_id": member[0],
        "generation_id": member[1],
    }


def syncing(side, member, shares=(), group="", **more):
    assignments = [
        {"member_id": member_id, "assignment": share} for member_id, share in shares
    ]
    return of(side, member, group) | {"assignments": assignments} | more


def find(side):
    """Returns when there is a coordinator."""
    for group in ("", "-2"):
        side.until(Error.NONE, "FindCoordinator", 3, key=side.name + group)
        side.until(Error.NONE, "OffsetFetch", 7, group_id=side.name + group, topics=[])


def alone(side, what="alone", version=3, group="", **changes):
    """A group of one, that has its share; (id, generation)."""
    joined = side.ask(
        f"{what} joins", "JoinGroup", version, **joining(side, group=group, **changes)
    )
    member = joined.member_id, joined.generation_id
    side.ask(
        f"{what} syncs",
        "SyncGroup",
        3,
        **syncing(side, member, [(member[0], b"all")], group),
    )
    return member


def two_that_joined(side):
    """A group of two: the leader has yet to sync. Returns the ids of both, and a
    function that waits until the second one has its share.
    """
    first, _ = alone(side, "first")
    second_joins = side.start("second joins", "JoinGroup", 3, **joining(side))
    side.until(Error.REBALANCE_IN_PROGRESS, "Heartbeat", 3, **of(side, (first, 1)))
    side.ask("first joins again", "JoinGroup", 5, **joining(side, first))
    second = second_joins().member_id
    second_syncs = side.start(
        "second syncs", "SyncGroup", 3, **syncing(side, (second, 2))
    )
    return first, second, second_syncs


def two(side):
    """A group of two: both have their shares. Returns (id, generation) of both."""
    first, second, second_syncs = two_that_joined(side)
    shares = [(first, b"one"), (second, b"two"), ("nobody", b"three")]
    side.ask(
        "first syncs again",
        "SyncGroup",
        5,
        **syncing(side, (first, 2), shares, **NAMES),
    )
    second_syncs()
    return (first, 2), (second, 2)


def look(side, what, *versions, group=""):
    """The group as tools see it."""
    side.ask(what, "DescribeGroups", *(versions or (0, 6)), groups=[side.name + group])
    side.ask(what, "ListGroups", 5)


def until_known(side, group):
    """Returns when a group that was just made can be seen: Apache Kafka shows what is
    committed.
    """
    while (
        side.client.ask("DescribeGroups", 0, groups=[side.name + group])
        .groups[0]
        .group_state
        == "Dead"
    ):
        pass


def join_group_is_checked(side):
    """KIP-62: how long a rebalance may take; KIP-345: static members."""
    find(side)
    for what, wrong in {
        "no group": {"group_id": ""},
        "a short session": {"session_timeout_ms": 5999},
        "a long session": {"session_timeout_ms": 1_800_001},
        "an unknown member": {"member_id": "who"},
        "no protocols": {"protocols": []},
        "no protocol type": {"protocol_type": ""},
    }.items():
        side.ask(what, "JoinGroup", 0, 9, **joining(side) | wrong)
    look(side, "after all that")
    first, _ = alone(side)
    for what, wrong in {
        "another protocol type": {"protocol_type": "connect"},
        "no common protocol": {"protocols": OPAQUE},
        "no protocols now": {"protocols": []},
        "an unknown member now": {"member_id": "who"},
        "a short session now": {"session_timeout_ms": 1},
    }.items():
        side.ask(what, "JoinGroup", 0, 9, **joining(side) | wrong)
    side.ask(
        "the member with no common protocol",
        "JoinGroup",
        5,
        **joining(side, first, protocols=OPAQUE),
    )
    side.ask("the member again", "JoinGroup", 0, 9, **joining(side, first))
    side.ask(
        "the member with an instance",
        "JoinGroup",
        5,
        **joining(side, first, group_instance_id="one"),
    )


def join_group_hands_out_ids(side):
    """KIP-394."""
    find(side)
    for version in (4, 5, 9):
        group = f"-{version}"
        ask = partial(ask_of, side, f"join {version}: ")
        side.until(Error.NONE, "OffsetFetch", 7, group_id=side.name + group, topics=[])
        handed = ask(
            "the first", "JoinGroup", version, **joining(side, group=group)
        ).member_id
        until_known(side, group)
        look(side, f"nobody is in yet {version}", group=group)
        ask(
            "it may not do anything yet",
            "Heartbeat",
            version // 3,
            **of(side, (handed, 0), group),
        )
        joined = ask(
            "it comes again", "JoinGroup", version, **joining(side, handed, group)
        )
        member = joined.member_id, joined.generation_id
        look(side, f"who has not synced {version}", group=group)
        ask(
            "an early commit",
            "OffsetCommit",
            version // 2,
            **of_commit(side, member, group),
        )
        ask("it beats", "Heartbeat", version // 3, **of(side, member, group))
        names = NAMES if version == 9 else {}
        ask(
            "it syncs",
            "SyncGroup",
            version // 2 + 1,
            **syncing(side, member, [(handed, b"x")], group, **names),
        )
        other = ask(
            "a second", "JoinGroup", version, **joining(side, group=group)
        ).member_id
        leaving = {"members": [{"member_id": other}]}
        ask(
            "that leaves unseen", "LeaveGroup", 3, group_id=side.name + group, **leaving
        )
        ask("and comes", "JoinGroup", version, **joining(side, other, group))


def ask_of(side, prefix, what, *question, **body):
    return side.ask(prefix + what, *question, **body)


def of_commit(side, member, group=""):
    who = of(side, member, group)
    who["generation_id_or_member_epoch"] = who.pop("generation_id")
    return who | {"topics": []}


def a_group_of_two(side):
    find(side)
    (first, _), (second, _) = two(side)
    look(side, "both have shares", 0, 3, 4, 6)
    for who, member_id in (("first", first), ("second", second), ("nobody", "nobody")):
        for generation in (2, 1, 3, -1):
            side.ask(
                f"{who} of {generation} beats",
                "Heartbeat",
                0,
                4,
                **of(side, (member_id, generation)),
            )
            side.ask(
                f"{who} of {generation} syncs",
                "SyncGroup",
                0,
                4,
                **syncing(side, (member_id, generation)),
            )
    side.ask("with names", "SyncGroup", 5, **syncing(side, (second, 2), **NAMES))
    for wrong in (
        {"protocol_name": "roundrobin"},
        {"protocol_type": "connect"},
        {"protocol_name": None},
    ):
        side.ask(
            f"with {wrong}",
            "SyncGroup",
            5,
            **syncing(side, (second, 2), **NAMES | wrong),
        )
    side.ask("second joins with nothing new", "JoinGroup", 5, **joining(side, second))
    look(side, "nothing has changed")
    tired = {"member_id": second, "reason": "tired"}
    side.ask("second leaves", "LeaveGroup", 5, group_id=side.name, members=[tired])
    side.ask("first beats", "Heartbeat", 4, **of(side, (first, 2)))
    side.ask("first syncs too late", "SyncGroup", 3, **syncing(side, (first, 2)))
    look(side, "second is gone")
    side.ask("first joins once more", "JoinGroup", 7, **joining(side, first))
    look(side, "first has not synced")
    side.ask("first beats before", "Heartbeat", 4, **of(side, (first, 3)))
    side.ask(
        "first syncs with nothing", "SyncGroup", 5, **syncing(side, (first, 3), **NAMES)
    )
    side.ask("first leaves", "LeaveGroup", 2, group_id=side.name, member_id=first)
    look(side, "nobody is left")
    side.ask("first leaves twice", "LeaveGroup", 0, group_id=side.name, member_id=first)
    side.ask("first leaves twice", "LeaveGroup", 5, group_id=side.name, **one(first))


def one(member_id, instance_id=None):
    return {"members": [{"member_id": member_id, "group_instance_id": instance_id}]}


def an_assignment_that_is_too_large(side):
    """Leader and followers hear that it could not be written, and join again."""
    find(side)
    first, second, second_syncs = two_that_joined(side)
    side.ask(
        "first brings too much",
        "SyncGroup",
        3,
        **syncing(side, (first, 2), [(first, bytes(1_100_000))]),
    )
    second_syncs()
    for what, member_id in (("first", first), ("second", second)):
        side.ask(f"{what} is told", "Heartbeat", 3, **of(side, (member_id, 2)))
    side.ask("what is left", "DescribeGroups", 5, groups=[side.name])


def leaving_is_checked(side):
    """KIP-345: several at once, static ones by name."""
    find(side)
    for version in (0, 2):
        side.ask(
            "no such group", "LeaveGroup", version, group_id=side.name, member_id="who"
        )
        side.ask("no group", "LeaveGroup", version, group_id="", member_id="who")
    for version in (3, 5):
        side.ask(
            "no such group", "LeaveGroup", version, group_id=side.name, **one("who")
        )
        side.ask("no group", "LeaveGroup", version, group_id="", **one("who"))
    (first, _), (second, _) = two(side)
    many = [
        {"member_id": each, "group_instance_id": None}
        for each in ("who", second, second)
    ]
    side.ask("many at once", "LeaveGroup", 4, group_id=side.name, members=many)
    side.ask(
        "an instance that is none",
        "LeaveGroup",
        4,
        group_id=side.name,
        **one("", "one"),
    )
    side.ask(
        "a member with an instance that is none",
        "LeaveGroup",
        4,
        group_id=side.name,
        **one(first, "one"),
    )
    side.ask("nobody", "LeaveGroup", 4, group_id=side.name, members=[])
    look(side, "in the end")


def requests_of_nobody(side):
    """Of a group that is not there, and of no group."""
    find(side)
    for group in (side.name, ""):
        who = {"group_id": group, "member_id": "who"}
        shown = "an unknown group" if group else "no group"
        for generation in (-1, 0, 1):
            whose = who | {"generation_id": generation}
            side.ask(f"{shown}, {generation}", "Heartbeat", 0, 4, **whose)
            side.ask(f"{shown}, {generation}", "SyncGroup", 0, 4, **whose)
            side.ask(f"{shown}, {generation}", "SyncGroup", 5, **whose, **NAMES)
            side.ask(f"{shown}, {generation}, no names", "SyncGroup", 5, **whose)
        side.ask(shown, "DescribeGroups", 0, 5, 6, groups=[group])
        side.ask(
            f"{shown}, operations",
            "DescribeGroups",
            3,
            6,
            groups=[group],
            include_authorized_operations=True,
        )
        side.ask(shown, "DeleteGroups", 0, 3, groups_names=[group])
    side.ask(
        "many", "DescribeGroups", 5, 6, groups=[side.name, side.name + "-2", side.name]
    )
    side.ask("none", "DescribeGroups", 0, 6, groups=[])
    side.ask(
        "many",
        "DeleteGroups",
        0,
        3,
        groups_names=[side.name, side.name + "-2", side.name],
    )
    side.ask("none", "DeleteGroups", 0, 3, groups_names=[])


INSTANCE = {"group_instance_id": "one"}


def static_members(side):
    """KIP-345: who comes back under its instance id takes over its former self's
    place.
    """
    side.create_topic()
    find(side)
    joins = joining(side, **INSTANCE)
    handed = side.ask("a static member", "JoinGroup", 5, **joins)
    old = handed.member_id, handed.generation_id
    all_of_it = [(old[0], b"all")]
    side.ask("syncs", "SyncGroup", 3, **syncing(side, old, all_of_it, **INSTANCE))
    look(side, "it is in", 3, 4, 6)
    for version in (5, 9):
        back = side.ask("it comes back", "JoinGroup", version, **joins)
        new = back.member_id, back.generation_id
        side.ask(
            f"it asks for its share {version}",
            "SyncGroup",
            5,
            **syncing(side, new, **NAMES, **INSTANCE),
        )
        look(side, f"nothing has changed {version}", 6)
        its_former_self(side, old, version)
        with_and_without_its_instance_id(side, old, new, version)
        old = new
    other = joining(side, old[0], group_instance_id="two")
    side.ask("somebody with its id", "JoinGroup", 5, **other)
    a_static_member_changes_and_goes(side)


def its_former_self(side, old, version):
    """What it asks after its instance has come back."""

    def ask(does, api, *versions, **body):
        side.ask(f"its former self {does} {version}", api, *versions, **body)

    leaving = {"group_id": side.name, **one(old[0], "one")}
    ask("beats", "Heartbeat", 3, 4, **of(side, old), **INSTANCE)
    ask("syncs", "SyncGroup", 3, 4, **syncing(side, old, **INSTANCE))
    ask("joins", "JoinGroup", 5, 9, **joining(side, old[0], **INSTANCE))
    ask("leaves", "LeaveGroup", 3, 5, **leaving)
    ask("commits", "OffsetCommit", 7, 9, **of_commit_of(side, old, **INSTANCE))


def with_and_without_its_instance_id(side, old, new, version):
    def beat(what, member, *versions, **instance):
        what = f"{what} {version}"
        side.ask(what, "Heartbeat", *versions, **of(side, member), **instance)

    beat("without its instance id", old, 3)
    beat("with another instance id", new, 3, group_instance_id="two")
    beat("it beats", new, 3, **INSTANCE)
    beat("it beats without its instance id", new, 2, 3)


def a_static_member_changes_and_goes(side):
    changed = [{"name": "range", "metadata": b"other"}]
    back = side.ask(
        "it comes back with another subscription",
        "JoinGroup",
        9,
        **joining(side, protocols=changed, **INSTANCE),
    )
    look(side, "a rebalance", 6)
    new = back.member_id, back.generation_id
    all_of_it = [(new[0], b"all again")]
    shares = syncing(side, new, all_of_it, **NAMES, **INSTANCE)
    side.ask("new shares", "SyncGroup", 5, **shares)
    leaving = {"group_id": side.name, **one("", "one")}
    side.ask("an admin takes it out", "LeaveGroup", 5, **leaving)
    look(side, "nobody is left", 6)


def of_commit_of(side, member, **more):
    partitions = [
        {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    ]
    return (
        of_commit(side, member)
        | {"topics": [{"name": side.name, "partitions": partitions}]}
        | more
    )


def groups_are_listed(side):
    """KIP-518: by state; KIP-848: by type."""
    find(side)
    for suffix in ("-stable", "-empty", "-offsets"):
        side.until(Error.NONE, "OffsetFetch", 7, group_id=side.name + suffix, topics=[])
    alone(side, "stable", group="-stable")
    alone(side, "raw", group="-2", protocol_type="connect", protocols=OPAQUE)
    gone = alone(side, "empty", group="-empty")
    side.ask(
        "it leaves", "LeaveGroup", 1, group_id=side.name + "-empty", member_id=gone[0]
    )
    topic = side.create_topic()
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    only_offsets = {
        "group_id": side.name + "-offsets",
        "topics": [{"name": topic, "partitions": [partition]}],
    }
    side.ask("offsets only", "OffsetCommit", 5, **only_offsets)
    for version in range(6):
        side.ask("all", "ListGroups", version)
    for states in (["Stable"], ["stable"], ["STABLE", "Empty"], ["Nonsense"], ["Dead"]):
        side.ask(f"in {states}", "ListGroups", 4, 5, states_filter=states)
    for types in (
        ["classic"],
        ["Classic"],
        ["consumer"],
        ["Consumer", "classic"],
        ["nonsense"],
        ["share"],
    ):
        side.ask(f"of {types}", "ListGroups", 5, types_filter=types)
    side.ask(
        "classic and empty",
        "ListGroups",
        5,
        types_filter=["classic"],
        states_filter=["Empty"],
    )
    names = [side.name + suffix for suffix in ("-stable", "-2", "-empty", "-offsets")]
    side.ask(
        "all of them",
        "DescribeGroups",
        5,
        6,
        groups=names,
        include_authorized_operations=True,
    )
    side.ask("all of them go", "DeleteGroups", 0, 3, groups_names=names)
    side.ask("what is left", "ListGroups", 5)


def a_handed_out_id_is_a_dynamic_members(side):
    """KIP-345 and KIP-394: an id of MEMBER_ID_REQUIRED beside an instance id."""
    find(side)
    alone(side, "static", 5, group_instance_id="one")
    for instance in ("one", "another"):
        pending = side.client.ask("JoinGroup", 5, **joining(side)).member_id
        side.ask(
            f"beside {instance!r}",
            "JoinGroup",
            5,
            **joining(side, pending, group_instance_id=instance),
        )


SCENARIOS = (
    a_handed_out_id_is_a_dynamic_members,
    join_group_is_checked,
    join_group_hands_out_ids,
    a_group_of_two,
    an_assignment_that_is_too_large,
    leaving_is_checked,
    requests_of_nobody,
    static_members,
    groups_are_listed,
)
