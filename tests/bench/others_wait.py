"""`python -m tests.bench.others_wait`: how long another client waits while one client
makes a node work as hard as a few requests can.

One `minikafka serve`, and for each case a group (or a request) as large as somebody may
ask for. Meanwhile another process asks for the offset of one partition, again and
again. A line a case: the longest wait of that one, the node's processor time, what its
memory grew by, and what the large one heard. `--only streams` does the cases whose name
has that word; `--bootstrap HOST:PORT --process PID` asks a node that runs already, such
as Apache Kafka's.
"""

import argparse
import multiprocessing
import threading
import time
import uuid

import psutil

from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_response
from tests.conformance.raw import Connection
from tests.soak.memory import Server

MEMBERS, PARTITIONS = 1000, 10_000
MB = 1 << 20
REBALANCE_MS = 60_000
CASES = {}
pause = threading.Event().wait  # seconds, between what a client sends


def case(name):
    """The function below is a case: a generator that gets a bootstrap address, makes
    ready, yields, and yields a note at its end.
    """

    def keep(function):
        CASES[name] = function
        return function

    return keep


# -- the other client


def wait_again_and_again(bootstrap, ends, longest):
    """Asks for an offset every 5 ms; notes the longest wait."""
    with Connection(bootstrap) as connection:
        while not ends.is_set():
            began = time.perf_counter()
            assert connection.offset("beside", -1).error_code == 0
            longest.value = max(longest.value, time.perf_counter() - began)
            pause(0.005)


def measured(bootstrap, process, function):
    """Run one case, and return the line of the table for it."""
    steps = function(bootstrap)
    next(steps)
    ends, longest = multiprocessing.Event(), multiprocessing.Value("d", 0.0)
    other = multiprocessing.Process(
        target=wait_again_and_again, args=(bootstrap, ends, longest)
    )
    other.start()
    memory, spent = process.memory_info().rss, processor_s(process)
    began = time.perf_counter()
    try:
        note = next(steps)
    finally:
        took = time.perf_counter() - began
        pause(0.5)
        ends.set()
        other.join(300)
    grown = (process.memory_info().rss - memory) / MB
    spent = processor_s(process) - spent
    return f"{longest.value:7.2f} {took:8.1f} {spent:8.1f} {grown:8.0f}  {note}"


def processor_s(process):
    times = process.cpu_times()
    return times.user + times.system


# -- what it is asked for


def new_topic(connection, partitions=PARTITIONS):
    name = f"wide-{uuid.uuid4().hex[:8]}"
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    [created] = connection.ask("CreateTopics", 5, topics=[topic]).topics
    assert created.error_code == 0, created
    ready = 0
    while ready < partitions:
        [found] = connection.ask("Metadata", 9, topics=[{"name": name}]).topics
        ready = sum(each.leader_id >= 0 for each in found.partitions)
    return name


def coordinator_is_there(connection, group):
    """The offsets topic is made with the first question."""
    while True:
        [found] = connection.ask(
            "FindCoordinator", 4, key_type=0, coordinator_keys=[group]
        ).coordinators
        if found.error_code == 0:
            described = connection.ask("DescribeGroups", 5, groups=[group])
            if described.groups[0].error_code in (0, Error.GROUP_ID_NOT_FOUND):
                return
        pause(0.1)


def with_group(bootstrap):
    connection = Connection(bootstrap)
    group = f"large-{uuid.uuid4().hex[:8]}"
    coordinator_is_there(connection, group)
    return connection, group


def codes(answers):
    found = {}
    for answer in answers:
        name = Error(answer.error_code).name
        found[name] = found.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in found.items())


# -- streams groups


def streams(bootstrap, subtopologies, partitions, seconds=8):
    with Connection(bootstrap) as connection:
        topic = new_topic(connection, partitions)
    connection, group = with_group(bootstrap)
    yield
    rows = [
        {"subtopology_id": str(number), "source_topics": [topic]}
        for number in range(subtopologies)
    ]
    asked = {
        "group_id": group,
        "member_id": str(uuid.uuid4()),
        "member_epoch": 0,
        "rebalance_timeout_ms": REBALANCE_MS,
        "process_id": "process",
        "topology": {"epoch": 0, "subtopologies": rows},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }
    answers, tasks = [], 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = connection.ask("StreamsGroupHeartbeat", 0, **asked)
        answers.append(answer)
        tasks = sum(len(row.partitions) for row in answer.active_tasks or ()) or tasks
        if answer.error_code == 0:
            asked |= {"member_epoch": answer.member_epoch, "topology": None}
        pause(0.2)
    status = ", ".join(each.status_detail for each in answers[-1].status or ())
    yield f"{codes(answers)}; {tasks} tasks; {answers[-1].error_message} {status}"


for subtopologies, partitions in ((20, 500), (300, 1000), (2000, 1000), (2400, 3000)):

    def many_tasks(bootstrap, rows=subtopologies, width=partitions):
        return streams(bootstrap, rows, width)

    case(f"streams, {subtopologies} subtopologies x {partitions}")(many_tasks)


# -- consumer and share groups


def modern(bootstrap, api, version, subscribed, topics, **first):
    """A group of many members, one after the other, then two rounds of heartbeats.
    subscribed(number, topics): what a member wants.
    """
    connection, group = with_group(bootstrap)
    members = [str(uuid.uuid4()) for _ in range(MEMBERS)]
    epochs = dict.fromkeys(members, 0)
    answers = []
    names = [new_topic(connection, width) for width in topics]
    if "share" in api.lower():
        members = members[:200]  # group.share.max.size
    yield
    for beat in range(3):
        for number, member in enumerate(members):
            asked = {"group_id": group, "member_id": member}
            asked["member_epoch"] = epochs[member]
            if beat == 0:
                asked |= subscribed(number, names) | first
            answer = connection.ask(api, version, **asked)
            answers.append(answer)
            if answer.error_code == 0:
                epochs[member] = answer.member_epoch
        pause(1.1)
    describe = api.replace("Heartbeat", "Describe")
    [described] = connection.ask(describe, 1, group_ids=[group]).groups
    yield f"{codes(answers)}; {described.group_state}"


