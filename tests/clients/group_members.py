"""Groups of real clients under test: members that are processes, a stream of records,
and waiting for what must come.

Nothing here sleeps: a test says what it waits for, and whatever a member says wakes it
up to look again.
"""

import json
import subprocess
import sys
import tempfile
import threading

from confluent_kafka import Producer

from tests.clients.brokers import until
from tests.clients.member import HEARTBEAT_MS
from tests.clients.nodes import SESSION_MS
from tests.conformance.raw import Connection
from tests.kafka import java_command

# to tell a failure from a slow machine; no test is meant to take so long
PATIENCE_S = 120


class Board:
    """Where members write down what happened to them, and tests wait for it."""

    def __init__(self):
        self.changed = threading.Condition()
        self.members = []

    def wait_until(self, holds, what, left=lambda: ""):
        """left: what to say of that which hasn't come."""
        with self.changed:
            if not self.changed.wait_for(holds, PATIENCE_S):
                members = "\n".join(map(str, self.members))
                raise AssertionError(f"still waiting until {what}{left()}:\n{members}")

    def seen(self):
        """(partition, offset) of all that any member has read."""
        return set().union(*(member.seen for member in self.members))


class Member:
    """One process. assigned: its partitions; seen: {(partition, offset)}; committed:
    partition -> offset.
    """

    def __init__(self, board, name, command):
        self.board, self.name = board, name
        self.assigned, self.seen, self.committed = set(), set(), {}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the member)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        board.members.append(self)
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self):
        for line in self.process.stdout:
            with self.board.changed:
                self.told(json.loads(line))
                self.board.changed.notify_all()
        with self.board.changed:
            self.assigned = set()
            self.board.changed.notify_all()

    def told(self, event):
        [(what, values)] = event.items()
        if what == "assigned":
            self.assigned = set(values)
        elif what == "read":
            for partition, first, last in values:
                self.seen |= {(partition, offset) for offset in range(first, last + 1)}
        elif what == "committed":
            self.committed |= dict(values)

    def kill(self):
        """End the process as kill -9 does: the group hears no goodbye."""
        self.process.kill()
        self.process.wait()
        self.listener.join()

    def leave(self):
        """It closes its consumer and says goodbye."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) in self.clean_ends, str(self)
        self.listener.join()

    clean_ends = (0,)

    def __str__(self):
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace")[-2000:]
        ended = self.process.poll()
        state = "runs" if ended is None else f"ended with {ended}"
        return (
            f"{self.name}: {state}, has {sorted(self.assigned)}, has read"
            f" {len(self.seen)} records. {said}"
        )


class JavaMember(Member):
    """org.apache.kafka.tools.VerifiableConsumer, which tells in JSON what it does."""

    clean_ends = (0, 143)

    def told(self, event):
        places = {each["partition"] for each in event.get("partitions", ())}
        if event["name"] == "partitions_assigned":
            self.assigned = self.assigned | places
        elif event["name"] in ("partitions_revoked", "partitions_lost"):
            self.assigned = self.assigned - places
        elif event["name"] == "records_consumed":
            for each in event["partitions"]:
                offsets = range(each["minOffset"], each["maxOffset"] + 1)
                self.seen |= {(each["partition"], offset) for offset in offsets}
        elif event["name"] == "offsets_committed" and event["success"]:
            self.committed |= {
                each["partition"]: each["offset"] for each in event["offsets"]
            }

    def leave(self):
        self.process.terminate()
        super().leave()


class Group:
    """A group on one topic of six partitions, and the records that flow while it
    changes.
    """

    partitions = 6

    def __init__(self, kafka, topic, group, folder):
        self.kafka, self.topic, self.group, self.folder = kafka, topic, group, folder
        self.board = Board()
        with Connection(kafka.bootstrap) as broker:
            broker.create_topic(topic, self.partitions)
        self.flow = Flow(kafka.bootstrap, topic, self.partitions)

    def member(self, client, assignor=None, protocol="classic"):
        """A process of a client joins the group: kafka-python, librdkafka, aiokafka or
        java.
        """
        if client == "java":
            return JavaMember(
                self.board,
                f"java {len(self.board.members)}",
                self._java_command(protocol),
            )
        settings = {
            "bootstrap": self.kafka.bootstrap,
            "group": self.group,
            "topic": self.topic,
            "session_ms": SESSION_MS,
            "assignor": assignor,
            "protocol": protocol,
        }
        command = [
            sys.executable,
            "-m",
            "tests.clients.member",
            client,
            json.dumps(settings),
        ]
        return Member(self.board, f"{client} {len(self.board.members)}", command)

    def _java_command(self, protocol):
        args = [
            "--bootstrap-server",
            self.kafka.bootstrap,
            "--topic",
            self.topic,
            "--group-id",
            self.group,
        ]
        args += ["--group-protocol", protocol, "--reset-policy", "earliest"]
        if protocol == "classic":
            config = self.folder / "consumer.properties"
            config.write_text(f"heartbeat.interval.ms={HEARTBEAT_MS}\n")
            args += [
                "--session-timeout",
                str(SESSION_MS),
                "--command-config",
                str(config),
            ]
        return java_command("org.apache.kafka.tools.VerifiableConsumer", *args)

    def wait_until_shared_by(self, *members):
        """Every partition has exactly one owner, and each of these has its fair
        share.
        """

        def shared():
            shares = [member.assigned for member in members]
            fair = {
                self.partitions // len(members),
                -(-self.partitions // len(members)),
            }
            return {len(share) for share in shares} <= fair and sorted(
                n for share in shares for n in share
            ) == list(range(self.partitions))

        self.board.wait_until(
            shared,
            f"the partitions are shared by {[member.name for member in members]}",
        )

    def wait_until_all_is_read(self):
        """Stop the producer's flow, and wait until the members have read every
        record.
        """
        sent = self.flow.stop()
        self.board.wait_until(
            lambda: sent <= self.board.seen(),
            "every record is read",
            lambda: (
                f", but not {sorted(sent - self.board.seen())} as (partition, offset)"
            ),
        )
        ends = {
            number: max(offset for partition, offset in sent if partition == number) + 1
            for number in range(6)
        }
        until(lambda: self.committed() == ends, f"{ends} is committed")
        return ends

    def committed(self):
        """partition -> offset, as the coordinator knows them."""
        with Connection(self.kafka.bootstrap) as broker:
            while True:
                [answer] = broker.ask(
                    "OffsetFetch", 8, groups=[{"group_id": self.group, "topics": None}]
                ).groups
                if answer.error_code == 0:
                    break
        return {
            each.partition_index: each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
            if topic.name == self.topic
        }

    def close(self):
        self.flow.stop()
        for member in self.board.members:
            member.process.kill()
            member.process.wait()


class Flow:
    """Records that keep coming, one for each partition, then the next."""

    pause_s = 0.01

    def __init__(self, bootstrap, topic, partitions):
        self.topic, self.partitions = topic, partitions
        options = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "log_level": 0,
            "linger.ms": 0,
        }
        self.producer = Producer(options)
        self.sent = set()
        self.failures = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        number = 0
        while not self._stopped.wait(self.pause_s):
            for partition in range(self.partitions):
                self.producer.produce(
                    self.topic,
                    b"%d" % number,
                    partition=partition,
                    on_delivery=self._delivered,
                )
                number += 1
            self.producer.poll(0)
        self.producer.flush(PATIENCE_S)

    def _delivered(self, error, message):
        if error is None:
            self.sent.add((message.partition(), message.offset()))
        else:
            self.failures.append(error)

    def stop(self):
        """(partition, offset) of every record that was acknowledged: all that were
        sent.
        """
        self._stopped.set()
        self._thread.join()
        assert not self.failures
        return self.sent
