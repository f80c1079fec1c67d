"""The picture at the top of lesson 16: a simulated cluster in which a broker has just
been killed: who has which copy, who leads, and which orders wait.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.drawing import WIDE, Drawing, Look
from minikafka.theatre.svg import svg

BROKERS, PARTITIONS = (1, 2, 3), 6
KILLED = 3
LOOK_MS, ORDER_MS = 50, 100  # how often we look, and how often a customer orders
KILLED_MS, END_MS = 4000, 6500  # after the first order
NOBODY = 0  # leads: the broker that did is dead


class Seen(NamedTuple):
    """What was so after a while. leads: a partition's leader, at each look. copies: a
    partition's replicas. waiting: its orders that have had no answer.
    """

    leads: Sequence[Sequence[int]]
    copies: Sequence[Sequence[int]]
    waiting: Sequence[int]
    seed: int


def watched(seed: int = 16) -> Seen:
    """Customers order, and a broker is killed; nobody has replaced it yet."""
    with Cluster(seed=seed, brokers=len(BROKERS)) as cluster:
        cluster.create_topic(
            "orders",
            partitions=PARTITIONS,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
        cluster.run(seconds=1)
        shop = cluster.producer(client_id="shop", linger_ms=0)
        sent: list[tuple[int, Any]] = []
        leads: list[list[int]] = [[] for _ in range(PARTITIONS)]
        for ms in range(0, END_MS, LOOK_MS):
            if ms == KILLED_MS:
                cluster.crash(KILLED)
            if ms % ORDER_MS == 0:
                number = len(sent) % PARTITIONS
                sent.append((number, shop.send("orders", "order", partition=number)))
            cluster.run_ms(LOOK_MS)
            for number in range(PARTITIONS):
                leader = cluster.partition("orders", number).leader
                is_dead = cluster.brokers[leader].state == "down"
                leads[number].append(NOBODY if is_dead else leader)
        waiting = [0] * PARTITIONS
        for number, future in sent:
            waiting[number] += not future.is_done
        copies = [
            tuple(cluster.partition("orders", number).replicas)
            for number in range(PARTITIONS)
        ]
    return Seen(leads, copies, waiting, seed)


class Place(NamedTuple):
    """box, tall: of a broker; right, down: to the next one. copies: where the first row
    of its copies begins, cell, high: of a copy, across, below: to the next one. lanes,
    left, end: where the first lane begins, and where all end.
    """

    box: float
    tall: float
    right: float
    down: float
    copies: float
    cell: float
    high: float
    across: float
    below: float
    lanes: float
    left: float
    end: float


BESIDE = Place(290, 142, 315, 0, 48, 82, 36, 88, 44, lanes=196, left=86, end=820)
# on a phone
SMALL = Place(354, 108, 0, 116, 38, 104, 28, 111, 33, lanes=388, left=44, end=300)
_LANE = 26  # from lane to lane


def three_brokers(width: int = WIDE) -> str:
    """SVG: which partitions have lost a copy, and which their leader. The lesson says
    what a monitoring system shows of it.
    """
    seen = watched()
    body = Drawing(width)
    place = SMALL if body.phone else BESIDE
    for number, broker in enumerate(BROKERS):
        x, y = number * place.right, 4 + number * place.down
        _broker(body.part(f"broker/{broker}", x, y), broker, seen, place)
    body.note("lanes", 0, place.lanes - 14, "who leads each partition")
    body.note("waiting", width, place.lanes - 14, "orders that wait", "end")
    for number in range(PARTITIONS):
        lane = body.part(f"lane/{number}", 0, place.lanes + number * _LANE)
        _lane(lane, number, seen, place)
    _axis(body, place)
    led = [str(number) for number in range(PARTITIONS) if _leader(seen, number) < 1]
    said = f"Broker {KILLED} has just died. Which numbers on your screen change?"
    alt = (
        f"{said} Nobody leads partitions {' and '.join(led)} now;"
        f" {sum(seen.waiting)} orders wait."
    )
    return svg(
        body,
        title="orders: six partitions, three copies of each",
        scenario="three brokers · min.insync.replicas 2",
        sentence=said,
        corner=f"seed {seen.seed}",
        time=f"{(END_MS - KILLED_MS) / 1000:.1f} s later",
        alt=alt,
    )


def _leader(seen: Seen, number: int) -> int:
    """Who leads a partition now."""
    return seen.leads[number][-1]


def _broker(box: Drawing, broker: int, seen: Seen, place: Place) -> None:
    """A broker's card, with its copies; those that it leads, or led, in its colour."""
    actor = broker - 1
    is_dead = broker == KILLED
    line, dash = ("trouble", "6 5") if is_dead else ("rule", None)
    fill = "paper" if is_dead else "wash"
    box.rect("box", 0, 0, place.box, place.tall, fill, line, r=10, dash=dash, width=1.5)
    fade = 0.55 if is_dead else None
    box.disc("disc", 24, 24, 12, str(broker), actor, 13, fade=fade)
    box.text("name", 44, 29, f"broker {broker}", bold=True, size=15)
    if is_dead:
        end = place.box - 14
        box.text("life", end, 29, "killed", "trouble", bold=True, anchor="end")
    for number in range(PARTITIONS):
        if broker not in seen.copies[number]:
            continue
        row, column = divmod(number, 3)
        x = 14 + column * place.across
        y = place.copies + row * place.below
        leads = seen.leads[number][0] == broker
        fill, ink, role = "cell", "ink", "copy"
        if leads:
            fill, ink, role = actor_colour(actor), ink_on_actor(actor), "leads"
        if is_dead:
            role = "led" if leads else "copy"
        copy = box.part(str(number), x, y)
        copy.rect("box", 0, 0, place.cell, place.high, fill, "none", r=5, fade=fade)
        base = place.high / 2 + 5
        copy.text("name", 10, base, f"P{number}", ink, bold=True, size=15)
        copy.text("role", place.cell - 10, base, role, ink, size=12.5, anchor="end")


