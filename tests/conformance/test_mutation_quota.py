"""KIP-599: what a client may change through the controller a second, and how versions
that know the error and older ones are answered; on both brokers.
"""

import pytest

from minikafka.wire.errors import Error
from tests.clients.brokers import minikafka
from tests.conformance.conftest import AT_ONCE
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = pytest.mark.slow

OK, TOO_MUCH = Error.NONE, Error.THROTTLING_QUOTA_EXCEEDED
HOURS = 3_600_000


@pytest.fixture(params=BOTH)
def bootstrap(request):
    if request.param == MINIKAFKA:
        with minikafka(AT_ONCE) as address:
            yield address
    else:
        with ApacheKafka({"log.initial.task.delay.ms": "3600000"}) as kafka:
            yield kafka.bootstrap


def asked(bootstrap, api, version, **body):
    """The error for each topic by name, and for how long the client is throttled; on a
    connection of its own, which is heard at once.
    """
    with Connection(bootstrap) as client:
        answer = client.ask(api, version, timeout_ms=5000, **body).to_dict()
    [rows] = [rows for rows in answer.values() if isinstance(rows, list)]
    codes = {row["name"]: Error(row["error_code"]) for row in rows}
    return codes, answer["throttle_time_ms"]


def topics(**partitions):
    return [
        {"name": name, "num_partitions": count, "replication_factor": 1}
        for name, count in partitions.items()
    ]


def test_kip_599_a_client_may_overdraw_its_tokens_once(bootstrap):
    rate = 0.001  # of a partition a second: the test takes no tokens' worth of time
    entity = [{"entity_type": "client-id", "entity_name": "raw"}]
    ops = [{"key": "controller_mutation_rate", "value": rate, "remove": False}]
    entries = [{"entity": entity, "ops": ops}]
    with Connection(bootstrap) as client:
        client.create_topic("before", 2)
        client.ask("AlterClientQuotas", 1, entries=entries, validate_only=False)

    def create(version, **partitions):
        return asked(bootstrap, "CreateTopics", version, topics=topics(**partitions))

    # the first ones are made before the quota is known everywhere, and with its token
    names = (f"early-{number}" for number in range(1000))
    while create(7, **{(name := next(names)): 1})[0] == {name: OK}:
        pass
    codes, throttle_ms = create(7, a=3, before=3)
    assert codes == {"a": TOO_MUCH, "before": Error.TOPIC_ALREADY_EXISTS}
    assert 0 < throttle_ms < HOURS
    codes, throttle_ms = create(5, b=10)
    assert codes == {"b": OK}
    assert throttle_ms > HOURS
    codes, _ = asked(
        bootstrap, "DeleteTopics", 5, topic_names=["before", "never there"]
    )
    assert codes == {
        "before": TOO_MUCH,
        "never there": Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    grown = [{"name": "before", "count": 3, "assignments": None}]
    codes, _ = asked(bootstrap, "CreatePartitions", 3, topics=grown)
    assert codes == {"before": TOO_MUCH}
    codes, _ = asked(bootstrap, "CreatePartitions", 2, topics=grown)
    assert codes == {"before": OK}
    codes, _ = asked(bootstrap, "DeleteTopics", 4, topic_names=["before"])
    assert codes == {"before": OK}
