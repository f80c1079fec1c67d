"""What tools of Apache Kafka show as it comes: the order of lists, that of a Java
HashMap, and the name of a listener.
"""

import pytest

pytestmark = pytest.mark.slow

SET_OF_INTERNAL_TOPICS = {
    "__consumer_offsets": ["compression.type", "cleanup.policy", "segment.bytes"],
    "__transaction_state": [
        "compression.type",
        "min.insync.replicas",
        "cleanup.policy",
        "segment.bytes",
        "unclean.leader.election.enable",
    ],
}
OF_A_TOPIC = 1  # DescribeConfigs' ConfigSource


@pytest.mark.parametrize("topic", SET_OF_INTERNAL_TOPICS)
def test_internal_topics_configs_are_described_in_the_order_of_their_hashes(
    broker, topic
):
    key_type = 1 if "transaction" in topic else 0
    asked = {"key_type": key_type, "coordinator_keys": ["a"]}
    while broker.ask("FindCoordinator", 4, **asked).coordinators[0].error_code:
        pass
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": None}
    [answer] = broker.ask("DescribeConfigs", 4, resources=[resource]).results
    found = [each.name for each in answer.configs if each.config_source == OF_A_TOPIC]
    assert found == SET_OF_INTERNAL_TOPICS[topic]


PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
CHANGES, REQUESTS = "controller_mutation_rate", "request_percentage"


@pytest.mark.parametrize(
    "listed",
    [
        [FETCH, PRODUCE],
        [REQUESTS, PRODUCE],
        [FETCH, CHANGES],
        [FETCH, CHANGES, PRODUCE],
        [PRODUCE, FETCH, CHANGES, REQUESTS],
    ],
    ids=", ".join,
)
def test_quotas_of_an_entity_are_described_in_the_order_of_their_hashes(
    broker, name, listed
):
    """KIP-546."""
    client = [{"entity_type": "client-id", "entity_name": name}]
    ops = [{"key": key, "value": 1e9, "remove": False} for key in sorted(listed)]
    entry = {"entity": client, "ops": ops}
    broker.ask("AlterClientQuotas", 1, entries=[entry], validate_only=False)
    part = {"entity_type": "client-id", "match_type": 0, "match": name}
    found = []
    while not found:
        answer = broker.ask("DescribeClientQuotas", 1, components=[part], strict=True)
        found = answer.entries
    assert [value.key for value in found[0].values] == listed


def test_a_voter_is_reached_at_its_listener_for_controllers(broker):
    """KIP-853. Where nodes are alone nobody else comes there."""
    place = {"topic_name": "__cluster_metadata"}
    asked = [place | {"partitions": [{"partition_index": 0}]}]
    [node] = broker.ask("DescribeQuorum", 2, topics=asked).nodes
    assert [each.name for each in node.listeners] == ["CONTROLLER"]
