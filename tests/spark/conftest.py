"""What the tests of Spark share: a Kafka of each kind, an admin client of it, and a
Spark session.
"""

import pytest
from kafka import KafkaAdminClient

from minikafka.course.connect import Connection
from minikafka.server.embedded import Served
from tests.kafka import BOTH, ApacheKafka


@pytest.fixture(
    scope="module",
    params=BOTH,
)
def bootstrap(request):
    with Served() if request.param == "minikafka" else ApacheKafka() as kafka:
        yield kafka.bootstrap


@pytest.fixture(scope="module")
def kafka(bootstrap):
    return Connection(bootstrap)


@pytest.fixture(scope="module")
def admin(bootstrap):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield admin
    admin.close()


@pytest.fixture(scope="module")
def spark():
    from minikafka.course.spark import session

    spark = session("tests")
    yield spark
    spark.stop()
