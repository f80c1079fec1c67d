"""Streams groups, KIP-1071: what is asked of both brokers (see same_answers.py)."""

from minikafka.wire.errors import Error
from tests.conformance.scenarios_consumer_groups import joining_848
from tests.conformance.scenarios_groups import alone, find, joining
from tests.conformance.scenarios_offsets import commit_and_fetch, committing, fetching

HEARTBEAT = "StreamsGroupHeartbeat"
NO_TASKS = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}


def beating(side, member_id, epoch, **more):
    """The fields of a StreamsGroupHeartbeat."""
    return {
        "group_id": side.name,
        "member_id": member_id,
        "member_epoch": epoch,
    } | more


def starting(side, member_id, *subtopologies, **more):
    """The fields of one that joins."""
    said = {
        "rebalance_timeout_ms": 30_000,
        "process_id": f"process of {member_id}",
        "client_tags": [],
        "topology": {"epoch": 0, "subtopologies": list(subtopologies or [plain(side)])},
    }
    return beating(side, member_id, 0, **NO_TASKS | said | more)


def plain(side, **more):
    """A subtopology that reads the scenario's topic, and keeps nothing."""
    return {"subtopology_id": "0", "source_topics": [side.name]} | more


def counting(side):
    """Two subtopologies, as of a word count: words are dealt out anew, and counted."""
    dealt = f"{side.name}-dealt-repartition"
    store = f"{side.name}-counts-changelog"
    compact = [{"key": "cleanup.policy", "value": "compact"}]
    return [
        plain(side, repartition_sink_topics=[dealt]),
        {
            "subtopology_id": "1",
            "source_topics": [],
            "repartition_source_topics": [internal(dealt)],
            "state_changelog_topics": [internal(store, topic_configs=compact)],
        },
    ]


def internal(name, **more):
    return {"name": name, "partitions": 0, "replication_factor": 0} | more


def tasks(*active, standby=()):
    """What a member says that it has: (subtopology, partitions) each."""
    return {
        "active_tasks": [
            {"subtopology_id": name, "partitions": list(numbers)}
            for name, numbers in active
        ],
        "standby_tasks": [
            {"subtopology_id": name, "partitions": list(numbers)}
            for name, numbers in standby
        ],
        "warmup_tasks": [],
    }


def configure(side, **configs):
    """Configs of the group; by default its first target is made at once."""
    configs = {"initial_rebalance_delay_ms": 0, "assignment_interval_ms": 0} | configs
    altered = []
    for name, value in configs.items():
        name = "streams." + name.replace("_", ".")
        altered.append({"name": name, "value": str(value), "config_operation": 0})
    resource = {"resource_type": 32, "resource_name": side.name, "configs": altered}
    [done] = side.client.ask(
        "IncrementalAlterConfigs", 1, resources=[resource]
    ).responses
    assert done.error_code == 0, done
    side.settle()


def show(side, what):
    side.ask(what, "StreamsGroupDescribe", 0, 1, group_ids=[side.name])


def look(side, what):
    show(side, what)
    side.ask(
        f"{what}, whole",
        "StreamsGroupDescribe",
        1,
        group_ids=[side.name, f"{side.name}-none"],
        include_topology_description=True,
    )
    side.ask(what, "ListGroups", 3, 5)


def a_topology_is_described(side):
    """KIP-1331: a plugin of the broker would keep it."""
    side.create_topic()
    find(side)
    configure(side)
    side.ask("it joins", "StreamsGroupHeartbeat", 1, **starting(side, "one"))
    node = {
        "name": "source",
        "node_type": 1,
        "source_topics": [side.name],
        "stores": [],
        "successors": [],
    }
    described = {
        "subtopologies": [{"subtopology_id": "0", "nodes": [node]}],
        "global_stores": [],
    }
    for what, asked in {"it says": {}, "nobody says": {"member_id": ""}}.items():
        side.ask(
            what,
            "StreamsGroupTopologyDescriptionUpdate",
            **{"group_id": side.name, "member_id": "one", "topology_epoch": 0} | asked,
            topology_description=described,
        )
    look(side, "it is not kept")


