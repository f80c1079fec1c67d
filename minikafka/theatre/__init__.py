"""The theatre: a trace becomes scenes, and scenes become a page that plays, a static
SVG, or a table.

The one idea: a picture is data from beginning to end. A story folds a trace into a cast
and scenes, plain JSON; a play draws these and sees nothing else (play.py). It draws
shapes under stable keys (drawing.py), so that the player in the page can move the
shapes whose place changes in the next step. picture.py holds one picture and shows it;
page.py writes the page, svg.py one step of it.

The parts that several pictures share are here, too: a partition as a row of records
(row.py, columns.py), the axis of time (axis.py, with lanes in time_lanes.py), lanes
whose story is order (lanes.py), names for moments (clock.py), brokers with their copies
of a log (nodes.py) and their lanes (broker_lanes.py), the choice of what is shown when
there is too much (casting.py), colours by name (palette.py), words that fit (text.py),
the axis along which an answer is dragged (ruler.py), and a map of many runs above the
picture of one of them (strip.py). The pictures themselves are in pictures/. A new one
is a subclass of play.Story and one of play.Play, and its name in PLAYS.

This room knows the trace and the predictions about it, and nothing else of minikafka,
so that a picture can show a simulation, a server, or a recorded file.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.prediction import Prediction
from minikafka.theatre.picture import Picture
from minikafka.theatre.pictures.cleaner import CleanerPlay
from minikafka.theatre.pictures.commit_point import CommitPlay
from minikafka.theatre.pictures.fork import ForkPlay
from minikafka.theatre.pictures.frame_bytes import BytesPlay
from minikafka.theatre.pictures.gate import GatePlay
from minikafka.theatre.pictures.lag import LagPlay
from minikafka.theatre.pictures.log import LogPlay
from minikafka.theatre.pictures.micro_batch import MicroBatchPlay
from minikafka.theatre.pictures.partitioner import PartitionerPlay
from minikafka.theatre.pictures.pipeline import PipelinePlay
from minikafka.theatre.pictures.quorum import QuorumPlay
from minikafka.theatre.pictures.rebalance import RebalancePlay
from minikafka.theatre.pictures.replica_set import ReplicaSetPlay
from minikafka.theatre.pictures.runs import RunsPlay
from minikafka.theatre.pictures.share_partition import SharePartitionPlay
from minikafka.theatre.pictures.sink import SinkPlay
from minikafka.theatre.pictures.sweep import SweepPlay
from minikafka.theatre.pictures.transaction import TransactionPlay
from minikafka.theatre.pictures.watermark import WatermarkPlay
from minikafka.theatre.play import Play, fold
from minikafka.theatre.text import readable
from minikafka.trace import Event

__all__ = ["PLAYS", "Picture", "fitting", "picture"]

PLAYS: dict[str, type[Play]] = {
    play.story.name: play
    for play in (
        BytesPlay,
        CleanerPlay,
        CommitPlay,
        ForkPlay,
        GatePlay,
        LagPlay,
        LogPlay,
        MicroBatchPlay,
        PartitionerPlay,
        PipelinePlay,
        QuorumPlay,
        RebalancePlay,
        ReplicaSetPlay,
        RunsPlay,
        SharePartitionPlay,
        SinkPlay,
        SweepPlay,
        TransactionPlay,
        WatermarkPlay,
    )
}


def picture(
    name: str,
    trace: Sequence[Event],
    *,
    seed: int | None = None,
    prediction: Any = None,
    surprise: Any = None,
    answer: Any = None,
    **options: Any,
) -> Picture:
    """The picture called name ("log", "partitioner") of a trace. options: that
    picture's own, see its file.

    prediction: anything with question, options and mine; surprise(event) tells where to
    stop before; answer: what it was, or a function of the trace that computes it.
    """
    if name not in PLAYS:
        raise ValueError(
            f"there is no picture {name!r}: choose one of {', '.join(sorted(PLAYS))}"
        )

    shown = readable(list(trace))
    play, story, events = PLAYS[name].stage(shown, **readable(options))
    scenes = fold(story, events)
    asked = Prediction.of(prediction, answer, shown)
    if asked:
        asked.place(surprise, events, scenes)
    return Picture(play, story.cast(), scenes, seed=seed, prediction=asked)


def fitting(trace: Sequence[Event]) -> str:
    """The name of the picture that fits what happened: effects outside Kafka show the
    commit point; a transactional producer its transactions; records that were acquired
    the share partition; an election the replicas; a pass of the log cleaner the cleaner;
    records that were only written, over several partitions, the partitioner.
    """
    kinds = {event.kind for event in trace}
    if "EffectWritten" in kinds:
        return "commit"
    if "TransactionStateChanged" in kinds:
        return "transaction"
    if "ShareRecordsAcquired" in kinds:
        return "share-partition"
    if "RebalanceStarted" in kinds:
        return "rebalance"
    if any(
        event.kind == "LeaderElected" and not event.detail["topic"].startswith("__")
        for event in trace
    ):
        return "replica-set"

    read = kinds & {"RecordsPolled", "PositionReset", "FetchRefused", "SegmentDeleted"}
    if not read and kinds & {"BatchRetried", "SendFailed"}:
        return "pipeline"
    cleaned = [event for event in trace if event.kind == "CompactionStarted"]
    if any(not event.detail["topic"].startswith("__") for event in cleaned):
        return "cleaner"
    spread = any(
        event.kind == "PartitionChosen" and event.detail["partitions"] > 1
        for event in trace
    )
    return "partitioner" if spread and not read else "log"
