"""Who a client is at a listener with a lock, and what the rules let it do: the principal
that TLS or SASL has shown is the one that StandardAuthorizer asks about (KIP-11).
"""

import asyncio

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.clients.brokers import until
from tests.clients.java_tools import JavaTools
from tests.clients.locked import (
    PATIENCE_S,
    Try,
    locked_apache_kafka,
    locked_minikafka,
    make_keys,
)
from tests.clients.locked_clients import (
    in_java,
    kcat,
    missing,
    of_aiokafka,
    of_java,
    of_kafka_python,
    of_librdkafka,
    words_of,
)
from tests.conformance.access import AUTHORIZED
from tests.kafka import BOTH, MINIKAFKA

pytestmark = pytest.mark.slow

# the listener without a lock is the administrator's
CONFIGS = {
    **AUTHORIZED,
    "allow.everyone.if.no.acl.found": "false",
    "super.users": "User:ANONYMOUS",
    "listener.name.mutual.ssl.principal.mapping.rules": (
        "RULE:^CN=([a-z]*)$/$1/U,DEFAULT"
    ),
}
RIGHTS = {
    "User:alice": (AclOperation.READ,),
    "User:bob": (AclOperation.WRITE,),
    "User:carol": (AclOperation.DESCRIBE,),
    "User:ALICE": (AclOperation.READ, AclOperation.WRITE),
}
TOPIC, GROUP = "orders", "billing"
REFUSED = "TOPIC_AUTHORIZATION_FAILED"
READS, WRITES = "reads", "writes"
# how somebody comes -> what reading and writing end with
WHO = {
    "alice by SCRAM": (Try("SASL_SSL", mechanism="SCRAM-SHA-512"), READS, REFUSED),
    "bob by PLAIN": (Try("SASL_PLAINTEXT", mechanism="PLAIN"), REFUSED, WRITES),
    "carol by a token": (Try("SASL_SSL", mechanism="OAUTHBEARER"), REFUSED, REFUSED),
    "alice's certificate, as ALICE": (Try("MUTUAL", shows="good"), READS, WRITES),
}


@pytest.fixture(scope="module", params=BOTH)
def broker(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    make_keys(folder)
    locked = locked_minikafka if request.param == MINIKAFKA else locked_apache_kafka
    with locked(folder, CONFIGS) as made:
        prepare(made)
        yield made


def prepare(broker):
    """One record in a topic, and the rules."""
    servers = {"bootstrap.servers": broker.at("PLAINTEXT")}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(PATIENCE_S)
    rules = [rule(ResourceType.GROUP, GROUP, "User:*", AclOperation.READ)]
    for principal, operations in RIGHTS.items():
        for operation in operations:
            rules.append(rule(ResourceType.TOPIC, TOPIC, principal, operation))
    for future in admin.create_acls(rules).values():
        future.result(PATIENCE_S)
    producer = confluent_kafka.Producer(servers)
    producer.produce(TOPIC, b"order")
    assert producer.flush(PATIENCE_S) == 0
    # Apache Kafka's broker learns of rules a little later than its controller
    bob, _, _ = WHO["bob by PLAIN"]
    until(lambda: librdkafka_writes(broker, bob) == WRITES, "the rules are known")


def rule(kind, name, principal, operation):
    whole_name, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, name, whole_name, principal, "*", operation, allow)


# --- clients: READS, WRITES, or the error's name ---


