"""The errors that a fault may answer, in every version of every API."""

import pytest

from minikafka.testing.answers import (
    ANSWERED,
    ERRORS,
    PLACES,
    places,
    refusal,
    walk,
    with_error,
)
from minikafka.testing.faults import READS
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    API,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

ID = bytes(range(16))
VERSIONS = [
    (api, version)
    for api in sorted(ERRORS)
    for version in range(API[api].min_version, API[api].max_version + 1)
    if not (api == "AddPartitionsToTxn" and version > 3)  # what brokers ask each other
    and (api, version) != ("OffsetFetch", 1)  # says errors of partitions only
]


def a_request(api, version):
    """One that names partition 1 of the topic orders, as far as the API names any."""
    body = {}
    if api in PLACES:
        layout = PLACES[api]
        topic = {"name": "orders", "topic": "orders", "topic_id": ID}
        schema = API[api].request.struct.by_attribute
        fields = schema[layout.topics].struct.by_attribute
        topic = {key: topic[key] for key in topic if key in fields}
        if layout.partitions is not None:
            number = layout.number
            topic[layout.partitions] = [1 if number is None else {number: 1}]
        body[layout.topics] = [topic]
    if api == "DeleteTopics":
        body["topic_names"] = ["orders"]
        if version < 6:
            del body["topics"]
    frame = b"".join(encode_request(api, version, 7, "till", body))
    return decode_request(frame).body


def an_answer(api, version):
    """One without an error, about the same partition."""
    body = {}
    if api in ANSWERED:
        layout = ANSWERED[api]
        fields = API[api].response.struct.by_attribute[layout.topics].struct
        topic = {"name": "orders", "topic": "orders", "topic_id": ID}
        topic = {key: topic[key] for key in topic if key in fields.by_attribute}
        if layout.partitions is not None:
            topic[layout.partitions] = [{layout.number: 1}]
        body = {layout.topics: [topic]}
    elif api == "FindCoordinator" and version >= 4:
        body = {"coordinators": [{"key": "billing"}]}
    elif api == "OffsetFetch" and version >= 8:
        body = {"groups": [{"group_id": "billing"}]}
    return decoded(api, version, body)


def decoded(api, version, body):
    frame = b"".join(encode_response(api, version, 7, body))
    return decode_response(api, version, frame)[1]


def codes(api, answer):
    """Every error code in an answer, with its place."""
    code = "partition_error_code" if api == "AddPartitionsToTxn" else "error_code"
    if api in ANSWERED:
        told = walk(ANSWERED[api], answer, names)
        return [(topic, part, getattr(about, code)) for topic, part, about in told]
    several = answer.to_dict().get("coordinators") or answer.to_dict().get("groups")
    if several:
        return [(None, None, each[code]) for each in several]
    return [(None, None, answer.error_code)]


def names(topic_id):
    return {ID: "orders"}.get(topic_id)


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_each_version_of_an_api_can_say_its_errors(api, version):
    error, request = min(ERRORS[api]), a_request(api, version)
    named = places(api, request, names) or [(None, None)]
    expected = [(*place, Error[error]) for place in named]
    answer = with_error(
        api, an_answer(api, version), error, names, lambda topic, number: True
    )
    assert codes(api, decoded(api, version, answer)) == expected
    if api not in READS:
        refused = decoded(api, version, refusal(api, request, error))
        assert codes(api, refused) == expected


def test_all_of_them_are_errors_of_kafka():
    for errors in ERRORS.values():
        assert errors <= {each.name for each in Error}
