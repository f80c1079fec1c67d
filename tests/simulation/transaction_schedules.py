"""Random minutes of a replicated cluster in which all is written in transactions
(KIP-98, KIP-447), from a seed.

Five brokers; payers that write orders in transactions, and copiers of one group that
copy what is committed (transaction_programs.py). What befalls brokers is as in
replication_schedules.py. Programs are killed, killed for good, cut off, hung up on, and
answered late; they freeze, a second one with the same transactional id takes their
place, and they wake up. Then all faults end. What must hold is in
transaction_verdict.py.
"""

from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.faults import Delay, Skew
from minikafka.simulation.programs import Program
from minikafka.trace import Event
from tests.simulation.replication_schedules import BROKERS, ENDS, QUICK, Brokers
from tests.simulation.transaction_programs import (
    CLEANUP_MS,
    COPIER_TIMEOUT_MS,
    COPIES,
    GROUP,
    ORDERS,
    PARTITIONS,
    PAYER_TIMEOUT_MS,
    Ledger,
    copy,
    pay,
)
from tests.simulation.transaction_verdict import Seen, is_settled, verdict

PAYERS, COPIERS = ("payer 1", "payer 2", "payer 3"), ("copier 1", "copier 2")
FAULTY_S, LAST_ORDERS_S, PATIENCE_S = 20, 2, 60
MOST_SKEW_MS = 2000
AWAY_MS = 4000  # of a coordinator that crashed at a decision
CONFIGS = QUICK | {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "transaction.state.log.num.partitions": BROKERS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
}
IMPATIENT = {"request_timeout_ms": 1500, "retry_backoff_ms": 50}
TOPICS = {
    ORDERS: PARTITIONS,
    COPIES: PARTITIONS,
    "__transaction_state": BROKERS,
    "__consumer_offsets": 1,
}

OF_BROKERS = (
    "crash",
    "crash",
    "silent",
    "power",
    "stop",
    "freeze",
    "freeze",
    "cut",
    "isolate",
    "reset",
)
OF_PROGRAMS = (
    "kill",
    "kill",
    "bury",
    "sleep",
    "zombie",
    "zombie",
    "cut off",
    "hang up",
)
PROGRAM_ENDS = {
    "kill": "revive",
    "bury": "",
    "sleep": "wake",
    "zombie": "wake",
    "hang up": "",
}


class Schedule:
    """What happens, second by second; printable, and the same for the same seed. A
    step: (kind, who, whom); and ("behead", whose, ms): so long after the next decision
    about its transaction the coordinator crashes.
    """

    def __init__(
        self, seed: int, steps: dict[int, list[tuple[str, Any, int]]] | None = None
    ) -> None:
        """steps: what happens, if chance is not to say."""
        random = Random(f"transactions {seed}")
        self.seed = seed
        self.steps: dict[int, list[tuple[str, Any, int]]] = steps or {}
        skews = [
            Skew(node, random.randint(-MOST_SKEW_MS, MOST_SKEW_MS))
            for node in range(1, BROKERS + 1)
        ]
        self.plan: list[Delay | Skew] = [*skews]
        at = FAULTY_S if steps else 2
        while at < FAULTY_S:
            one, other = random.sample(range(1, BROKERS + 1), 2)
            program, length_s = random.choice(PAYERS + COPIERS), random.randint(1, 7)
            if random.random() < 0.15:
                late = random.choice((one, client_of(program)))
                self.plan.append(
                    Delay(
                        late,
                        other,
                        random.randint(50, 3000),
                        1000 * at,
                        1000 * length_s,
                    )
                )
            elif random.random() < 0.2:
                self._add(at, "behead", program, random.randint(0, 6))
            elif random.random() < 0.5:
                kind = random.choice(OF_BROKERS)
                self._add(at, kind, one, other)
                self._add(at + length_s, ENDS.get(kind, "heal"), one, other)
            else:
                kind = random.choice(OF_PROGRAMS)
                self._add(at, kind, program, other)
                self._add(at + length_s, PROGRAM_ENDS.get(kind, "heal"), program, other)
            at += random.randint(0, 3)

    def _add(self, at: int, kind: str, one: Any, other: int) -> None:
        if kind:
            self.steps.setdefault(min(at, FAULTY_S), []).append((kind, one, other))

    def __repr__(self) -> str:
        steps = "; ".join(f"{at} s {steps}" for at, steps in sorted(self.steps.items()))
        return f"Schedule({self.seed}): {self.plan}; {steps}"


def client_of(name: str) -> str:
    """The producer of a program."""
    return f"{name}'s producer"


