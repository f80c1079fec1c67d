"""Topics and the cluster: what is asked of both brokers (see same_answers.py)."""

from tests.conformance.raw import batch
from tests.conformance.same_answers import UNKNOWN_ID

NO_ID = bytes(16)
ILLEGAL = ("", ".", "..", "a b", "a/b", "ü", "x" * 250)


def pairs(**configs):
    return [
        {"name": key.replace("_", "."), "value": value}
        for key, value in configs.items()
    ]


def create(side, what, *versions, name=None, validate_only=False, **topic):
    topic = {
        "name": side.name if name is None else name,
        "num_partitions": 1,
        "replication_factor": 1,
    } | topic
    return side.ask(
        what,
        "CreateTopics",
        *versions,
        topics=[topic],
        timeout_ms=5000,
        validate_only=validate_only,
    )


def create_topics(side):
    """KIP-4; KIP-525: the answer has the configs."""
    create(side, "plain")
    defaults = {"num_partitions": -1, "replication_factor": -1}
    create(side, "defaults", 4, name=side.name + ".4", **defaults)
    configs = pairs(retention_ms="1000", cleanup_policy="delete")
    create(side, "defaults", 7, name=side.name + ".7", configs=configs, **defaults)
    for version in (3, 7):
        create(
            side,
            "validate only",
            version,
            name=side.name + ".validated",
            num_partitions=3,
            validate_only=True,
        )
        create(side, "it exists, validate only", version, validate_only=True)
        create(
            side,
            "bad, validate only",
            version,
            name=side.name + ".bad",
            num_partitions=0,
            validate_only=True,
        )
    for illegal in ILLEGAL:
        create(side, f"the name {illegal[:9]!r}", 7, name=illegal)
    create(side, "the longest name", 7, name=side.name + "-" * (249 - len(side.name)))
    create(side, "a name with dots", 7, name=side.name + ".a_b")
    create(side, "that collides", 7, name=side.name + "_a.b")
    create(side, "the metadata topic", 7, name="__cluster_metadata")
    one = {"name": side.name + ".twice", "num_partitions": 1, "replication_factor": 1}
    for version in (2, 7):
        side.ask("twice", "CreateTopics", version, topics=[one, one], timeout_ms=5000)
        side.ask("nothing", "CreateTopics", version, topics=[], timeout_ms=5000)
    good = {"name": side.name + ".good", "num_partitions": 1, "replication_factor": 1}
    side.ask(
        "one good, one bad",
        "CreateTopics",
        7,
        timeout_ms=5000,
        topics=[good, good | {"name": "a b"}],
    )
    two = [good | {"name": side.name + ".c.d"}, good | {"name": side.name + ".c_d"}]
    side.ask(
        "two that collide",
        "CreateTopics",
        7,
        timeout_ms=5000,
        topics=two,
        validate_only=True,
    )


def create_topics_with_bad_numbers(side):
    """KIP-4; KIP-464: -1 asks for the broker's default."""
    for number in (0, -1, -2, 10_001, 2**31 - 1):
        create(
            side,
            f"{number} partitions",
            2,
            7,
            num_partitions=number,
            validate_only=True,
        )
    many = [
        {"name": f"{side.name}.{n}", "num_partitions": 5001, "replication_factor": 1}
        for n in (0, 1)
    ]
    side.ask(
        "too many together",
        "CreateTopics",
        7,
        topics=many,
        timeout_ms=5000,
        validate_only=True,
    )
    for factor in (0, -2, 2, 100):
        create(side, f"{factor} replicas", 7, replication_factor=factor)
    create(side, "both bad", 7, num_partitions=0, replication_factor=0)
    create_topics_with_placements(side)


def create_topics_with_placements(side):
    """The client says which brokers get the replicas of each partition."""
    unset = {"num_partitions": -1, "replication_factor": -1}
    for what, placed in {
        "placed": [(0, [1]), (1, [1])],
        "placed in disorder": [(1, [1]), (0, [1])],
        "a gap": [(0, [1]), (2, [1])],
        "from 1": [(1, [1])],
        "a partition twice": [(0, [1]), (0, [1])],
        "an unknown broker": [(0, [9])],
        "no broker": [(0, [])],
        "a broker twice": [(0, [1, 1])],
        "a negative broker": [(0, [-1])],
    }.items():
        placement = [
            {"partition_index": index, "broker_ids": brokers}
            for index, brokers in placed
        ]
        create(
            side,
            what,
            7,
            name=side.name + ".placed",
            assignments=placement,
            validate_only=True,
            **unset,
        )
    placement = [{"partition_index": 0, "broker_ids": [1]}]
    create(side, "placed, with a number", 7, assignments=placement)
    create(
        side,
        "placed, with partitions",
        7,
        assignments=placement,
        num_partitions=1,
        replication_factor=-1,
    )
    create(
        side,
        "placed, with replicas",
        7,
        assignments=placement,
        num_partitions=-1,
        replication_factor=1,
    )


