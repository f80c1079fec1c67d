"""Of three brokers each one is asked for what the active controller decides: what is
asked of both clusters (see same_answers.py).

A scenario takes the broker that it asks, in `side.broker`, and begins with names of its
own.
"""

from tests.conformance.same_answers import Side
from tests.conformance.scenarios_configs import DELETE, SET

BROKERS = (1, 2, 3)
TIMEOUT = {"timeout_ms": 20_000}


class OneOfThree(Side):
    """One broker of a cluster. broker: its id."""

    def __init__(self, bootstrap, name, broker):
        address = bootstrap.split(",")[broker - 1]
        super().__init__(address, name)
        self.broker = broker

    def knows(self, topic, partitions=1):
        """Returns when this broker knows the topic with all its leaders, or that it is
        gone.
        """
        while True:
            asked = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
            [found] = self.client.ask("Metadata", 12, **asked).topics
            leaders = [each.leader_id for each in found.partitions]
            if len(leaders) == partitions and -1 not in leaders:
                return

    def settle(self):
        """Returns when this broker has learned of all that was decided so far."""
        self.settled = getattr(self, "settled", 0) + 1
        topic = f"{self.name}.settled.{self.settled}"
        made = {"name": topic, "num_partitions": 1, "replication_factor": 3}
        self.client.ask("CreateTopics", 7, topics=[made], **TIMEOUT)
        self.knows(topic)


def resource(kind, name, *changes):
    """changes: (operation, config, value); of AlterConfigs the operation is none."""
    configs = []
    for operation, key, value in changes:
        one = {"name": key, "value": value}
        configs.append(one | {"config_operation": operation})
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def without_operations(one):
    configs = []
    for config in one["configs"]:
        configs.append({"name": config["name"], "value": config["value"]})
    return one | {"configs": configs}


def broker_configs(side):
    """A broker takes changes of its own configs, and of all brokers'; the controller
    carries them out.
    """
    own, other = str(side.broker), str(side.broker % 3 + 1)
    topic = side.name + ".topic"
    made = {"name": topic, "num_partitions": 1, "replication_factor": 3}
    side.client.ask("CreateTopics", 7, topics=[made], **TIMEOUT)
    side.knows(topic)
    change, bad = (SET, "log.retention.ms", "5000000"), (SET, "log.retention.ms", "x")
    mine, others = resource(4, own, change), resource(4, other, change)
    of_topic = resource(2, topic, (SET, "retention.ms", "7000000"))
    of_none = resource(2, "none", (SET, "retention.ms", "7000000"))
    for what, resources in {
        "its own": [mine],
        "another's": [others],
        "of none": [resource(4, "77", change)],
        "of no number": [resource(4, "one", change)],
        "of all": [resource(4, "", change)],
        "its own, bad": [resource(4, own, bad)],
        "of all, bad": [resource(4, "", bad)],
        "its own, another's, a topic's": [mine, others, of_topic],
        "another's, a topic's, none's": [others, of_topic, of_none],
        "nothing": [],
    }.items():
        plain = [without_operations(one) for one in resources]
        side.ask(what, "IncrementalAlterConfigs", resources=resources)
        side.ask(what, "AlterConfigs", resources=plain)
        side.ask(
            f"{what}, only validated",
            "IncrementalAlterConfigs",
            resources=resources,
            validate_only=True,
        )
    # (The old form, with one twice, Apache Kafka leaves without an answer.)
    side.ask("twice another's", "IncrementalAlterConfigs", resources=[others, others])
    side.settle()
    keys = ["log.retention.ms"]
    for name in (own, other, ""):
        asked = {"resource_type": 4, "resource_name": name, "configuration_keys": keys}
        side.ask(
            f"described {'own' if name == own else name and 'another'}",
            "DescribeConfigs",
            resources=[asked],
            include_synonyms=True,
        )
    back = (DELETE, "log.retention.ms", None)
    for name in (own, ""):
        gone = [resource(4, name, back)]
        side.ask(f"back {bool(name)}", "IncrementalAlterConfigs", resources=gone)