def static_streams_members(side):
    """KIP-345 in streams groups."""
    side.create_topic(partitions=2)
    find(side)
    configure(side)
    static = {"instance_id": "a"}

    def beat_static(what, member, epoch, **more):
        body = beating(side, member, epoch, **static | more)
        side.ask(what, "StreamsGroupHeartbeat", 0, 1, **body)

    def join(what, member):
        body = starting(side, member, **static)
        side.ask(what, "StreamsGroupHeartbeat", 1, **body)

    join("it joins", "one")
    look(side, "it is in")
    join("another of its name", "two")
    beat_static("it stays", "one", 2)
    beat_static("it leaves for a while", "one", -2)
    look(side, "it is away")
    join("it is back", "three")
    look(side, "it has all again")
    beat_static("the old one", "one", 2)
    beat_static("an unknown one", "one", 2, instance_id="b")
    beat_static("the old one leaves", "one", -1)
    beat_static("the new one leaves", "three", -1)
    look(side, "nobody is in")


def a_streams_heartbeat_is_checked(side):
    side.create_topic(partitions=2)
    find(side)
    configure(side)
    good = starting(side, "one")
    pattern = plain(side, source_topic_regex=["a.*"])
    one_offset = [{"subtopology_id": "0", "partition": 0, "offset": 1}]
    fixed = plain(
        side, state_changelog_topics=[internal(f"{side.name}-log", partitions=3)]
    )
    for what, wrong in {
        "no group": {"group_id": ""},
        "no member": {"member_id": ""},
        "a negative epoch": {"member_epoch": -3},
        "no timeout": {"rebalance_timeout_ms": -1},
        "no topology": {"topology": None},
        "no tasks": {"active_tasks": None},
        "no standby tasks": {"standby_tasks": None},
        "some tasks": tasks(("0", [0])),
        "a static member": {"instance_id": "one"},
        "an empty instance": {"instance_id": ""},
        "an empty rack": {"rack_id": " "},
        "warm-up tasks": {"warmup_tasks": tasks(("0", [0]))["active_tasks"]},
        "offsets of tasks": {"task_offsets": one_offset},
        "their ends": {"task_end_offsets": one_offset},
        "a pattern": {"topology": {"epoch": 0, "subtopologies": [pattern]}},
        "a changelog of three": {"topology": {"epoch": 0, "subtopologies": [fixed]}},
        "a negative topology": {"topology": {"epoch": -1, "subtopologies": []}},
        "a subtopology twice": {
            "topology": {"epoch": 0, "subtopologies": [plain(side), plain(side)]}
        },
        "an internal topic": {
            "topology": {
                "epoch": 0,
                "subtopologies": [plain(side, source_topics=["__consumer_offsets"])],
            }
        },
        "no topic's name": {
            "topology": {
                "epoch": 0,
                "subtopologies": [plain(side, repartition_sink_topics=["a b"])],
            }
        },
        "epoch 1": {"member_epoch": 1, "topology": None},
        "epoch 1 with a topology": {"member_epoch": 1},
        "it leaves": {"member_epoch": -1, "topology": None},
        "a static one leaves": {"member_epoch": -2, "topology": None},
        "tasks of one kind": {
            "member_epoch": 1,
            "topology": None,
            "standby_tasks": None,
        },
    }.items():
        side.ask(what, HEARTBEAT, 0, **good | wrong)
    look(side, "there is no such group")
    side.ask("no group", "StreamsGroupDescribe", 0, group_ids=[""])
    side.ask("none", "StreamsGroupDescribe", 0, group_ids=[])