def delete_topics(side):
    """KIP-4; KIP-516: by id."""
    for suffix in "abcd":
        side.create_topic("." + suffix)
    asked = {"timeout_ms": 5000}
    ids = {suffix: side.topic_id(f"{side.name}.{suffix}") for suffix in "abcd"}
    name = side.name + ".a"
    for what, named in {
        "unknown": [side.name],
        "illegal": ["a b"],
        "nothing": [],
        "one": [name],
        "it again": [name],
    }.items():
        side.ask(what, "DeleteTopics", 1, 5, topic_names=named, **asked)
    b, c, d = ({"name": f"{side.name}.{suffix}", "topic_id": NO_ID} for suffix in "bcd")
    by_id = {"name": None, "topic_id": ids["c"]}
    for what, topics in (
        ("name and id", [b | {"topic_id": ids["b"]}]),
        ("an unknown id", [{"name": None, "topic_id": UNKNOWN_ID}]),
        ("neither", [{"name": None, "topic_id": NO_ID}]),
        ("an unknown name", [b | {"name": side.name}]),
        ("the same name twice", [b, b]),
        ("the same id twice", [by_id, by_id]),
        ("by name and by id", [c, by_id]),
        ("by name and by id, and another", [c, by_id, d]),
        ("by id", [by_id]),
        ("by name", [b]),
        ("by id again", [by_id]),
        ("nothing by id", []),
    ):
        side.ask(what, "DeleteTopics", 6, topics=topics, **asked)
    side.settle()
    topics = [{"name": f"{side.name}.{suffix}"} for suffix in "abcd"]
    side.ask(
        "what is left", "Metadata", 12, topics=topics, allow_auto_topic_creation=False
    )


def create_partitions(side):
    """KIP-195."""
    topic = side.create_topic(partitions=2)

    def grow(what, count, *versions, name=topic, placed=None, validate_only=False):
        assignments = (
            None if placed is None else [{"broker_ids": brokers} for brokers in placed]
        )
        asked = {"name": name, "count": count, "assignments": assignments}
        side.ask(
            what,
            "CreatePartitions",
            *versions,
            topics=[asked],
            timeout_ms=5000,
            validate_only=validate_only,
        )

    for count in (2, 1, 0, -1):
        grow(f"to {count}", count)
    grow("only validated", 4, validate_only=True)
    grow("to 3", 3)
    grow("an unknown topic", 3, name=side.name + ".none")
    grow("an illegal topic", 3, name="a b")
    for what, placed in {
        "too few places": [[1]],
        "too many places": [[1]] * 3,
        "an unknown broker": [[1], [9]],
        "no broker": [[1], []],
        "a broker twice": [[1], [1, 1]],
        "no places": [],
    }.items():
        grow(what, 5, placed=placed)
    grow("placed", 5, 1, placed=[[1], [1]])
    one = {"name": topic, "count": 7, "assignments": None}
    side.ask("twice", "CreatePartitions", topics=[one, one], timeout_ms=5000)
    side.ask("nothing", "CreatePartitions", topics=[], timeout_ms=5000)
    side.ask(
        "two",
        "CreatePartitions",
        3,
        topics=[one, one | {"name": topic + ".none"}],
        timeout_ms=5000,
    )
    side.settle()
    side.ask(
        "what it is now",
        "Metadata",
        12,
        topics=[{"name": topic}],
        allow_auto_topic_creation=False,
    )


