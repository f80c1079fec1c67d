"""The same requests, frame by frame, to Apache Kafka and to minikafka: the answers are
the same, field by field.

Where they differ on purpose, DELIBERATE says so: scenario -> pattern of `question: API
version.field` -> why. A pattern that no longer matches fails the test, so the table
can't go stale. Apache Kafka is asked at night (tests/recording.py).
"""

import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.wire.messages import BY_KEY
from tests.clients.brokers import KEPT, minikafka
from tests.clients.test_read_committed import BY_HAND
from tests.conformance import (
    scenarios_admin,
    scenarios_cluster,
    scenarios_configs,
    scenarios_consumer_groups,
    scenarios_groups,
    scenarios_offsets,
    scenarios_produce,
    scenarios_records,
    scenarios_share_groups,
    scenarios_streams_groups,
    scenarios_transactions,
    scenarios_users,
)
from tests.conformance.conftest import AT_ONCE
from tests.conformance.matrix import ON_PURPOSE
from tests.conformance.same_answers import (
    CONFIGS,
    Asked,
    differences,
    steps,
    unexpected,
)
from tests.kafka import ApacheKafka
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

SCENARIOS = {
    scenario.__name__: scenario
    for room in (
        scenarios_produce,
        scenarios_records,
        scenarios_cluster,
        scenarios_configs,
        scenarios_groups,
        scenarios_offsets,
        scenarios_consumer_groups,
        scenarios_share_groups,
        scenarios_streams_groups,
        scenarios_admin,
        scenarios_transactions,
        scenarios_users,
    )
    for scenario in room.SCENARIOS
}

REFUSED_WITH_START = (
    "with some refusals Apache Kafka tells the log start offset; no client looks at it"
    " there"
)
NOT_DECODED = (
    "the broker reads headers, not records: what a header hides is found by who"
    " reads it"
)
OWN_WORDS = (
    "minikafka names the type; Apache Kafka gives the general text of INVALID_REQUEST"
)
NO_EMPTY_ID = (
    "a group without a name is refused everywhere; Apache Kafka lets old clients keep"
    " offsets there (KIP-289)"
)
SAME_LOAD = (
    "which of two processes with the same load comes first, the order of ids decides;"
    " there it is the order of a hash map"
)
ABSENT = "Apache Kafka tells what one may do with a topic that is not there"

