"""Brokers of three are killed under a share group: `python -m tests.soak.share --records
50000` (KIP-932).

Three Java members (tests/clients/ShareWorkers.java) share a topic with three replicas.
One of them is killed with records in hand, and a broker is killed in the middle. In the
end every record was accepted by somebody, and none was delivered more often than the
limit. With --apache the same on Apache Kafka.
"""

import argparse
import itertools
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.clients.brokers import fresh_name, until
from tests.kafka import java_command
from tests.soak.failover import REPLICATED, Cluster, running, wait_until_in_sync
from tests.soak.kill import RECONNECT, Wrong

WORKER = str(Path(__file__).parent.parent / "clients" / "ShareWorkers.java")
PARTITIONS, MEMBERS, LIMIT = 6, 3, 5
STATE_TOPIC = "__share_group_state"
QUIET_MS = "70000"  # longer than a session: then others get what a dead member read
_numbers = itertools.count(1)


class Member:
    """One in a process of its own, which writes what it says into a file: nothing waits
    for us to read it.
    """

    def __init__(self, bootstrap: str, topic: str, what: str, folder: Path) -> None:
        self._file = folder / f"{what}-{next(_numbers)}"
        with self._file.open("w") as said:
            self._process = subprocess.Popen(
                java_command(WORKER, bootstrap, topic, topic, what, QUIET_MS),
                stdout=said,
                stderr=subprocess.DEVNULL,
            )

    def lines(self) -> list[str]:
        """What it has said so far."""
        return self._file.read_text().splitlines()

    def wait(self) -> None:
        self._process.wait(timeout=600)

    def kill(self) -> None:
        self._process.kill()
        self.wait()


def read_shares_from_the_start(bootstrap: str, group: str, **configs: str) -> None:
    """A share group reads what is in a topic already; configs: more of the group's,
    with _ for a dot.
    """
    wanted = {"share_auto_offset_reset": "earliest", **configs}
    entries = [
        ConfigEntry(
            name.replace("_", "."),
            value,
            incremental_operation=AlterConfigOpType.SET,
        )
        for name, value in wanted.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap, **RECONNECT})
    [done] = admin.incremental_alter_configs([resource]).values()
    done.result(30)


def make_queue(bootstrap: str, records: int) -> str:
    """A topic with numbered records, and a group that reads it from the beginning."""
    name = fresh_name("shared")
    admin = AdminClient({"bootstrap.servers": bootstrap, **RECONNECT})
    topic = NewTopic(name, PARTITIONS, 3, config=REPLICATED)
    admin.create_topics([topic])[name].result()
    read_shares_from_the_start(bootstrap, name)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", **RECONNECT})
    for number in range(records):
        producer.produce(name, str(number), partition=number % PARTITIONS)
        producer.poll(0)
    if producer.flush(240):
        raise Wrong("the records are not written")
    return name


def share(cluster: Cluster, records: int, folder: Path) -> str:
    """What became of it, in one line. Errors: Wrong."""
    name = make_queue(cluster.bootstrap, records)
    hangs = Member(cluster.bootstrap, name, "hang", folder)
    until(lambda: len(hangs.lines()) == 2, "somebody has records in hand")
    in_hand = hangs.lines()[1]
    began = time.monotonic()
    members = []
    for _ in range(MEMBERS - 1):
        members.append(Member(cluster.bootstrap, name, "accept", folder))
    until(lambda: len(members[0].lines()) > 1, "some are accepted")
    hangs.kill()
    cluster.kill(2)
    accepted: Counter[tuple[str, str]] = Counter()
    most = 0
    for member in members:
        member.wait()
        for line in member.lines():
            words = line.split()
            if len(words) == 3:
                accepted[words[0], words[1]] += 1
                most = max(most, int(words[2]))
    seconds = time.monotonic() - began
    missing = records - len(accepted)
    if missing > 0:
        raise Wrong(f"{missing} of {records} records were accepted by nobody")
    if most > LIMIT:
        raise Wrong(f"a record was delivered {most} times, the limit is {LIMIT}")
    wait_until_in_sync(cluster.bootstrap, [name, STATE_TOPIC])
    again = sum(count - 1 for count in accepted.values())
    return (
        f"{records} records accepted in {seconds:.1f} s, {again} of them twice; {in_hand}"
        f" when it was killed; at most {most} deliveries"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--apache", action="store_true")
    given = parser.parse_args()
    try:
        with running(given.apache) as cluster, TemporaryDirectory() as folder:
            print(share(cluster, given.records, Path(folder)))
    except Wrong as wrong:
        print(f"wrong: {wrong}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
