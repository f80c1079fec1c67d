"""The file of messages (`notebooks/errors.toml`), the command that looks in it, and the
page that shows it.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from functools import cache
from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.course import errors
from minikafka.course.contents import contents
from minikafka.course.publishing import site
from minikafka.wire.errors import Error
from tests.chromium import running_chromium
from tests.kafka import ROOT, kafka_jars
from tests.seeds import first_now

pytestmark = pytest.mark.slow

ENTRIES = errors.entries()
PASTED = {
    "kafka.errors.NoBrokersAvailable: NoBrokersAvailable": "no-brokers-available",
    "%3|1764|ERROR|rdkafka#consumer-1| [thrd:app]: 1/1 brokers are down: All broker"
    " connections are down": "no-brokers-available",
    "[2026-01-05 10:00:00,000] WARN [Producer clientId=console-producer] Connection to"
    " node -1 (localhost/127.0.0.1:9092) could not be established. Broker may not be"
    " available. (org.apache.kafka.clients.NetworkClient)": "connection-to-node",
    "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given"
    " in bootstrap.servers. Couldn't resolve server kafka:9092": "connection-to-node",
    "Topic payments not present in metadata after 60000 ms.": "not-present-in-metadata",
    "KafkaTimeoutError: Failed to update metadata after 60.0 secs.": (
        "not-present-in-metadata"
    ),
    "Error while fetching metadata with correlation id 1 :"
    " {orders=LEADER_NOT_AVAILABLE}": "leader-not-available",
    "[Producer clientId=p] Received invalid metadata error in produce request on"
    " partition orders-0 due to"
    " org.apache.kafka.common.errors.NotLeaderOrFollowerException: For requests"
    " intended only for the leader, this error indicates that the broker is not the"
    " current leader.": "leader-not-available",
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does"
    " not host this topic-partition.": "unknown-topic-or-partition",
    "FindCoordinator response error: The coordinator is not available. Broker: Group"
    " coordinator not available": "coordinator-not-available",
    "CommitFailedException: Commit cannot be completed since the group has already"
    " rebalanced and assigned the partitions to another member.": "commit-failed",
    'KafkaError{code=UNKNOWN_MEMBER_ID,val=25,str="Commit failed: Broker: Unknown'
    ' member"}': "commit-failed",
    "[Consumer clientId=a, groupId=b] (Re-)joining group": "rebalance-loop",
    "Attempt to heartbeat failed since group is rebalancing": "rebalance-loop",
    "Member c-1 sending LeaveGroup request to coordinator due to consumer poll timeout"
    " has expired.": "rebalance-loop",
    "FencedInstanceIdException": "fenced-instance-id",
    "kafka.errors.InconsistentGroupProtocolError: [Error 23]"
    " InconsistentGroupProtocolError": "inconsistent-group-protocol",
    "INCONSISTENT_GROUP_PROTOCOL": "inconsistent-group-protocol",
    "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed": (
        "tls-to-a-plain-port"
    ),
    "Connection to node -1 (localhost/127.0.0.1:9093) terminated during authentication."
    " This may happen due to any of the following reasons": "tls-to-a-plain-port",
    "Replication factor: 3 larger than available brokers: 1": "replication-factor",
    "org.apache.kafka.common.errors.InvalidReplicationFactorException: Unable to"
    " replicate the partition 3 time(s)": "replication-factor",
    "Fetch position FetchPosition{offset=7} is out of range for partition orders-0": (
        "offset-out-of-range"
    ),
    "The message is 1520000 bytes when serialized which is larger than the maximum"
    " request size. MessageSizeTooLargeError": "record-too-large",
    "NotEnoughReplicasException: Messages are rejected since there are fewer in-sync"
    " replicas than required.": "not-enough-replicas",
    "org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer"
    " with the same transactionalId which fences the current one.": "producer-fenced",
    "java.lang.RuntimeException: Invalid cluster.id in: /var/lib/kafka/data/"
    "meta.properties. Expected A, but read B": "inconsistent-cluster-id",
    "The Cluster ID A doesn't match stored clusterId Some(B) in meta.properties."
    " kafka.common.InconsistentClusterIdException": "inconsistent-cluster-id",
    "SerializationException: Size of data received by LongDeserializer is not 8": (
        "deserialization"
    ),
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)": (
        "deserialization"
    ),
}
# the page has no entry for these, whatever words they share with one of it
NOT_HERE = [
    "kafka",
    "the printer is out of paper",
    "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to"
    " access group: billing",
    "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed"
    " during authentication due to invalid credentials with SASL mechanism PLAIN",
    "org.apache.kafka.common.errors.InvalidTopicException: Topic name is invalid",
    "org.apache.kafka.common.errors.TopicExistsException: Topic 'orders' already"
    " exists.",
    "org.apache.kafka.common.errors.TimeoutException: Expiring 1 record(s) for"
    " orders-0:120000 ms has passed since batch creation. The request has not been"
    " sent, or no server response has been received yet.",
    "org.apache.kafka.common.errors.TimeoutException: Call(callName=listNodes,"
    " deadlineMs=1, tries=1) timed out at 1 after 1 attempt(s)",
    "org.apache.kafka.common.errors.OutOfOrderSequenceException: The broker received an"
    " out of order sequence number.",
    "org.apache.kafka.common.errors.UnsupportedVersionException: The node does not"
    " support FETCH",
    'KafkaError{code=_TIMED_OUT,val=-185,str="Local: Timed out"}',
    "BufferError: Local: Queue full",
    "AnalysisException: Failed to find data source: kafka. Please deploy the"
    " application as per the deployment section of Structured Streaming + Kafka"
    " Integration Guide.",
    "ModuleNotFoundError: No module named 'kafka.vendor.six.moves'",
    "java.net.BindException: Address already in use",
    "java.lang.UnsupportedClassVersionError: kafka/Kafka has been compiled by a more"
    " recent version of the Java Runtime (class file version 61.0)",
    "java.io.FileNotFoundException: HADOOP_HOME and hadoop.home.dir are unset.",
]


def test_each_has_its_own_anchor():
    ids = [entry.id for entry in ENTRIES]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", id) for id in ids)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_each_cause_has_a_command_that_shows_it_and_something_that_mends_it(entry):
    assert len(entry.causes) >= 2 and entry.lesson in contents()
    for cause in entry.causes:
        assert cause.shows and cause.look
        assert cause.mends or cause.sets or cause.note or "wrong" in cause.why
        for sentence in (cause.why, cause.note):
            assert not sentence or sentence[-1] in ".:)", sentence
            assert len(sentence) < 180, sentence


@pytest.mark.parametrize("text", PASTED, ids=lambda text: text[:40])
def test_what_people_paste_finds_its_entry(text, capsys):
    found = errors.nearest(text)
    assert found is not None and found.id == PASTED[text]
    assert main(["error", *text.split()]) == 0
    assert found.means[:40] in capsys.readouterr().out


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_found_by_whatever_it_is_called(entry):
    printed = entry.provocation.printed
    for words in (*entry.phrases, printed):
        assert errors.nearest(words) == entry, words


@pytest.mark.parametrize("text", NOT_HERE, ids=lambda text: text[-40:])
def test_what_the_page_does_not_explain_is_told_as_none_of_it(text):
    assert errors.nearest(text) is None


@pytest.mark.parametrize("code", Error, ids=lambda code: code.name)
def test_the_first_words_of_an_error_of_kafka_lead_to_its_entry_or_to_none(code):
    name = code.name.replace("_", " ")
    for text in (name, code.message, f"{name}: {code.message}"):
        first = text.split()
        for count in range(1, 11):
            found = errors.nearest(" ".join(first[:count]))
            assert found is None or code in errors.codes(found)


def test_an_error_of_kafka_without_an_entry_is_told_in_kafkas_words(capsys):
    assert main(["error", "TopicExistsException"]) == 1
    assert main(["error", "TOPIC_ALREADY_EXISTS"]) == 1
    said = capsys.readouterr()
    assert "TOPIC_ALREADY_EXISTS is error 36: Topic with this name" in said.out


def test_what_is_like_none_of_them_lists_them_all(capsys):
    assert main(["error", "the printer is out of paper"]) == 1
    said = capsys.readouterr()
    assert "No message here is like that one" in said.err
    assert main(["error"]) == 0
    assert said.out == capsys.readouterr().out
    assert all(entry.name in said.out for entry in ENTRIES)


@cache
def clients():
    """The bytes of all clients, in which their messages and settings must stand."""
    packages = Path(sysconfig.get_path("purelib"))
    found = []
    for name in ("kafka", "aiokafka", "confluent_kafka", "confluent_kafka.libs"):
        for path in (packages / name).rglob("*"):
            if path.suffix in (".py", ".so") or ".so." in path.name:
                found.append(path.read_bytes())
    for jar in kafka_jars().glob("kafka*.jar"):
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
            found += [archive.read(name) for name in names if name.endswith(".class")]
    found.append(Path(json.decoder.__file__).read_bytes())
    found.append((ROOT / "docker/compose.yaml").read_bytes())
    return b"\0".join(found)


@pytest.mark.java
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_other_clients_words_are_in_their_programs(entry):
    missing = [
        other.words
        for other in entry.others
        if not other.says.startswith("before ")
        and other.words not in Error.__members__
        and other.words.encode() not in clients()
    ]
    assert missing == []


@pytest.mark.java
def test_what_is_to_be_set_is_a_setting():
    lines = [cause.sets for entry in ENTRIES for cause in entry.causes if cause.sets]
    names = [line.split("=")[0] for line in lines]
    assert [name for name in names if name.encode() not in clients()] == []


def test_the_page_has_an_anchor_and_a_link_for_each_message_and_needs_no_script():
    html = site.errors_page()
    shown = html.split("<script>")[0]
    for entry in ENTRIES:
        assert f'<section id="{entry.id}"' in shown and f'href="#{entry.id}"' in shown
        for cause in entry.causes:
            assert site.escape(cause.shows) in shown
    assert "hidden" not in re.sub(
        r"<style>.*?</style>|<p id=.ask.[^>]*>", "", shown, flags=re.S
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", first_now([390, 1200]))
def test_typing_leaves_what_is_asked_for(tmp_path, width):
    (tmp_path / "errors.html").write_text(site.errors_page(), encoding="utf-8")
    address = (tmp_path / "errors.html").as_uri()
    with running_chromium() as browser:
        page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(address)
        seen = page.locator("section:visible")
        assert seen.count() == len(ENTRIES)
        for text, id in itertools.islice(PASTED.items(), 0, None, 4):
            page.fill("#asked", text)
            assert seen.count() == 1 and seen.get_attribute("id") == id
            assert page.inner_text("#told") == "1 message"
        page.fill("#asked", "the printer is out of paper")
        assert seen.count() == len(ENTRIES)
        assert "No message here" in page.inner_text("#told")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide == width and complaints == []


def test_a_reader_who_has_enough_ends_the_list_without_a_complaint():
    """`minikafka error | head -1`, whose pipe is closed before all is written."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "minikafka", "error"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")
