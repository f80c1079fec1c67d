"""Lesson 21's schema registry: Confluent's clients talk to it over HTTP, and its memory
is a compacted topic of a real broker.
"""

import json
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import (
    ProtobufDeserializer,
    ProtobufSerializer,
)
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.course.experiments.lesson_21_http import Served, replied
from minikafka.course.experiments.lesson_21_registry import Log, Registry
from tests.clients.brokers import fresh_name, minikafka
from tests.kafka import APACHE_KAFKA, BOTH, ApacheKafka

pytestmark = pytest.mark.slow

OLD = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "customer", "type": "string"},
        {"name": "cents", "type": "long"},
    ],
}


def with_fields(*more):
    return json.dumps(OLD | {"fields": [*OLD["fields"], *more]})


COPIES_FIRST = json.dumps(
    OLD
    | {
        "fields": [
            OLD["fields"][0],
            {"name": "copies", "type": "long", "default": 1},
            OLD["fields"][1],
        ]
    }
)
COUPON = {"name": "coupon", "type": "string"}
ORDER = {"customer": "alice", "cents": 2000}


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request):
    if request.param == APACHE_KAFKA:
        with ApacheKafka() as apache:
            yield apache.bootstrap
    else:
        with minikafka() as address:
            yield address


@pytest.fixture
def schemas(bootstrap):
    """A compacted topic for schemas, and how to start a registry on it."""
    name, clients = fresh_name("schemas"), []
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        wanted = {"num_partitions": 1, "replication_factor": 1}
        wanted["configs"] = {"cleanup.policy": "compact"}
        admin.create_topics({name: wanted})
        admin.wait_for_topics([name], 240_000)

    def start(level="BACKWARD"):
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None
        )
        consumer.assign([TopicPartition(name, 0)])
        clients.extend([KafkaProducer(bootstrap_servers=bootstrap), consumer])
        return Registry(Log(name, *clients[-2:]), level)

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def served(schemas):
    with Served(schemas()) as registry:
        yield registry


@pytest.fixture
def client(served):
    return SchemaRegistryClient({"url": served.url})


@pytest.fixture
def travels(bootstrap):
    """A value goes to a topic and comes back, by librdkafka."""

    def through(topic, value):
        producer = Producer({"bootstrap.servers": bootstrap})
        sent = []
        producer.produce(topic, value, on_delivery=lambda _, done: sent.append(done))
        assert producer.flush(240) == 0
        settings = {"bootstrap.servers": bootstrap, "group.id": "unused"}
        with closing(Consumer(settings)) as consumer:
            consumer.assign([Place(topic, sent[0].partition(), sent[0].offset())])
            message = consumer.poll(240)
            assert message.error() is None
            return message.value()

    return through


def at_value_of(topic):
    return SerializationContext(topic, MessageField.VALUE)


def test_confluents_avro_serializer_and_deserializer_go_by_our_registry(
    client, served, travels
):
    topic = fresh_name("orders")
    writes = AvroSerializer(client, COPIES_FIRST)
    value = travels(topic, writes(ORDER | {"copies": 2}, at_value_of(topic)))
    assert value[:5] == b"\0\0\0\0\1"
    reads = AvroDeserializer(SchemaRegistryClient({"url": served.url}), json.dumps(OLD))
    assert reads(value, at_value_of(topic)) == ORDER
    # newer clients ask first whether the topic has subjects of its own, and take a 404
    assert [call for call in served.calls if "/associations/" not in call] == [
        f"POST /subjects/{topic}-value/versions",
        "GET /schemas/ids/1",
    ]


def test_confluents_json_serializer_and_deserializer_go_by_our_registry(
    client, served, travels
):
    topic = fresh_name("orders")
    schema = json.dumps(
        {
            "title": "Order",
            "type": "object",
            "properties": {
                "customer": {"type": "string"},
                "cents": {"type": "integer"},
            },
        }
    )
    value = travels(topic, JSONSerializer(schema, client)(ORDER, at_value_of(topic)))
    assert value[:5] == b"\0\0\0\0\1" and json.loads(value[5:]) == ORDER
    other = SchemaRegistryClient({"url": served.url})
    reads = JSONDeserializer(None, schema_registry_client=other)
    assert reads(value, at_value_of(topic)) == ORDER


def a_message():
    """The class of a message Order, as protoc would make it."""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    field = descriptor_pb2.FieldDescriptorProto
    for number, (name, kind) in enumerate(
        {"customer": field.TYPE_STRING, "cents": field.TYPE_INT64}.items(), 1
    ):
        message.field.add(
            name=name, number=number, type=kind, label=field.LABEL_OPTIONAL
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))


def test_confluents_protobuf_serializer_and_deserializer_go_by_our_registry(
    client, served, travels
):
    topic, kind = fresh_name("orders"), a_message()
    settings = {"use.deprecated.format": False}
    writes = ProtobufSerializer(kind, client, settings)
    value = travels(topic, writes(kind(**ORDER), at_value_of(topic)))
    other = SchemaRegistryClient({"url": served.url})
    reads = ProtobufDeserializer(kind, settings, other)
    assert reads(value, at_value_of(topic)) == kind(**ORDER)
    latest = other.get_latest_version(f"{topic}-value")
    assert latest.schema.schema_type == "PROTOBUF" and latest.version == 1


