"""Configs of topics and brokers: what is asked of both brokers (see
same_answers.py).
"""

import time
from functools import cache

from tests.conformance.raw import batch
from tests.conformance.scenarios_cluster import create

BAD_CONFIGS = {
    "retention.ms": ("soon", "", None, "-2", "1.5", "99999999999999999999", " 5 "),
    "retention.bytes": ("-5", "x"),
    "segment.bytes": ("10", "2147483648"),
    "segment.ms": ("0",),
    "segment.index.bytes": ("3",),
    "max.message.bytes": ("-1",),
    "min.insync.replicas": ("0", "2"),
    "cleanup.policy": (
        "burn",
        "",
        "delete,burn",
        "delete,delete",
        "compact",
        "compact, delete",
    ),
    "delete.retention.ms": ("-1", "soon"),
    "min.cleanable.dirty.ratio": ("half", "1.5", "-0.1", "0.5"),
    "min.compaction.lag.ms": ("-1",),
    "max.compaction.lag.ms": ("0",),
    "message.timestamp.type": ("create", "createtime"),
    "message.timestamp.after.max.ms": ("-1",),
    "index.interval.bytes": ("-1",),
    "compression.type": ("none of these",),
    "no.such.config": ("1", None),
    "log.retention.ms": ("1",),
}


@cache
def in_half_an_hour():
    """The same for both brokers, and counted from when the first one is asked: a run of
    all tests can take longer than that.
    """
    return int(time.time() * 1000) + 1_800_000


def topic_configs_are_checked(side):
    """KIP-133."""
    topic = side.create_topic()
    for name, values in BAD_CONFIGS.items():
        for value in values:
            pair = {"name": name, "value": value}
            create(
                side,
                f"with {name}={value!r}",
                7,
                name=side.name + ".new",
                configs=[pair],
                validate_only=True,
            )
            alter(
                side,
                f"to {name}={value!r}",
                topic,
                (0, name, value),
                validate_only=True,
            )
    pair = {"name": "retention.ms", "value": "5"}
    create(
        side,
        "a config twice",
        7,
        name=side.name + ".new",
        configs=[pair, pair],
        validate_only=True,
    )


def alter(side, what, name, *changes, kind=2, versions=(), validate_only=False):
    configs = [
        {"name": key, "config_operation": how, "value": value}
        for how, key, value in changes
    ]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    return side.ask(
        what,
        "IncrementalAlterConfigs",
        *versions,
        resources=[resource],
        validate_only=validate_only,
    )


def describe(side, what, name, *keys, kind=2, versions=(), **options):
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": list(keys) or None,
    }
    return side.ask(
        what,
        "DescribeConfigs",
        *versions,
        resources=[resource],
        **{"include_synonyms": True} | options,
    )


SET, DELETE, APPEND, SUBTRACT = range(4)


def incremental_alter_configs(side):
    """KIP-339."""
    topic = side.create_topic(retention_ms=1000)
    keys = ("retention.ms", "retention.bytes", "cleanup.policy", "segment.ms")
    for what, *changes in (
        ("set", (SET, "retention.ms", "5000"), (SET, "retention.bytes", "100")),
        (
            "a new value and a deletion",
            (SET, "retention.ms", "6000"),
            (DELETE, "retention.bytes", None),
        ),
        ("delete with a value", (DELETE, "retention.ms", "17")),
        ("delete what is not set", (DELETE, "segment.ms", None)),
        ("delete what is unknown", (DELETE, "no.such.config", None)),
        ("append", (APPEND, "cleanup.policy", "delete")),
        ("subtract what is not there", (SUBTRACT, "cleanup.policy", "compact")),
        ("append to no list", (APPEND, "retention.ms", "5")),
        ("subtract from no list", (SUBTRACT, "retention.ms", "5")),
        ("append to what is unknown", (APPEND, "no.such.config", "5")),
        ("append null", (APPEND, "cleanup.policy", None)),
        ("set null", (SET, "retention.ms", None)),
        ("an unknown operation", (9, "retention.ms", "5")),
        ("twice", (SET, "retention.ms", "5"), (SET, "retention.ms", "6")),
        ("set and delete", (SET, "retention.ms", "5"), (DELETE, "retention.ms", None)),
        ("one good, one bad", (SET, "retention.ms", "77"), (SET, "segment.ms", "x")),
        ("an empty name", (SET, "", "5")),
        ("nothing",),
    ):
        alter(side, what, topic, *changes)
        side.settle()
        describe(side, f"after {what}", topic, *keys, versions=(4,))
    alter(
        side, "only validated", topic, (SET, "retention.ms", "123"), validate_only=True
    )
    side.settle()
    describe(side, "after only validated", topic, *keys, versions=(4,))
    alter(side, "an unknown topic", side.name + ".none", (SET, "retention.ms", "5"))
    alter(side, "an illegal topic", "a b", (SET, "retention.ms", "5"))
    alter(side, "no name", "", (SET, "retention.ms", "5"))
    for kind in (0, 1, 3, 99):
        alter(side, f"type {kind}", "x", (SET, "retention.ms", "5"), kind=kind)
    change = {"name": "retention.ms", "config_operation": SET, "value": "5"}
    one = {"resource_type": 2, "resource_name": topic, "configs": [change]}
    side.ask("a resource twice", "IncrementalAlterConfigs", resources=[one, one])
    side.ask(
        "two resources",
        "IncrementalAlterConfigs",
        resources=[one, one | {"resource_name": topic + ".none"}],
    )
    side.ask("none", "IncrementalAlterConfigs", resources=[])


