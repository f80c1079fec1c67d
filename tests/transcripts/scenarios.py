"""The scenarios behind the transcripts. A scenario's docstring is its transcript's
head.
"""

import inspect
from collections.abc import Callable
from pathlib import Path

from minikafka.cluster.metadata import NO_LEADER
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.wire.errors import Error, KafkaError
from tests.broker.node import Node
from tests.broker.test_fetch_sessions import fetch, shown
from tests.clients_sim.share_groups import LOCK_MS, explicit, poll, sharing
from tests.simulation.members import member, reads, sent
from tests.simulation.replication_schedules import QUICK
from tests.simulation.three_brokers import five, isr, kinds, leader_of, three
from tests.transcripts.transcript import Transcript, listed

QUORUM = {
    "VotesRequested",
    "VoteAnswered",
    "ControllerElected",
    "ControllerFollowed",
    "ControllerResigned",
}
REPLICATION = {
    "BrokerFenced",
    "HighWatermarkAdvanced",
    "IsrAsked",
    "IsrExpanded",
    "IsrShrunk",
    "LeaderElected",
    "LeaderFollowed",
    "LogDiverged",
    "LogTruncated",
    "RecordsAcknowledged",
    "RecordsAppended",
    "RecordsReplicated",
}
REBALANCE = {
    "AssignorRan",
    "GenerationBegan",
    "GroupStateChanged",
    "MemberJoined",
    "MemberRefused",
    "PartitionsAssigned",
    "PartitionsRevoked",
    "RequestSent",
    "ResponseReceived",
}
TRANSACTION = {
    "LastStableOffsetAdvanced",
    "MarkerWritten",
    "ProducerFenced",
    "RecordsAcknowledged",
    "RecordsAppended",
    "RecordsPolled",
    "TransactionStateChanged",
}
SHARING = {
    "ShareLocksEnded",
    "SharePartitionsAssigned",
    "ShareRecordsAcknowledged",
    "ShareRecordsAcquired",
    "ShareRecordsPolled",
    "ShareRecordsSaid",
    "ShareStartOffsetMoved",
    "ShareStateRead",
}
COMMITTED = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}


# -- the quorum


def quorum_election() -> Transcript:
    """Who leads the metadata quorum (KIP-595, and PreVote of KIP-996). A voter gives
    one vote an epoch. Before it stands it asks whether it would win: so who is cut off
    raises no epoch, and unseats nobody when it is back.
    """
    story = Transcript(QUORUM)
    with story.step("three voters start; nobody has led yet"):
        cluster = story.watch(Cluster(brokers=3, seed=3, configs=QUICK))
        cluster.run(seconds=1)
    leader = int(kinds(cluster, "ControllerElected")[-1].node.split()[1])
    one, other = sorted({1, 2, 3} - {leader})
    story.note("A follower that nobody hears asks, and stays in its epoch.")
    with story.step(f"broker {one} is cut off from the others"):
        cluster.cut(one, leader)
        cluster.cut(one, other)
        cluster.run_ms(1000)
    with story.step("the network is whole again"):
        cluster.heal()
        cluster.run(seconds=2)
    story.note("A leader without a majority resigns: somebody else may lead already.")
    with story.step(f"broker {leader}, the leader, is cut off from the others"):
        cluster.cut(leader, one)
        cluster.cut(leader, other)
        cluster.run_until(lambda: len(kinds(cluster, "ControllerElected")) == 2)
        cluster.run_until(lambda: kinds(cluster, "ControllerResigned"))
    with story.step("the network is whole again"):
        cluster.heal()
        cluster.run(seconds=2)
    return story


# -- replication