DELIBERATE = {
    "produce_checks_the_shape_of_a_batch": {
        "*.log_start_offset": REFUSED_WITH_START,
        "bytes behind it: *": "Apache Kafka ignores up to 11 bytes behind a batch",
        "a length of ten: *.error_message": "other words",
        "a negative length: *.error_message": "other words",
        "magic 3: *.error_message": "other words",
        "fewer records than counted: *": NOT_DECODED,
        "more records than counted: *": NOT_DECODED,
        "gzip that is none: *": NOT_DECODED,
        "zstd that is none: *": NOT_DECODED,
        "codec [57]: *.error_code": (
            "a code that says what is wrong, instead of UNKNOWN_SERVER_ERROR"
        ),
        "the LogAppendTime bit: *": "Apache Kafka clears the bit; no client sets it",
    },
    "topics_that_a_topology_lacks": {
        "state *: ListGroups v5.groups": (
            "a group is found by the state that it is listed with; Apache Kafka finds"
            " one that is NotReady as not_ready alone"
        ),
    },
    "the_first_members_are_waited_for": {
        "each is to have one*.target_assignment.*": SAME_LOAD,
        "it gets one: *.active_tasks.*": SAME_LOAD,
    },
    "produce_checks_sizes_and_times": {
        "*.log_start_offset": REFUSED_WITH_START,
        "stamped already: *": "Apache Kafka blames each record for what the batch says",
    },
    "compression_of_the_topic": {
        "no gzip inside: *.error_code": (
            "a code that says what is wrong, instead of UNKNOWN_SERVER_ERROR"
        ),
        "no gzip inside: *.log_start_offset": REFUSED_WITH_START,
    },
    "produce_is_idempotent": {"*.log_start_offset": REFUSED_WITH_START},
    "a_transaction_in_a_partition": {"*.log_start_offset": REFUSED_WITH_START},
    "who_may_end_a_transaction": {"*.log_start_offset": REFUSED_WITH_START},
    "list_offsets": {
        "at -3 of a record without time: *": (
            "a record without a timestamp does not have the largest one"
        ),
    },
    "delete_records": {
        "everything: at -3: *.leader_epoch": (
            "the epoch of a record that was deleted is forgotten"
        ),
    },
    "a_log_of_many_segments": {
        "deleted, at 0: *": (
            "Apache Kafka looks in one segment only, though all that is left there may"
            " be deleted"
        ),
    },
    "configs_take_effect_at_once": {"*.log_start_offset": REFUSED_WITH_START},
    "incremental_alter_configs": {
        "an unknown operation: *": (
            "a code that says what is wrong, instead of UNKNOWN_SERVER_ERROR"
        ),
    },
    "threads_change_little_by_little": {
        "*: IncrementalAlterConfigs v?.*.error_message": (
            "other words, and no name of a class"
        ),
    },
    "elections": {
        "*, kind 7: ElectLeaders v[12].*": (
            "an unknown kind of election is an error of the whole request"
        ),
    },
    "what_is_forbidden": {
        "__cluster_metadata: *.error_message": "other words",
        "none: *.error_message": "other words",
    },
    "reassignments": {"no topic: *.error_message": "other words"},
    "who_votes": {
        "*listen*: *.error_message": "other words, and no name of a class",
    },
    "describe_configs": {"type *.error_message": OWN_WORDS},
    "metadata": {
        "a name that collides: *.error_code": (
            "creation and its failure are seen at once, not at a later request"
        ),
        "operations: *.topic_authorized_operations": ABSENT,
    },
    "describe_topic_partitions": {"*.topic_authorized_operations": ABSENT},
    "find_coordinator": {"*type *.error_message": OWN_WORDS},
    "requests_of_nobody": {"no group*": NO_EMPTY_ID},
    "offsets_without_a_group": {"commit*no group: *": NO_EMPTY_ID},
    "offset_fetch": {"no group: *": NO_EMPTY_ID},
    "offsets_by_topic_id": {
        "of no group: *": NO_EMPTY_ID,
        "one twice *: OffsetCommit v10.topics": (
            "a topic that is named twice has one result, as it has by name"
        ),
        "no partitions of none *": "where nothing is asked, nothing is answered",
    },
}


LIKE_OURS = {
    # the records are old: 30 seconds after its start they'd go
    "log.initial.task.delay.ms": "3600000",
    **KEPT,
    # a living group never changes its kind
    "group.consumer.migration.policy": "disabled",
    **BY_HAND,
    # requests of several connections are handled in the order in which they came
    "num.network.threads": "1",
    "num.io.threads": "1",
}


@pytest.fixture(scope="module")
def ours():
    with minikafka(AT_ONCE | LIKE_OURS) as bootstrap:
        yield Asked(bootstrap)


@pytest.fixture(scope="module")
def theirs():
    with ApacheKafka(LIKE_OURS) as kafka:
        yield Asked(kafka.bootstrap)


of_each_scenario = pytest.mark.parametrize(
    "scenario", SCENARIOS.values(), ids=lambda each: each.__name__
)


@of_each_scenario
def test_minikafka_answers_as_recorded(ours, scenario):
    RECORDING.check(scenario.__name__, steps(ours.answers(scenario)))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
@of_each_scenario
def test_minikafka_answers_as_apache_kafka_does(
    ours, theirs, scenario, record_property
):
    answers = ours.answers(scenario)
    found = differences(answers, theirs.answers(scenario))
    deliberate = DELIBERATE.get(scenario.__name__, {})
    left, stale = unexpected(found, deliberate, CONFIGS)
    assert not left
    assert not stale, "these no longer differ: take them out of DELIBERATE"
    for why in dict.fromkeys(deliberate.values()):
        record_property(ON_PURPOSE, why)
    RECORDING.confirm(scenario.__name__, steps(answers))


def test_every_served_api_is_compared_in_its_lowest_and_its_highest_version(ours):
    asked = set()
    for scenario in SCENARIOS.values():
        asked |= {
            tuple(question.rpartition(": ")[2].split(" v"))
            for question in ours.answers(scenario)
        }
    wanted = set()
    for key, handler in HANDLERS.items():
        if handler.inter_broker:
            continue
        lowest, highest = handler.versions
        api = BY_KEY[key]
        wanted |= {
            (api.name, str(max(lowest, api.min_version))),
            (api.name, str(highest)),
        }
    assert wanted <= asked
