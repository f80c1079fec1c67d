"""Regular work on logs: retention, checkpoints and compaction.

Each has a timer; a node whose logs don't change sets none but retention's, and sleeps.
Compaction goes in slices, so that no request waits behind it for long.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from minikafka.broker.config import BrokerConfig
from minikafka.broker.log_configs import LogConfigs
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.offset_checkpoints import OffsetCheckpoints
from minikafka.clock import Now
from minikafka.cluster.metadata import TopicPartition
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import Deadlines, Timer
from minikafka.storage import retention
from minikafka.storage.cleaner import Cleaner

# replica.high.watermark.checkpoint.interval.ms
HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = 5000

Duty = Callable[[Now], None]


@dataclass(eq=False, repr=False)
class LogUpkeep:
    """replicas: all that this node holds. events: told where a log begins later now.
    timer: set to the next duty.
    """

    _config: BrokerConfig
    _configs: LogConfigs
    _replicas: Mapping[TopicPartition, Replica]
    _checkpoints: OffsetCheckpoints
    _notice: Callable[..., object]
    _events: NodeEvents
    _timer: Timer
    _periods_ms: dict[Duty, int] = field(default_factory=dict)
    # a duty was done, and is due again when some log has changed
    _some_rest: bool = False
    _now_ms: int = 0

    def __post_init__(self) -> None:
        buffer_bytes = self._config["log.cleaner.dedupe.buffer.size"]
        self.cleaner = Cleaner(buffer_bytes, self._notice)
        self._deadlines: Deadlines[Duty] = Deadlines(self._timer)

    def begin(self, now: Now) -> None:
        """The first time each is due."""
        config = self._config
        flush_ms = config["log.flush.offset.checkpoint.interval.ms"]
        self._periods_ms = {
            self.clean_up: config["log.retention.check.interval.ms"],
            self._write_recovery_points: max(1, flush_ms),
            self._write_high_watermarks: HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS,
            self._compact: self._compaction_period_ms(),
        }
        for duty in self._periods_ms:
            self._arm(duty, now.monotonic_ms)

    def changed(self, now: Now) -> None:
        """Some log has a new beginning or end: its checkpoints will have to follow, and
        it may be worth compacting.
        """
        if not self._some_rest:
            return
        for duty in (
            self._write_recovery_points,
            self._write_high_watermarks,
            self._compact,
        ):
            if self._deadlines.at(duty) is None:
                self._arm(duty, now.monotonic_ms)
        self._some_rest = False

    def config_changed(self) -> None:
        """The cleaner's room and pace may be others now."""
        in_force = self._configs.of_broker
        self.cleaner.buffer_bytes = in_force["log.cleaner.dedupe.buffer.size"]
        self._periods_ms[self._compact] = self._compaction_period_ms()
        self._arm(self._compact, self._now_ms)

    def _compaction_period_ms(self) -> int:
        return max(1, int(self._configs.of_broker["log.cleaner.backoff.ms"]))

    def _arm(self, duty: Duty, now_ms: int, at_once: bool = False) -> None:
        """Set when a duty is due next. at_once: with the next tick."""
        period_ms = 0 if at_once else self._periods_ms[duty]
        self._deadlines.set(duty, now_ms + period_ms)

    def do_what_is_due(self, now: Now) -> None:
        """All but compaction is done at once; compaction is begun."""
        self._now_ms = now.monotonic_ms
        for duty in self._deadlines.overdue(self._now_ms):
            self._deadlines.set(duty, None)
            self._some_rest = True
            duty(now)

    # -- what is done

    def clean_up(self, now: Now) -> None:
        """Apply retention. A follower tells its leader where its log begins now."""
        for replica in self._replicas.values():
            retention.clean_up(replica.log, now)
            if not replica.is_leader:
                self._events.placed(replica)
        self._arm(self.clean_up, now.monotonic_ms)
        self.changed(now)

    def _write_recovery_points(self, _: Now) -> None:
        self._checkpoints.write_recovery_points()

    def _write_high_watermarks(self, _: Now) -> None:
        self._checkpoints.write_high_watermarks()

    def _compact(self, now: Now) -> None:
        """Begin with the log that is worth it most, if none is being compacted."""
        if self.cleaner.busy:
            return
        logs = []
        for replica in self._replicas.values():
            logs.append((replica.log, replica.last_stable_offset))
        nothing_is_dirty = self.cleaner.begin(logs, now.wall_ms)
        if nothing_is_dirty and not self.cleaner.busy:
            self._arm(self._compact, now.monotonic_ms)

    def compact_further(self, now: Now, budget_bytes: int) -> None:
        """A slice of the compaction that was begun."""
        got_further = self.cleaner.advance(budget_bytes)
        if got_further is None:
            return
        self._checkpoints.write_cleaner_offsets()
        self._arm(self._compact, now.monotonic_ms, at_once=got_further)
