"""Every config of every kind of resource, described and changed: what is asked of both
brokers (see same_answers.py).
"""

from minikafka.broker.config_table import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    Type,
    is_internal,
    is_read_only,
    show,
)
from tests.conformance.scenarios_cluster import create
from tests.conformance.scenarios_configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    alter,
    describe,
)

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
NINES = "9" * 400
OF_NUMBERS = (Type.INT, Type.LONG, Type.SHORT, Type.DOUBLE)


def what_is_described(side):
    """All configs of a resource of each kind, with all that is told of them."""
    topic = side.create_topic()
    for what, kind, name in (
        ("topic", TOPIC, topic),
        ("broker", BROKER, "1"),
        ("all brokers", BROKER, ""),
        ("loggers", LOGGER, "1"),
        ("client metrics", CLIENT_METRICS, side.name),
        ("group", GROUP, side.name),
    ):
        describe(side, what, name, kind=kind, versions=(1, 3, 4))


def a_value(row):
    """One that is legal, where there is no default."""
    if row.default is not None:
        return show(row.default)
    return "1" if row.type in OF_NUMBERS else "x"


def which_may_change(side):
    """Each of a broker's configs, for this broker and for all."""
    for name, row in sorted(BROKER_CONFIGS.items()):
        if is_internal(name):
            continue
        for broker in ("1", ""):
            alter(
                side,
                f"{name} of {broker or 'all'}",
                broker,
                (SET, name, a_value(row)),
                kind=BROKER,
                versions=(1,),
                validate_only=True,
            )
    three = [(SET, name, "1") for name in ("node.id", "log.dirs", "process.roles")]
    alter(side, "three of them", "1", *three, kind=BROKER, versions=(1,))


def what_the_authorizer_reads(side):
    """The broker doesn't know these: it keeps and tells them. Ends as it began."""
    wanted = {"super.users": "User:a", "allow.everyone.if.no.acl.found": "true"}
    for broker in ("1", ""):
        sets = [(SET, name, value) for name, value in wanted.items()]
        alter(side, f"set for {broker}", broker, *sets, kind=BROKER, versions=(1,))
        side.settle()
        describe(side, f"set for {broker}", broker, *wanted, kind=BROKER)
        describe(side, f"this one, set for {broker}", "1", *wanted, kind=BROKER)
    for broker in ("1", ""):
        back = [(DELETE, name, None) for name in wanted]
        alter(side, f"back for {broker}", broker, *back, kind=BROKER, versions=(1,))
    side.settle()
    describe(side, "in the end", "1", *wanted, kind=BROKER)


BAD = {
    "num.io.threads": ("x", "100"),
    "ssl.keystore.location": ("/x",),
    "ssl.client.auth": ("maybe",),
    "sasl.enabled.mechanisms": ("PLAIN",),
    "log.cleaner.threads": ("2", "-1"),
    "log.cleaner.io.buffer.load.factor": ("x", "0.7"),
    "max.connections": ("500", "-1"),
    "max.connections.per.ip.overrides": ("a", "127.0.0.1:5"),
    "log.retention.hours": ("3",),
    "metric.reporters": ("",),
    "listeners": ("PLAINTEXT://127.0.0.1:9",),
    "log.local.retention.ms": ("-3", "5"),
    "log.roll.jitter.ms": ("-1", "5"),
    "group.consumer.assignment.interval.ms": ("99999", "-1"),
    "group.share.assignment.interval.ms": ("99999",),
    "cordoned.log.dirs": ("/y",),
    "principal.builder.class": ("x",),
    "config.providers": ("x",),
    "listener.name.plaintext.ssl.keystore.type": ("JKS",),
    "compression.gzip.level": ("0", "10"),
    "producer.id.expiration.ms": ("0", "5"),
    "transaction.partition.verification.enable": ("maybe",),
}