def divergence_and_truncation() -> Transcript:
    """A leader that was replaced drops what nobody else has (KIP-101, KIP-595). Its
    log and the new leader's part where its last leader epoch ended there: to this
    offset it cuts its own, and copies from there.
    """
    story = Transcript(REPLICATION)
    with story.step("three brokers; a is written with acks=all"):
        cluster = story.watch(three())
        writer = cluster.producer(client_id="producer")
        write(cluster, writer, "a")
        cluster.run(seconds=1)
    story.note("acks=1 means: written by whoever thinks that it leads.")
    with story.step(
        "broker 1 is cut off with another producer, which writes x, acks=1"
    ):
        lonely = cluster.producer(acks=1, client_id="lonely")
        for other in (2, 3):
            cluster.cut(1, other)
            cluster.cut("lonely", other)
        write(cluster, lonely, "x")
    with story.step("time passes, and the others get a leader"):
        cluster.run_until(lambda: leader_to(cluster, 2) == 2)
    story.note(
        "Offset 1 is given a second time. No high watermark had passed the first one,"
        " so no consumer has read it."
    )
    with story.step("the network is whole again, and b is written with acks=all"):
        cluster.heal()
        write(cluster, writer, "b")
        cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
        cluster.run(seconds=1)
    return story


def partition_failover() -> Transcript:
    """Who leads a partition is decided by the controller, and voted on by nobody
    (KIP-631). It fences a broker that is silent, and gives its partitions to the next
    replica of the ISR. That is a decision when a majority of the quorum has it in the
    metadata log: from there each broker hears of it.
    """
    news = {"MetadataAppended", "MetadataCommitted", "NodeCrashed", "NodeRestarted"}
    story = Transcript(REPLICATION | news)
    cluster = story.watch(three())
    writer = cluster.producer(client_id="producer")
    write(cluster, writer, "a")
    cluster.run(seconds=1)
    leader = leader_of(cluster)
    story.does("three brokers run; a was written with acks=all")
    story.state(standing(cluster))
    story.note("Nobody is told that it is dead. (Here a session is 1.5 s, else 9 s.)")
    with story.step(f"broker {leader}, which leads, is killed with kill -9"):
        cluster.crash(leader)
        cluster.run_until(lambda: leader_of(cluster) not in (leader, NO_LEADER))
        cluster.run_ms(100)
    story.state(standing(cluster))
    with story.step("b is written with acks=all"):
        write(cluster, writer, "b")
    story.note(
        "It follows whom the metadata log names. It leads again when the controller next"
        " looks at preferred leaders (leader.imbalance.check.interval.seconds)."
    )
    with story.step(f"broker {leader} is back"):
        cluster.restart(leader)
        cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
    story.state(standing(cluster))
    return story


def isr_shrinks_and_grows() -> Transcript:
    """Committed is what all in-sync replicas have. One that stands still holds up
    acks=all until it is out of the ISR; it is in again when it has all that the leader
    has. (Here a broker is fenced after 1.5 s.)
    """
    story = Transcript(REPLICATION)
    with story.step("three brokers; a is written with acks=all"):
        cluster = story.watch(three())
        writer = cluster.producer(client_id="producer")
        write(cluster, writer, "a")
        cluster.run(seconds=1)
    story.note("The high watermark waits: so does the producer.")
    with story.step("broker 2 is frozen, and b is written"):
        cluster.freeze(2)
        write(cluster, writer, "b")
    with story.step("broker 2 goes on"):
        cluster.thaw(2)
        cluster.run_until(lambda: isr(cluster) == {1, 2, 3})
    return story


def eligible_leaders() -> Transcript:
    """Who may lead when the ISR is empty (KIP-966). Below min.insync.replicas, here 2,
    nothing new is committed: so who leaves the ISR then lacks nothing that was, and
    stays eligible. After a kill -9 it may have lost something, and is eligible no more,
    until all that could know more are back.
    """
    story = Transcript(REPLICATION | {"NodeCrashed", "NodeRestarted", "SendFailed"})
    cluster, (first, second, last) = five()
    story.watch(cluster)
    writer = cluster.producer(client_id="producer", retries=0)
    with story.step("five brokers, replicas on three; a is written with acks=all"):
        write(cluster, writer, "a")
    story.state(standing(cluster))
    for broker in (first, second):
        with story.step(f"broker {broker} is killed with kill -9"):
            cluster.crash(broker)
            cluster.run_until(lambda broker=broker: broker not in isr(cluster))
            cluster.run_until(lambda: leader_to(cluster, last) == leader_of(cluster))
            cluster.run(seconds=1)
        story.state(standing(cluster))
    with story.step("b is written"):
        failed = writer.send("orders", value="b")
        cluster.run_until(lambda: failed.is_done)
    with story.step(f"broker {last} is killed, too"):
        cluster.crash(last)
        cluster.run_until(lambda: not isr(cluster))
    story.state(standing(cluster))
    story.note(
        f"Broker {first} left the ISR while the others went on: it may not lead."
    )
    with story.step(f"broker {first} is back"):
        cluster.restart(first)
        cluster.run(seconds=10)
    story.state(standing(cluster))
    with story.step(f"broker {last} is back, without a clean stop before"):
        cluster.restart(last)
        cluster.run(seconds=10)
    story.state(standing(cluster))
    story.note("All are back, and nobody knows more: who led last leads.")
    with story.step(f"broker {second} is back"):
        cluster.restart(second)
        cluster.run_until(lambda: isr(cluster) == {first, second, last})
    story.state(standing(cluster))
    return story