def broker_configs(side):
    """Ends as it began, since the other scenarios share these brokers."""
    topic = side.create_topic(retention_bytes=5)
    keys = ("retention.ms", "retention.bytes", "segment.bytes", "max.message.bytes")
    logs = (
        "log.retention.ms",
        "message.max.bytes",
        "num.partitions",
        "log.segment.bytes",
    )
    broker = {"kind": 4}
    describe(side, "a broker", "1", **broker)
    describe(side, "a broker's", "1", *logs, **broker)
    describe(side, "an unknown broker", "77", **broker)
    describe(side, "no number", "one", **broker)
    describe(side, "all brokers", "", **broker)
    mine = {"log.retention.ms": "111000", "message.max.bytes": "2000000"}
    alter(
        side, "for this broker", "1", *((SET, *pair) for pair in mine.items()), **broker
    )
    everyones = {"log.retention.ms": "222000", "log.segment.bytes": "2097152"}
    alter(side, "for all", "", *((SET, *pair) for pair in everyones.items()), **broker)
    side.settle()
    for what, name in (("this broker", "1"), ("all brokers", "")):
        describe(side, f"{what}, changed", name, *logs, **broker)
    describe(side, "the topic's, changed", topic, *keys)
    create(side, "a new topic's", 7, name=side.name + ".new")
    for name, value in (
        ("log.retention.ms", "soon"),
        ("log.retention.ms", None),
        ("num.partitions", "5"),
        ("log.dirs", "/tmp"),
    ):
        alter(side, f"to {name}={value}", "1", (SET, name, value), **broker)
        alter(side, f"for all to {name}={value}", "", (SET, name, value), **broker)
    alter(side, "an unknown broker's", "77", (SET, "log.retention.ms", "5"), **broker)
    alter(side, "no number's", "one", (SET, "log.retention.ms", "5"), **broker)
    alter(
        side,
        "this broker's back",
        "1",
        *((DELETE, key, None) for key in mine),
        **broker,
    )
    side.settle()
    describe(side, "the topic's, changed for all", topic, *keys)
    alter(side, "all back", "", *((DELETE, key, None) for key in everyones), **broker)
    side.settle()
    describe(side, "this broker, back", "1", *logs, **broker)


def configs_that_no_broker_knows(side):
    """A plugin may know them: they are kept, and their values told to nobody. Ends as
    it began.
    """
    broker = {"kind": 4}
    names = ("my.plugin.setting", "cleanup.policy", "my setting")
    of_listener = "listener.name.mine.setting"
    for name in names:
        for what, who in (("1", "1"), ("all", "")):
            change = (SET, name, "burn")
            alter(side, f"{name} of {what}, first", who, change, **broker, **ONLY_CHECK)
            alter(side, f"{name} of {what}", who, change, **broker)
            alter(
                side,
                f"{name} of {what} without value",
                who,
                (SET, name, None),
                **broker,
            )
    for what, who in (("1", "1"), ("all", "")):
        alter(side, f"a listener's of {what}", who, (SET, of_listener, "5"), **broker)
        bad = (SET, "log.retention.ms", "soon")
        alter(side, f"a bad one beside of {what}", who, (SET, "x", "5"), bad, **broker)
        fixed = (SET, "node.id", "5")
        alter(
            side, f"a fixed one beside of {what}", who, (SET, "x", "5"), fixed, **broker
        )
        alter(side, f"never set, of {what}", who, (DELETE, "x", None), **broker)
    side.settle()
    for what, who in (("1", "1"), ("all", "")):
        describe(side, f"of {what}", who, *names, of_listener, "x", **broker)
    gone = [(DELETE, name, None) for name in (*names, of_listener)]
    alter(side, "back", "1", *gone, **broker)
    alter(side, "all back", "", *gone[:-1], **broker)
    old = {"resource_type": 4, "resource_name": "1"}
    old["configs"] = [{"name": names[0], "value": "5"}]
    side.ask("the old form", "AlterConfigs", 2, resources=[old])
    side.settle()
    describe(side, "in the old form", "1", *names, of_listener, **broker)
    side.ask(
        "none, in the old form", "AlterConfigs", 2, resources=[old | {"configs": []}]
    )
    side.settle()
    describe(side, "in the end", "1", *names, of_listener, **broker)


ONLY_CHECK = {"validate_only": True}
THREADS = {
    "num.network.threads": 1,
    "num.io.threads": 1,
    "num.replica.fetchers": 1,
    "num.recovery.threads.per.data.dir": 2,
    "background.threads": 10,
    "log.cleaner.threads": 1,
}