class Run:
    """One schedule on one cluster. problems: what must not have happened, a sentence
    each.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.cluster = Cluster(
            brokers=BROKERS, seed=schedule.seed, configs=CONFIGS, faults=schedule.plan
        )
        self.brokers = Brokers(self.cluster, TOPICS)
        self.ledger = Ledger()
        with self.cluster as cluster:
            for topic in (ORDERS, COPIES):
                cluster.create_topic(
                    topic,
                    PARTITIONS,
                    replication_factor=3,
                    configs={"min.insync.replicas": "2"},
                )
            self.reader = cluster.consumer(
                ORDERS,
                COPIES,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                **IMPATIENT,
            )
            self.seen: Seen = {}
            self.programs: dict[str, Program] = {}
            self.frozen: dict[str, list[Program]] = {}
            self.buried: set[str] = set()
            self.beheaded: dict[str, int] = {}
            self.states: dict[str, str] = {}
            cluster.listeners.append(self.decided)
            for name in PAYERS + COPIERS:
                self.begin(name)
            for second in range(FAULTY_S + LAST_ORDERS_S):
                for kind, one, other in schedule.steps.get(second, ()):
                    self.strike(kind, one, other)
                self.pass_a_second()
            for kind, one, other in schedule.steps.get(FAULTY_S, ()):
                self.strike(kind, one, other)
            self.settle()
            self.problems = verdict(self)

    def begin(self, name: str) -> None:
        """Start a program, maybe beside an older one of the same transactional id."""
        payer, cluster = name in PAYERS, self.cluster
        timeout_ms = PAYER_TIMEOUT_MS if payer else COPIER_TIMEOUT_MS
        waits = {"delivery_timeout_ms": 2000, "max_block_ms": 7000, "linger_ms": 0}
        who = {
            "client_id": client_of(name),
            "transactional_id": name,
            "transaction_timeout_ms": timeout_ms,
        }
        producer = cluster.producer(**who, **waits, **IMPATIENT)
        if payer:
            self.programs[name] = cluster.start(pay, cluster, producer, self.ledger)
            return
        by_hand = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "isolation_level": "read_committed",
        }
        session = {
            "session_timeout_ms": 3000,
            "heartbeat_interval_ms": 500,
            "max_poll_interval_ms": 6000,
        }
        consumer = cluster.consumer(
            ORDERS, group_id=GROUP, client_id=name, **by_hand, **session, **IMPATIENT
        )
        self.programs[name] = cluster.start(
            copy, cluster, consumer, producer, self.ledger
        )

    def strike(self, kind: str, one: Any, other: int) -> None:
        """One step of the schedule."""
        if isinstance(one, int):
            self.brokers.strike(kind, one, other)
            return
        cluster, program = self.cluster, self.programs[one]
        if kind in ("kill", "bury") and program.alive:
            cluster.crash(program)
            if kind == "bury" and one in PAYERS:
                self.buried.add(one)
        elif kind == "revive" and program.state == "crashed" and one not in self.buried:
            cluster.restart(program)
        elif kind in ("sleep", "zombie") and program.state == "running":
            cluster.freeze(program)
            self.frozen.setdefault(one, []).append(program)
            if kind == "zombie":
                self.begin(one)
        elif kind == "wake":
            for frozen in self.frozen.pop(one, ()):
                cluster.thaw(frozen)
        elif kind == "behead":
            self.beheaded[one] = other
        elif kind == "cut off":
            cluster.cut(program, other)
        elif kind == "hang up":
            cluster.reset(program, other)
        elif kind == "heal":
            cluster.heal()

    def decided(self, event: Event) -> None:
        """Hears the trace: in which state each transactional id is."""
        if event.kind != "TransactionStateChanged":
            return
        self.states[event.detail["transactional_id"]] = event.detail["state"]
        if event.detail["state"] in ("PrepareCommit", "PrepareAbort"):
            after_ms = self.beheaded.pop(event.detail["transactional_id"], None)
            if after_ms is not None:
                node, at_ms, clock = (
                    int(event.node.split()[1]),
                    self.cluster.now_ms + after_ms,
                    self.cluster._clock,
                )
                clock.schedule(at_ms, lambda: self.brokers.strike("crash", node, node))
                clock.schedule(
                    at_ms + AWAY_MS, lambda: self.brokers.strike("restart", node, node)
                )

    def pass_a_second(self) -> None:
        """Read what is committed; who ended is started again, if it is not the older
        one of two.
        """
        until_ms = self.cluster.now_ms + 1000
        for partition, records in self.reader.poll(timeout_ms=500).items():
            for record in records:
                self.seen.setdefault(partition, []).append(
                    (record.offset, record.value.decode())
                )
        for name, program in self.programs.items():
            if program.state == "ended" and not (
                self.ledger.is_over and name in PAYERS
            ):
                self.cluster.restart(program)
        self.cluster.run_ms(max(0, until_ms - self.cluster.now_ms))

    def settle(self) -> None:
        """The faults are over: nobody begins a new order, and all that is open must
        come to its end.
        """
        self.calm_ms, self.ledger.is_over = self.cluster.now_ms, True
        self.beheaded.clear()
        for name in COPIERS:
            if self.programs[name].state == "crashed":
                self.cluster.restart(self.programs[name])
        for _ in range(PATIENCE_S):
            self.pass_a_second()
            if is_settled(self):
                break
        self.pass_a_second()