def what_the_controller_decides(side):
    """Every API that a broker passes on to the controller."""
    topic = side.name + ".topic"
    made = {"name": topic, "num_partitions": 2, "replication_factor": 3}
    bad = made | {"name": "a b"}
    side.ask("a topic and a bad one", "CreateTopics", 7, topics=[made, bad], **TIMEOUT)
    side.ask("it again", "CreateTopics", topics=[made], **TIMEOUT)
    side.knows(topic, partitions=2)
    for count in (3, 1):
        grown = {"name": topic, "count": count, "assignments": None}
        side.ask(f"to {count}", "CreatePartitions", 3, topics=[grown], **TIMEOUT)
    side.knows(topic, partitions=3)
    places = [{"topic": topic, "partitions": [0, 9]}]
    for kind in (0, 1):
        side.ask(
            f"elections of kind {kind}",
            "ElectLeaders",
            2,
            election_type=kind,
            topic_partitions=places,
            **TIMEOUT,
        )
    for what, replicas in {
        "to one that is not there": [1, 7],
        "nothing to take back": None,
    }.items():
        moved = [{"partition_index": 0, "replicas": replicas}]
        topics = [{"name": topic, "partitions": moved}]
        side.ask(what, "AlterPartitionReassignments", 1, topics=topics, **TIMEOUT)
    side.ask("a broker that never was", "UnregisterBroker", broker_id=77)
    for level in (1, -1):
        wanted = {"feature": "group.version", "max_version_level": level}
        asked = {"feature_updates": [wanted], "validate_only": True}
        side.ask(f"group.version to {level}", "UpdateFeatures", 1, 2, **asked)
    elsewhere = [{"topic_name": topic, "partitions": [{"partition_index": 0}]}]
    side.ask("no quorum", "DescribeQuorum", topics=elsewhere)
    side.ask("it goes", "DeleteTopics", 5, topic_names=[topic], **TIMEOUT)
    side.ask("it again", "DeleteTopics", 5, topic_names=[topic], **TIMEOUT)


def quotas_and_users(side):
    """What one broker is asked to keep, all know."""
    entity = [{"entity_type": "client-id", "entity_name": side.name}]
    filters = [{"entity_type": "client-id", "match_type": 0, "match": side.name}]
    bad = [{"entity_type": "sort", "entity_name": side.name}]
    users = [{"name": side.name}]
    credential = {"name": side.name, "mechanism": 2, "iterations": 4096}
    credential |= {"salt": b"salt", "salted_password": b"salted"}
    for value in (5e6, 6e6, 0.0):
        rate = {"key": "producer_byte_rate", "value": value, "remove": not value}
        entries = [{"entity": each, "ops": [rate]} for each in (entity, bad)]
        side.ask(f"a quota of {value}", "AlterClientQuotas", entries=entries)
        side.settle()
        asked = {"components": filters, "strict": True}
        side.ask(f"quotas after {value}", "DescribeClientQuotas", **asked)
    for what, change in {
        "one": {"upsertions": [credential, credential | {"name": ""}]},
        "none": {"deletions": [{"name": side.name, "mechanism": 2}]},
        "none again": {"deletions": [{"name": side.name, "mechanism": 2}]},
    }.items():
        side.ask(what, "AlterUserScramCredentials", **change)
        side.settle()
        side.ask(f"after {what}", "DescribeUserScramCredentials", users=users)
    voter = {"cluster_id": None, "voter_id": 7, "voter_directory_id": b"a" * 16}
    side.ask("a voter goes", "RemoveRaftVoter", **voter)
    there = {"name": "CONTROLLER", "host": "localhost", "port": 9}
    asked = voter | {"listeners": [there], "timeout_ms": 1000}
    side.ask("a voter comes", "AddRaftVoter", **asked)


SCENARIOS = (broker_configs, what_the_controller_decides, quotas_and_users)