def threads_change_little_by_little(side):
    """KIP-226: at least half as many as now, at most twice as many."""
    for name, now in THREADS.items():
        for wanted in sorted(
            {0, now // 2 - 1, now // 2, now, 2 * now, 2 * now + 1, 999}
        ):
            for what, who in (("1", "1"), ("all", "")):
                change = (SET, name, str(wanted))
                asked = f"{name}={wanted} of {what}"
                alter(side, asked, who, change, kind=4, **ONLY_CHECK)
    grown = (SET, "background.threads", "20")
    alter(side, "twice as many", "1", grown, kind=4)
    side.settle()
    for wanted in ("40", "41", "9"):
        change = (SET, "background.threads", wanted)
        alter(side, f"{wanted} then", "1", change, kind=4, **ONLY_CHECK)
    alter(side, "10 again", "1", (SET, "background.threads", "10"), kind=4)
    side.settle()
    alter(side, "back", "1", (DELETE, "background.threads", None), kind=4)
    side.settle()


THROTTLES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)


def throttles(side):
    """What kafka-reassign-partitions sets with --throttle, and takes back."""
    kinds = {"kind": 4, "versions": (1,)}
    for name in THROTTLES:
        for value in ("1000", "-1", "x", "0", "9223372036854775807"):
            for broker in ("1", ""):
                what = f"{name}={value} of {broker}"
                alter(side, what, broker, (SET, name, value), **kinds)
    side.settle()
    for broker in ("1", ""):
        describe(side, f"set, of {broker!r}", broker, *THROTTLES, kind=4)
        for name in THROTTLES:
            what = f"{name} back, of {broker}"
            alter(side, what, broker, (DELETE, name, None), **kinds)


LISTS = (
    *("0:1", "00:01", "0:1,1:1,0:1", " 0:1 , 1:1 ", "0: 1", "0:99999999999", "0-1"),
    *("", " ", ",", "0:1,", "0:1,,1:1", "*", " * ", "*,", ",*", "*,*", "0:1,*"),
)


def throttled_replicas(side):
    """KIP-73: which lists are legal, and what becomes of one that more is added to."""
    name = "leader.replication.throttled.replicas"
    topic = side.create_topic()
    for text in LISTS:
        for number, how in enumerate((SET, APPEND, APPEND, SUBTRACT)):
            what = f"{number}, {how} {text!r}"
            alter(side, what, topic, (how, name, text))
            side.settle()
            describe(side, f"after {what}", topic, name)
        alter(side, f"without {text!r}", topic, (DELETE, name, None))


def configs_take_effect_at_once(side):
    """KIP-339: what is set counts for the next request."""
    topic = side.create_topic()
    large, small = batch(bytes(2000)), batch(b"a", timestamp=in_half_an_hour())
    for name, value in {
        "max.message.bytes": "1000",
        "min.insync.replicas": "2",
        "message.timestamp.type": "LogAppendTime",
        "message.timestamp.before.max.ms": "1000",
    }.items():
        assert alter(side, name, topic, (SET, name, value)).responses[0].error_code == 0
        side.settle()
        side.produce(f"{name}, large", large)
        side.produce(f"{name}, small", small)
        alter(side, f"{name} back", topic, (DELETE, name, None))
        side.settle()
        side.produce(f"{name} back, large", large)
    side.fetch("what was stored", versions=(4, 11))
    side.produce("above message.max.bytes", batch(bytes(1_100_000)))
    alter(side, "message.max.bytes", "", (SET, "message.max.bytes", "2000000"), kind=4)
    side.settle()
    side.produce("below it", batch(bytes(1_100_000)))
    alter(
        side, "message.max.bytes back", "", (DELETE, "message.max.bytes", None), kind=4
    )
    side.settle()
    side.produce("above it again", batch(bytes(1_100_000)))


def describe_configs(side):
    """KIP-133; KIP-569: their types and documentation."""
    topic = side.create_topic(retention_ms=1000, cleanup_policy="delete")
    describe(side, "a topic", topic)
    describe(side, "without synonyms", topic, include_synonyms=False)
    describe(side, "some", topic, "retention.ms", "no.such.config", "segment.ms")
    describe(side, "an unknown topic", side.name + ".none")
    describe(side, "an illegal topic", "a b")
    describe(side, "no name", "")
    for kind in (0, 1, 3, 99):
        describe(side, f"type {kind}", "x", kind=kind)
    one = {"resource_type": 2, "resource_name": topic, "configuration_keys": []}
    side.ask("no keys", "DescribeConfigs", resources=[one])
    one["configuration_keys"] = ["retention.ms"]
    side.ask(
        "two",
        "DescribeConfigs",
        resources=[one, one | {"resource_name": topic + ".none"}],
    )
    side.ask("the same twice", "DescribeConfigs", resources=[one, one])
    side.ask("nothing", "DescribeConfigs", resources=[])


SCENARIOS = (
    topic_configs_are_checked,
    incremental_alter_configs,
    broker_configs,
    configs_that_no_broker_knows,
    threads_change_little_by_little,
    throttles,
    throttled_replicas,
    configs_take_effect_at_once,
    describe_configs,
)