def metadata(side):
    """KIP-4; KIP-516: by id; KIP-430: what one may do."""
    topic = side.create_topic(partitions=2)
    topic_id = side.topic_id(topic)
    side.create_topic(".other")
    quiet = {"allow_auto_topic_creation": False}
    versions = (0, 1, 4, 8, 9, 10, 11, 12, 13)
    for version in versions:
        body = quiet if version >= 4 else {}
        side.ask("a topic", "Metadata", version, topics=[{"name": topic}], **body)
        side.ask("no topics", "Metadata", version, topics=[], **body)
        if version >= 1:
            side.ask("all topics", "Metadata", version, topics=None, **body)
        if version >= 4:
            side.ask(
                "twice",
                "Metadata",
                version,
                topics=[{"name": topic}, {"name": topic}],
                **body,
            )
            unknown = [{"name": side.name + ".none"}, {"name": topic}]
            side.ask("known and unknown", "Metadata", version, topics=unknown, **body)
    for illegal in ILLEGAL:
        side.ask(
            f"the name {illegal[:9]!r}", "Metadata", 0, 12, topics=[{"name": illegal}]
        )
        side.ask(
            f"the name {illegal[:9]!r}, not created",
            "Metadata",
            4,
            12,
            topics=[{"name": illegal}],
            **quiet,
        )
    side.ask(
        "a name that collides", "Metadata", 12, topics=[{"name": topic + "_other"}]
    )
    operations = quiet | {"include_topic_authorized_operations": True}
    side.ask(
        "operations",
        "Metadata",
        11,
        13,
        topics=[{"name": topic}, {"name": topic + ".none"}],
        **operations,
    )
    operations["include_cluster_authorized_operations"] = True
    side.ask(
        "all operations", "Metadata", 8, 10, topics=[{"name": topic}], **operations
    )
    for what, one in {
        "an id": {"topic_id": topic_id, "name": None},
        "an unknown id": {"topic_id": UNKNOWN_ID, "name": None},
        "name and id": {"topic_id": topic_id, "name": topic},
        "name and unknown id": {"topic_id": UNKNOWN_ID, "name": topic},
    }.items():
        side.ask(what, "Metadata", 12, 13, topics=[one], **quiet)


def metadata_creates_topics(side):
    """How often a client must ask until the topic is there is the broker's own affair;
    the end is not.
    """
    for version in (0, 1, 4, 9, 12, 13):
        new = [{"name": f"{side.name}.new{version}"}]
        side.ask("asked for first", "Metadata", version, topics=new)
    name = side.name + ".made"
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": True}
    while side.client.ask("Metadata", 4, **asked).topics[0].error_code != 0:
        pass
    side.ask("the end", "Metadata", topics=[{"name": name}])
    resource = {"resource_type": 2, "resource_name": name, "configuration_keys": None}
    side.ask(
        "its configs", "DescribeConfigs", resources=[resource], include_synonyms=True
    )


def describe_topic_partitions(side):
    """KIP-966."""
    for suffix in "abc":
        side.create_topic("." + suffix, partitions=3)
    a, b, c = (f"{side.name}.{suffix}" for suffix in "abc")

    def ask(what, *names, limit=2000, cursor=None):
        at = (
            None
            if cursor is None
            else {"topic_name": cursor[0], "partition_index": cursor[1]}
        )
        topics = [{"name": name} for name in names]
        side.ask(
            what,
            "DescribeTopicPartitions",
            topics=topics,
            response_partition_limit=limit,
            cursor=at,
        )

    ask("three", c, a, b)
    ask("twice", a, a)
    ask("unknown", side.name, a)
    ask("illegal", "a b")
    for limit in (0, -1, 1, 3, 4, 6, 9, 5000):
        ask(f"at most {limit}", a, b, c, limit=limit)
        ask(f"at most {limit} from a cursor", a, b, c, limit=limit, cursor=(b, 1))
    for cursor in (
        (a, 0),
        (a, 2),
        (a, 3),
        (a, 9),
        (b, 0),
        (c, 2),
        (b + "x", 0),
        (b + "x", 7),
        (c + "x", 0),
        ("0", 0),
        (b, -1),
    ):
        ask(
            f"from {cursor[0].removeprefix(side.name)} {cursor[1]}",
            a,
            b,
            c,
            cursor=cursor,
        )
    ask("from one that is not asked", a, c, cursor=(b, 1))
    for cursor in ((a, 0), (b, 1), (b, 2), (b, -1), (b + "x", 0), (c, 1)):
        where = f"{cursor[0].removeprefix(side.name)} {cursor[1]}"
        ask(f"all from {where}", cursor=cursor)
    for cursor in ((b, 1), (b, -1)):
        ask(f"one of all from {cursor[1]}", limit=1, cursor=cursor)
    ask("unknown ones around a cursor", a + "a", b, b + "a", c + "a", cursor=(b, 1))
    ask("from an unknown one", a, b + "a", c, cursor=(b + "a", 0))


def the_cluster(side):
    """KIP-700."""
    side.ask("cluster", "DescribeCluster")
    side.ask(
        "operations", "DescribeCluster", include_cluster_authorized_operations=True
    )
    for kind in (1, 2, 0, 3):
        side.ask(f"endpoint type {kind}", "DescribeCluster", 1, 2, endpoint_type=kind)
    side.ask("with fenced ones", "DescribeCluster", 2, include_fenced_brokers=True)


