"""What holds for every picture: it is drawn from its cast and its scenes alone, which
are plain JSON, and what is in them follows from codes and numbers of the trace, never
from the wording of its sentences.
"""

import gc
import json
from types import FunctionType, ModuleType

import pytest

from minikafka import Cluster, theatre
from minikafka.course.experiments.lesson_10_runs import two_leaders_meet
from minikafka.course.experiments.lesson_13_held import held_back
from minikafka.course.experiments.lesson_14_sinks import side_by_side
from minikafka.course.publishing import title_pictures
from minikafka.faults import Lose
from minikafka.theatre.drawing import NARROW, WIDE
from minikafka.theatre.picture import Picture
from minikafka.theatre.play import Story
from minikafka.trace import REASONS, Event
from tests.theatre import (
    cleaned,
    commit_traces,
    groups,
    hostile,
    replicas,
    shared,
    traces,
    transactions,
)
from tests.theatre import (
    frames as sent_frames,
)

pytestmark = pytest.mark.slow

SENTENCE = ("why", "message")  # what an event says in English


def hook_runs():
    """(picture, trace, options) of the pictures at the top of the lessons: simulated
    runs, of every kind of picture.
    """
    runs, make = {}, theatre.picture
    for number, draw in title_pictures.HOOKS.items():

        def record(name, trace, number=number, **options):
            runs[f"lesson {number}"] = name, list(trace), options
            return make(name, trace, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(theatre, "picture", record)
            draw()
    return runs


def a_topic_made_anew():
    """The broker refuses a batch, and the producer tries again; another batch's answer
    is lost.
    """
    with Cluster(
        seed=3, faults=[Lose("shop", 1, "Produce", nth=4, answer=True)]
    ) as cluster:
        cluster.create_topic("orders")
        shop = cluster.producer(client_id="shop")
        shop.send("orders", value="a").get()
        cluster.delete_topic("orders")
        for value in "bcd":
            shop.send("orders", value=value).get()
        return list(cluster.trace)


def a_member_that_polls_too_late():
    with Cluster(seed=5) as cluster:
        cluster.create_topic("orders", partitions=2)
        late, other = (
            cluster.consumer(
                "orders",
                group_id="billing",
                client_id=name,
                max_poll_interval_ms=10_000,
            )
            for name in "AB"
        )
        late.poll(timeout_ms=5000)
        for _ in range(8):
            other.poll(timeout_ms=2000)
        late.poll(timeout_ms=5000)
        return list(cluster.trace)


def killed_at_each_call():
    """What a sweep tells of each run."""
    ended = [
        {"run": run, "call": call, "written": [1, run % 2]}
        for run, call in enumerate(("poll", "add"), 1)
    ]
    return [
        Event(
            ("sweep", each["run"]),
            1000 * each["run"],
            f"run {each['run']}",
            "RunEnded",
            None,
            each,
        )
        for each in ended
    ]


def compared_runs():
    """What a picture of many runs is told."""
    told = {
        "row": ["acks=1", "the answer is lost"],
        "column": "order 0",
        "records": [["0", "there"], ["1", "lost"]],
        "says": "Order 1 is gone.",
        "wrong": "an order is lost",
        "bars": [[0, 5000, "5 s"]],
    }
    return [Event(("sweep", 1), 1, "run 1", "RunCompared", None, told)]


@pytest.fixture(scope="module")
def runs():
    eager, seen = (
        groups.classic("range"),
        groups.classic("cooperative-sticky", seen_by="broker"),
    )
    names = hostile.simulated()
    return {
        **hook_runs(),
        **{f"names as {kind}": (kind, names, {}) for kind in theatre.PLAYS},
        "retention": ("log", traces.retention(), {}),
        "a longer topic": ("partitioner", traces.growing(), {}),
        "refused": ("pipeline", a_topic_made_anew(), {}),
        "commit first": ("commit", commit_traces.commit_first(), {}),
        "piling up": ("lag", commit_traces.piling_up(), {}),
        "too late": ("rebalance", a_member_that_polls_too_late(), {}),
        "seen by the broker": ("rebalance", seen, {}),
        "KIP-848, later": ("rebalance", groups.consumer(), {"since_ms": 20_000}),
        "beside": ("rebalance", eager, {"beside": seen}),
        "acks=1": ("replica-set", replicas.acks_1(), {}),
        "quorum": ("quorum", replicas.stale(), {}),
        "shared, a worker hangs": ("share-partition", shared.hangs_long(), {}),
        "shared, nobody beside": ("share-partition", shared.alone(), {}),
        "shared, another leader": ("share-partition", shared.many(), {}),
        "bytes": ("bytes", sent_frames.request(), {}),
        "compacted": ("cleaner", cleaned.transactions(), {}),
        "two leaders": ("fork", two_leaders_meet().trace, {}),
        "held back": ("gate", held_back().trace, {}),
        "two sinks": ("sink", side_by_side().trace, {}),
        "sweep": ("sweep", killed_at_each_call(), {}),
        "runs": ("runs", compared_runs(), {"across": "the answer of"}),
        "zombie": ("transaction", transactions.zombie(), {}),
        "too slow": ("transaction", transactions.too_slow(), {}),
        "too few in sync": ("replica-set", replicas.too_few_in_sync(), {"live": True}),
    }


@pytest.fixture(scope="module")
def pictures(runs):
    return {
        run: theatre.picture(kind, trace, **options)
        for run, (kind, trace, options) in runs.items()
    }


def test_there_is_a_real_run_of_every_kind_of_picture(runs):
    assert {
        kind for run, (kind, _, _) in runs.items() if not run.startswith("names")
    } == set(theatre.PLAYS)


@pytest.mark.nightly
def test_a_picture_redrawn_from_json_is_equal(pictures):
    for run, pic in pictures.items():
        cast, scenes = json.loads(json.dumps([pic.cast, pic.scenes]))
        again = Picture(type(pic.play), cast, scenes, seed=pic.seed)
        assert again.digest == pic.digest, run
        assert frames(again) == frames(pic), run


def frames(pic):
    """Every step as the page draws it, in both layouts, and the last one as SVG."""
    shapes = [
        drawing.shapes for width in (WIDE, NARROW) for drawing in pic.drawings(width)
    ]
    return (
        shapes,
        [(pic.play.scenario(scene), pic.summary(scene)) for scene in pic.scenes],
        pic.svg(),
    )


def test_a_picture_keeps_neither_the_trace_nor_the_story(pictures):
    for run, pic in pictures.items():
        assert not [
            each for each in held_by(pic) if isinstance(each, (Event, Story))
        ], run


def test_a_picture_of_somebody_else_has_another_digest(pictures):
    for run, pic in pictures.items():
        cast = pic.cast | {"title": f"not {pic.title}"}
        assert Picture(type(pic.play), cast, pic.scenes).digest != pic.digest, run


def test_no_sentence_of_the_trace_decides_what_is_shown(runs, pictures):
    for run, (name, trace, options) in runs.items():
        if "beside" in options:
            options = options | {"beside": reworded(options["beside"])}
        other = theatre.picture(name, reworded(trace), **options)
        assert other.cast == pictures[run].cast, run
        assert [structure(scene) for scene in other.scenes] == [
            structure(scene) for scene in pictures[run].scenes
        ], run


def test_the_runs_hold_reasons_of_every_kind(runs):
    """Or the test above could not fail. The model queue has no picture."""
    of_the_queue = {"MessageDeadLettered", "MessageDiscarded", "MessageRequeued"}
    assert {
        event.kind
        for _, trace, _ in runs.values()
        for event in trace
        if "why" in event.detail
    } == set(REASONS) - of_the_queue


def reworded(trace):
    """The same trace, with "x" for every sentence of an event."""
    return [
        Event(
            each.id,
            each.at,
            each.node,
            each.kind,
            each.cause,
            each.detail | {name: "x" for name in SENTENCE if name in each.detail},
        )
        for each in trace
    ]


def structure(told):
    """A scene without its sentences. Of a chapter only its being there counts."""
    if isinstance(told, dict):
        chapter = {"chapter": told["chapter"] is not None} if "chapter" in told else {}
        return {
            key: structure(value)
            for key, value in told.items()
            if key not in ("sentence", *SENTENCE)
        } | chapter
    return [structure(each) for each in told] if isinstance(told, list) else told


def held_by(root):
    """All objects that one leads to, short of code."""
    seen, found, todo = set(), [], [root]
    while todo:
        each = todo.pop()
        if id(each) not in seen and not isinstance(
            each, (type, FunctionType, ModuleType)
        ):
            seen.add(id(each))
            found.append(each)
            todo += gc.get_referents(each)
    return found