def write(cluster: Cluster, writer: ProducerHandle, value: str) -> None:
    """Until it is acknowledged."""
    future = writer.send("orders", value=value)
    cluster.run_until(lambda: future.is_done)
    assert future.exception is None


def leader_to(cluster: Cluster, broker: int) -> int:
    """Who leads orders-0, as this broker has heard."""
    image = cluster.brokers[broker].broker.image
    return image.topics["orders"].partitions[0].leader


def standing(cluster: Cluster) -> str:
    """orders-0 in the metadata."""
    partition = cluster.partition("orders", 0)
    leader = "nobody" if partition.leader == NO_LEADER else f"broker {partition.leader}"
    in_sync = listed(list(partition.isr))
    eligible = listed(list(partition.eligible_leader_replicas))
    return f"orders-0: {leader} leads, ISR {in_sync}, eligible leaders {eligible}"


# -- groups


def eager_and_cooperative() -> Transcript:
    """A member comes, and the group shares its partitions anew. A member hears of a
    rebalance in the answer to its next heartbeat. An eager one (range) gives all up
    before it joins again; a cooperative one (KIP-429) keeps what it has, gives up only
    what another gets, and joins a second time.
    """
    story = Transcript(REBALANCE, apis=("Heartbeat",))
    for strategy in ("range", "cooperative-sticky"):
        story.note(f"With {strategy}.")
        with story.step("A reads orders, which has four partitions"):
            cluster = story.watch(Cluster(seed=7))
            sent(cluster, count=4, partitions=4)
            settings = {"partition_assignment_strategy": strategy}
            first = member(cluster, client_id="A", **settings)
            cluster.start(reads, first)
            cluster.run_until(lambda first=first: len(first.assignment()) == 4)
        with story.step("B comes"):
            second = member(cluster, client_id="B", **settings)
            cluster.start(reads, second)
            cluster.run_until(lambda second=second: len(second.assignment()) == 2)
    return story


def consumer_group_protocol() -> Transcript:
    """The coordinator assigns (KIP-848). Nobody waits for all to join: each member goes
    by itself, heartbeat by heartbeat, from what it has to the target assignment. What
    another still has it gets when that one has said that it gave it up.
    """
    kinds_told = {
        "AssignmentMade",
        "GroupStateChanged",
        "MemberJoined",
        "MemberReconciled",
        "PartitionsAssigned",
        "PartitionsRevoked",
    }
    story = Transcript(kinds_told)
    with story.step("A reads orders, which has four partitions"):
        cluster = story.watch(Cluster(seed=7))
        sent(cluster, count=4, partitions=4)
        first = member(cluster, client_id="A", group_protocol="consumer")
        cluster.start(reads, first)
        cluster.run(seconds=8)
    with story.step("B comes"):
        second = member(cluster, client_id="B", group_protocol="consumer")
        cluster.start(reads, second)
        cluster.run_until(lambda: len(second.assignment()) == 2)
    return story


