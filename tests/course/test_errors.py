"""The file of messages (`notebooks/errors.toml`), the command that looks in it, and the
page that shows it.
"""

import _ssl
import http.client
import itertools
import json
import os
import re
import shutil
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
from tests.course.pasted import NOTHING, TOLD
from tests.kafka import ROOT, kafka_jars
from tests.seeds import first_now

pytestmark = pytest.mark.slow

ENTRIES = errors.entries()
LOOKED_IN = (".class", "error-conditions.json")
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
    "3": "unknown-topic-or-partition",
    "error 19": "not-enough-replicas",
    "Error code: 5": "leader-not-available",
    "error_code=25": "commit-failed",
    "FindCoordinatorResponseData(throttleTimeMs=0, errorCode=15, errorMessage='')": (
        "coordinator-not-available"
    ),
}


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


@pytest.mark.parametrize(("id", "text"), TOLD)
def test_a_message_with_the_lines_around_it_finds_its_entry(id, text):
    """With its lines, and as a shell joins its words."""
    for pasted in (text, " ".join(text.split())):
        found = errors.nearest(pasted)
        assert found is not None and found.id == id


@pytest.mark.parametrize("text", NOTHING)
def test_what_the_page_does_not_explain_is_told_as_none_of_it(text):
    assert errors.nearest(text) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_one_word_of_a_message_is_told_as_none_of_them(entry):
    """However rare it is."""
    for word in errors.rare_words(entry):
        assert errors.nearest(word) is None, word


def test_a_symptom_is_told_only_if_the_message_has_no_more_to_say():
    symptom = "kafka.errors.KafkaTimeoutError: Unable to bootstrap from localhost:9093"
    cause = "certificate has expired"
    assert errors.nearest(symptom).id == "no-brokers-available"
    for pasted in (f"{symptom} {cause}", f"{cause} {symptom}"):
        assert errors.nearest(pasted).id == "certificate-expired"


@pytest.mark.parametrize("code", Error, ids=lambda code: code.name)
def test_the_first_words_of_an_error_of_kafka_lead_to_its_entry_or_to_none(code):
    name = code.name.replace("_", " ")
    for text in (name, code.message, f"{name}: {code.message}"):
        first = text.split()
        for count in range(1, 11):
            words = " ".join(first[:count])
            found = errors.nearest(words)
            if found is not None and code not in errors.codes(found):
                # INVALID_RECORD_STATE begins with the whole name of another one
                assert errors.squeezed(words) in errors.all_phrases(found)


def test_an_error_of_kafka_without_an_entry_is_told_in_kafkas_words(capsys):
    assert main(["error", "OUT_OF_ORDER_SEQUENCE_NUMBER"]) == 1
    said = capsys.readouterr().err
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER is error 45: The broker received" in said


def test_what_is_like_none_of_them_is_told_so_with_what_to_do_next(capsys):
    assert main(["error", "the printer is out of paper"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("No message here is like that one.\n")
    assert errors.NEXT in said.err and "lists all" in said.err


def test_one_rare_word_brings_names_and_no_answer(capsys):
    assert main(["error", "what is zookeeper"]) == 1
    said = capsys.readouterr().err
    assert "  zookeeper is not a recognized option\n" in said
    assert errors.entries()[0].name not in said
    for entry in ENTRIES:
        assert len(errors.beside(" ".join(entry.phrases))) <= 3


def test_without_a_message_it_lists_them_all(capsys):
    assert main(["error"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in listed] == [entry.name for entry in ENTRIES]
    assert len(ENTRIES) >= 40


@cache
def clients():
    """The bytes of all clients, in which their messages and settings must stand."""
    packages = Path(sysconfig.get_path("purelib"))
    found = []
    for name in ("kafka", "aiokafka", "confluent_kafka", "confluent_kafka.libs"):
        for path in (packages / name).rglob("*"):
            if path.suffix in (".py", ".so") or ".so." in path.name:
                found.append(path.read_bytes())
    spark = packages / "pyspark" / "jars"
    jars = [*kafka_jars().glob("kafka*.jar"), *kafka_jars().glob("jopt*.jar")]
    jars += spark.glob("spark-common-utils*.jar")
    for jar in [*jars, *spark.glob("hadoop-client-api*.jar")]:
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
            found += [archive.read(name) for name in names if name.endswith(LOOKED_IN)]
    java = Path(shutil.which("java")).resolve().parent.parent / "lib" / "modules"
    files = [java, json.decoder.__file__, http.client.__file__, _ssl.__file__]
    found += [Path(file).read_bytes() for file in files]
    found.append((ROOT / "docker/compose.yaml").read_bytes())
    return b"\0".join(found)


# It puts its line together; test_errors_on_both.py reads its log.
AUTHORIZER = "Apache Kafka's authorizer"


def is_in_a_program(other, entry):
    """Python puts some words together from OpenSSL's; what the provocation prints is
    known to be said.
    """
    parts = other.words.split(": ") if other.says == "Python" else [other.words]
    printed = entry.provocation.printed
    return all(part in printed or part.encode() in clients() for part in parts)


@pytest.mark.java
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_other_clients_words_are_in_their_programs(entry):
    missing = [
        other.words
        for other in entry.others
        if not other.says.startswith("before ")
        and other.says != AUTHORIZER
        and other.words not in Error.__members__
        and not is_in_a_program(other, entry)
    ]
    assert missing == []


@pytest.mark.java
def test_what_is_to_be_set_is_a_setting():
    lines = [cause.sets for entry in ENTRIES for cause in entry.causes if cause.sets]
    names = [line.split("=")[0] for line in lines]
    assert [name for name in names if name.encode() not in clients()] == []


def test_the_page_has_an_anchor_and_a_link_for_each_message_and_needs_no_script():
    """Each is folded to a line: its name, the code, and one sentence."""
    html = site.errors_page()
    shown = html.split("<script>")[0]
    lines = re.findall("<summary><h2>(.*?)</h2><i>(.*?)</i><span>(.*?)</span>", shown)
    assert [name for name, _, _ in lines] == [site.escape(e.name) for e in ENTRIES]
    assert ("NOT_ENOUGH_REPLICAS", "19, 20") in [line[:2] for line in lines]
    assert all(words.endswith(".") for _, _, words in lines)
    for entry in ENTRIES:
        assert f'<section id="{entry.id}"' in shown and f'href="#{entry.id}"' in shown
        for cause in entry.causes:
            assert site.escape(cause.shows) in shown
    assert 'href="from_notebook_to_spark_submit.html"' in shown
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
            assert seen.locator("ol").is_visible()
        page.fill("#asked", "the printer is out of paper")
        assert seen.count() == len(ENTRIES)
        assert "No message here" in page.inner_text("#told")
        assert page.locator("section ol:visible").count() == 0
        linked = ENTRIES[-1].id
        page.evaluate("id => { location.hash = id; }", linked)
        page.wait_for_function("told.textContent === ''")
        causes = page.locator("section ol:visible").locator("xpath=ancestor::section")
        assert causes.evaluate_all("all => all.map(e => e.id)") == [linked]
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