def _lane(lane: Drawing, number: int, seen: Seen, place: Place) -> None:
    """Who led a partition over time; hatched where nobody did."""
    name = f"P{number}"
    lane.text("name", place.left - 14, 16, name, bold=True, size=14, anchor="end")
    looks = seen.leads[number]
    begin = 0
    for at in range(1, len(looks) + 1):
        if at < len(looks) and looks[at] == looks[begin]:
            continue
        left, right = _x(begin * LOOK_MS, place), _x(at * LOOK_MS, place)
        _span(lane.part(f"span/{begin}", left, 0), right - left, looks[begin])
        begin = at
    count = seen.waiting[number]
    ink = "trouble" if count else "quiet"
    lane.text(
        "waiting", lane.width, 16, str(count), ink, bold=True, size=16, anchor="end"
    )


def _span(span: Drawing, width: float, leader: int) -> None:
    if leader == NOBODY:
        span.rect("bar", 0, 0, width, 21, "hatch", "trouble", r=3)
        look: Look = {"size": 12.5, "bold": True, "anchor": "middle", "halo": "paper"}
        span.text("words", width / 2, 15, "nobody", "trouble", **look)
        return
    actor = leader - 1
    span.rect("bar", 0, 0, width, 21, actor_colour(actor), r=3)
    span.text("words", 9, 15, f"broker {leader}", ink_on_actor(actor), size=12.5)


def _axis(body: Drawing, place: Place) -> None:
    """The moment of the kill, and now."""
    top, bottom = place.lanes - 6, place.lanes + PARTITIONS * _LANE
    killed = _x(KILLED_MS, place)
    body.upright("killed", killed, top, bottom, "trouble", width=2)
    body.text(
        "killed/word",
        killed,
        bottom + 16,
        "killed",
        "trouble",
        bold=True,
        anchor="middle",
    )
    body.cursor(place.end, top, bottom)
    body.text("now", place.end, bottom + 16, "now", bold=True, anchor="middle")
    for second in range(0, KILLED_MS // 1000, 2 if body.phone else 1):
        x = _x(second * 1000, place)
        body.note(f"tick/{second}", x, bottom + 16, f"{second} s")


def _x(ms: float, place: Place) -> float:
    return place.left + (place.end - place.left) * ms / END_MS
