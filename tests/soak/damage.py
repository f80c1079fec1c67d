"""Every file of a data folder, damaged in every way: is a record lost in silence?

    python -m tests.soak.damage [seeds]

A node writes, and stops cleanly or is killed. One file is damaged. Then a node starts
on what is there, and must

    refuse   with one line; with the undamaged file put back it starts, and has everything; or
    start    and have every acknowledged record up to the damage, the later ones too or a word about them: a notice,
             an error to the reader, or a checksum that the reader sees is wrong. What it appends then is there after
             the next restart.

Not covered by any checksum, here as in Apache Kafka: a batch's base offset and leader
epoch, and what the small files say. So a flipped bit in a batch's base offset may hide
it, unless the batch is near a segment's end or behind the recovery point; and what was
written in the last five seconds before a kill is noted nowhere else, so that a log cut
there between two batches looks as if it had never been longer.
"""

import copy
import sys
from collections import Counter
from dataclasses import dataclass
from random import Random

from minikafka.broker.effects import Notice
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, crc_matches, decode_batch, encode_batch
from tests.broker.node import Node

STOPS = ("clean stop", "kill -9")
PARTITIONS = [("orders", 0), ("prices", 0), ("short", 0), ("short", 1)]

DAMAGES = {
    "flip a bit": lambda data, random, sibling: flipped(data, random),
    "cut": lambda data, random, sibling: (
        data[: random.randrange(len(data))] if data else None
    ),
    "halve": lambda data, random, sibling: data[: len(data) // 2] if data else None,
    "empty": lambda data, random, sibling: b"" if data else None,
    "delete": lambda data, random, sibling: None,
    "garbage": lambda data, random, sibling: random.randbytes(len(data) or 40),
    "zeros": lambda data, random, sibling: bytes(len(data) or 40),
    "garbage behind": lambda data, random, sibling: data + random.randbytes(50),
    "swap": lambda data, random, sibling: sibling,
}


def flipped(data, random):
    if not data:
        return None
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


@dataclass
class Folder:
    """What a node left behind. acknowledged: (topic, partition) -> {offset: value}."""

    disk: object
    acknowledged: dict

    def files(self):
        return list(self.disk.files())


def order(node, number):
    node.produce(
        "orders",
        f"order {number}",
        "x" * 40,
        producer_id=7,
        producer_epoch=0,
        base_sequence=2 * number,
    )


def written(stop):
    """A folder with three logs: one of many segments, one compacted, one short; and one
    topic that was deleted.
    """
    node = Node(log_cleaner_backoff_ms=1000, log_retention_check_interval_ms=1000)
    small = {"internal_segment_bytes": 1000, "index_interval_bytes": 150}
    node.create_topic("orders", retention_ms=-1, **small)
    node.create_topic(
        "prices", cleanup_policy="compact", min_cleanable_dirty_ratio=0.01, **small
    )
    node.create_topic("short", partitions=2)
    node.create_topic("gone")
    node.call("DeleteTopics", 5, topic_names=["gone"], timeout_ms=1000)
    for number in range(36):
        if number == 24:
            node.restart()
        order(node, number)
        node.produce("prices", batch=priced(node, number))
        node.produce("short", f"short {number}", partition=number % 2)
        node.pass_time(500)
    delete = {"name": "orders", "partitions": [{"partition_index": 0, "offset": 5}]}
    node.call("DeleteRecords", 2, topics=[delete], timeout_ms=1000)
    node.pass_time(61_000)
    for number in range(36, 42):
        order(node, number)
        node.produce("short", f"short {number}", partition=number % 2)
    node.pass_time(6000)
    acknowledged, complaints = everything(node)
    assert not complaints and all(acknowledged.values())
    if stop == "clean stop":
        node.broker.stop(node.now)
    else:
        node.disk.crash()
    return Folder(node.disk, acknowledged)


def priced(node, number):
    return encode_batch(
        [(node.now.wall_ms, b"key %d" % (number % 5), b"price %d" % number, [])]
    )


def everything(node):
    """({(topic, partition): {offset: value}}, what went wrong while reading).

    By fetching from the beginning, and going on behind what can't be read.
    """
    found, complaints = {}, []
    for topic, partition in PARTITIONS:
        values = found[topic, partition] = {}
        asked = {
            "partition_index": partition,
            "current_leader_epoch": -1,
            "timestamp": -2,
        }
        topics = [{"name": topic, "partitions": [asked]}]
        first = (
            node.call("ListOffsets", 7, replica_id=-1, isolation_level=0, topics=topics)
            .topics[0]
            .partitions[0]
        )
        offset = first.offset
        if first.error_code:
            complaints.append(f"{topic}-{partition}: {Error(first.error_code).name}")
            continue
        end = node.fetch(topic, offset, partition).high_watermark
        while offset < end:
            answer = node.fetch(topic, offset, partition)
            fetched = list(batches(answer.records or b""))
            if answer.error_code or not fetched:
                complaints += [
                    f"{topic}-{partition} at {offset}: {Error(answer.error_code).name}"
                ][: answer.error_code]
                offset += 1  # as somebody does who wants to have the rest
            for header, batch in fetched:
                if crc_matches(batch, header):
                    values.update(
                        (r.offset, r.value)
                        for r in decode_batch(batch)
                        if r.offset >= offset
                    )
                else:
                    complaints.append(
                        f"{topic}-{partition} at {offset}: a wrong checksum"
                    )
                offset = max(offset + 1, header.next_offset)
    return found, complaints


@dataclass
class Outcome:
    """verdict: refused, whole, told (something is missing, and a word was said),
    silent, broken.
    """

    verdict: str
    words: str


def opened(disk):
    """A node started on a disk, and what it told."""
    disk.crash()
    node = Node(disk=disk)
    return node, [effect.line for effect in node.out() if isinstance(effect, Notice)]


def sibling(folder, path):
    """The content of a neighbour of the same kind: what a mix-up would put here."""
    directory, _, name = path.rpartition("/")
    kind = name.partition(".")[2] if name[:20].isdigit() else ""
    for other in folder.files():
        inside, _, other_name = other.rpartition("/")
        if other == path:
            continue
        if kind and inside == directory and other_name.endswith(f".{kind}"):
            return folder.disk.read(other)
        if not kind and other_name == name:
            return folder.disk.read(other)
        if (
            not kind
            and not directory
            and not inside
            and other_name.endswith("checkpoint")
        ):
            return folder.disk.read(other)
    return None


def damaged(folder, path, damage, random):
    """A copy of the disk with one file damaged, and where the damage begins; None if
    that changes nothing.
    """
    before = folder.disk.read(path)
    after = DAMAGES[damage](before, random, sibling(folder, path))
    if after == before or (after is None and damage != "delete"):
        return None
    disk = copy.deepcopy(folder.disk)
    if after is None:
        disk.remove(path)
        return disk, 0
    disk.write_atomic(path, after)
    shorter = min(len(before), len(after))
    return disk, next((at for at in range(shorter) if before[at] != after[at]), shorter)


def outcome(folder, path, disk, at):
    """What becomes of a damaged folder."""
    node, told = opened(disk)
    refused = node.broker.why_failed
    if refused:
        disk.write_atomic(path, folder.disk.read(path))
        again, _ = opened(disk)
        if again.broker.why_failed or missing(folder, everything(again)[0]):
            return Outcome(
                "broken",
                f"{refused}; with the file put back:"
                f" {again.broker.why_failed or 'records are gone'}",
            )
        return Outcome("broken" if "\n" in refused else "refused", refused)
    found, complaints = everything(node)
    words = "; ".join(told + complaints)
    lost = missing(folder, found)
    below = below_damage(folder, path, at)
    if any(key in below and offset < below[key] for key, offset in lost):
        return Outcome("broken", f"lost below the damage: {lost[:5]} ({words})")
    if any(key not in below for key, _ in lost):
        return Outcome("broken", f"lost in another log: {lost[:5]} ({words})")
    if not lost:
        return continued(node, found) or Outcome("whole", words)
    return continued(node, found) or Outcome(
        "told" if words else "silent", words or f"{lost[:5]}"
    )


def continued(node, found):
    """None if the node goes on: it appends, and finds all again after it was killed."""
    answer = node.produce("short", "one more")
    if answer.error_code:
        return Outcome("broken", f"refuses to append: {Error(answer.error_code).name}")
    found["short", 0][answer.base_offset] = b"one more"
    node.restart(clean=False)
    if node.broker.why_failed:
        return Outcome("broken", f"doesn't start again: {node.broker.why_failed}")
    node.out()
    again, _ = everything(node)
    lost = [
        key for key, values in found.items() if not values.items() <= again[key].items()
    ]
    return (
        Outcome("broken", f"{lost[0]} has lost more at the next start")
        if lost
        else None
    )


def missing(folder, found):
    return [
        (key, offset)
        for key, values in folder.acknowledged.items()
        for offset, value in values.items()
        if found.get(key, {}).get(offset) != value
    ]


def below_damage(folder, path, at):
    """{(topic, partition): the first offset that the damage may have touched}; for a
    file that holds no records no offset may be lost.
    """
    directory, _, name = path.rpartition("/")
    if not name.endswith(".log") or directory.startswith("__"):
        return {}
    topic, _, number = directory.rpartition("-")
    offset, position = int(name[:20]), 0
    for header, _ in batches(folder.disk.read(path)):
        position += header.size_bytes
        if position > at:
            break
        offset = header.next_offset
    return {(topic, int(number)): offset}


def outside_checksum(folder, path, at):
    """Whether this byte of a log is one that no checksum covers: base offset and leader
    epoch.
    """
    if not path.endswith(".log"):
        return False
    position = 0
    for header, _ in batches(folder.disk.read(path)):
        if position <= at < position + header.size_bytes:
            return at - position < 8 or 12 <= at - position < 16
        position += header.size_bytes
    return False


def kind_of(path):
    """The file's kind, for the table."""
    directory, _, name = path.rpartition("/")
    name = name[20:] if name[:20].isdigit() else name
    return (
        f"metadata {name}"
        if directory.startswith("__cluster")
        else f"{directory and 'log '}{name}"
    )


def run(seed, folders, sample=False):
    """(stop, path, damage, outcome) of all that can happen to every file; sample: to
    one file of each kind.
    """
    for stop, folder in folders.items():
        paths = folder.files()
        if sample:
            Random(f"{seed} {stop}").shuffle(paths)
            paths = {kind_of(path): path for path in paths}.values()
        for path in paths:
            for damage in DAMAGES:
                random = Random(f"{seed} {stop} {path} {damage}")
                case = damaged(folder, path, damage, random)
                if case is None:
                    continue
                disk, at = case
                if damage == "flip a bit" and outside_checksum(folder, path, at):
                    continue
                try:
                    result = outcome(folder, path, disk, at)
                except Exception as error:
                    result = Outcome("broken", f"{type(error).__name__}: {error}")
                yield stop, path, damage, result


def table(outcomes):
    """{kind of file: how often each verdict}, and a line for each case that must not
    be.
    """
    verdicts, failed = {}, []
    for seed, stop, path, damage, result in outcomes:
        verdicts.setdefault(kind_of(path), Counter())[result.verdict] += 1
        if result.verdict in ("silent", "broken"):
            failed.append(
                f"{stop}, {path}, {damage} (seed {seed}): {result.verdict}:"
                f" {result.words}"
            )
    return verdicts, failed


def main(seeds):
    folders = {stop: written(stop) for stop in STOPS}
    verdicts, failed = table(
        (seed, *case) for seed in range(seeds) for case in run(seed, folders)
    )
    for kind, counted in sorted(verdicts.items()):
        print(
            f"{kind:42}",
            ", ".join(
                f"{count} {verdict}" for verdict, count in sorted(counted.items())
            ),
        )
    print(*failed, sep="\n", end="\n" if failed else "")
    print(f"{sum(map(Counter.total, verdicts.values()))} cases, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
