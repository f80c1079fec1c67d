"""The picture at the top of a lesson, of the README, and of a page beside them: SVG
files in notebooks/pictures, made here and tested to be current.

A lesson's says what the lesson is about to someone who only reads, and gives none of
its predictions away. `python -m minikafka.course.publishing.title_pictures` writes them
all. The site makes another drawing of a lesson's picture, for phones.
"""

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.course import demo
from minikafka.course.experiments import lesson_18_event_time, lesson_19_checkpoints
from minikafka.course.experiments.fences_picture import the_larger_number
from minikafka.course.experiments.lesson_07_runs import start
from minikafka.course.experiments.lesson_08_picture import who_moves
from minikafka.course.experiments.lesson_09_picture import three_copies
from minikafka.course.experiments.lesson_10_picture import two_leaders
from minikafka.course.experiments.lesson_11_picture import the_controller_is_dead
from minikafka.course.experiments.lesson_12_picture import one_of_these_is_flipped
from minikafka.course.experiments.lesson_13_picture import nobody_knows_how_it_ends
from minikafka.course.experiments.lesson_14_picture import one_place_outside
from minikafka.course.experiments.lesson_15_picture import one_slow_job
from minikafka.course.experiments.lesson_16_picture import three_brokers
from minikafka.course.experiments.lesson_17_picture import a_query_that_has_stopped
from minikafka.course.experiments.lesson_20_picture import who_notices_the_silence
from minikafka.course.experiments.lesson_21_picture import one_renamed_field
from minikafka.course.experiments.lesson_22_picture import a_night
from minikafka.course.experiments.lesson_23_picture import who_wants_to_come_in
from minikafka.course.experiments.lesson_24_picture import three_locks
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import thumbnails
from minikafka.theatre import picture, svg
from minikafka.theatre.drawing import SMALLEST, WIDE, Drawing
from minikafka.theatre.picture import Picture

PICTURES = NOTEBOOKS / "pictures"


def hero() -> str:
    """The README's: a consumer joins, and two protocols go on side by side."""
    beside = picture(
        "rebalance",
        demo.rebalance("range", "C joins", seed=7),
        beside=demo.rebalance("cooperative-sticky", "C joins", seed=7),
        names=("eager", "cooperative"),
        since_ms=demo.SINCE_MS,
    )
    title = "Consumer C joins the group: who reads each partition meanwhile?"
    return moving(beside, title, seconds=6, frames=40, since_ms=6000)


def moving(
    shown: Picture, title: str, seconds: float, frames: int, since_ms: float
) -> str:
    """The text of a moving SVG file: this many moments, evenly spaced in virtual time
    from since_ms on, and the end held.
    """
    times = [scene["at"] for scene in shown.scenes]
    last = len(times) - 1
    steps = []
    for number in range(frames):
        ms = since_ms + (times[last] - since_ms) * number / (frames - 1)
        steps.append(max(bisect_right(times, ms) - 1, 0))
    held = [last] * (frames // 5)
    drawings = shown.drawings(WIDE)
    drawn = [drawings[step] for step in steps + held]
    summary = shown.summary(shown.scenes[-1])
    return _loop(drawn, title=title, alt=f"{summary}.", seconds=seconds)


class Span(NamedTuple):
    """An element that is there from one frame up to, and without, another."""

    begin: int
    end: int
    element: str


def _loop(frames: Sequence[Drawing], *, title: str, alt: str, seconds: float) -> str:
    """Several steps as one SVG file that loops: without a script, so that a README can
    show it. Each state of a shape is there once, and a CSS animation shows it while its
    frames last; readers who prefer no motion see the last frame.
    """
    count = len(frames)
    keys: dict[str, None] = {}  # in the order in which they first appear
    for frame in frames:
        keys.update(dict.fromkeys(frame.shapes))
    shapes, moving = [], set()
    for key in keys:
        for begin, end, element in _spans(key, frames):
            if end - begin < count:
                moving.add((begin, end))
                element = f'<g class="f{begin}-{end}">{element}</g>'
            shapes.append(element)
    rules = [_rule(begin, end, count, seconds) for begin, end in sorted(moving)]
    rules.append("@media (prefers-reduced-motion:reduce){g{animation:none!important}}")
    header = Drawing(frames[0].width)
    header.text("title", svg.MARGIN, 24, title, bold=True, size=16)
    bottom = max(frame.bottom for frame in frames)
    return svg.file(header, shapes, 42, bottom + 54, title, alt, "".join(rules))


def _spans(key: str, frames: Sequence[Drawing]) -> list[Span]:
    """The states of one shape, each with the frames in which it has it."""
    spans = []
    begun, before = 0, ""
    for number, frame in enumerate(frames):
        now = svg.in_light(key, frame) if key in frame.shapes else ""
        if now != before:
            if before:
                spans.append(Span(begun, number, before))
            begun, before = number, now
    if before:
        spans.append(Span(begun, len(frames), before))
    return spans


def _rule(begin: int, end: int, count: int, seconds: float) -> str:
    """The CSS that shows an element from one frame to another."""
    opacities = {0: 1}
    if begin:
        opacities = {0: 0, begin: 1}
    if end < count:
        opacities[end] = 0
    steps = ""
    for frame, opacity in opacities.items():
        steps += f"{100 * frame / count:.2f}%{{opacity:{opacity}}}"
    name = f"f{begin}-{end}"
    at_last = int(end == count)
    return (
        f"@keyframes {name}{{{steps}}}.{name}{{opacity:{at_last};"
        f"animation:{name} {seconds}s step-end infinite}}"
    )


def start_here(width: int = WIDE) -> str:
    """Lesson 00: created is written, and there is a partition more."""
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=2)
    cluster.producer(client_id="shop").send("orders", key="alice", value="created")
    cluster.run(seconds=1)
    cluster.create_partitions("orders", 3)
    return cluster.play("log").svg(width=width)