def coordinator_failover() -> Transcript:
    """The coordinator's state lies in a partition of __consumer_offsets, with replicas
    as any other. Who leads it next has all of it, reads it, and goes on: the members
    keep their ids, their generation and their partitions.
    """
    kinds_told = {
        "BrokerFenced",
        "CommitAcknowledged",
        "CommitSent",
        "GroupLoaded",
        "LeaderElected",
        "OffsetCommitted",
        "PartitionsAssigned",
        "PartitionsRevoked",
        "HighWatermarkAdvanced",
        "RecordsPolled",
    }
    story = Transcript(kinds_told, topics=("__consumer_offsets",))
    cluster = story.watch(three())
    writer = cluster.producer(client_id="producer")
    write(cluster, writer, "a")
    consumer = member(cluster, client_id="A", enable_auto_commit=False)
    with story.step("A reads a, which was written before, and commits"):
        while not consumer.poll(timeout_ms=9000):
            pass
        consumer.commit()
    coordinator = cluster.leader("__consumer_offsets")
    with story.step(f"broker {coordinator}, which coordinates the group, is killed"):
        cluster.crash(coordinator)
        cluster.run_until(lambda: kinds(cluster, "GroupLoaded"))
    with story.step("b is written, A reads it and commits"):
        write(cluster, writer, "b")
        while not consumer.poll(timeout_ms=9000):
            pass
        consumer.commit()
    return story


# -- transactions


def with_two_partitions(story: Transcript) -> Cluster:
    cluster = story.watch(Cluster(seed=5))
    cluster.create_topic("orders", partitions=2)
    return cluster


def transaction() -> Transcript:
    """A transaction over two partitions (KIP-98, KIP-890). Its fate is decided when
    PrepareCommit is in the coordinator's log. Then a marker goes to each partition; up
    to the last stable offset a reader of committed records reads.
    """
    story = Transcript(TRANSACTION)
    cluster = with_two_partitions(story)
    auditor = cluster.consumer("orders", client_id="auditor", **COMMITTED)
    payer = cluster.producer(client_id="payer", transactional_id="pay")
    with story.step("a producer with the transactional id pay comes"):
        payer.init_transactions()
    with story.step("it begins a transaction, and writes a and b"):
        payer.begin_transaction()
        for number, value in enumerate("ab"):
            payer.send("orders", value=value, partition=number)
        payer.flush()
    with story.step("a consumer with isolation.level=read_committed polls"):
        assert not auditor.poll(timeout_ms=1000)
    with story.step("the producer commits"):
        payer.commit_transaction()
        cluster.run(seconds=1)
    with story.step("the consumer polls"):
        for _ in range(2):
            auditor.poll(timeout_ms=1000)
    return story


def zombie() -> Transcript:
    """A producer that was taken for dead (KIP-98, KIP-360). Who comes with the same
    transactional id gets the next producer epoch, and what was open is aborted. With
    its old epoch the first one can neither commit nor write any more.
    """
    story = Transcript(TRANSACTION | {"BatchRefused", "SendFailed"})
    cluster = with_two_partitions(story)
    old = cluster.producer(client_id="old", transactional_id="pay")
    with story.step("old begins a transaction, and writes a"):
        old.init_transactions()
        old.begin_transaction()
        old.send("orders", value="a", partition=0)
        old.flush()
    story.note("The new epoch goes into the abort's marker: from then on it fences.")
    with story.step("new comes with the same transactional id"):
        new = cluster.producer(client_id="new", transactional_id="pay")
        new.init_transactions()
    with story.step("old, which knows nothing of it, writes b"):
        lost = old.send("orders", value="b", partition=0)
        cluster.run_until(lambda: lost.is_done)
        assert isinstance(lost.exception, KafkaError)
    with story.step("new writes c and commits"):
        new.begin_transaction()
        new.send("orders", value="c", partition=0)
        new.commit_transaction()
        cluster.run(seconds=1)
    with story.step("a consumer with isolation.level=read_committed polls"):
        auditor = cluster.consumer("orders", client_id="auditor", **COMMITTED)
        auditor.poll(timeout_ms=1000)
    return story


# -- share groups


