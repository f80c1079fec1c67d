"""The table of configs: each row can be read, says what it is, and is honoured where it
says so; and what changes at run time takes effect at once.
"""

import re
from pathlib import Path

import pytest

import minikafka
from minikafka.broker.config import BrokerConfig
from minikafka.broker.config_table import (
    BROKER_CONFIGS,
    CLUSTER_WIDE,
    HONOURED,
    OTHERS,
    PER_BROKER,
    PER_LISTENER,
    READ_ONLY,
    TABLES,
    TOLD,
    TOPIC_CONFIGS,
    WITHOUT_EFFECT,
    _read,
    is_internal,
    parse,
    show,
)
from minikafka.broker.log_configs import NAMES
from minikafka.storage.config import LogConfig
from minikafka.wire.errors import Error, KafkaError
from tests.broker.node import Node

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE = 0, 1
# names that the code puts together: group.consumer.min.session.timeout.ms, for one
PUT_TOGETHER = re.compile(
    r"group\.(consumer|share|streams)\..*"
    r"|(offsets\.topic|transaction\.state\.log)\.(num\.partitions|segment\.bytes"
    r"|replication\.factor|min\.isr)"
    r"|log\.retention\.(hours|minutes)|log\.roll\.hours"
    r"|controller\.quorum\..*|share\.coordinator\.state\.topic\."
    r"(num\.partitions|replication\.factor|min\.isr|segment\.bytes)"
    r"|ssl\.(keystore|truststore)\.(location|password|type)"
)


@pytest.mark.parametrize("kind", TABLES)
def test_each_row_can_be_read_and_says_what_it_is(kind):
    for name, row in TABLES[kind].items():
        assert row.name == name
        assert row.documentation.endswith((".", ")")), name
        assert row.update in (READ_ONLY, CLUSTER_WIDE, PER_BROKER, PER_LISTENER)
        assert row.effect in ("", TOLD, *WITHOUT_EFFECT), name
        if row.synonym:
            assert row.synonym in BROKER_CONFIGS
    assert len(TABLES[kind]) == len(list(TABLES[kind]))


@pytest.mark.parametrize(("file", "is_honoured"), [(HONOURED, True), (OTHERS, False)])
def test_what_is_honoured_has_a_file_of_its_own(file, is_honoured):
    for lines in _read(file).values():
        for name, line in lines.items():
            assert (line.effect == "") == is_honoured, name


def test_a_broker_starts_without_the_file_of_the_others():
    for table in TABLES.values():
        table._rows.clear()
    _read.cache_clear()
    Node()
    assert _read.cache_info().misses == 1


def test_a_log_alone_has_the_defaults_of_its_topics_configs():
    for field, name in NAMES.items():
        assert getattr(LogConfig(), field) == TOPIC_CONFIGS[name].default, name
    expiration = BROKER_CONFIGS["producer.id.expiration.ms"]
    assert LogConfig().producer_id_expiration_ms == expiration.default


def the_code():
    """What minikafka's files say, but for the table's own and the course."""
    folder = Path(minikafka.__file__).parent
    texts = []
    for path in folder.rglob("*.py"):
        room = path.relative_to(folder).parts[0]
        is_of_the_table = path.name in ("config_table.py", "config_rules.py")
        if room not in ("course", "theatre", "clients") and not is_of_the_table:
            texts.append(path.read_text(encoding="utf-8"))
    return "".join(texts)


def test_a_config_is_honoured_where_the_table_says_so_and_nowhere_else():
    code = the_code()
    of_logs = {
        row.synonym
        for name, row in TOPIC_CONFIGS.items()
        if name.replace(".", "_") in code or f'"{name}"' in code
    }
    for name, row in BROKER_CONFIGS.items():
        if PUT_TOGETHER.fullmatch(name) or name in of_logs or row.effect == TOLD:
            continue
        is_asked_for = f'"{name}"' in code
        assert is_asked_for == (row.effect == ""), name
    for name, row in TOPIC_CONFIGS.items():
        is_asked_for = name.replace(".", "_") in code or f'"{name}"' in code
        if row.effect == "":
            assert is_asked_for, f"{name} is not honoured"


def test_each_reason_why_a_config_has_no_effect_is_some_configs():
    used = {row.effect for table in TABLES.values() for row in table.values()}
    assert used >= set(WITHOUT_EFFECT)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (12345.678, "12345.678"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e-4, "-2.5E-4"),
        (True, "true"),
        (None, None),
    ],
)
def test_a_value_is_written_as_java_writes_it(value, text):
    assert show(value) == text


def test_retention_may_be_said_in_hours_and_minutes():
    for given, ms in (
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ):
        config = BrokerConfig(properties=given)
        node = Node()
        value = config.value(node.broker.image, 1, TOPIC, "", "retention.ms")
        assert value.value == ms
        value = config.value(node.broker.image, 1, TOPIC, "", "segment.ms")
        assert value.value == 604_800_000