def which_values_are_legal(side):
    for name, values in BAD.items():
        for value in values:
            for broker in ("1", ""):
                alter(
                    side,
                    f"{name}={value} of {broker or 'all'}",
                    broker,
                    (SET, name, value),
                    kind=BROKER,
                    versions=(1,),
                    validate_only=True,
                )


def how_many_must_be_in_sync(side):
    """KIP-966: with eligible leader replicas it is said for all brokers. Ends as it
    began.
    """
    name = "min.insync.replicas"
    topic = side.create_topic()
    broker = {"kind": BROKER, "versions": (1,)}

    def shown(what):
        side.settle()
        describe(side, f"of all, {what}", "", kind=BROKER, versions=(4,))
        describe(side, f"of this one, {what}", "1", name, kind=BROKER, versions=(4,))
        describe(side, f"of the topic, {what}", topic, name, versions=(4,))

    shown("at first")
    alter(side, "of this one", "1", (SET, name, "1"), **broker)
    alter(side, "of this one back", "1", (DELETE, name, None), **broker)
    alter(side, "of all back", "", (DELETE, name, None), **broker)
    alter(side, "0 for all", "", (SET, name, "0"), **broker)
    alter(side, "2 for all", "", (SET, name, "2"), **broker)
    shown("with 2")
    for what, configs in (
        ("nothing", []),
        ("another", [{"name": "log.cleaner.threads", "value": "1"}]),
        ("1 for all", [{"name": name, "value": "1"}]),
    ):
        one = {"resource_type": BROKER, "resource_name": "", "configs": configs}
        side.ask(f"the old form: {what}", "AlterConfigs", 2, resources=[one])
    shown("in the end")


def retention_in_other_units(side):
    """log.retention.ms stands before log.retention.minutes and .hours. Ends as it
    began.
    """
    topic = side.create_topic()
    names = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    rolls = ("log.roll.ms", "log.roll.hours", "log.roll.jitter.ms")
    of_topic = ("retention.ms", "segment.ms", "segment.jitter.ms", "flush.ms")

    def shown(what):
        side.settle()
        describe(side, f"brokers, {what}", "1", *names, *rolls, kind=BROKER)
        describe(side, f"topics, {what}", topic, *of_topic)

    shown("at first")
    changes = {"log.retention.ms": "7000", "log.roll.ms": "9000"}
    for broker in ("", "1"):
        sets = [(SET, name, value) for name, value in changes.items()]
        alter(side, f"set for {broker}", broker, *sets, kind=BROKER, versions=(1,))
    shown("set")
    for broker in ("", "1"):
        back = [(DELETE, name, None) for name in changes]
        alter(side, f"back for {broker}", broker, *back, kind=BROKER, versions=(1,))
    shown("back")


def loggers(side):
    """KIP-412. Ends as it began."""
    for name in ("", "7", "x"):
        describe(side, f"of broker {name!r}", name, kind=LOGGER)
        change = (SET, "root", "INFO")
        alter(side, f"of broker {name!r}", name, change, kind=LOGGER)
    describe(side, "root at first", "1", "root", kind=LOGGER)
    for change in (
        (SET, "root", "info"),
        (SET, "root", "LOUD"),
        (SET, "root", "OFF"),
        (SET, "root", None),
        (DELETE, "root", None),
        (APPEND, "root", "INFO"),
        (SUBTRACT, "root", "INFO"),
        (SET, "no.such", "INFO"),
        (DELETE, "no.such", None),
        (SET, "", "INFO"),
    ):
        alter(side, f"{change}", "1", change, kind=LOGGER)
    for level in ("TRACE", "DEBUG", "INFO", "WARN", "FATAL", "ERROR"):
        change = (SET, "root", level)
        alter(side, f"maybe {level}", "1", change, kind=LOGGER, validate_only=True)
        describe(side, f"after maybe {level}", "1", "root", kind=LOGGER)
        alter(side, f"to {level}", "1", change, kind=LOGGER, versions=(1,))
        describe(side, f"after {level}", "1", "root", kind=LOGGER)
    both = (SET, "root", "INFO"), (SET, "x.y", "INFO")
    alter(side, "one good, one bad", "1", *both, kind=LOGGER)
    alter(side, "twice", "1", both[0], both[0], kind=LOGGER)
    describe(side, "in the end", "1", "root", kind=LOGGER)
    change = {"name": "root", "value": "INFO"}
    one = {"resource_type": LOGGER, "resource_name": "1", "configs": [change]}
    side.ask("the old form", "AlterConfigs", resources=[one])
    side.ask("listed", "ListConfigResources", 1, resource_types=[LOGGER])


