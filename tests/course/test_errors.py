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

ENTRIES = errors.entries()
PASTED = {
    "kafka.errors.NoBrokersAvailable: NoBrokersAvailable": "no-brokers-available",
    "[2026-01-05 10:00:00,000] WARN [Producer clientId=console-producer] Connection to"
    " node -1 (localhost/127.0.0.1:9092) could not be established. Broker may not be"
    " available. (org.apache.kafka.clients.NetworkClient)": "connection-to-node",
    "Topic payments not present in metadata after 60000 ms.": "not-present-in-metadata",
    "KafkaTimeoutError: Failed to update metadata after 60.0 secs.": (
        "not-present-in-metadata"
    ),
    "Error while fetching metadata with correlation id 1 :"
    " {orders=LEADER_NOT_AVAILABLE}": "leader-not-available",
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does"
    " not host this topic-partition.": "unknown-topic-or-partition",
    "FindCoordinator response error: The coordinator is not available. Broker: Group"
    " coordinator not available": "coordinator-not-available",
    "CommitFailedException: Commit cannot be completed since the group has already"
    " rebalanced and assigned the partitions to another member.": "commit-failed",
    "[Consumer clientId=a, groupId=b] (Re-)joining group": "rebalance-loop",
    "Attempt to heartbeat failed since group is rebalancing": "rebalance-loop",
    "FencedInstanceIdException": "fenced-instance-id",
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


def test_there_are_fifteen_each_with_its_own_anchor():
    ids = [entry.id for entry in ENTRIES]
    assert len(ids) == len(set(ids)) == 15
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
@pytest.mark.parametrize("width", [390, 1200])
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
