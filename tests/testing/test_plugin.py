"""The plugin, in a pytest of its own."""

import subprocess
import sys

import pytest

from minikafka.testing import Kafka

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow


@pytest.fixture
def run(pytester):
    """Runs a file of tests; the outcome of each."""

    def run(text, *args):
        pytester.makepyfile(text)
        plugin = ("-p", "no:minikafka", "-p", "minikafka.testing.plugin")
        return pytester.runpytest_inprocess(*plugin, *args)

    return run


def test_ten_lines_are_a_test_with_a_real_client(run):
    run(
        """
        from kafka import KafkaProducer

        def test_a_payment_is_written(kafka):
            topic = kafka.topic()
            producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
            producer.send(topic, b"paid")
            producer.close()
            assert kafka.records(topic).values == [b"paid"]
        """
    ).assert_outcomes(passed=1)


def test_tests_share_a_broker_and_none_sees_the_topics_of_another(run):
    run(
        """
        import pytest

        seen = []

        @pytest.mark.parametrize("number", range(3))
        def test_one(kafka, number):
            seen.append((kafka, kafka.topic(name="orders")))
            assert {each for each, _ in seen} == {kafka}
        """
    ).assert_outcomes(passed=3)


def test_a_fault_that_was_not_lifted_ends_with_its_test(run):
    run(
        """
        from kafka import KafkaProducer
        from minikafka.testing import Answer

        def test_one(kafka):
            kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE", times=None))

        def test_other(kafka):
            topic = kafka.topic()
            producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
            producer.send(topic, b"paid").get(60)
            producer.close()
        """
    ).assert_outcomes(passed=2)


def test_brokers_whose_time_was_moved_are_for_no_other_test(run):
    run(
        """
        seen = []

        def test_one(kafka):
            kafka.clock.advance(seconds=3600)
            seen.append(kafka)

        def test_other(kafka):
            assert kafka is not seen[0]
            assert kafka.clock.advanced_seconds == 0
        """
    ).assert_outcomes(passed=2)


def test_the_broker_of_a_session_stays(run):
    run(
        """
        def test_one(kafka, session_kafka):
            assert kafka is session_kafka
            kafka.broker(1).kill()

        def test_other(kafka, session_kafka):
            assert kafka is session_kafka
            assert kafka.broker(1).state == "up"
            kafka.topic()
        """
    ).assert_outcomes(passed=2)


def test_a_marker_says_which_brokers(run):
    run(
        """
        import pytest

        @pytest.mark.minikafka(brokers=2, config={"log.retention.ms": 1000})
        def test_two(kafka):
            assert len(kafka.bootstrap_servers.split(",")) == 2

        def test_three(kafka_cluster):
            assert len(kafka_cluster.bootstrap_servers.split(",")) == 3

        @pytest.mark.minikafka(broker=2)
        def test_typing_error(kafka):
            pass
        """,
        "--strict-markers",
    ).assert_outcomes(passed=2, errors=1)


def test_a_failure_shows_what_the_topic_holds(run):
    result = run(
        """
        from kafka import KafkaProducer

        def test_one(kafka):
            topic = kafka.topic(name="orders")
            producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
            producer.send(topic, key=b"alice", value=b"paid")
            producer.close()
            assert kafka.records(topic).values == [b"refunded"]
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*orders: 1 committed record(s)*",
            "*partition  offset  key    value  headers*",
            "*0          0       alice  paid*",
        ]
    )


def test_a_failure_tells_what_clients_asked_in_this_test(run):
    result = run(
        """
        from kafka import KafkaProducer

        def send(kafka, client_id):
            producer = KafkaProducer(
                bootstrap_servers=kafka.bootstrap_servers, client_id=client_id
            )
            producer.send(kafka.topic(), b"paid").get(60)
            producer.close()

        def test_one(kafka):
            send(kafka, "till 1")

        def test_other(kafka):
            send(kafka, "till 2")
            assert False
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*What kafka heard from clients, and what came of it*", "*till 2: Produce *"]
    )
    result.stdout.no_fnmatch_line("*till 1*Produce topic*")


def test_a_failure_has_a_page_that_plays_what_happened(run, pytester):
    result = run(
        """
        from kafka import KafkaProducer

        def test_one(kafka):
            producer = KafkaProducer(
                bootstrap_servers=kafka.bootstrap_servers, client_id="till"
            )
            producer.send(kafka.topic(name="orders"), b"paid").get(60)
            producer.close()
            assert False
        """
    )
    result.stdout.fnmatch_lines(["see it step by step: file:///*test_one*.html"])
    [page] = pytester.path.glob(".pytest_cache/d/minikafka/*.html")
    text = page.read_text("utf-8")
    assert "Partition 0 of orders" in text
    assert "Till writes “paid” to partition 0, at offset 0." in text


def test_a_failure_without_a_cache_has_its_page_in_a_temporary_folder(run, tmp_path):
    result = run(
        """
        import tempfile

        def test_one(kafka, monkeypatch, tmp_path):
            monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
            kafka.topic()
            assert False
        """,
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'temp'}",
    )
    result.stdout.fnmatch_lines(["see it step by step: file:///*test_one*.html"])


def test_a_test_that_passes_loads_no_pictures():
    code = """
from minikafka.testing import Kafka
with Kafka() as kafka:
    assert kafka.records(kafka.topic()) == []
import sys
assert not [name for name in sys.modules if name.startswith("minikafka.theatre")]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_kafka_may_be_named_and_what_it_can_not_do_is_skipped(run):
    with Kafka() as another:
        result = run(
            """
            from minikafka.testing import Lose

            def test_topic(kafka):
                assert kafka.records(kafka.topic()) == []

            def test_fault(kafka):
                with kafka.fault(Lose("Produce")):
                    pass

            def test_clock(kafka):
                kafka.clock.advance(seconds=1)
            """,
            f"--kafka={another.bootstrap_servers}",
            "-rs",
        )
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["*needs minikafka's own brokers*"])