def librdkafka_reads(broker, how):
    consumer = confluent_kafka.Consumer(
        {**of_librdkafka(broker, how), "group.id": GROUP}
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    try:
        return librdkafkas_word(consumer.poll(PATIENCE_S).error(), READS)
    finally:
        consumer.close()


def librdkafka_writes(broker, how):
    told = []
    producer = confluent_kafka.Producer(of_librdkafka(broker, how))
    producer.produce(TOPIC, b"order", on_delivery=lambda error, _: told.append(error))
    assert producer.flush(PATIENCE_S) == 0
    [error] = told
    return librdkafkas_word(error, WRITES)


def librdkafkas_word(error, well):
    if error is None:
        return well
    refused = confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED
    return REFUSED if error.code() == refused else error.str()


def kafka_python_reads(broker, how):
    consumer = kafka.KafkaConsumer(
        auto_offset_reset="earliest", group_id=None, **of_kafka_python(broker, how)
    )
    consumer.assign([kafka.TopicPartition(TOPIC, 0)])
    try:
        return READS if consumer.poll(PATIENCE_S * 1000) else "nothing"
    except kafka.errors.KafkaError as error:
        return kafka_pythons_word(error)
    finally:
        consumer.close(autocommit=False)


def kafka_python_writes(broker, how):
    # without a producer id, for which it would want a right of its own
    producer = kafka.KafkaProducer(
        enable_idempotence=False, **of_kafka_python(broker, how)
    )
    try:
        producer.send(TOPIC, b"order").get(PATIENCE_S)
    except kafka.errors.KafkaError as error:
        return kafka_pythons_word(error)
    finally:
        producer.close()
    return WRITES


def kafka_pythons_word(error):
    is_refused = isinstance(error, kafka.errors.TopicAuthorizationFailedError)
    return REFUSED if is_refused else repr(error)


def aiokafka_reads(broker, how):
    async def read():
        consumer = aiokafka.AIOKafkaConsumer(
            auto_offset_reset="earliest", **of_aiokafka(broker, how)
        )
        consumer.assign([aiokafka.TopicPartition(TOPIC, 0)])
        async with consumer:
            await consumer.getone()

    return aiokafkas_word(read, READS)


def aiokafka_writes(broker, how):
    async def write():
        async with aiokafka.AIOKafkaProducer(**of_aiokafka(broker, how)) as producer:
            await producer.send_and_wait(TOPIC, b"order")

    return aiokafkas_word(write, WRITES)


def aiokafkas_word(does, well):
    try:
        asyncio.run(asyncio.wait_for(does(), PATIENCE_S))
    except aiokafka.errors.TopicAuthorizationFailedError:
        return REFUSED
    return well


def kcat_reads(broker, how):
    one = ("-C", "-t", TOPIC, "-p", "0", "-o", "beginning", "-c", "1", "-m", "10")
    return kcats_word(kcat(broker, how, *one), READS)


def kcat_writes(broker, how):
    done = kcat(broker, how, "-P", "-t", TOPIC, "-p", "0", input="order\n")
    return kcats_word(done, WRITES)


def kcats_word(done, well):
    if "Topic authorization failed" in done.stderr:
        return REFUSED
    return done.stderr if done.returncode else well


DOES = {
    "librdkafka": (librdkafka_reads, librdkafka_writes),
    "kafka-python": (kafka_python_reads, kafka_python_writes),
    "aiokafka": (aiokafka_reads, aiokafka_writes),
    "kcat": (kcat_reads, kcat_writes),
}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    "client",
    [
        "librdkafka",
        *(pytest.param(client, marks=pytest.mark.nightly) for client in list(DOES)[1:]),
    ],
)
def test_a_client_may_what_the_rules_allow_its_principal(broker, client, who):
    if missing(client):
        pytest.skip(f"no {missing(client)} here")
    if client == "kcat" and "SCRAM" in who:
        pytest.skip("SCRAM of librdkafka before 2.6.1 is refused (CVE-2024-56128)")
    how, when_reading, when_writing = WHO[who]
    reads, writes = DOES[client]
    assert (reads(broker, how), writes(broker, how)) == (when_reading, when_writing)


@pytest.mark.java
@pytest.mark.nightly
def test_java_may_what_the_rules_allow_its_principal(broker):
    with JavaTools() as java:
        for who, (how, when_reading, when_writing) in WHO.items():
            did = java_reads(java, broker, how), java_writes(java, broker, how)
            assert did == (when_reading, when_writing), who


def java_reads(java, broker, how):
    from py4j.protocol import Py4JJavaError

    jvm = java.gateway.jvm
    bytes_ = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    names = ("key.deserializer", "value.deserializer")
    given = of_java(broker, how) | dict.fromkeys(names, bytes_)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(in_java(java, given))
    partition = jvm.org.apache.kafka.common.TopicPartition(TOPIC, 0)
    try:
        consumer.assign(jvm.java.util.List.of(partition))
        consumer.seek(partition, 0)
        found = consumer.poll(jvm.java.time.Duration.ofSeconds(PATIENCE_S))
        return "nothing" if found.isEmpty() else READS
    except Py4JJavaError as error:
        return javas_word(error)
    finally:
        consumer.close()


def java_writes(java, broker, how):
    from py4j.protocol import Py4JJavaError

    clients = java.gateway.jvm.org.apache.kafka.clients.producer
    strings = "org.apache.kafka.common.serialization.StringSerializer"
    names = ("key.serializer", "value.serializer")
    given = of_java(broker, how) | dict.fromkeys(names, strings)
    given["enable.idempotence"] = "false"
    producer = clients.KafkaProducer(in_java(java, given))
    try:
        producer.send(clients.ProducerRecord(TOPIC, "order")).get()
    except Py4JJavaError as error:
        return javas_word(error)
    finally:
        producer.close()
    return WRITES


def javas_word(error):
    said = words_of(error.java_exception)
    words = f"TopicAuthorizationException: Not authorized to access topics: [{TOPIC}]"
    return REFUSED if words in said else said
