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


_BOX, _TALL, _GAP = 290, 142, 25  # a broker's box, and from box to box
_CELL, _ACROSS, _DOWN = 82, 88, 44  # a copy's width; from copy to copy
_LANES, _LANE = 196, 26  # of the first lane; from lane to lane
_LEFT, _RIGHT = 86, 820  # where a lane begins, and where it ends


def three_brokers() -> str:
    """SVG: which partitions have lost a copy, and which their leader. The lesson says
    what a monitoring system shows of it.
    """
    seen = watched()
    body = Drawing(WIDE)
    for place, broker in enumerate(BROKERS):
        box = body.part(f"broker/{broker}", place * (_BOX + _GAP), 4)
        _broker(box, broker, seen)
    body.note("lanes", 0, _LANES - 14, "who leads each partition")
    body.note("waiting", WIDE, _LANES - 14, "orders that wait", "end")
    for number in range(PARTITIONS):
        lane = body.part(f"lane/{number}", 0, _LANES + number * _LANE)
        _lane(lane, number, seen)
    _axis(body)
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


def _broker(box: Drawing, broker: int, seen: Seen) -> None:
    """A broker's card, with its copies; those that it leads, or led, in its colour."""
    place = broker - 1
    is_dead = broker == KILLED
    line, dash = ("trouble", "6 5") if is_dead else ("rule", None)
    fill = "paper" if is_dead else "wash"
    box.rect("box", 0, 0, _BOX, _TALL, fill, line, r=10, dash=dash, width=1.5)
    fade = 0.55 if is_dead else None
    box.disc("disc", 24, 24, 12, str(broker), place, 13, fade=fade)
    box.text("name", 44, 29, f"broker {broker}", bold=True, size=15)
    if is_dead:
        box.text("life", _BOX - 14, 29, "killed", "trouble", bold=True, anchor="end")
    for number in range(PARTITIONS):
        if broker not in seen.copies[number]:
            continue
        row, column = divmod(number, 3)
        x = 14 + column * _ACROSS
        y = 48 + row * _DOWN
        leads = seen.leads[number][0] == broker
        fill, ink, role = "cell", "ink", "copy"
        if leads:
            fill, ink, role = actor_colour(place), ink_on_actor(place), "leads"
        if is_dead:
            role = "led" if leads else "copy"
        copy = box.part(str(number), x, y)
        copy.rect("box", 0, 0, _CELL, 36, fill, "none", r=5, fade=fade)
        copy.text("name", 10, 23, f"P{number}", ink, bold=True, size=15)
        copy.text("role", _CELL - 10, 23, role, ink, size=12.5, anchor="end")


def _lane(lane: Drawing, number: int, seen: Seen) -> None:
    """Who led a partition over time; hatched where nobody did."""
    lane.text("name", _LEFT - 14, 16, f"P{number}", bold=True, size=14, anchor="end")
    looks = seen.leads[number]
    begin = 0
    for at in range(1, len(looks) + 1):
        if at < len(looks) and looks[at] == looks[begin]:
            continue
        _span(lane, begin * LOOK_MS, at * LOOK_MS, looks[begin])
        begin = at
    count = seen.waiting[number]
    ink = "trouble" if count else "quiet"
    lane.text("waiting", WIDE, 16, str(count), ink, bold=True, size=16, anchor="end")


def _span(lane: Drawing, begin_ms: int, end_ms: int, leader: int) -> None:
    x = _x(begin_ms)
    width = _x(end_ms) - x
    key = f"span/{begin_ms}"
    if leader == NOBODY:
        lane.rect(key, x, 0, width, 21, "hatch", "trouble", r=3)
        look: Look = {"size": 12.5, "bold": True, "anchor": "middle", "halo": "paper"}
        lane.text(f"{key}/words", x + width / 2, 15, "nobody", "trouble", **look)
        return
    place = leader - 1
    lane.rect(key, x, 0, width, 21, actor_colour(place), r=3)
    ink = ink_on_actor(place)
    lane.text(f"{key}/words", x + 9, 15, f"broker {leader}", ink, size=12.5)


def _axis(body: Drawing) -> None:
    """The moment of the kill, and now."""
    bottom = _LANES + PARTITIONS * _LANE
    killed = _x(KILLED_MS)
    body.upright("killed", killed, _LANES - 6, bottom, "trouble", width=2)
    body.text(
        "killed/word",
        killed,
        bottom + 16,
        "killed",
        "trouble",
        bold=True,
        anchor="middle",
    )
    body.cursor(_RIGHT, _LANES - 6, bottom)
    body.text("now", _RIGHT, bottom + 16, "now", bold=True, anchor="middle")
    for second in range(0, KILLED_MS // 1000):
        body.note(f"tick/{second}", _x(second * 1000), bottom + 16, f"{second} s")


def _x(ms: float) -> float:
    room = _RIGHT - _LEFT
    return _LEFT + room * ms / END_MS