def a_streams_group_of_one(side):
    side.create_topic(partitions=3)
    find(side)
    configure(side)
    endpoint = {"host": "here", "port": 8080}
    tags = [{"key": "zone", "value": "a"}]
    joins = starting(side, "one", user_endpoint=endpoint, client_tags=tags)
    side.ask("it joins", HEARTBEAT, 0, **joins)
    look(side, "it has all")
    side.ask(
        "operations",
        "StreamsGroupDescribe",
        0,
        group_ids=[side.name],
        include_authorized_operations=True,
    )
    side.ask("it says nothing new", HEARTBEAT, 0, **beating(side, "one", 2))
    look(side, "its topics are known")
    has_all = tasks(("0", [0, 1, 2]))
    side.ask("it has them", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    for what, wrong in {
        "an unknown task": tasks(("0", [3])),
        "a negative one": tasks(("0", [-1])),
        "an unknown subtopology": tasks(("7", [0])),
    }.items():
        side.ask(what, HEARTBEAT, 0, **beating(side, "one", 2, **wrong))
    heard = {"endpoint_information_epoch": 1}
    side.ask("it knows the addresses", HEARTBEAT, 0, **beating(side, "one", 2, **heard))
    for epoch in (1, 3, 99):
        side.ask(f"of epoch {epoch}", HEARTBEAT, 0, **beating(side, "one", epoch))
    side.ask("another, epoch 1", HEARTBEAT, 0, **beating(side, "two", 1))
    side.ask("it joins again", HEARTBEAT, 0, **joins)
    moved = {"user_endpoint": {"host": "there", "port": 1}}
    side.ask("it moved", HEARTBEAT, 0, **joins | moved)
    commits_and_fetches(side)
    side.ask("in use", "DeleteGroups", 2, groups_names=[side.name])
    forget = {"topics": [{"name": side.name, "partitions": [{"partition_index": 0}]}]}
    side.ask("it is read", "OffsetDelete", 0, group_id=side.name, **forget)
    side.ask("as a classic group", "DescribeGroups", 5, 6, groups=[side.name])
    side.ask("as of consumers", "ConsumerGroupDescribe", 1, group_ids=[side.name])
    side.ask("by type", "ListGroups", 5, types_filter=["Streams"])
    side.ask("by state", "ListGroups", 5, states_filter=["Stable"])
    side.ask("it leaves", HEARTBEAT, 0, **beating(side, "one", -1))
    side.ask("it leaves twice", HEARTBEAT, 0, **beating(side, "one", -1))
    look(side, "nobody is in")
    side.ask("its offsets stay", "OffsetFetch", 8, groups=[fetching(side, 0, 1)])
    side.ask("not read", "OffsetDelete", 0, group_id=side.name, **forget)
    side.ask("it goes", "DeleteGroups", 2, groups_names=[side.name])
    look(side, "it is gone")


def commits_and_fetches(side):
    members = {
        "the member": ("one", None),
        "an old epoch": ("one", 2),
        "the first epoch": ("one", 1),
        "a new one": ("one", 99),
        "no epoch": ("one", -1),
        "another": ("two", 1),
        "nobody": ("", -1),
    }
    commit_and_fetch(side, members, current_epoch)


def described(side):
    [group] = side.client.ask("StreamsGroupDescribe", 0, group_ids=[side.name]).groups
    return group


def current_epoch(side):
    return described(side).group_epoch


def a_streams_group_of_two(side):
    """The second gets its tasks once the first has said that it gave them up."""
    side.create_topic(partitions=4)
    find(side)
    configure(side)
    side.ask("first joins", HEARTBEAT, 0, **starting(side, "one"))
    has_all = tasks(("0", range(4)))
    side.ask("first has all", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    side.ask("second joins", HEARTBEAT, 0, **starting(side, "two"))
    look(side, "first must give up two")
    side.ask("second waits", HEARTBEAT, 0, **beating(side, "two", 3, **NO_TASKS))
    side.ask("first is told", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    look(side, "first is asked")
    side.ask("first has them still", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    has_two = tasks(("0", range(2)))
    side.ask("first gave up", HEARTBEAT, 0, **beating(side, "one", 2, **has_two))
    side.ask("second is given", HEARTBEAT, 0, **beating(side, "two", 3, **NO_TASKS))
    look(side, "both have two")
    side.ask("an old epoch", HEARTBEAT, 0, **beating(side, "one", 2, **has_two))
    side.ask("and too much", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    late = {"member_id": "one", "generation_id_or_member_epoch": 2}
    side.ask("a late commit", "OffsetCommit", 9, **committing(side, (0, 3), **late))
    side.ask("of another's", "OffsetCommit", 9, **committing(side, (3, 3), **late))
    side.ask("second leaves", HEARTBEAT, 0, **beating(side, "two", -1))
    look(side, "one is left")
    side.ask("first gets all", HEARTBEAT, 0, **beating(side, "one", 3, **has_two))
    look(side, "one has all")


def internal_topics_are_created(side):
    side.create_topic(partitions=2)
    find(side)
    configure(side)
    joined = side.client.ask(HEARTBEAT, 0, **starting(side, "one", *counting(side)))
    [status] = joined.status
    # named in the order of a hash map
    names = status.status_detail.partition(": ")[2].replace(side.name, "").split(", ")
    side.answers["missing"] = {"code": status.status_code, "names": sorted(names)}
    look(side, "it waits for them")
    epoch = until_ready(side, "one")
    look(side, "they are there")
    for suffix in ("dealt-repartition", "counts-changelog"):
        name = f"{side.name}-{suffix}"
        asked = [{"name": name}]
        side.ask(suffix, "Metadata", 12, topics=asked)
        resource = {
            "resource_type": 2,
            "resource_name": name,
            "configuration_keys": ["cleanup.policy"],
        }
        side.ask(suffix, "DescribeConfigs", 4, resources=[resource])
    side.ask("it goes on", HEARTBEAT, 0, **beating(side, "one", epoch))


def until_ready(side, member_id, epoch=2):
    """Beats until the group has its topics; the member's epoch then."""
    while described(side).group_state == "NotReady":
        answer = side.client.ask(HEARTBEAT, 0, **beating(side, member_id, epoch))
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
    return epoch


def internal_topics_that_cannot_be_created(side):
    """The answers say why, as long as that is remembered."""
    side.create_topic(partitions=2)
    find(side)
    configure(side)
    wrong = [{"key": "cleanup.policy", "value": "magic"}]
    store = internal(f"{side.name}-store-changelog", topic_configs=wrong)
    joins = starting(side, "one", plain(side, state_changelog_topics=[store]))
    # whether the first answer says why already depends on who is faster: the topics'
    # creation or the answer
    answer = side.client.ask(HEARTBEAT, 0, **joins)
    while "Creation failed" not in answer.status[0].status_detail:
        beats = beating(side, "one", answer.member_epoch)
        answer = side.client.ask(HEARTBEAT, 0, **beats)
    epoch = answer.member_epoch
    side.ask("it hears why", HEARTBEAT, 0, **beating(side, "one", epoch))


def topics_that_a_topology_lacks(side):
    find(side)
    configure(side)
    names = [f"{side.name}.{number}" for number in range(5)]
    joins = starting(side, "one", plain(side, source_topics=names))
    side.ask("five are missing", HEARTBEAT, 0, **joins)
    look(side, "it has nothing")
    side.ask("it comes again", HEARTBEAT, 0, **beating(side, "one", 2))
    for state in ("NotReady", "not_ready", "Stable"):
        side.ask(f"state {state}", "ListGroups", 5, states_filter=[state])
    for name in names:
        side.create_topic(name.removeprefix(side.name), partitions=2)
    side.settle()
    side.ask("they are there", HEARTBEAT, 0, **beating(side, "one", 2))
    look(side, "it has all")
    side.client.ask("DeleteTopics", 4, topic_names=names[:1], timeout_ms=10_000)
    side.settle()
    side.ask("one is gone", HEARTBEAT, 0, **beating(side, "one", 3))
    look(side, "it is to have nothing")
    gave_all = beating(side, "one", 3, **NO_TASKS)
    side.ask("it gave all back", HEARTBEAT, 0, **gave_all)


def topics_that_do_not_fit(side):
    """Copartitioned topics, and internal ones with another number of partitions."""
    find(side)
    configure(side)
    two = side.create_topic(".2", partitions=2)
    three = side.create_topic(".3", partitions=3)
    side.settle()
    cases = that_do_not_fit(side, two, three) | that_make_no_sense(side, two)
    for number, (what, subtopologies) in enumerate(cases.items()):
        named = {"group_id": f"{side.name}.{number}"}
        joins = starting(side, "one", *subtopologies) | named
        side.ask(what, HEARTBEAT, 0, **joins)


def that_do_not_fit(side, two, three):
    """By what is wrong: subtopologies that read topics of two and three partitions."""
    fixed, free = f"{side.name}-fixed", f"{side.name}-free"
    joined = [{"source_topics": [0], "repartition_source_topics": [0]}]
    return {
        "sources that differ": [
            {
                "subtopology_id": "0",
                "source_topics": [two, three],
                "copartition_groups": [{"source_topics": [0, 1]}],
            }
        ],
        "a repartition topic that differs": [
            {
                "subtopology_id": "0",
                "source_topics": [two],
                "repartition_sink_topics": [fixed],
                "repartition_source_topics": [internal(fixed, partitions=3)],
                "copartition_groups": joined,
            }
        ],
        "a repartition topic that follows": [
            {
                "subtopology_id": "0",
                "source_topics": [three],
                "repartition_sink_topics": [free],
            },
            {
                "subtopology_id": "1",
                "source_topics": [two],
                "repartition_source_topics": [internal(free)],
                "copartition_groups": joined,
            },
        ],
        "a changelog that differs": [
            {
                "subtopology_id": "0",
                "source_topics": [two],
                "state_changelog_topics": [internal(three)],
            }
        ],
    }


def that_make_no_sense(side, topic):
    """Whatever topics there are."""
    one, other = f"{side.name}-a", f"{side.name}-b"
    return {
        "topics that are nowhere written": [
            {
                "subtopology_id": "0",
                "source_topics": [topic],
                "repartition_source_topics": [internal(one)],
            }
        ],
        "a loop": [
            {
                "subtopology_id": "0",
                "repartition_sink_topics": [other],
                "repartition_source_topics": [internal(one)],
            },
            {
                "subtopology_id": "1",
                "repartition_sink_topics": [one],
                "repartition_source_topics": [internal(other)],
            },
        ],
        "no sources": [{"subtopology_id": "0"}],
    }


def topologies_that_differ(side):
    side.create_topic(partitions=2)
    other = side.create_topic(".other")
    find(side)
    configure(side)
    first = {"epoch": 1, "subtopologies": [plain(side)]}
    side.ask("it joins", HEARTBEAT, 0, **starting(side, "one", topology=first))
    same_epoch = first | {"subtopologies": [plain(side, source_topics=[other])]}
    for what, topology in {
        "another": same_epoch,
        "a newer one": first | {"epoch": 2},
        "an older one": first | {"epoch": 0},
        "the same": first,
    }.items():
        side.ask(what, HEARTBEAT, 0, **starting(side, what, topology=topology))
    look(side, "three are in")


def an_application_is_shut_down(side):
    side.create_topic(partitions=2)
    find(side)
    configure(side)
    side.ask("it joins", HEARTBEAT, 0, **starting(side, "one"))
    side.ask("another joins", HEARTBEAT, 0, **starting(side, "two"))
    fatal = {"shutdown_application": True}
    side.ask("it gives up", HEARTBEAT, 0, **beating(side, "one", 2, **fatal))
    side.ask("the other hears", HEARTBEAT, 0, **beating(side, "two", 3))
    side.ask("it leaves", HEARTBEAT, 0, **beating(side, "one", -1, **fatal))
    side.ask("the other leaves", HEARTBEAT, 0, **beating(side, "two", -1))
    side.ask("a new one", HEARTBEAT, 0, **starting(side, "three"))
    side.ask("it hears nothing", HEARTBEAT, 0, **beating(side, "three", 6))


def standby_tasks_of_a_streams_group(side):
    side.create_topic(partitions=2)
    find(side)
    side.create_topic("-store-changelog", partitions=2)
    configure(side, num_standby_replicas=1)
    store = internal(f"{side.name}-store-changelog")
    stateful = plain(side, state_changelog_topics=[store])
    side.ask("it joins", HEARTBEAT, 0, **starting(side, "one", stateful))
    side.ask("it is alone", HEARTBEAT, 0, **beating(side, "one", 2))
    side.ask("another joins", HEARTBEAT, 0, **starting(side, "two", stateful))
    look(side, "each is to have a copy")
    has_all = tasks(("0", [0, 1]))
    side.ask("it is told", HEARTBEAT, 0, **beating(side, "one", 2, **has_all))
    has_one = tasks(("0", [0]))
    side.ask("it gave one up", HEARTBEAT, 0, **beating(side, "one", 2, **has_one))
    side.ask("the other", HEARTBEAT, 0, **beating(side, "two", 3, **tasks()))
    side.ask("it again", HEARTBEAT, 0, **beating(side, "one", 3, **has_one))
    look(side, "each has a copy")
    same = starting(side, "three", stateful, process_id="process of two")
    side.ask("a third in its process", HEARTBEAT, 0, **same)
    look(side, "three are in")
    configure(side, num_standby_replicas=0)
    side.ask("no copies any more", HEARTBEAT, 0, **beating(side, "one", 3, **has_one))
    look(side, "nobody is to have a copy")


def states_on_the_disks_of_streams_members(side):
    """A task that nobody has goes to who says that it has most of its state."""
    side.create_topic(partitions=2)
    find(side)
    side.create_topic("-store-changelog", partitions=2)
    configure(side)
    store = internal(f"{side.name}-store-changelog")
    stateful = plain(side, state_changelog_topics=[store])

    def on_disk(**offsets):
        """task_offsets=[(partition, offset), ...]"""
        return {
            name: [
                {"subtopology_id": "0", "partition": number, "offset": offset}
                for number, offset in each
            ]
            for name, each in offsets.items()
        }

    side.ask("it joins", HEARTBEAT, 0, **starting(side, "one", stateful))
    side.ask("it has both", HEARTBEAT, 0, **beating(side, "one", 2))
    ends = [(0, 20), (1, 20)]
    states = on_disk(task_offsets=[(0, 5), (1, 5)], task_end_offsets=ends)
    joins = starting(side, "two", stateful, **states)
    side.ask("another has some of both", HEARTBEAT, 0, **joins)
    states = on_disk(task_offsets=[(0, 10), (7, 1)])
    joins = starting(side, "three", stateful, **states)
    side.ask("a third has more of one", HEARTBEAT, 0, **joins)
    show(side, "all said so")
    twice = on_disk(task_offsets=[(0, 5), (0, 6)])
    side.ask("one twice", HEARTBEAT, 0, **beating(side, "two", 3, **twice))
    none = on_disk(task_end_offsets=[])
    side.ask("no ends", HEARTBEAT, 0, **beating(side, "two", 3, **none))
    show(side, "the offsets stay")
    side.ask("the first leaves", HEARTBEAT, 0, **beating(side, "one", -1))
    side.ask("the second", HEARTBEAT, 0, **beating(side, "two", 3, **NO_TASKS))
    side.ask("the third", HEARTBEAT, 0, **beating(side, "three", 4, **NO_TASKS))
    show(side, "each has its own")
    side.ask("the second leaves", HEARTBEAT, 0, **beating(side, "two", -1))
    side.ask("the third leaves", HEARTBEAT, 0, **beating(side, "three", -1))
    side.ask("the group goes", "DeleteGroups", 2, groups_names=[side.name])


def the_first_members_are_waited_for(side):
    side.create_topic(partitions=2)
    find(side)
    configure(side, initial_rebalance_delay_ms=1000)
    side.ask("it joins", HEARTBEAT, 0, **starting(side, "one"))
    side.ask("another joins", HEARTBEAT, 0, **starting(side, "two"))
    side.ask("it waits", HEARTBEAT, 0, **beating(side, "one", 1))
    look(side, "nobody has a task")
    while described(side).assignment_epoch == 1:
        pass
    look(side, "each is to have one")
    side.ask("it gets one", HEARTBEAT, 0, **beating(side, "one", 1, **tasks()))


def kinds_of_groups_do_not_mix_with_streams(side):
    side.create_topic()
    find(side)
    configure(side)
    member_id, _ = alone(side, protocol_type="connect")
    side.ask("in another's group", HEARTBEAT, 0, **starting(side, "one"))
    side.ask("it is not one", HEARTBEAT, 0, **beating(side, "one", 1))
    side.ask("it leaves none", HEARTBEAT, 0, **beating(side, "one", -1))
    side.ask("a classic one", "StreamsGroupDescribe", 0, group_ids=[side.name])
    side.ask("it leaves", "LeaveGroup", 1, group_id=side.name, member_id=member_id)
    side.ask("an empty group changes its kind", HEARTBEAT, 0, **starting(side, "one"))
    look(side, "a streams group")
    side.ask("a classic worker", "JoinGroup", 3, **joining(side))
    side.ask("a consumer", "ConsumerGroupHeartbeat", 1, **joining_848(side, "c"))
    who = {"group_id": side.name, "member_id": "one", "generation_id": 1}
    side.ask("a classic beat", "Heartbeat", 4, **who)
    side.ask("it leaves, too", HEARTBEAT, 0, **beating(side, "one", -1))
    side.ask("a late consumer", "ConsumerGroupHeartbeat", 1, **joining_848(side, "c"))
    side.until(Error.NONE, "OffsetFetch", 7, group_id=side.name, topics=[])
    alone(side, "back")
    side.ask("a classic group again", "DescribeGroups", 6, groups=[side.name])
    of_consumers = {"group_id": side.name + ".c"}
    side.ask(
        "a consumer's own",
        "ConsumerGroupHeartbeat",
        1,
        **joining_848(side, "c") | of_consumers,
    )
    side.ask("in theirs", HEARTBEAT, 0, **starting(side, "one") | of_consumers)
    leaving = {"member_id": "c", "member_epoch": -1}
    side.ask("it goes", "ConsumerGroupHeartbeat", 1, **of_consumers | leaving)
    side.ask("though empty", HEARTBEAT, 0, **starting(side, "one") | of_consumers)


SCENARIOS = (
    a_streams_heartbeat_is_checked,
    a_streams_group_of_one,
    a_streams_group_of_two,
    internal_topics_are_created,
    internal_topics_that_cannot_be_created,
    topics_that_a_topology_lacks,
    topics_that_do_not_fit,
    topologies_that_differ,
    an_application_is_shut_down,
    standby_tasks_of_a_streams_group,
    states_on_the_disks_of_streams_members,
    the_first_members_are_waited_for,
    kinds_of_groups_do_not_mix_with_streams,
    a_topology_is_described,
    static_streams_members,
)
