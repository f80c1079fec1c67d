"""The minimal Kafka: one broker in one file. Reading it takes half an hour.

Real clients write to it, read from it, and share its partitions in consumer groups:
kafka-python, confluent-kafka, Java's console tools. It stores records in Kafka's own
file format, and still has them after a kill -9. It leaves out the rest of Kafka:
replicas, transactions, retention, security.

    python minimal_kafka.py --data DIR --port 9092

The schema text of minikafka.wire turns bytes into messages and back (lesson 12).
Everything else is here, in this order: a partition's log, the offsets that groups
commit, the broker with a method for each API, and the members of a group.
minikafka/README.md walks through it, and says where the real parts are.
"""

import argparse
import asyncio
import json
import random
import traceback
import uuid
from bisect import bisect
from contextlib import suppress
from pathlib import Path

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import API, api_name, decode_request, encode_response
from minikafka.wire.records import batches, crc_matches, read_header

HOST, NODE_ID = "127.0.0.1", 1
PARTITIONS = 2  # of each topic
EARLIEST, LATEST = -2, -1  # in ListOffsets, in place of a timestamp


# --- a partition


class Log:
    """One partition: a file of record batches, one after the other.

    Memory holds only where each batch lies, and a restart reads that from the file.
    """

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = open(folder / f"{0:020}.log", "a+b")
        self.next_offsets = []  # for each batch, the offset after its last record
        self.positions = []  # for each batch, where it begins in the file, and its size
        self.recover()

    @property
    def end_offset(self):
        """The offset that the next record gets."""
        return self.next_offsets[-1] if self.next_offsets else 0

    def recover(self):
        """Find the batches, up to the first that is torn or damaged, and cut the file
        off there.

        A broker that is killed while it writes can leave half a batch. Cutting it off
        breaks no promise, because its producer has had no answer yet.
        """
        self.file.seek(0)
        position = 0
        with suppress(KafkaError):  # these bytes are no batch
            for header, batch in batches(self.file.read()):
                if not crc_matches(batch, header):
                    break
                self.remember(header, position)
                position += len(batch)
        self.file.truncate(position)

    def remember(self, header, position):
        self.next_offsets.append(header.next_offset)
        self.positions.append((position, header.size_bytes))

    def append(self, batch):
        """Store a producer's batch, and return the offset of its first record.

        Producers number the records of each batch from 0. The broker writes the real
        base offset into the first eight bytes, which the checksum doesn't cover.
        """
        base_offset = self.end_offset
        batch = base_offset.to_bytes(8, "big") + batch[8:]
        position = self.file.seek(0, 2)
        self.file.write(batch)
        self.file.flush()  # the operating system has it now: safe from kill -9
        self.remember(read_header(batch), position)
        return base_offset

    def read(self, offset, max_bytes):
        """Whole batches, starting with the one that holds this offset.

        That one comes whatever its size, or a consumer could get stuck on it. More
        follow while they fit. The consumer skips the records before its offset.
        """
        found = b""
        # The batch that holds it is the first whose next offset is larger.
        for position, size in self.positions[bisect(self.next_offsets, offset) :]:
            if found and len(found) + size > max_bytes:
                break
            self.file.seek(position)
            found += self.file.read(size)
        return found


# --- how far groups have read


class CommittedOffsets:
    """(group id, topic, partition) -> offset.

    This is a log, too: each commit appends a line, and the last line for a key counts.
    Kafka's is the topic __consumer_offsets.
    """

    def __init__(self, path):
        self.offsets = {}
        self.file = open(path, "a+")
        self.file.seek(0)
        for line in self.file:
            with suppress(ValueError):  # a kill cut this line short
                *key, offset = json.loads(line)
                self.offsets[tuple(key)] = offset

    def commit(self, key, offset):
        self.offsets[key] = offset
        line = json.dumps([*key, offset])
        self.file.write("\n" + line)  # a torn line ends here
        self.file.flush()


# --- the broker


