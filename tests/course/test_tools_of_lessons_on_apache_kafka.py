"""What lessons 10 and 11 say of Apache Kafka's tools and of one of its nodes that was
set up with controller.quorum.voters, run on one.
"""

import pytest

from tests.kafka import CONFIG_COMMAND, ApacheKafka, java_tool

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.timeout(600),
]

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"


@pytest.fixture(scope="module")
def tool():
    """Runs a tool: (its exit code, what it printed)."""
    with ApacheKafka() as kafka:

        def run(name, *args):
            done = java_tool(name, "--bootstrap-server", kafka.bootstrap, *args)
            return done.returncode, done.stdout + done.stderr

        yield run


def test_the_columns_of_the_quorum_tool_are_those_of_lesson_11(tool):
    _, status = tool(QUORUM, "describe", "--status")
    names = [line.split(":")[0] for line in status.splitlines() if ":" in line]
    assert names == [
        "ClusterId",
        "LeaderId",
        "LeaderEpoch",
        "HighWatermark",
        "MaxFollowerLag",
        "MaxFollowerLagTimeMs",
        "CurrentVoters",
        "CurrentObservers",
    ]
    _, table = tool(QUORUM, "describe", "--replication")
    assert table.splitlines()[0].split() == [
        "NodeId",
        "DirectoryId",
        "LogEndOffset",
        "Lag",
        "LastFetchTimestamp",
        "LastCaughtUpTimestamp",
        "Status",
    ]


def test_kip_853_a_static_quorum_has_kraft_version_0_and_refuses_to_remove_a_controller(
    tool,
):
    _, features = tool(FEATURES, "describe")
    [line] = [line for line in features.splitlines() if "kraft.version" in line]
    assert line.split("FinalizedVersionLevel:")[1].split()[0] == "0"
    which = "--controller-id", "1", "--controller-directory-id", "A" * 21 + "Q"
    code, said = tool(QUORUM, "remove-controller", *which)
    assert code and "kraft.version feature is 0" in said


def test_a_release_version_brings_kraft_version_1_with_it_and_a_named_feature_does_not(
    tool,
):
    _, listed = tool(FEATURES, "version-mapping", "--release-version", "4.4")
    assert {"metadata.version=33 (4.4)", "kraft.version=1"} <= set(listed.splitlines())
    tried = "upgrade", "--dry-run"
    _, said = tool(FEATURES, *tried, "--release-version", "4.4")
    assert "kraft.version can be upgraded to 1" in said, said
    _, said = tool(FEATURES, *tried, "--feature", "kraft.version=1")
    assert "kraft.version can be upgraded to 1" in said, said
    named = "--feature", "metadata.version=30", "--feature", "transaction.version=2"
    _, said = tool(FEATURES, *tried, *named)
    assert "kraft.version" not in said and "metadata.version" in said, said


def test_some_settings_of_a_broker_change_without_a_restart_and_others_do_not(tool):
    broker = "--entity-type", "brokers", "--entity-name", "1", "--alter"
    code, said = tool(CONFIG_COMMAND, *broker, "--add-config", "num.io.threads=9")
    assert not code, said
    code, said = tool(
        CONFIG_COMMAND, *broker, "--add-config", "broker.session.timeout.ms=7000"
    )
    assert code and "Cannot update these configs dynamically" in said


def test_an_older_metadata_version_is_refused_once_a_newer_one_is_in_use(tool):
    code, said = tool(FEATURES, "downgrade", "--metadata", "3.3-IV3")
    assert code and "might delete metadata information" in said, said
