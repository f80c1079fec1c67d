"""Lesson 11's real quorum: three brokers that are processes, described through
kafka-python's admin client.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from minikafka.course.experiments.lesson_10_real import KILL
from minikafka.server.embedded import Served


def kill_the_controller() -> None:
    """Describes the quorum, kills the active controller's process, and describes it
    when there is another one.
    """
    from kafka import KafkaAdminClient

    processes = ("--brokers", "3", "--processes")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Served(folder, options=processes) as served,
    ):
        admin = KafkaAdminClient(bootstrap_servers=served.bootstrap.split(","))
        before = quorum(admin)
        print(shown(before))
        os.kill(
            int((Path(folder) / f"broker-{before['leader_id']}.pid").read_text()), KILL
        )
        after = quorum(admin)
        while (
            after["leader_epoch"] == before["leader_epoch"] or after["leader_id"] == -1
        ):
            after = quorum(admin)
        print(
            f"\nthe process of broker {before['leader_id']} was"
            f" killed\n\n{shown(after)}"
        )
        admin.close()


def quorum(admin: Any) -> Any:
    """A broker's answer about the metadata log's only partition."""
    from kafka.errors import KafkaError

    while True:
        try:
            found = admin.describe_metadata_quorum()["topics"][0]["partitions"][0]
        except KafkaError:  # it asked the one that is down, or nobody is elected yet
            continue
        if found["error"] is None:
            return found


def shown(found: Any) -> str:
    """The first lines of `kafka-metadata-quorum.sh describe --status`, and columns of
    `--replication`.
    """
    voters, leader = found["current_voters"], found["leader_id"]
    end = next(
        each["log_end_offset"] for each in voters if each["replica_id"] == leader
    )
    lines = [f"LeaderId: {leader}", f"LeaderEpoch: {found['leader_epoch']}"]
    lines += [
        f"HighWatermark: {found['high_watermark']}",
        "",
        "NodeId  LogEndOffset  Lag  Status",
    ]
    for each in voters:
        mine = each["log_end_offset"]
        known = (
            f"{mine:<13} {end - mine:<4}" if mine >= 0 else f"{'unknown':<13} {'?':<4}"
        )
        lines.append(
            f"{each['replica_id']:<7} {known}"
            f" {'Leader' if each['replica_id'] == leader else 'Follower'}"
        )
    return "\n".join(lines)
