from kio.schema.errors import ErrorCode

from minikafka.wire.errors import Error, KafkaError

# with Kafka 4.4
NEW = {
    "controller_id_not_registered",
    "group_deletion_failed",
    "streams_topology_description_update_failed",
}


def test_every_error_code_of_apache_kafka_has_its_name_and_says_whether_to_try_again():
    theirs = {code.name: (code.value, code.retriable) for code in ErrorCode}
    ours = {error.name.lower(): (error.value, error.retriable) for error in Error}
    assert ours.items() >= theirs.items()
    assert ours.keys() - theirs.keys() == NEW


def test_an_error_is_found_by_its_code_and_raised_with_a_reason():
    error = Error(3)
    assert error is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert (
        str(KafkaError(error))
        == "UNKNOWN_TOPIC_OR_PARTITION: This server does not host this topic-partition."
    )
    assert KafkaError(error, "no topic orders").message == "no topic orders"