def test_what_a_node_is_cannot_be_given():
    with pytest.raises(KafkaError, match="it can't be given"):
        BrokerConfig(properties={"node.id": "7"})


def test_a_limit_on_all_connections_has_no_effect_for_one_listener():
    of_one = {
        "listener.name.ssl.max.connections": "5",
        "listener.name.ssl.ssl.client.auth": "none",
        "listener.name.other.ssl.client.auth": "none",
    }
    config = BrokerConfig({"SSL": ("localhost", 9092)}, of_one)
    assert config.without_effect == [
        "listener.name.ssl.max.connections",
        "listener.name.other.ssl.client.auth",
    ]


def test_a_property_without_effect_is_kept_and_named():
    given = {"num.io.threads": "2", "num.partitions": "2"}
    config = BrokerConfig(properties=given)
    assert config.without_effect == ["num.io.threads"]
    node = Node(num_io_threads=2)
    assert described(node, BROKER, "1")["num.io.threads"].value == "2"


def test_an_unknown_property_is_kept_and_its_value_is_told_to_nobody():
    given = {"my.plugin.setting": "1", "cleanup.policy": "compact"}
    config = BrokerConfig(properties=given)
    assert config.unknown == [*given] and config.without_effect == []
    found = described(Node(my_plugin_setting="1"), BROKER, "1")["my.plugin.setting"]
    assert (found.value, found.is_sensitive) == (None, True)


def test_a_secret_is_told_to_nobody():
    node = Node(ssl_key_password="secret")
    found = described(node, BROKER, "1")["ssl.key.password"]
    assert found.is_sensitive
    assert found.value is None
    assert [each.value for each in found.synonyms] == [None]


def test_a_secret_that_is_set_at_run_time_is_hidden_in_the_trace():
    """For one broker and for all; refused ones, too."""
    seen = []
    node = Node(listeners=[seen.append])
    secrets = [name for name, row in BROKER_CONFIGS.items() if row.is_sensitive]
    verdicts = set()
    for name in secrets:
        for broker in ("1", ""):
            verdicts.add(alter(node, BROKER, broker, (SET, name, "hunter2")))
            verdicts.add(alter(node, BROKER, broker, (DELETE, name, None)))
    assert "NONE" in verdicts and len(verdicts) > 1
    told = repr([(str(each), each.to_json()) for each in seen])
    assert "[hidden]" in told and "hunter2" not in told


def test_what_is_for_tests_is_described_nowhere():
    node = Node(internal_metadata_log_segment_bytes=500)
    node.create_topic("orders", internal_segment_bytes=500)
    for kind, name in ((BROKER, "1"), (TOPIC, "orders")):
        assert not [each for each in described(node, kind, name) if is_internal(each)]


def test_what_changes_at_run_time_takes_effect_at_once():
    node = Node()
    node.create_topic("orders")
    log = node.broker.replicas.find_or_create("orders", 0).log
    for name, value in (
        ("max.connections", "5"),
        ("producer.id.expiration.ms", "700"),
        ("group.consumer.assignment.interval.ms", "7"),
        ("transaction.partition.verification.enable", "false"),
        ("log.cleaner.backoff.ms", "70"),
        ("log.cleaner.dedupe.buffer.size", "2000000"),
    ):
        assert alter(node, BROKER, "1", (SET, name, value)) == "NONE"
        assert node.broker.in_force[name] == parse(BROKER_CONFIGS[name], value)
    assert log.config.producer_id_expiration_ms == 700
    assert alter(node, BROKER, "1", (DELETE, "producer.id.expiration.ms", None)) == (
        "NONE"
    )
    assert log.config.producer_id_expiration_ms == 86_400_000


def test_kip_412_a_loggers_level_decides_what_is_told():
    node = Node()
    told = []
    for level, how_many in (("INFO", 2), ("ERROR", 1), ("FATAL", 0)):
        assert alter(node, LOGGER, "1", (SET, "root", level)) == "NONE"
        node.broker.notice(f"a warning at {level}")
        node.broker.notice(f"an error at {level}", ValueError())
        told.append(len(node.out()) == how_many)
    assert told == [True, True, True]


def test_kip_412_the_request_logger_names_requests():
    node = Node()
    assert not node.broker.loggers.names_requests
    assert alter(node, LOGGER, "1", (SET, "kafka.request.logger", "DEBUG")) == "NONE"
    node.send("ApiVersions", 0)
    [notice, _] = node.out()
    assert notice.line == "client asks ApiVersions 0, correlation id 5"


def described(node, kind, name):
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": None,
    }
    asked = {"resources": [resource], "include_synonyms": True}
    [found] = node.call("DescribeConfigs", 4, **asked).results
    assert found.error_code == Error.NONE
    return {each.name: each for each in found.configs}


def alter(node, kind, name, *changes):
    configs = []
    for operation, key, value in changes:
        one = {"name": key, "config_operation": operation, "value": value}
        configs.append(one)
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = node.call("IncrementalAlterConfigs", 1, resources=[resource])
    return Error(answer.responses[0].error_code).name