def share_group() -> Transcript:
    """Members of a share group (KIP-932) share the records, not the partitions. A
    member acquires records under a lock. They come again when it gives them back, or
    when the lock ends; what became of each is written to __share_group_state. So the
    next leader of the partition knows, too.
    """
    story = Transcript(SHARING | {"NodeCrashed", "LeaderElected"})
    with story.step("A polls a topic with six records; nobody has read it yet"):
        cluster = story.watch(sharing(records=6, brokers=3))
        first = explicit(cluster, client_id="A", max_poll_records=2)
        held = poll(first)
    with story.step("B polls the same partition"):
        second = explicit(cluster, client_id="B", max_poll_records=2)
        others = poll(second)
    with story.step("B accepts its first record, and gives back the other"):
        second.acknowledge(others[0], "accept")
        second.acknowledge(others[1], "release")
        second.commit_sync()
    story.note(f"A says nothing of what it has. (Here a lock lasts {LOCK_MS} ms.)")
    with story.step("B polls after A's locks have ended"):
        cluster.run_ms(LOCK_MS + 500)
        again = poll(second)
    leader = cluster.leader("orders")
    with story.step(f"B accepts them; then broker {leader}, the leader, is killed"):
        for record in again:
            second.acknowledge(record, "accept")
        second.commit_sync()
        cluster.crash(leader)
        cluster.run_until(lambda: cluster.leader("orders") not in (leader, None))
    story.note("The new leader reads what was accepted, and hands out the rest.")
    with story.step("B polls"):
        while not poll(second, timeout_ms=2_000):
            pass
    story.note("Its lock is over, so its word counts for nothing.")
    with story.step("A accepts the records that it got first"):
        for record in held:
            first.acknowledge(record, "accept")
        first.commit_sync()
    return story


# -- what goes over the wire


def fetch_session() -> Transcript:
    """A follower with a thousand partitions names them once (KIP-227). Later requests
    name what changed, and answers leave out what has nothing new. The epoch counts the
    requests: a lost one, or one that came twice, is noticed. (Read from the frames.)
    """
    story = Transcript(kinds=())
    node = Node()
    node.create_topic("orders", partitions=3)

    def ask(session_id: int, epoch: int, *asked: tuple[int, int]) -> int:
        named = [f"{number} at offset {offset}" for number, offset in asked]
        answer = fetch(node, session_id, epoch, *asked)
        said = f"session {session_id}, epoch {epoch}: {', '.join(named) or 'no change'}"
        story.line("Fetch", "client", said)
        error = Error(answer.error_code)
        said = f"session {answer.session_id}: partitions {listed(shown(answer))}"
        if error != Error.NONE:
            said = error.name
        elif not shown(answer):
            said = f"session {answer.session_id}: nothing new"
        story.line("answer", "broker 1", said)
        return int(answer.session_id)

    story.does("a client opens a session for three partitions")
    session_id = ask(0, 0, (0, 0), (1, 0), (2, 0))
    story.does("it asks again; nothing has happened")
    ask(session_id, 1)
    story.does("a is written to partition 1")
    node.produce("orders", "a", partition=1)
    ask(session_id, 2)
    story.does("it has read a, and says so; the others are as they were")
    ask(session_id, 3, (1, 1))
    story.does("one request is lost on its way: epoch 4 was never here")
    ask(session_id, 5)
    story.does("the broker restarts, and has forgotten all sessions")
    node.restart()
    ask(session_id, 4)
    story.does("so the client opens another")
    ask(0, 0, (0, 0), (1, 1), (2, 0))
    return story


SCENARIOS: dict[str, Callable[[], Transcript]] = {
    scenario.__name__: scenario
    for scenario in (
        quorum_election,
        partition_failover,
        divergence_and_truncation,
        isr_shrinks_and_grows,
        eligible_leaders,
        eager_and_cooperative,
        consumer_group_protocol,
        coordinator_failover,
        transaction,
        zombie,
        share_group,
        fetch_session,
    )
}


def file_of(name: str) -> Path:
    """Where a scenario's transcript is."""
    return Path(__file__).with_name(f"{name}.txt")


def played(name: str) -> str:
    """The transcript as it is now."""
    scenario = SCENARIOS[name]
    head = [f"# {line}".rstrip() for line in inspect.getdoc(scenario).splitlines()]
    return "\n".join([*head, "", scenario().text()])
