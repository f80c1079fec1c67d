"""The theatre: a trace becomes scenes, and scenes become a page that plays, a static
SVG, or a table.

A picture is data from beginning to end. Its way, by file:

    trace -> story    pictures/lag/story.py   hears each event, keeps the state, says a sentence
    scenes            plain JSON: one space for each step, and the cast once (play.fold)
    scenes -> play    pictures/lag/play.py    draws a scene, and sees neither story nor trace
    places            boxes.py                rows and columns, measured once for a whole play
    shapes            drawing.py              each has a key, so that the player can move it
    page              page.py, page.html      all steps; player.js and the scripts that it names
    one step          svg.py                  static, for files and for readers without a browser
    all of it         picture.py              what a notebook shows: page, SVG, table, prediction

Open, to change

    what an event means, or its sentence     pictures/NAME/story.py; often says.py beside it
    what is drawn, and where                 pictures/NAME/play.py, and the parts beside it; boxes.py
    what any story or play can do            play.py
    how a shape looks, moves, lights up      drawing.py, stage.js, player.css; palette.py, actors.py
    how fast it plays                        pace.py
    a question in a picture                  minikafka/prediction.py, asking.js; ruler.py, drag.js
    what a live picture sends to the kernel  hands.js, carry.js, notebook.js; course/levers/ listens

NAME is the picture's name with `_` for `-`; each folder says what is in its files.

Most plays say what is beside what, and boxes.py finds the places for any width. The
others compute their places for each of three widths (drawing.py: LAYOUTS).

The parts that several pictures share: a partition as a row of records (row.py, where
its box is measured, too; which ones fit: columns.py), brokers as cards with their
copies of a log (nodes.py), what is shown when there is too much (casting.py), words
that fit (text.py), names of moments (clock.py). Time below is one of two: lengths to
scale on axis.py (time_lanes.py, broker_lanes.py), or order alone (lanes.py).
strip.py is a map of many runs above the picture of one of them; pictures/tiles.py has
tables of many runs as small pictures.

This room knows the trace and the predictions about it, and nothing else of minikafka,
so that a picture can show a simulation, a server, or a recorded file.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.prediction import Prediction
from minikafka.theatre.picture import Picture
from minikafka.theatre.pictures.bytes.play import BytesPlay
from minikafka.theatre.pictures.cleaner.play import CleanerPlay
from minikafka.theatre.pictures.commit.play import CommitPlay
from minikafka.theatre.pictures.fork.play import ForkPlay
from minikafka.theatre.pictures.gate.play import GatePlay
from minikafka.theatre.pictures.lag.play import LagPlay
from minikafka.theatre.pictures.log.play import LogPlay
from minikafka.theatre.pictures.micro_batch.play import MicroBatchPlay
from minikafka.theatre.pictures.partitioner.play import PartitionerPlay
from minikafka.theatre.pictures.pipeline.play import PipelinePlay
from minikafka.theatre.pictures.quorum.play import QuorumPlay
from minikafka.theatre.pictures.rebalance.play import RebalancePlay
from minikafka.theatre.pictures.replica_set.play import ReplicaSetPlay
from minikafka.theatre.pictures.runs.play import RunsPlay
from minikafka.theatre.pictures.share_partition.play import SharePartitionPlay
from minikafka.theatre.pictures.sink.play import SinkPlay
from minikafka.theatre.pictures.sweep.play import SweepPlay
from minikafka.theatre.pictures.transaction.play import TransactionPlay
from minikafka.theatre.pictures.watermark.play import WatermarkPlay
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
