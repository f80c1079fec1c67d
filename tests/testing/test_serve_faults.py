"""`minikafka serve --faults FILE`: brokers that fail by a plan, for any client."""

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from minikafka.server.embedded import Served
from tests.server.test_life import refused  # noqa: F401 (a fixture)

LOST = """
[[faults]]
fault = "Lose"
api = "Produce"
topic = "orders"
answer = true
"""


@pytest.fixture
def file(tmp_path):
    """A plan, in a file."""

    def file(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return str(path)

    return file


@pytest.mark.parametrize(("is_idempotent", "count"), [(True, 1), (False, 2)])
def test_kip_98_a_record_whose_answer_is_lost_is_there_once_if_its_producer_is_idempotent(
    file, is_idempotent, count
):
    with Served(options=("--faults", file(LOST))) as kafka:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "enable.idempotence": is_idempotent,
                "log_level": 0,
            }
        )
        producer.produce("orders", b"paid")
        assert producer.flush(60) == 0
        assert end_of(kafka.bootstrap, "orders") == count
        kafka.stop()
        line = (
            "minikafka: Lose('Produce', topic='orders', answer=True) has hit 1 time(s)."
        )
        assert kafka.said() == line


def end_of(bootstrap, topic):
    """The offset after its last record."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "none", "log_level": 0}
    consumer = confluent_kafka.Consumer(settings)
    place = confluent_kafka.TopicPartition(topic, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=60)
    consumer.close()
    return end


def test_three_brokers_begin_with_the_id_that_is_wanted(file):
    options = ("--faults", file(LOST), "--brokers", "3", "--override", "node.id=0")
    with Served(options=options) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        assert sorted(admin.list_topics(timeout=60).brokers) == [0, 1, 2]


def test_clients_are_told_the_advertised_address_and_may_have_to_log_in(file):
    options = (
        *("--override", "listeners=DOOR://:0"),
        *("--override", "advertised.listeners=DOOR://localhost:0"),
        *("--override", "listener.security.protocol.map=DOOR:SASL_PLAINTEXT"),
        *("--override", "sasl.enabled.mechanisms=SCRAM-SHA-256"),
        *("--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret]"),
    )
    with Served(options=("--faults", file(LOST), *options)) as kafka:
        assert kafka.bootstrap.startswith("localhost:")
        login = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "alice",
            "sasl.password": "alice-secret",
        }
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap} | login)
        assert admin.list_topics(timeout=60).brokers[1].host == "localhost"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--faults: can't read /no/such/plan.toml: No such file"),
        (["--data", "x"], "--data: brokers with --faults are for a test: they run in"),
        (["--metrics", "0"], "--metrics: brokers with --faults are for a test"),
        (["--brokers", "3", "--processes"], "--processes: brokers with --faults are"),
        (["--trace", "x"], "--trace: brokers with --faults are for a test"),
        (["--control", "x"], "--control: 'x' is not a port"),
        (["--control", "0"], "--control: only who knows a token may control the"),
    ],
)
def test_what_brokers_of_a_test_do_not_have_is_refused(options, words, refused):  # noqa: F811
    code, errors = refused("--port", "0", "--faults", "/no/such/plan.toml", *options)
    assert code in (1, 2)
    assert words in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("plan", "options", "words"),
    [
        (LOST.replace("answer", "anwser"), [], "line 2, fault 1: Lose has no 'anwser'"),
        ("\xff", [], "this is no TOML"),
        (LOST, ["--override", "num.partitions=x"], "--override: config:"),
        (
            LOST,
            ["--override", "listeners=SSL://:0"],
            "listeners: SSL has TLS, and faults meet no client there",
        ),
    ],
)
def test_a_wrong_plan_gets_one_helpful_line(file, plan, options, words, refused):  # noqa: F811
    code, errors = refused("--port", "0", "--faults", file(plan), *options)
    assert code == 1
    assert words in errors
    assert errors.count("\n") == 1
