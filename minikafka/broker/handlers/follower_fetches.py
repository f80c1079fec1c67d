"""The parts of Fetch that only followers use: a follower says who it is, its offsets
say what it has, and partitions without news are left out.

A follower's position in a partition is known in four places, each for a reason in the
protocol:

- its own log (storage/log.py) is where it is;
- `Leader.told` (replica_fetcher.py), at the follower: what its session says, so that it
  names only what has moved (KIP-227);
- `Session.asked` (fetch_sessions.py), at the leader: the same, since an incremental
  request leaves out what has not moved;
- `Replica.followers` (cluster/replica.py), at the leader: what it counts by, for the
  high watermark and the ISR, in this leader epoch alone. Of the metadata log, whose
  followers have no session, this is the only one at the leader.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from minikafka.broker.calls import Call
from minikafka.broker.fetch_sessions import (
    FINAL_EPOCH,
    Asked,
    FetchKey,
    Row,
    Session,
    Settled,
)
from minikafka.broker.handlers.nodes import check_follower
from minikafka.broker.isr import IsrChanges
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import Now
from minikafka.cluster.metadata import METADATA_TOPIC, Image
from minikafka.cluster.quorum import TOPIC_ID as METADATA_TOPIC_ID
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Waiting
from minikafka.wire.errors import Error, KafkaError

CONSUMER = -1  # in the place of a follower's id
REPLICA_STATE = 15  # the first version that has it
HIGH_WATERMARKS = 18  # the first version in which a follower says what it knows
METADATA_KEYS = {FetchKey(METADATA_TOPIC, 0), FetchKey(METADATA_TOPIC_ID, 0)}


@dataclass(eq=False, repr=False)
class FollowerFetches:
    """The parts of Fetch that only followers use."""

    node_id: int
    image: Image
    quorum: Quorum
    replicas: ReplicaManager
    isr: IsrChanges
    waiting: Waiting
    events: NodeEvents

    def replica_id(self, request: Call) -> int:
        """The node that fetches as a follower; CONSUMER for anyone that isn't a node of
        the cluster.
        """
        if request.client.listener != CONTROLLER_LISTENER:
            return CONSUMER
        if request.version >= REPLICA_STATE:
            follower = int(request.body.replica_state.replica_id)
        else:
            follower = int(request.body.replica_id)
        if follower != CONSUMER:
            check_follower(self.node_id, follower)
        return follower

    def check_metadata_fetch(self, request: Call, named: Iterable[FetchKey]) -> None:
        """A follower of the metadata log names its cluster each time, so it has no
        session. Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST.
        """
        if METADATA_KEYS.isdisjoint(named):
            return
        if request.body.cluster_id != self.quorum.cluster_id:
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
        if request.body.session_epoch != FINAL_EPOCH:
            raise KafkaError(Error.INVALID_REQUEST)

    def note_follower(self, request: Call, follower: int, row: Row, now: Now) -> None:
        """Asking from an offset on says that all before is there, unless the two logs
        have parted.
        """
        replica, one = row.found, row.asked
        if isinstance(replica, KafkaError):
            return
        is_within = 0 <= one.fetch_offset <= replica.log.log_end_offset
        if not is_within or has_parted(replica, one):
            return
        if replica is self.quorum.replica:
            self.quorum.follower_fetched(follower, one.fetch_offset, now)
            return
        known = self.image.brokers.get(follower)
        epoch = request.body.replica_state.replica_epoch
        is_another_run = epoch >= 0 and known is not None and known.broker_epoch > epoch
        if is_another_run:  # KIP-903
            return
        replica.follower_fetched(
            follower, one.fetch_offset, now, epoch, one.log_start_offset
        )
        place = replica.log.topic, replica.log.partition
        log_start = ("log_start", *place)
        if log_start in self.waiting.by_key:
            self.events.moved(log_start, 0)
        if follower not in replica.partition.isr:  # who leaves it is found by the clock
            self.isr.look(place, replica, now)

    def unsettled(self, session: Session, fetched_ms: int | None = None) -> list[Asked]:
        """The partitions of a follower's session that must be looked at. fetched_ms: it
        has just fetched, and of the others it has all as of this fetch, too.
        """
        replicas = self.replicas.replicas
        rows = []
        for key, one in session.asked.items():
            settled = session.settled.get(key)
            if settled is None:
                rows.append(one)
                continue
            # Not in a function of its own: an idle partition is looked at very often.
            replica, log = settled.replica, settled.replica.log
            is_as_it_was = (
                replicas.get(settled.place) is replica
                and replica.partition is settled.partition
                and log.log_start_offset == session.told[key].log_start_offset
                and log.log_end_offset == one.fetch_offset
            )
            if not is_as_it_was:
                del session.settled[key]
                rows.append(one)
            elif fetched_ms is not None:
                known = settled.follower
                known.caught_up_ms = known.fetched_ms = fetched_ms
        return rows


def has_parted(replica: Replica, one: Asked) -> bool:
    """Whether the follower's log has records that this one has not. The answer will say
    so, and where its epoch is unknown here.
    """
    if one.last_fetched_epoch < 0:
        return False
    try:
        diverging = replica.log.diverging_epoch(
            one.last_fetched_epoch, one.fetch_offset
        )
    except KafkaError:
        return True
    return diverging is not None


def settle(session: Session, rows: list[Row], follower: int) -> None:
    """Remember of which partitions the follower has all and was told so."""
    for row in rows:
        replica, one = row.found, row.asked
        if isinstance(replica, KafkaError) or follower not in replica.partition.isr:
            continue
        known = replica.followers.get(follower)
        if known is None or one.key not in session.told:
            continue
        end = replica.log.log_end_offset
        has_all = one.fetch_offset == known.log_end_offset == end
        if has_all and end == replica.high_watermark:
            session.settled[one.key] = Settled(
                place=(row.topic, one.key.partition),
                replica=replica,
                partition=replica.partition,
                follower=known,
            )


def hears_of_high_watermark(request: Call, answers: dict[FetchKey, Answer]) -> bool:
    """Whether a partition has a higher high watermark than the follower says it knows:
    then it is told at once (KIP-1166).
    """
    if request.version < HIGH_WATERMARKS:
        return False
    for topic in request.body.topics:
        for partition in topic.partitions:
            key = FetchKey(topic.topic_id, partition.partition)
            answer = answers.get(key)
            if answer is None:
                continue
            if answer["high_watermark"] > partition.high_watermark:
                return True
    return False