def client_metrics(side):
    """KIP-714. What is subscribed is kept; clients push nothing here."""
    kind = {"kind": CLIENT_METRICS}
    describe(side, "no name", "", **kind)
    alter(side, "no name", "", (SET, "interval.ms", "1000"), **kind)
    for change in (
        (SET, "interval.ms", "100"),
        (SET, "interval.ms", "99"),
        (SET, "interval.ms", "x"),
        (SET, "interval.ms", "3600001"),
        (SET, "interval.ms", None),
        (SET, "no.such", "1"),
        (DELETE, "no.such", None),
        (SET, "metrics", "a,b"),
        (SET, "metrics", ""),
        (APPEND, "metrics", "c"),
        (SUBTRACT, "metrics", "c"),
        (SET, "match", "client_id=a.*"),
        (SET, "match", "client_id=a.*,client_software_name=b"),
        (SET, "match", "who=a"),
        (SET, "match", "client_id=["),
        (SET, "match", "client_id=a=b"),
        (SET, "match", "x"),
        (SET, "match", ""),
    ):
        alter(side, f"{change}", side.name, change, validate_only=True, **kind)
    wanted = {
        "interval.ms": "1000",
        "metrics": "org.a,org.b",
        "match": "client_id=a,client_software_name=x",
    }
    sets = [(SET, name, value) for name, value in wanted.items()]
    for what, changes in (
        ("set", sets),
        ("one back", [(DELETE, "metrics", None)]),
        ("all back", [(DELETE, name, None) for name in wanted]),
    ):
        alter(side, what, side.name, *changes, **kind)
        side.settle()
        describe(side, f"after {what}", side.name, **kind)
        side.ask(f"listed after {what}", "ListConfigResources", 0)


OF_GROUPS = {
    "consumer.session.timeout.ms": ("1", "44999", "60001", "50000"),
    "consumer.heartbeat.interval.ms": ("0", "1", "15001", "6000"),
    "consumer.assignment.interval.ms": ("-1", "0", "15001"),
    "share.auto.offset.reset": (
        "x",
        "EARLIEST",
        "earliest",
        "by_duration:PT1H",
        "by_duration:P1DT2H3M4.5S",
        "by_duration:p1dt1h",
        "by_duration:PT1,5S",
        "by_duration:PT1H-1M",
        "by_duration:-PT-1H",
        "by_duration:PT1.1234567890S",
        "by_duration:PT9223372036854775807S",
        "by_duration:PT9223372036854775808S",
        "by_duration:P106751991167301D",
        f"by_duration:P{NINES}D",
        f"by_duration:PT{NINES}S",
        "by_duration:-PT1H",
        "by_duration:P",
        "by_duration:1",
    ),
    "share.isolation.level": ("x", "READ_COMMITTED", "read_committed"),
    "share.renew.acknowledge.enable": ("x", "false"),
    "share.session.timeout.ms": ("1", "70000", "50000"),
    "share.heartbeat.interval.ms": ("1", "20000", "6000"),
    "share.record.lock.duration.ms": ("1", "1000", "15000", "70000"),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.partition.max.record.locks": ("1", "100", "4000", "5000"),
    "share.assignment.interval.ms": ("20000",),
    "streams.session.timeout.ms": ("1", "70000", "50000"),
    "streams.heartbeat.interval.ms": ("1", "20000", "6000"),
    "streams.num.standby.replicas": ("-1", "2", "3"),
    "streams.initial.rebalance.delay.ms": ("-1", "99999"),
    "streams.assignment.interval.ms": ("20000",),
    "consumer.assignor.offload.enable": ("true",),
    "streams.assignor.name": ("sticky", "other", ""),
    "errors.deadletterqueue.topic.name": ("dlq.a", "__a", ""),
    "errors.deadletterqueue.copy.record.enable": ("true", "x"),
}


