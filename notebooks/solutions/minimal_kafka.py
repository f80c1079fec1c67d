"""The minimal Kafka: one broker in one file, to be read in half an hour.

Real clients write to it, read from it and share its partitions in groups: kafka-python,
confluent-kafka, Java's. It keeps records in Kafka's own file format, and has them after
a kill -9. The rest of Kafka is left out: copies on other machines, transactions,
retention, security.

    python minimal_kafka.py --data DIR --port 9092

Bytes become messages and back by the schema text of minikafka.wire, which lesson 12
shows. All else is here: the log, the groups, an answer for each API, the door.
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

from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API, api_name, decode_request, encode_response
from minikafka.wire.records import batches, crc_matches, read_header

HOST, NODE_ID = "127.0.0.1", 1
PARTITIONS = 2  # of each topic
OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, UNKNOWN_TOPIC = 1, 2, 3
ILLEGAL_GENERATION, INCONSISTENT_PROTOCOL, UNKNOWN_MEMBER = 22, 23, 25
REBALANCING, UNSUPPORTED_VERSION = 27, 35


# --- the log (minikafka has it in storage/log.py)


class Log:
    """One partition: a file of record batches, one after the other. All that is known
    of it is read from the file when the broker starts.
    """

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = open(folder / f"{0:020}.log", "a+b")  # noqa: SIM115
        self.next_offsets = []  # of each batch, the offset after its last record
        self.places = []  # of each batch, where it begins in the file, and its size
        self.load()

    @property
    def end(self):
        """The offset that the next record gets."""
        return self.next_offsets[-1] if self.next_offsets else 0

    def load(self):
        """Read the batches that are whole, and cut off what comes after them. A broker
        that is killed while it writes may leave half a batch. No producer was told that
        this one is stored.
        """
        self.file.seek(0)
        at = 0
        with suppress(KafkaError):  # these bytes are no batch
            for header, batch in batches(self.file.read()):
                if not crc_matches(batch, header):
                    break
                self.remember(header, at)
                at += len(batch)
        self.file.truncate(at)

    def remember(self, header, at):
        self.next_offsets.append(header.next_offset)
        self.places.append((at, header.size_bytes))

    def append(self, batch):
        """Store a producer's batch; returns the offset of its first record.

        In a producer's batch the offsets begin at 0. The broker writes the true base
        offset into the first eight bytes; the checksum doesn't cover them.
        """
        base_offset = self.end
        batch = base_offset.to_bytes(8, "big") + batch[8:]
        at = self.file.seek(0, 2)
        self.file.write(batch)
        self.file.flush()  # the operating system has it now: safe from kill -9
        self.remember(read_header(batch), at)
        return base_offset

    def read(self, offset, max_bytes):
        """Whole batches, from the one that holds this offset: one in any case, more
        while they fit. The consumer passes over records before its offset.
        """
        found = b""
        # The batch that holds it is the first one whose next offset is larger.
        for at, size in self.places[bisect(self.next_offsets, offset) :]:
            if found and len(found) + size > max_bytes:
                break
            self.file.seek(at)
            found += self.file.read(size)
        return found


# --- groups (coordinators/classic_group.py)


class Group:
    """The members of one group, and their generation.

    When somebody comes or goes, everyone joins again: each member hears REBALANCING at
    its next heartbeat, and sends JoinGroup. When the last one has, a new generation
    begins, and its larger number fences the members of the old one. Its leader, the
    first member, says in SyncGroup who reads what. We only hand that on.
    """

    def __init__(self):
        self.generation = 0
        self.is_joining = False
        self.members = {}  # member id -> its last JoinGroup
        self.waiting = {}  # member id -> future: its JoinGroup, not answered yet
        self.timers = {}  # member id -> what puts it out when it is silent
        # What the leader says: member id -> bytes. None: everyone joins again.
        self.assignments = asyncio.Future()

    def join(self, member_id, request):
        self.members[member_id] = request
        self.waiting[member_id] = joined = asyncio.Future()
        self.alive(member_id)
        self.change()  # it empties self.waiting if this was the last one
        return joined

    def remove(self, member_id):
        self.stop_timer(member_id)
        del self.members[member_id]
        self.change()

    def change(self):
        """Somebody came, went or joined again. Now everyone must join; when the last one
        has, the next generation begins.
        """
        self.is_joining = True
        if not self.assignments.done():
            self.assignments.set_result(None)
        if set(self.members) == set(self.waiting):
            self.is_joining = False
            self.generation += 1
            self.assignments = asyncio.Future()
            waiting, self.waiting = self.waiting, {}
            for member_id, joined in waiting.items():
                joined.set_result(None)
                self.alive(member_id)

    def alive(self, member_id):
        """A member was heard. Its session timeout begins anew: when its JoinGroup is
        answered, if it waits for that. Who waits for our answer isn't silent.
        """
        self.stop_timer(member_id)
        if member_id in self.members and member_id not in self.waiting:
            seconds = self.members[member_id].session_timeout_ms / 1000
            later = asyncio.get_running_loop().call_later
            self.timers[member_id] = later(seconds, self.remove, member_id)

    def stop_timer(self, member_id):
        if member_id in self.timers:
            self.timers.pop(member_id).cancel()

    def error(self, member_id, generation):
        """Why this member of this generation is refused, or 0. While everyone joins
        again, only JoinGroup counts as a sign of life.
        """
        if member_id not in self.members:
            return UNKNOWN_MEMBER
        if generation != self.generation:
            return ILLEGAL_GENERATION
        if self.is_joining:
            return REBALANCING
        self.alive(member_id)
        return 0

    @property
    def protocol(self):
        """The assignor of this generation."""
        return shared(self.members)[0]


def shared(members):
    """The assignors that all of these members have."""
    offered = [[each.name for each in m.protocols] for m in members.values()]
    return [name for name in offered[0] if all(name in names for names in offered)]


# --- an answer for each API (broker/handlers, a file for each)


class Broker:
    """A method for each API gets the decoded request, and returns the answer's fields.
    A field that isn't named has its default; one that the version lacks is left out.
    """

    def __init__(self, folder):
        self.folder = folder
        self.port = 0
        self.appended = asyncio.Event()  # a new one after each append
        self.logs = {}  # (topic, partition) -> Log
        for each in folder.glob("*-*"):
            topic, _, partition = each.name.rpartition("-")
            self.logs[topic, int(partition)] = Log(each)
        self.groups = {}  # group id -> Group; forgotten when the broker stops
        # Committed offsets are a log, too: a line each, and the last one counts.
        self.offsets = {}  # (group id, topic, partition) -> offset
        self.offsets_file = open(folder / "committed_offsets", "a+")  # noqa: SIM115
        self.offsets_file.seek(0)
        for line in self.offsets_file:
            with suppress(ValueError):  # a torn line
                group_id, topic, partition, offset = json.loads(line)
                self.offsets[group_id, topic, partition] = offset

    def group(self, group_id):
        return self.groups.setdefault(group_id, Group())

    async def api_versions(self, request):
        served = [
            {"api_key": API[name].key, "min_version": low, "max_version": high}
            for name, (low, high, _) in self.APIS.items()
        ]
        return {"api_keys": served}

    async def metadata(self, request):
        names = {topic for topic, _ in self.logs}  # no topics asked for: all
        if request.topics is not None:
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
            error = 0 if partitions else UNKNOWN_TOPIC
            topics.append({"error_code": error, "name": name, "partitions": partitions})
        brokers = [{"node_id": NODE_ID, "host": HOST, "port": self.port}]
        return {"brokers": brokers, "controller_id": NODE_ID, "topics": topics}

    async def init_producer_id(self, request):
        return {"producer_id": random.getrandbits(62)}  # nobody else has this one

    async def produce(self, request):
        stored = []
        for topic in request.topic_data:
            for partition in topic.partition_data:
                log = self.logs.get((topic.name, partition.index))
                batch = bytes(partition.records)  # it was a view of the frame
                answer = {"index": partition.index, "base_offset": -1}
                if log is None:
                    answer["error_code"] = UNKNOWN_TOPIC
                elif not crc_matches(batch, read_header(batch)):
                    answer["error_code"] = CORRUPT_MESSAGE
                else:
                    answer["base_offset"] = log.append(batch)
                stored.append((topic.name, answer))
        self.appended.set()  # consumers that wait look again
        self.appended = asyncio.Event()
        if request.acks == 0:
            return None  # the producer wants no answer
        return {"responses": by_topic(stored, partitions="partition_responses")}

    async def fetch(self, request):
        """The answer comes when there are min_bytes, or after max_wait_ms."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + request.max_wait_ms / 1000
        while True:
            appended = self.appended
            found = [
                (topic.topic, self.read(topic.topic, each))
                for topic in request.topics
                for each in topic.partitions
            ]
            failed = any(answer["error_code"] for _, answer in found)
            enough = sum(len(answer["records"]) for _, answer in found)
            if failed or enough >= request.min_bytes or clock() >= deadline:
                return {"responses": by_topic(found, topic="topic")}
            with suppress(TimeoutError):
                await asyncio.wait_for(appended.wait(), deadline - clock())

    def read(self, topic, asked):
        """One partition of a Fetch."""
        log = self.logs.get((topic, asked.partition))
        answer = {"partition_index": asked.partition, "error_code": 0, "records": b""}
        answer |= {"high_watermark": -1, "aborted_transactions": None}
        if log is None:
            return answer | {"error_code": UNKNOWN_TOPIC}
        # A record is committed when all replicas have it: here as soon as it is stored.
        answer |= {"high_watermark": log.end, "last_stable_offset": log.end}
        if not 0 <= asked.fetch_offset <= log.end:
            return answer | {"error_code": OFFSET_OUT_OF_RANGE}
        return answer | {
            "records": log.read(asked.fetch_offset, asked.partition_max_bytes)
        }

    async def list_offsets(self, request):
        found = []
        for topic in request.topics:
            for asked in topic.partitions:
                log = self.logs.get((topic.name, asked.partition_index))
                answer = {"partition_index": asked.partition_index}
                if log is None:
                    answer["error_code"] = UNKNOWN_TOPIC
                elif asked.timestamp == -2:  # the beginning
                    answer["offset"] = 0
                elif asked.timestamp == -1:  # the end
                    answer["offset"] = log.end
                found.append((topic.name, answer))
        return {"topics": by_topic(found)}

    async def find_coordinator(self, request):
        return {"node_id": NODE_ID, "host": HOST, "port": self.port}

    async def offset_commit(self, request):
        error, generation = 0, request.generation_id_or_member_epoch
        if generation >= 0:  # it comes from a member
            error = self.group(request.group_id).error(request.member_id, generation)
            if error == REBALANCING:
                error = 0  # the old generation may still say how far it got
        done = []
        for topic in request.topics:
            for each in topic.partitions:
                place = request.group_id, topic.name, each.partition_index
                if not error:
                    self.offsets[place] = each.committed_offset
                    line = json.dumps([*place, each.committed_offset])
                    self.offsets_file.write(f"\n{line}")  # a torn one ends here
                answer = {"partition_index": each.partition_index, "error_code": error}
                done.append((topic.name, answer))
        self.offsets_file.flush()
        return {"topics": by_topic(done)}

    async def offset_fetch(self, request):
        places = [place for place in self.offsets if place[0] == request.group_id]
        if request.topics is not None:
            places = [
                (request.group_id, topic.name, partition)
                for topic in request.topics
                for partition in topic.partition_indexes
            ]
        found = []
        for place in places:
            offset = self.offsets.get(place, -1)  # -1: none
            answer = {"partition_index": place[2], "committed_offset": offset}
            found.append((place[1], answer | {"metadata": ""}))
        return {"topics": by_topic(found)}

    async def join_group(self, request):
        group = self.group(request.group_id)
        member_id = request.member_id or f"member-{uuid.uuid4()}"
        answer = {"member_id": member_id, "leader": "", "protocol_name": ""}
        if request.member_id and request.member_id not in group.members:
            return answer | {"error_code": UNKNOWN_MEMBER}
        if not shared(group.members | {member_id: request}):
            return answer | {"error_code": INCONSISTENT_PROTOCOL}
        await group.join(member_id, request)
        answer |= {"generation_id": group.generation, "protocol_name": group.protocol}
        answer["leader"] = next(iter(group.members))
        if member_id == answer["leader"]:  # only the leader hears who they are
            answer["members"] = [
                {"member_id": name, "metadata": offer.metadata}
                for name, member in group.members.items()
                for offer in member.protocols
                if offer.name == group.protocol
            ]
        return answer

    async def sync_group(self, request):
        group = self.group(request.group_id)
        error = group.error(request.member_id, request.generation_id)
        if error:
            return {"error_code": error, "assignment": b""}
        is_leader = request.member_id == next(iter(group.members))
        if is_leader and not group.assignments.done():
            said = {each.member_id: each.assignment for each in request.assignments}
            group.assignments.set_result(said)
        group.stop_timer(request.member_id)  # it waits for us
        assignments = await group.assignments
        group.alive(request.member_id)
        if assignments is None:
            return {"error_code": REBALANCING, "assignment": b""}
        return {"assignment": assignments.get(request.member_id, b"")}

    async def heartbeat(self, request):
        group = self.group(request.group_id)
        return {"error_code": group.error(request.member_id, request.generation_id)}

    async def leave_group(self, request):
        group = self.group(request.group_id)
        if request.member_id not in group.members:
            return {"error_code": UNKNOWN_MEMBER}
        group.remove(request.member_id)
        return {}

    # API -> the lowest and the highest version, and the method. The versions that we
    # serve are old ones: they have what is needed, and today's clients speak them still.
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

    # --- the door (broker/requests.py, and server/connection.py)

    async def answer(self, frame):
        """The answer to a request, both without their size; None where there is none.
        Raises for what we don't serve, and the connection ends.
        """
        name, version = api_name(frame), int.from_bytes(frame[2:4], "big")
        correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        low, high, method = self.APIS[name]
        if low <= version <= high:
            answer = await method(self, decode_request(frame).body)
        elif name == "ApiVersions":  # everybody can read version 0 (KIP-511)
            answer = await self.api_versions(None) | {"error_code": UNSUPPORTED_VERSION}
            version = 0
        else:
            raise ValueError(f"{name} version {version}")
        if answer is None:
            return None
        return b"".join(encode_response(name, version, correlation_id, answer))

    async def talk(self, reader, writer):
        """One client: a request, its answer, the next request. In front of each frame
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
            pass  # it hung up
        except Exception:
            traceback.print_exc()  # now: asyncio would do it when the client has gone
        finally:
            writer.close()


def by_topic(found, topic="name", partitions="partitions"):
    """(topic, one partition's answer), ... in the form that answers have."""
    topics = {}
    for name, answer in found:
        topics.setdefault(name, []).append(answer)
    return [{topic: name, partitions: answers} for name, answers in topics.items()]


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