def api_versions(side):
    """KIP-35; KIP-511: who asks says what it is. KIP-1242: and which node it means."""
    for version in range(6):
        software = (
            {"client_software_name": "raw", "client_software_version": "1.0"}
            if version >= 3
            else {}
        )
        side.ask("versions", "ApiVersions", version, **software)
    for name, number in (
        ("", "1"),
        ("raw", ""),
        ("no spaces", "1"),
        ("-raw", "1"),
        ("raw", "1_0"),
        ("raw.", "1"),
        ("ü", "1"),
    ):
        asked = {"client_software_name": name, "client_software_version": number}
        side.ask(f"software {name!r} {number!r}", "ApiVersions", 3, 5, **asked)
    software = {"client_software_name": "raw", "client_software_version": "1.0"}
    cluster = side.client.ask("Metadata", 8, topics=[]).cluster_id
    for what, cluster_id, node_id in (
        ("this node", cluster, 1),
        ("another node", cluster, 2),
        ("any node", cluster, -1),
        ("another cluster", "other", 1),
        ("no cluster", None, 2),
        ("an empty cluster", "", 1),
    ):
        meant = {"cluster_id": cluster_id, "node_id": node_id}
        side.ask(f"meant is {what}", "ApiVersions", 5, **software, **meant)


def find_coordinator(side):
    """KIP-699: several at once."""
    for kind in (0, 1):
        while True:
            found = side.client.ask("FindCoordinator", 2, key="some", key_type=kind)
            if found.error_code == 0:
                break
    side.ask("a group", "FindCoordinator", 0, 2, 3, key=side.name)
    side.ask("a transaction", "FindCoordinator", 1, 3, key=side.name, key_type=1)
    side.ask("keys", "FindCoordinator", 4, 6, coordinator_keys=["a", "b"])
    side.ask("a key twice", "FindCoordinator", 4, 6, coordinator_keys=["a", "a"])
    side.ask("no keys", "FindCoordinator", 4, 6, coordinator_keys=[])
    for kind in (2, 3, -1):
        side.ask(f"type {kind}", "FindCoordinator", 1, 3, key="a", key_type=kind)
        side.ask(
            f"keys of type {kind}",
            "FindCoordinator",
            4,
            6,
            coordinator_keys=["a"],
            key_type=kind,
        )
    side.ask("no group", "FindCoordinator", 3, key="")
    side.ask("no transactional id", "FindCoordinator", 3, key="", key_type=1)


def internal_topics(side):
    """What clients may not do with the topics that coordinators and the quorum keep.
    (No topic is created here.)
    """
    while side.client.ask("FindCoordinator", 2, key="some").error_code != 0:
        pass
    for name in ("__consumer_offsets", "__cluster_metadata"):
        asked = {"name": name, "partitions": [{"partition_index": 0, "offset": -1}]}
        side.ask(
            f"delete records of {name}",
            "DeleteRecords",
            topics=[asked],
            timeout_ms=1000,
        )
        data = {"name": name, "partition_data": [{"index": 0, "records": batch(b"x")}]}
        side.ask(
            f"write to {name}",
            "Produce",
            8,
            acks=-1,
            timeout_ms=1000,
            topic_data=[data],
        )
    for name in ("__cluster_metadata", "__transaction_state", "__share_group_state"):
        for create in (False, True) if name == "__cluster_metadata" else (False,):
            topics = [{"name": name}]
            what = f"{name}, {'created' if create else 'only looked at'}"
            side.ask(
                what, "Metadata", 4, 9, topics=topics, allow_auto_topic_creation=create
            )
    side.ask(
        "create it",
        "CreateTopics",
        topics=[
            {"name": "__cluster_metadata", "num_partitions": 1, "replication_factor": 1}
        ],
        timeout_ms=5000,
    )
    side.ask(
        "delete it",
        "DeleteTopics",
        5,
        topic_names=["__cluster_metadata"],
        timeout_ms=5000,
    )
    side.ask(
        "a partition more",
        "CreatePartitions",
        1,
        topics=[{"name": "__cluster_metadata", "count": 2}],
        timeout_ms=5000,
    )


SCENARIOS = (
    internal_topics,
    create_topics,
    create_topics_with_bad_numbers,
    delete_topics,
    create_partitions,
    metadata,
    metadata_creates_topics,
    describe_topic_partitions,
    the_cluster,
    api_versions,
    find_coordinator,
)
