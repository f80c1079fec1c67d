"""The same work on three tools (lesson 15): a consumer group, a share group and a
queue, each used the way an expert would.

A consumer group takes one record at a time and commits it; records to be retried later
go to a retry topic. A share group takes one record at a time, too, and acknowledges
each; its topic has fewer partitions than the group has members, otherwise each member
would be given partitions of its own. The queue pushes with prefetch_count 1, and a
worker rejects redelivered messages: they may have killed a worker. Rejected messages go
to the dead letters; if jobs are to be retried, they come back after a while.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from minikafka.clients.structs import TopicPartition
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.model_queue import QueueBroker
from minikafka.simulation.model_queue_worker import ACK, DIE, REJECT, Job, QueueWorker

GROUP, SHARE, QUEUE = TOOLS = ("consumer group", "share group", "queue")
LATER = "later"  # an outcome: it can't be done now
ASIDE = "aside"  # another: to the dead letters, unopened
RETRY_S = 60
RESTART_S = 2  # until a process that died is there again
TOPIC, RETRIES, DEAD = "work", "work.retry", "work.dead"
# internal topics with few partitions: a run is a second shorter for each of the others
CONFIGS = {
    "offsets.topic.num.partitions": 2,
    "share.coordinator.state.topic.num.partitions": 2,
}


class Work(NamedTuple):
    """key: what it is about. value: its name. takes_ms: how long it keeps a worker
    busy.
    """

    key: str
    value: str
    takes_ms: int


class Piece(NamedTuple):
    """Something that a worker has done. outcome: "ack", "die", "later" or "aside"."""

    began_ms: int
    ended_ms: int
    worker: str
    work: Work
    outcome: str

    def __str__(self) -> str:
        what = AFTER[self.outcome]
        began_s, ended_s = self.began_ms / 1000, self.ended_ms / 1000
        when = f"{began_s:.1f} s to {ended_s:.1f} s"
        return f"{when}  {self.worker}: {self.work.value}{what}"


AFTER = {
    ACK: "",
    DIE: ", and died of it",
    LATER: ", in vain",
    ASIDE: ", put aside",
}


COLUMNS_A_SECOND = 3


def lanes(done: list[Piece], workers: int) -> tuple[str, ...]:
    """A line for each worker, from left to right in time: the last word of what it
    works on, as long as it does.
    """
    lines = []
    for number in range(1, workers + 1):
        name = f"worker {number}"
        lane = ""
        for piece in done:
            if piece.worker == name:
                begin = round(piece.began_ms * COLUMNS_A_SECOND / 1000)
                end = round(piece.ended_ms * COLUMNS_A_SECOND / 1000)
                label = piece.work.value.split()[-1]
                lane = lane.ljust(begin) + label.ljust(end - begin - 1, "-") + " "
        lines.append(f"{name}  {lane.rstrip() or 'nothing to do'}")
    return tuple(lines)


Outcome = Callable[[Work, int], str]  # of a work, begun at this time


def always_done(work: Work, at_ms: int) -> str:
    return ACK


class Plan(NamedTuple):
    """What is to be done, by how many workers, from how many partitions, and how long
    we watch.
    """

    works: Sequence[Work]
    workers: int
    partitions: int  # of the consumer group's topic
    seconds: float
    outcome: Outcome = always_done
    partitions_shared: int = 1  # of the share group's
    by_key: bool = False  # else partitions in turns
    retries: bool = False  # what fails is tried again later
    again: bool = False  # it was done before, and is to be done again from time 0 on


def pieces(tool: str, plan: Plan) -> list[Piece]:
    """The pieces of work, in the order in which they ended; time 0 is when the work is
    sent.
    """
    done = on_queue(plan) if tool == QUEUE else OnKafka(tool, plan).pieces()
    return sorted(done, key=lambda piece: (piece.ended_ms, piece.worker))


# --- Kafka ---


class OnKafka:
    """A topic, and workers that are in one group, of one kind or the other."""

    def __init__(self, tool: str, plan: Plan) -> None:
        self.tool = tool
        if tool == SHARE:
            plan = plan._replace(partitions=plan.partitions_shared)
        self.plan = plan
        self.cluster = Cluster(seed=7, configs=CONFIGS)
        self.dying: list[Any] = []
        self.done: list[Piece] = []
        self.began_ms = 0
        self.known = {work.value: work for work in plan.works}

    def pieces(self) -> list[Piece]:
        with self.cluster as cluster:
            cluster.create_topic(TOPIC, partitions=self.plan.partitions)
            cluster.create_topic(RETRIES, partitions=1)
            if self.plan.again:
                send(cluster, self.plan)
                group = self.done_before()
                self.began_ms = cluster.now_ms
                self.start_workers(group)
            else:
                self.start_workers("workers")
                cluster.run(seconds=8)  # until all are members
                self.began_ms = cluster.now_ms
                send(cluster, self.plan)
            self.let_time_pass()
            return self.done

    def done_before(self) -> str:
        """All is worked off in no time; the group that begins again."""
        consumer = consumer_of(self.cluster, self.tool, TOPIC, "workers")

        def work_off() -> None:
            left = len(self.plan.works)
            while left:
                records = consumer.poll(timeout_ms=1000, max_records=left)
                left -= sum(map(len, records.values()))
                accept(consumer, self.tool, records)
            consumer.close()

        program = self.cluster.start(work_off)
        self.cluster.run_until(lambda: not program.alive)
        if self.tool == SHARE:
            return "workers again"
        parts = [TopicPartition(TOPIC, each) for each in range(self.plan.partitions)]
        self.cluster.alter_offsets("workers", dict.fromkeys(parts, 0))
        return "workers"

    def start_workers(self, group: str) -> None:
        for number in range(1, self.plan.workers + 1):
            name = f"worker {number}"
            consumer = consumer_of(self.cluster, self.tool, TOPIC, group)
            self.cluster.start(self.worker(name), consumer)
        if self.tool == GROUP and self.plan.retries:
            consumer = consumer_of(self.cluster, self.tool, RETRIES, "retriers")
            self.cluster.start(self.retrier, consumer)

    def let_time_pass(self) -> None:
        """Let time pass. A worker that dies is started again a little later."""
        cluster = self.cluster
        ends_ms = self.began_ms + round(self.plan.seconds * 1000)

        def is_over() -> bool:
            return bool(self.dying) or cluster.now_ms >= ends_ms

        while cluster.now_ms < ends_ms:
            wait_s = (ends_ms - cluster.now_ms) / 1000
            cluster.start(cluster.sleep, wait_s)
            cluster.run_until(is_over, seconds=wait_s + 1)
            while self.dying:
                program = self.dying.pop()
                cluster.crash(program)
                cluster.run(seconds=RESTART_S)
                cluster.restart(program)

    def worker(self, name: str) -> Callable[[Any], None]:
        def work_off(consumer: Any) -> None:
            while True:
                for records in consumer.poll(timeout_ms=1000, max_records=1).values():
                    for record in records:
                        self.work_on(consumer, record, name)

        return work_off

    def work_on(self, consumer: Any, record: Any, name: str) -> None:
        cluster = self.cluster
        work = self.known[record.value.decode()]
        began_ms = cluster.now_ms
        cluster.sleep(work.takes_ms / 1000)
        outcome = self.plan.outcome(work, began_ms - self.began_ms)
        self.done.append(
            Piece(
                began_ms - self.began_ms,
                cluster.now_ms - self.began_ms,
                name,
                work,
                outcome,
            )
        )
        if outcome == DIE:
            self.dying.append(cluster.kernel.program())
            cluster.sleep(1)
        if self.tool == SHARE:
            consumer.acknowledge(record, "accept" if outcome == ACK else "release")
            consumer.commit_sync()
            return
        if outcome == LATER:
            due_ms = cluster.now_ms + RETRY_S * 1000
            producer = cluster.producer()
            producer.send(RETRIES, key=str(due_ms), value=work.value).get()
            producer.close()
        consumer.commit()

    def retrier(self, consumer: Any) -> None:
        """Each waits as long as all others: so the first of the topic is due first."""
        while True:
            for records in consumer.poll(timeout_ms=1000, max_records=1).values():
                for record in records:
                    wait_ms = int(record.key) - self.cluster.now_ms
                    self.cluster.sleep(max(0, wait_ms) / 1000)
                    self.work_on(consumer, record, "retrier")


def accept(consumer: Any, tool: str, records: dict[Any, list[Any]]) -> None:
    """All that a poll has brought is done."""
    if tool == SHARE:
        for found in records.values():
            for record in found:
                consumer.acknowledge(record)
        consumer.commit_sync()
    elif records:
        consumer.commit()


def consumer_of(cluster: Cluster, tool: str, topic: str, group: str) -> Any:
    """A new member, which begins with the first record."""
    if tool == SHARE:
        cluster.alter_group_configs(group, {"share.auto.offset.reset": "earliest"})
        return cluster.share_consumer(
            topic,
            group_id=group,
            max_poll_records=1,
            share_acquire_mode="record_limit",
            share_acknowledgement_mode="explicit",
        )
    return cluster.consumer(
        topic,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1,
        session_timeout_ms=10_000,
    )


def send(cluster: Cluster, plan: Plan) -> None:
    producer = cluster.producer(linger_ms=0)
    for number, work in enumerate(plan.works):
        partition = None if plan.by_key else number % plan.partitions
        producer.send(TOPIC, key=work.key, value=work.value, partition=partition)
    producer.flush()
    producer.close()


# --- the queue ---


def on_queue(plan: Plan) -> list[Piece]:
    broker = QueueBroker()
    shop = broker.channel("shop")
    declare(shop, plan.retries)
    known = {work.value: work for work in plan.works}
    workers: list[QueueWorker] = []
    died: set[QueueWorker] = set()

    def takes_ms(job: Job) -> int:
        return 0 if job.method.redelivered else known[job.text].takes_ms

    def outcome(job: Job) -> str:
        if job.method.redelivered:  # it may have killed somebody
            return REJECT
        found = plan.outcome(known[job.text], broker.now_ms)
        return REJECT if found == LATER else found

    def start(name: str) -> None:
        workers.append(
            QueueWorker(
                broker,
                name,
                TOPIC,
                takes_ms=takes_ms,
                outcome=outcome,
            )
        )

    if plan.again:  # what was acknowledged is gone
        plan = plan._replace(works=())
    for number in range(1, plan.workers + 1):
        start(f"worker {number}")
    for work in plan.works:
        shop.basic_publish(exchange="", routing_key=TOPIC, body=work.value)
    for _ in range(round(plan.seconds)):
        broker.run(seconds=1)
        for worker in [each for each in workers if not each.channel.is_open]:
            if worker not in died:
                died.add(worker)
                at_ms = broker.now_ms + RESTART_S * 1000
                broker.clock.schedule(at_ms, partial(start, worker.name))
    return [piece for worker in workers for piece in pieces_of(worker, known)]


def declare(channel: Any, retries: bool) -> None:
    """retries: dead letters wait in a queue that nobody reads, and come back from it
    when they are too old.
    """
    dead = RETRIES if retries else DEAD
    back = {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": TOPIC,
        "x-message-ttl": RETRY_S * 1000,
    }
    away = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    channel.queue_declare(dead, arguments=back if retries else {})
    channel.queue_declare(TOPIC, arguments=away)


def pieces_of(worker: QueueWorker, known: dict[str, Work]) -> list[Piece]:
    found = []
    for began_ms, ended_ms, name, job, outcome in worker.done:
        if outcome == REJECT:
            outcome = ASIDE if job.method.redelivered else LATER
        found.append(Piece(began_ms, ended_ms, name, known[job.text], outcome))
    return found