class Broker:
    """Reads requests from its clients, and answers each with the method for its API.

    A method gets the decoded request and returns the fields of the response. A field
    that it leaves out has its default, and one that the version lacks is dropped.
    """

    def __init__(self, folder):
        self.folder = folder
        self.port = 0  # main sets it
        self.logs = {}  # (topic, partition) -> Log
        for each in folder.glob("*-*"):
            topic, _, partition = each.name.rpartition("-")
            self.logs[topic, int(partition)] = Log(each)
        self.appended = asyncio.Event()  # a new one after each append
        self.committed = CommittedOffsets(folder / "committed_offsets")
        self.groups = {}  # group id -> Group; a restart forgets them

    # --- from bytes to a method, and back

    async def talk(self, reader, writer):
        """One client: a request, its response, the next request. In front of each frame
        stands its size.
        """
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = await self.answer(await reader.readexactly(size))
                if answer is not None:
                    writer.write(len(answer).to_bytes(4, "big") + answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client hung up
        except Exception:
            traceback.print_exc()  # now: asyncio would wait until the client is gone
        finally:
            writer.close()

    async def answer(self, frame):
        """The response to a request, both without their size, or None if the client
        wants none. For an API or a version that isn't served it raises, and the
        connection is closed.
        """
        name, version = api_name(frame), int.from_bytes(frame[2:4], "big")
        correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        low, high, method = self.APIS[name]
        if low <= version <= high:
            answer = await method(self, decode_request(frame).body)
        elif name == "ApiVersions":  # every client can read version 0 (KIP-511)
            answer = await self.api_versions(None)
            answer["error_code"] = Error.UNSUPPORTED_VERSION
            version = 0
        else:
            raise ValueError(f"{name} version {version}")
        if answer is None:
            return None
        return b"".join(encode_response(name, version, correlation_id, answer))

    # --- what a client asks first

    async def api_versions(self, request):
        served = [
            {"api_key": API[name].key, "min_version": low, "max_version": high}
            for name, (low, high, _) in self.APIS.items()
        ]
        return {"api_keys": served}

    async def metadata(self, request):
        names = {topic for topic, _ in self.logs}
        if request.topics is not None:  # None asks for all topics
            names = [each.name for each in request.topics]
        topics = []
        for name in names:
            if (name, 0) not in self.logs and request.allow_auto_topic_creation:
                for number in range(PARTITIONS):
                    self.logs[name, number] = Log(self.folder / f"{name}-{number}")
            partitions = [
                {"partition_index": number, "leader_id": NODE_ID}
                | {"replica_nodes": [NODE_ID], "isr_nodes": [NODE_ID]}
                for number in range(PARTITIONS)
                if (name, number) in self.logs
            ]
            error = Error.NONE if partitions else Error.UNKNOWN_TOPIC_OR_PARTITION
            topics.append({"error_code": error, "name": name, "partitions": partitions})
        brokers = [{"node_id": NODE_ID, "host": HOST, "port": self.port}]
        return {"brokers": brokers, "controller_id": NODE_ID, "topics": topics}

    async def init_producer_id(self, request):
        return {"producer_id": random.getrandbits(62)}  # no other producer has this one

    # --- records

    async def produce(self, request):
        stored = []
        for topic in request.topic_data:
            for partition in topic.partition_data:
                log = self.logs.get((topic.name, partition.index))
                batch = bytes(partition.records)  # a copy: it was a view of the frame
                answer = {"index": partition.index, "base_offset": -1}
                if log is None:
                    answer["error_code"] = Error.UNKNOWN_TOPIC_OR_PARTITION
                elif not crc_matches(batch, read_header(batch)):
                    answer["error_code"] = Error.CORRUPT_MESSAGE
                else:
                    answer["base_offset"] = log.append(batch)
                stored.append((topic.name, answer))
        self.appended.set()  # the fetches that wait look again
        self.appended = asyncio.Event()
        if request.acks == 0:
            return None
        return {"responses": by_topic(stored, partitions="partition_responses")}

    async def fetch(self, request):
        """Long polling: the response waits for min_bytes, and max_wait_ms at most."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + request.max_wait_ms / 1000
        while True:
            appended = self.appended
            found = [
                (topic.topic, self.fetch_partition(topic.topic, asked))
                for topic in request.topics
                for asked in topic.partitions
            ]
            failed = any(answer["error_code"] for _, answer in found)
            size = sum(len(answer["records"]) for _, answer in found)
            if failed or size >= request.min_bytes or clock() >= deadline:
                return {"responses": by_topic(found, topic="topic")}
            with suppress(TimeoutError):
                await asyncio.wait_for(appended.wait(), deadline - clock())

    def fetch_partition(self, topic, asked):
        log = self.logs.get((topic, asked.partition))
        answer = {"partition_index": asked.partition, "error_code": Error.NONE}
        answer |= {"high_watermark": -1, "records": b"", "aborted_transactions": None}
        if log is None:
            return answer | {"error_code": Error.UNKNOWN_TOPIC_OR_PARTITION}
        # A record is committed once all in-sync replicas have it. Here that's one.
        end = log.end_offset
        answer |= {"high_watermark": end, "last_stable_offset": end}
        if not 0 <= asked.fetch_offset <= end:
            return answer | {"error_code": Error.OFFSET_OUT_OF_RANGE}
        records = log.read(asked.fetch_offset, asked.partition_max_bytes)
        return answer | {"records": records}

    async def list_offsets(self, request):
        found = []
        for topic in request.topics:
            for asked in topic.partitions:
                log = self.logs.get((topic.name, asked.partition_index))
                answer = {"partition_index": asked.partition_index}
                if log is None:
                    answer["error_code"] = Error.UNKNOWN_TOPIC_OR_PARTITION
                elif asked.timestamp == EARLIEST:
                    answer["offset"] = 0
                elif asked.timestamp == LATEST:
                    answer["offset"] = log.end_offset
                found.append((topic.name, answer))
        return {"topics": by_topic(found)}

    # --- the offsets of groups

    async def find_coordinator(self, request):
        return {"node_id": NODE_ID, "host": HOST, "port": self.port}

    async def offset_commit(self, request):
        error, generation = Error.NONE, request.generation_id_or_member_epoch
        if generation >= 0:  # a member's; other programs send -1, and may commit
            error = self.group(request.group_id).error(request.member_id, generation)
            if error == Error.REBALANCE_IN_PROGRESS:
                error = Error.NONE  # members may still commit before they join again
        done = []
        for topic in request.topics:
            for each in topic.partitions:
                key = request.group_id, topic.name, each.partition_index
                if not error:
                    self.committed.commit(key, each.committed_offset)
                answer = {"partition_index": each.partition_index, "error_code": error}
                done.append((topic.name, answer))
        return {"topics": by_topic(done)}

    async def offset_fetch(self, request):
        offsets = self.committed.offsets
        keys = [key for key in offsets if key[0] == request.group_id]
        if request.topics is not None:  # None asks for all that the group has committed
            keys = [
                (request.group_id, topic.name, partition)
                for topic in request.topics
                for partition in topic.partition_indexes
            ]
        found = []
        for key in keys:
            _, topic, partition = key
            offset = offsets.get(key, -1)  # -1: none
            answer = {"partition_index": partition, "committed_offset": offset}
            found.append((topic, answer | {"metadata": ""}))
        return {"topics": by_topic(found)}

    # --- the members of groups

    def group(self, group_id):
        return self.groups.setdefault(group_id, Group())

    async def join_group(self, request):
        group = self.group(request.group_id)
        member_id = request.member_id or f"member-{uuid.uuid4()}"
        answer = {"member_id": member_id, "leader": "", "protocol_name": ""}
        if request.member_id and request.member_id not in group.members:
            return answer | {"error_code": Error.UNKNOWN_MEMBER_ID}
        if not common_protocols(group.members | {member_id: request}):
            return answer | {"error_code": Error.INCONSISTENT_GROUP_PROTOCOL}
        await group.join(member_id, request)
        answer |= {"generation_id": group.generation, "leader": group.leader}
        answer["protocol_name"] = group.protocol
        if member_id == group.leader:  # the leader assigns, so it is told who is there
            answer["members"] = [
                {"member_id": name, "metadata": offered.metadata}
                for name, joined in group.members.items()
                for offered in joined.protocols
                if offered.name == group.protocol
            ]
        return answer

    async def sync_group(self, request):
        group = self.group(request.group_id)
        error = group.error(request.member_id, request.generation_id)
        if error:
            return {"error_code": error, "assignment": b""}
        if request.member_id == group.leader and not group.assignments.done():
            said = {each.member_id: each.assignment for each in request.assignments}
            group.assignments.set_result(said)
        group.stop_timer(request.member_id)  # it waits for us
        assignments = await group.assignments
        group.start_timer(request.member_id)
        if assignments is None:
            return {"error_code": Error.REBALANCE_IN_PROGRESS, "assignment": b""}
        return {"assignment": assignments.get(request.member_id, b"")}

    async def heartbeat(self, request):
        group = self.group(request.group_id)
        return {"error_code": group.error(request.member_id, request.generation_id)}

    async def leave_group(self, request):
        group = self.group(request.group_id)
        if request.member_id not in group.members:
            return {"error_code": Error.UNKNOWN_MEMBER_ID}
        group.remove(request.member_id)
        return {}

    # What this broker serves: API -> the lowest and the highest version, and the method.
    # The versions are old ones. They have all that is needed here, and today's clients
    # still speak them.
    APIS = {
        "ApiVersions": (0, 0, api_versions),
        "Metadata": (1, 5, metadata),
        "InitProducerId": (0, 1, init_producer_id),
        "Produce": (3, 7, produce),
        "Fetch": (4, 6, fetch),
        "ListOffsets": (1, 3, list_offsets),
        "FindCoordinator": (0, 1, find_coordinator),
        "OffsetCommit": (2, 3, offset_commit),
        "OffsetFetch": (1, 3, offset_fetch),
        "JoinGroup": (0, 3, join_group),
        "SyncGroup": (0, 1, sync_group),
        "Heartbeat": (0, 1, heartbeat),
        "LeaveGroup": (0, 1, leave_group),
    }


def by_topic(found, topic="name", partitions="partitions"):
    """(topic, answer for one partition), ... in the form that responses have."""
    topics = {}
    for name, answer in found:
        topics.setdefault(name, []).append(answer)
    return [{topic: name, partitions: answers} for name, answers in topics.items()]


# --- a group


class Group:
    """The members of one group, and the generation that they agree on.

    When a member comes or goes, the group rebalances: each of the others hears
    REBALANCE_IN_PROGRESS at its next heartbeat, and sends JoinGroup. Once all have, the
    next generation begins; its larger number fences members that missed it. The leader,
    the member that has been here longest, then says in SyncGroup who reads which
    partitions. The broker passes that on unread.
    """

    def __init__(self):
        self.generation = 0
        self.is_rebalancing = False
        self.members = {}  # member id -> its last JoinGroup
        self.joining = {}  # member id -> future: its JoinGroup waits for the others
        self.timers = {}  # member id -> timer that removes it if it falls silent
        # a future: member id -> bytes, from the leader; None if a rebalance comes first
        self.assignments = asyncio.Future()

    @property
    def leader(self):
        return next(iter(self.members))

    @property
    def protocol(self):
        """The assignor that this generation uses."""
        return common_protocols(self.members)[0]

    def join(self, member_id, request):
        """A future that is done when the next generation begins."""
        self.stop_timer(member_id)
        self.members[member_id] = request
        self.joining[member_id] = joined = asyncio.Future()
        self.rebalance()
        return joined

    def remove(self, member_id):
        """It has left, or was silent for its session timeout."""
        self.stop_timer(member_id)
        del self.members[member_id]
        self.rebalance()

    def rebalance(self):
        """Everybody must join. When the last one has, the next generation begins."""
        self.is_rebalancing = True
        if not self.assignments.done():
            self.assignments.set_result(None)
        if set(self.members) == set(self.joining):
            self.begin_generation()

    def begin_generation(self):
        self.is_rebalancing = False
        self.generation += 1
        self.assignments = asyncio.Future()
        joining, self.joining = self.joining, {}
        for member_id, joined in joining.items():
            joined.set_result(None)
            self.start_timer(member_id)

    def error(self, member_id, generation):
        """Why a request of this member is refused, or NONE: then it was a sign of life.
        During a rebalance only JoinGroup is one.
        """
        if member_id not in self.members:
            return Error.UNKNOWN_MEMBER_ID
        if generation != self.generation:
            return Error.ILLEGAL_GENERATION
        if self.is_rebalancing:
            return Error.REBALANCE_IN_PROGRESS
        self.start_timer(member_id)
        return Error.NONE

    def start_timer(self, member_id):
        """From now on this member may be silent for its session timeout. It has no timer
        while it waits for us, in JoinGroup or SyncGroup.
        """
        self.stop_timer(member_id)
        if member_id in self.members:
            seconds = self.members[member_id].session_timeout_ms / 1000
            call_later = asyncio.get_running_loop().call_later
            self.timers[member_id] = call_later(seconds, self.remove, member_id)

    def stop_timer(self, member_id):
        if member_id in self.timers:
            self.timers.pop(member_id).cancel()


def common_protocols(members):
    """The assignors that all of these members have."""
    offered = [[each.name for each in m.protocols] for m in members.values()]
    return [name for name in offered[0] if all(name in names for names in offered)]


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--port", type=int, default=0)  # 0: any that is free
    given = arguments.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    broker = Broker(given.data)
    server = await asyncio.start_server(broker.talk, HOST, given.port)
    broker.port = server.sockets[0].getsockname()[1]
    print(f"ready {HOST}:{broker.port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