def groups(side):
    group = {"kind": GROUP, "versions": (1,)}
    for name, values in OF_GROUPS.items():
        for value in values:
            change = (SET, name, value)
            what = f"{name}={value}"
            alter(side, what, side.name, change, validate_only=True, **group)
    together = [
        (SET, "consumer.session.timeout.ms", "45000"),
        (SET, "consumer.heartbeat.interval.ms", "15000"),
        (SET, "share.auto.offset.reset", "earliest"),
    ]
    alter(side, "together", side.name, *together, **group)
    side.settle()
    describe(side, "after it", side.name, kind=GROUP)


OF_TOPICS = {
    "remote.storage.enable": ("true", "false", "x"),
    "remote.log.copy.disable": ("true",),
    "remote.log.delete.on.disable": ("true",),
    "local.retention.ms": ("1000", "-2", "-3"),
    "local.retention.bytes": ("5", "-2", "-3"),
    "leader.replication.throttled.replicas": ("*", "1:2,3:4", "x", "", "none"),
    "compression.gzip.level": ("0", "1", "9", "10", "-1"),
    "compression.lz4.level": ("0", "17"),
    "segment.jitter.ms": ("-1", "5"),
    "preallocate": ("true",),
}


def topics(side):
    """Those of tiered storage, and other ones that have no effect here."""
    topic = side.create_topic()
    for name, values in OF_TOPICS.items():
        for value in values:
            what = f"{name}={value}"
            change = (SET, name, value)
            alter(side, what, topic, change, versions=(1,), validate_only=True)
            pair = {"name": name, "value": value}
            create(
                side,
                what,
                7,
                name=side.name + ".new",
                configs=[pair],
                validate_only=True,
            )


NUMBERS = {
    "no number": "NaN",
    "infinite": "Infinity",
    "minus infinite": "-Infinity",
    "1e400": "1e400",
    "400 nines": NINES,
    "minus 400 nines": f"-{NINES}",
    "5000 nines": "9" * 5000,
    "more than a long": "9223372036854775808",
    "less than a long": "-9223372036854775809",
    "hexadecimal": "0x10",
    "with an underscore": "1_000",
    "with an exponent": "1e3",
    "nothing": "",
}
BEYOND = {
    Type.INT: {"more than an int": "2147483648", "less than an int": "-2147483649"},
    Type.SHORT: {"more than a short": "32768", "less than a short": "-32769"},
}


def numbers(side):
    """Each config that is a number and may change: what is none, or too large."""
    topic = side.create_topic()
    for what, kind, name, table in (
        ("topic", TOPIC, topic, TOPIC_CONFIGS),
        ("all brokers", BROKER, "", BROKER_CONFIGS),
        ("group", GROUP, side.name, GROUP_CONFIGS),
        ("client metrics", CLIENT_METRICS, side.name, CLIENT_METRICS_CONFIGS),
    ):
        for config, row in sorted(table.items()):
            is_fixed = is_internal(config) or is_read_only(kind, row)
            if row.type not in OF_NUMBERS or is_fixed:
                continue
            for which, text in (NUMBERS | BEYOND.get(row.type, {})).items():
                alter(
                    side,
                    f"{what} {config}={which}",
                    name,
                    (SET, config, text),
                    kind=kind,
                    versions=(1,),
                    validate_only=True,
                )


SCENARIOS = (
    what_is_described,
    which_may_change,
    what_the_authorizer_reads,
    which_values_are_legal,
    how_many_must_be_in_sync,
    retention_in_other_units,
    loggers,
    client_metrics,
    groups,
    topics,
    numbers,
)