def test_a_registry_that_was_killed_knows_from_the_topic_what_the_last_one_knew(
    schemas,
):
    first = schemas()
    first.set_level("orders-value", "NONE")
    numbers = [
        first.register("orders-value", schema=json.dumps(OLD)),
        first.register("orders-value", schema='"string"'),
        first.register("refunds-value", schema=json.dumps(OLD)),
    ]
    assert numbers == [1, 2, 1]  # the same schema has one id, whose it may be
    again = schemas()
    assert (
        again.subjects
        == first.subjects
        == {"orders-value": [1, 2], "refunds-value": [1]}
    )
    assert again.schemas.keys() == {1, 2} and again.levels == {
        "": "BACKWARD",
        "orders-value": "NONE",
    }
    assert again.register("orders-value", schema='"string"') == 2
    assert again.register("orders-value", schema='"long"') == 3
    assert first.register("orders-value", schema='"long"') == 3  # it catches up


def test_a_schema_that_breaks_readers_is_refused_with_409_and_the_level_decides(
    client,
):
    subject = fresh_name("orders-value")
    client.register_schema(subject, Schema(json.dumps(OLD), "AVRO"))
    without = Schema(with_fields(COUPON), "AVRO")
    with pytest.raises(SchemaRegistryError, match="No default value") as refused:
        client.register_schema(subject, without)
    assert refused.value.http_status_code == 409
    assert not client.test_compatibility(subject, without)
    assert client.get_compatibility(subject) == "BACKWARD"
    client.set_compatibility(subject, "FORWARD")
    assert client.register_schema(subject, without) == 2
    assert client.get_versions(subject) == [1, 2]
    assert client.lookup_schema(subject, without).version == 2


def test_backward_looks_at_the_last_version_alone_and_transitive_at_all(client):
    subject = fresh_name("orders-value")
    with_default = Schema(with_fields(COUPON | {"default": ""}), "AVRO")
    client.register_schema(subject, Schema(json.dumps(OLD), "AVRO"))
    client.register_schema(subject, with_default)
    client.set_compatibility(subject, "BACKWARD_TRANSITIVE")
    with pytest.raises(SchemaRegistryError):
        client.register_schema(subject, Schema(with_fields(COUPON), "AVRO"))
    client.set_compatibility(subject, "BACKWARD")
    client.register_schema(subject, Schema(with_fields(COUPON), "AVRO"))
    assert client.get_versions(subject) == [1, 2, 3]


def test_what_is_not_there_is_404_with_the_registrys_own_code(client):
    for asked, code in [
        (lambda: client.get_schema(7), 40403),
        (lambda: client.get_latest_version("nothing-value"), 40401),
        (lambda: client.get_version("nothing-value", 1), 40401),
    ]:
        with pytest.raises(SchemaRegistryError) as refused:
            asked()
        assert (refused.value.http_status_code, refused.value.error_code) == (404, code)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/subjects/orders-value/versions", b"no JSON", 400),
        ("POST", "/subjects/orders-value/versions", b"[]", 422),
        ("POST", "/subjects/orders-value/versions", b"", 422),
        ("PUT", "/config", b'{"compatibility": "BEST"}', 422),
        ("PUT", "/config", b"7", 422),
        ("GET", "/subjects/orders-value/versions/x", b"", 404),
        ("GET", "/schemas/ids/x", b"", 404),
        ("GET", "/", b"", 404),
        ("GET", "/config", b"", 200),
        ("GET", "/subjects", b"", 200),
    ],
)
def test_what_is_no_call_is_refused_calmly(schemas, method, path, body, status):
    assert replied(schemas(), method, path, body)[0] == status


@pytest.mark.parametrize("value", [b'{"customer": "bob"}', b"", b"\0\0\0"])
def test_no_broker_refuses_a_value_without_a_schema_and_the_deserializer_does(
    client, travels, value
):
    topic = fresh_name("orders")
    client.register_schema(f"{topic}-value", Schema(json.dumps(OLD), "AVRO"))
    came = travels(topic, value)
    assert came == value
    with pytest.raises(Exception, match=r"(?i)magic|small|too short|data"):
        AvroDeserializer(client, json.dumps(OLD))(came or b"\0", at_value_of(topic))


def test_without_the_writers_schema_avro_reads_another_number_and_says_nothing(travels):
    from minikafka.course.experiments.lesson_21_compatibility import read, write

    newer = json.loads(COPIES_FIRST)
    sent = write(newer, ORDER | {"copies": 2})
    came = travels(fresh_name("orders"), sent)
    assert read(came, OLD) == {"customer": "alice", "cents": 2}
    assert read(came, newer, OLD) == ORDER