def the_log(width: int = WIDE) -> str:
    """Lesson 01: two readers of one log in three segments."""
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=1, configs={"segment.ms": 5000})
    shop = cluster.producer(client_id="shop")
    billing = cluster.consumer(
        "orders", auto_offset_reset="earliest", client_id="billing"
    )
    audit = cluster.consumer("orders", auto_offset_reset="earliest", client_id="audit")
    people = ("alice", "bob", "carol")
    for number in range(14):
        key = people[number * 5 % 3]
        shop.send("orders", key=key, value=f"order {number}")
        cluster.run(seconds=1)
        if number == 7:
            billing.poll(timeout_ms=100)
        if number == 12:
            while audit.poll(timeout_ms=100):
                pass
    return cluster.play("log").svg(width=width)


def partitions_and_keys(width: int = WIDE) -> str:
    """Lesson 02: where six keys go."""
    cluster = Cluster(seed=4)
    cluster.create_topic("orders", partitions=3)
    shop = cluster.producer(client_id="shop")
    for key in ("alice", "bob", "carol", "dave", "frank", "ivan"):
        shop.send("orders", key=key, value="created")
        cluster.run(seconds=1)
    return cluster.play("partitioner").svg(width=width)


def producers(width: int = WIDE) -> str:
    """Lesson 03: one batch is open, another in flight, and the log has some."""
    cluster = Cluster(seed=8)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop", linger_ms=8)
    for number in range(12):
        shop.send("orders", key="alice", value=f"order {number}")
        cluster.run_ms(2)
    played = cluster.play("pipeline")
    for scene in played.scenes:
        space = scene["space"]
        if space["buffer"] and on_its_way(space):
            return played.svg(scene["step"], width)
    raise AssertionError("no batch is open while another is in flight")


def on_its_way(space: dict[str, Any]) -> bool:
    """Whether the log has records already, and more are on their way."""
    has_records = space["logs"][0]["end"] > 0
    states = [request["state"] for request in space["in_flight"]]
    return has_records and "on its way" in states