def wants_all(number, topics):
    return {"subscribed_topic_names": topics}


def wants_half(number, topics):
    return {"subscribed_topic_names": [*topics[number % 2 :: 2], topics[number % 3]]}


CONSUMER = {"topic_partitions": [], "rebalance_timeout_ms": REBALANCE_MS}


@case("consumer, uniform, 1 topic")
def uniform(bootstrap):
    return modern(
        bootstrap, "ConsumerGroupHeartbeat", 1, wants_all, [PARTITIONS], **CONSUMER
    )


@case("consumer, range, 100 topics")
def by_range(bootstrap):
    first = CONSUMER | {"server_assignor": "range"}
    return modern(
        bootstrap, "ConsumerGroupHeartbeat", 1, wants_all, [100] * 100, **first
    )


@case("consumer, uniform, half of 100 topics each")
def mixed(bootstrap):
    return modern(
        bootstrap, "ConsumerGroupHeartbeat", 1, wants_half, [100] * 100, **CONSUMER
    )


@case("consumer, uniform, half of 4 topics each")
def mixed_wide(bootstrap):
    return modern(
        bootstrap, "ConsumerGroupHeartbeat", 1, wants_half, [2500] * 4, **CONSUMER
    )


@case("consumer, a hostile expression each")
def expressions(bootstrap):
    def wants(number, topics):
        pattern = f"(wide-|x{{1,90}}y{{1,9}}z*)+(.*a|.*b|.*c){{9}}.*{number}"
        return {"subscribed_topic_names": [], "subscribed_topic_regex": pattern}

    return modern(bootstrap, "ConsumerGroupHeartbeat", 1, wants, [1] * 500, **CONSUMER)


@case("share, 1 topic")
def share(bootstrap):
    return modern(bootstrap, "ShareGroupHeartbeat", 1, wants_all, [PARTITIONS])


@case("share, half of 100 topics each")
def share_mixed(bootstrap):
    return modern(bootstrap, "ShareGroupHeartbeat", 1, wants_half, [100] * 100)


# -- classic groups


def classic(bootstrap, metadata, protocols, assignment=b""):
    connection, group = with_group(bootstrap)
    yield
    joining = []
    listed = [
        {"name": f"p{number}", "metadata": metadata} for number in range(protocols)
    ]
    asked = {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": listed,
    }
    for _ in range(MEMBERS):
        each = Connection(bootstrap)
        each.send("JoinGroup", 3, member_id="", **asked)
        joining.append(each)
    joined = []
    for each in joining:
        _, answer = decode_response("JoinGroup", 3, each.read_frame())
        joined.append(answer)
    leader = next((each for each in joined if each.leader == each.member_id), None)
    if leader is None or not leader.members:
        yield codes(joined)
        return
    parts = [
        {"member_id": each.member_id, "assignment": assignment}
        for each in leader.members
    ]
    for each, answer in zip(joining, joined, strict=True):
        is_leader = answer.member_id == leader.member_id
        each.send(
            "SyncGroup",
            2,
            group_id=group,
            generation_id=answer.generation_id,
            member_id=answer.member_id,
            assignments=parts if is_leader else [],
        )
    synced = [decode_response("SyncGroup", 2, each.read_frame())[1] for each in joining]
    described = connection.ask("DescribeGroups", 5, groups=[group] * 100)
    for each in joining:
        each.close()
    yield f"{codes(joined)}; {codes(synced)}; {described.groups[0].group_state}"


@case("classic")
def ordinary(bootstrap):
    return classic(bootstrap, bytes(100), 2, bytes(500))


@case("classic, 500 protocols each")
def many_protocols(bootstrap):
    return classic(bootstrap, b"", 500)


@case("classic, 20 kB of metadata each")
def large_metadata(bootstrap):
    return classic(bootstrap, bytes(20_000), 1)


# -- topics, and who asks about all


@case("CreateTopics, 100 x 100, three times")
def create(bootstrap):
    with Connection(bootstrap) as connection:
        answers = []
        yield
        for _ in range(3):
            topics = [
                {
                    "name": f"many-{uuid.uuid4().hex[:8]}",
                    "num_partitions": 100,
                    "replication_factor": 1,
                }
                for _ in range(100)
            ]
            answers += connection.ask("CreateTopics", 5, topics=topics).topics
        yield codes(answers)


@case("Metadata of everything, 20 times")
def metadata(bootstrap):
    with Connection(bootstrap) as connection:
        for _ in range(10):
            new_topic(connection, 1000)
        yield
        for _ in range(20):
            answer = connection.ask("Metadata", 9, topics=None)
        yield f"{sum(len(each.partitions) for each in answer.topics)} partitions"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--bootstrap")
    parser.add_argument("--process", type=int)
    options = parser.parse_args(argv)
    print(f"{'case':45} wait, s  took, s  node, s  +MB  heard", flush=True)
    for name, function in CASES.items():
        if options.only not in name:
            continue
        server = None
        bootstrap, pid = options.bootstrap, options.process
        if bootstrap is None:
            server = Server()
            bootstrap, pid = server.bootstrap, server.process.pid
        try:
            with Connection(bootstrap) as connection:
                connection.create_topic("beside")
            line = measured(bootstrap, psutil.Process(pid), function)
            print(f"{name:45} {line}", flush=True)
        finally:
            if server is not None:
                server.clear_away()


if __name__ == "__main__":
    main()