def offsets_and_delivery(width: int = WIDE) -> str:
    """Lesson 04: two records done, one in hand, nothing committed."""
    cluster = Cluster(seed=4)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop")
    for number in range(6):
        shop.send("orders", key=f"o-{number}", value="20 euros")
        cluster.run(seconds=1)
    billing = cluster.consumer(
        "orders",
        group_id="billing",
        client_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    payments = cluster.table("payments")
    for _ in range(3):
        record = next(billing)
        if record.offset < 2:
            payments.add(record, record.value)
    return cluster.play("commit").svg(width=width)


def consumer_groups(width: int = WIDE) -> str:
    """Lesson 05: two read two partitions each, and a third asks to join. Who leads the
    group isn't told: the lesson asks it.
    """
    cluster = Cluster(seed=5)
    cluster.create_topic("orders", partitions=4)
    shop = cluster.producer(client_id="shop")
    for name in "AB":
        _reads(cluster, name)
    for number in range(12):
        shop.send("orders", partition=number % 4, value="20 euros")
        cluster.run(seconds=1)
    _reads(cluster, "C")
    cluster.run(seconds=1)
    played = cluster.play("rebalance")
    for scene in played.scenes:
        space = scene["space"]
        if space["state"] == "PreparingRebalance" and len(space["members"]) == 3:
            space["leader"] = ""
            return played.svg(scene["step"], width)
    raise AssertionError("C has not asked to join")


def _reads(cluster: Cluster, name: str) -> None:
    """Start a member of billing."""
    consumer = cluster.consumer(
        "orders", group_id="billing", client_id=f"consumer {name}"
    )
    cluster.start(list, consumer)


def rebalancing(width: int = WIDE) -> str:
    """Lesson 06: three members read two partitions each, and a fourth asks to join."""
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=6)
    shop = cluster.producer(client_id="shop")
    for name in "ABC":
        member = cluster.consumer("orders", group_id="billing", client_id=name)
        cluster.start(list, member)
    cluster.run(seconds=8)
    for number in range(12):
        shop.send("orders", partition=number % 6, value=f"order {number}")
        cluster.run(seconds=0.5)
    newcomer = cluster.consumer("orders", group_id="billing", client_id="D")
    cluster.start(list, newcomer)
    cluster.run(seconds=1)
    played = cluster.play("rebalance", since_ms=8_000)
    for scene in played.scenes:
        if "D" in [member["name"] for member in scene["space"]["members"]]:
            return played.svg(scene["step"], width)
    raise AssertionError("D has not asked to join")


def lag_and_capacity(width: int = WIDE) -> str:
    """Lesson 07: three partitions, and the member that read the last one is gone."""
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=3)
    shop = cluster.producer(client_id="shop")
    start(cluster, *"ABC", auto_commit_interval_ms=500)
    cluster.run(seconds=5)
    for second in range(30):
        for number in range(9):
            shop.send("orders", partition=number % 3, value="order")
        cluster.run(seconds=1)
        if second == 12:
            cluster.crash("C")
    return cluster.play("lag").svg(width=width)


def event_time_and_watermark(width: int = WIDE) -> str:
    """Lesson 18: three micro-batches, and in the third an order of the first window."""
    played = lesson_18_event_time.RECORDED.play()
    steps = [
        scene["step"] for scene in played.scenes if len(scene["space"]["rows"]) == 3
    ]
    return played.svg(steps[0], width)


def sinks_and_failure(width: int = WIDE) -> str:
    """Lesson 19: micro-batch 1 is in the sink, and the query dies before its commit."""
    played = lesson_19_checkpoints.RECORDED.play()
    deaths = [scene["step"] for scene in played.scenes if scene["kind"] == "QueryDied"]
    return played.svg(deaths[0], width)


HOOKS = {
    "00": start_here,
    "01": the_log,
    "02": partitions_and_keys,
    "03": producers,
    "04": offsets_and_delivery,
    "05": consumer_groups,
    "06": rebalancing,
    "07": lag_and_capacity,
    "08": who_moves,
    "09": three_copies,
    "10": two_leaders,
    "11": the_controller_is_dead,
    "12": one_of_these_is_flipped,
    "13": nobody_knows_how_it_ends,
    "14": one_place_outside,
    "15": one_slow_job,
    "16": three_brokers,
    "17": a_query_that_has_stopped,
    "18": event_time_and_watermark,
    "19": sinks_and_failure,
    "20": who_notices_the_silence,
    "21": one_renamed_field,
    "22": a_night,
    "23": who_wants_to_come_in,
    "24": three_locks,
}
ALL = HOOKS | {"hero": hero, "the_larger_number": the_larger_number}


def path(name: str) -> Path:
    """Where a lesson's picture is, or the README's."""
    return PICTURES / f"{name}.svg"


def small(number: str) -> str:
    """The name of a lesson's picture for phones."""
    return f"{number}-phone.svg"


def card(number: str) -> str:
    """The name of its thumbnail."""
    return f"{number}-card.svg"


def write_small(folder: Path) -> None:
    """The lessons' pictures for phones, and their thumbnails."""
    for number, draw in HOOKS.items():
        text = draw(SMALLEST)
        (folder / small(number)).write_text(text, encoding="utf-8")
        (folder / card(number)).write_text(thumbnails.of_file(text), encoding="utf-8")


if __name__ == "__main__":
    for name, draw in ALL.items():
        path(name).write_text(draw(), encoding="utf-8")
