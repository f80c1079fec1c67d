"""The replica set: one partition's copies, how far each goes, the leader of each epoch,
and what producers were told.

Options: topic, partition (without them: the one that is copied most); live: with levers
on the brokers' cards.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene, Span, spans
from minikafka.theatre.boxes import Item, Places, Stage, column, part
from minikafka.theatre.broker_lanes import (
    NOBODY,
    Leads,
    broker_lane,
    lasted,
    leader_lane,
)
from minikafka.theatre.drawing import Drawing, Look
from minikafka.theatre.nodes import ASIDE, BESIDE, Card, Chip, listed, name_of
from minikafka.theatre.pictures.log_partition import LEGEND
from minikafka.theatre.pictures.log_rows import LogRows
from minikafka.theatre.pictures.replica_set.story import ReplicaStory
from minikafka.theatre.pictures.replica_set.told import told_box, told_y
from minikafka.theatre.play import Detail, Play, Space
from minikafka.theatre.text import counted, dotted
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes

FEW = 3  # brokers: each has a lane
IN_ISR = Chip("ISR", "good", "ink")
NOT_IN_ISR = Chip("not in ISR", "chip", "trouble")
ISR_ASKED = Chip("ISR?", "said", "ink")


class ReplicaSetPlay(Play):
    story = ReplicaStory
    ms_a_second = 1000
    legend = LEGEND
    rule = "Outlined: may still be lost."

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        leader = "no leader"
        if space["leader"] >= 0:
            leader = f"broker {space['leader']} leads in epoch {space['epoch']}"
        acks = [
            f"{producer} with acks={acks}"
            for producer, acks in space["acks"].items()
            if acks != ""
        ]
        replicas = counted(len(space["copies"]), "replica")
        return dotted(replicas, leader, f"ISR {listed(space['isr'])}", *acks)

    def summary(self, space: Space) -> str:
        said = []
        for copy in space["copies"]:
            leads = copy["leads"] and not copy["life"]
            words = f"broker {copy['broker']}"
            words += " leads and" if leads else ""
            words += f" ends at {copy['end']}"
            words += f" ({copy['life']})" if copy["life"] else ""
            said.append(words)

        said.append(f"ISR {listed(space['isr'])}")
        lost = "nothing acknowledged lost"
        if space["lost"]:
            lost = f"{counted(space['lost'], 'acknowledged record')} lost"
        said.append(lost)
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.rows = LogRows(self.cast, scenes, 2, _card, _from_a_producer)
        brokers = self.rows.brokers
        copies = [self.rows.item(broker) for broker in brokers]
        told = told_box(self.cast, self.rows)
        self.with_brokers = range(len(brokers) if len(brokers) <= FEW else 0)
        legend = [self.rows.legend(each) for each in copies[:1]]
        lanes = TimeLanes(scenes, self.time)
        self.changing = {
            lane.key
            for lane in (self._all_lanes(scenes) if scenes else ())
            if len(lane.bars) > 1
            or lane.key in lanes.marks
            or any(lane.key in _away(scene) for scene in scenes)
        }
        time = lanes.box(scenes, self._lanes)
        logs = column(*copies, gap=8)
        self.boxes = Stage(column(*legend, told, logs, _lamp(), time, gap=3))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _lanes(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """The lanes in which something changes; those of answers and of the ISR. In the
        end only those in the light.
        """
        light = scenes[-1].get("light", ())
        keys = {"told", "isr", *self.changing}
        lit = {key for key in keys if f"time/lane/{key}" in light}
        return [lane for lane in self._all_lanes(scenes) if lane.key in (lit or keys)]

    def _all_lanes(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """The lanes: what producers were told, the leader, each of few brokers, and the
        ISR.
        """
        return [
            TimeLane("told", "told", _waited(scenes)),
            leader_lane("leader", scenes, _leader),
            *(
                broker_lane(scenes, "copies", number, _believes_to_lead)
                for number in self.with_brokers
            ),
            _isr(scenes),
        ]


def _from_a_producer(places: Places, broker: int) -> Look:
    return {"from_y": told_y(places)}


def _card(card: Card, copy: Detail, places: Places, scene: Scene) -> None:
    """A replica's card, and its way to the leader that it follows."""
    space = scene["space"]
    leads = copy["leads"]
    words = "follows nobody"
    if leads and copy["epoch"] < space["epoch"]:
        words = f"thinks it leads, epoch {copy['epoch']}"
    elif leads:
        words = f"leads in epoch {copy['epoch']}"
    elif copy["follows"] >= 0:
        words = f"follows broker {copy['follows']}"
    is_inside = card.broker in space["isr"]
    chip = IN_ISR if is_inside else NOT_IN_ISR
    if space["asked"] and is_inside != (card.broker in space["asked"]):
        chip = ISR_ASKED
    card.draw(copy["life"], chip if space["isr"] else Chip(), leads)
    card.role(copy["life"], words, leads)
    if card.place.w >= BESIDE:
        card.say("says", copy["says"], line=1)

    leader = places.get(f"card {copy['follows']}")
    if leader and not leads:
        x = card.place.w + ASIDE
        card.link(name_of(copy["follows"]), x, 12, cut=copy["apart"])
        if copy["asked_at"] == scene["number"]:
            card.asks(leader, scene["number"], f"Fetch: {copy['says']}")


def _lamp() -> Item:
    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        lost = scene["space"]["lost"]
        words = "no acknowledged record lost"
        if lost:
            words = f"{counted(lost, 'acknowledged record')} lost"
        d.lamp("lamp", d.width, places["lamp"].y, words, bool(lost), anchor="end")

    return part("lamp", draw, high=21)


def _away(scene: Scene) -> list[str]:
    """The brokers that are away."""
    copies = scene["space"]["copies"]
    return [name_of(copy["broker"]) for copy in copies if copy["life"]]


def _believes_to_lead(copy: Detail) -> str:
    return f"leads, epoch {copy['epoch']}" if copy["leads"] else ""


def _leader(scene: Scene) -> Leads:
    """The leader of a scene's latest epoch, if its copy is there."""
    space = scene["space"]
    for copy in space["copies"]:
        if copy["broker"] == space["leader"]:
            return Leads(copy["broker"], copy["life"], space["epoch"])
    return NOBODY


def _waited(scenes: Sequence[Scene]) -> list[Bar]:
    """The longest wait for an answer, at the end."""
    waited = scenes[-1]["space"].get("waited")
    if waited is None:
        return []
    begin_ms, end_ms, name = waited
    span = Span(begin_ms, end_ms, name, scenes[-1]["number"])
    long = lasted(span)
    words = [f"{name} waits {long} → ✓", f"waits {long} → ✓", long]
    return [Bar(span, words, words[0], fill="said", line="saidline")]


def _isr(scenes: Sequence[Scene]) -> TimeLane:
    """The lane of the ISR: pale while a replica is missing."""
    bars: list[Bar] = []
    for span in spans(scenes, lambda scene: tuple(scene["space"]["isr"])):
        if span.what:
            is_whole = len(span.what) == len(scenes[-1]["space"]["copies"])
            words = [f"ISR {listed(span.what)}", listed(span.what)]
            whole = [] if bars else [f"in-sync replicas (ISR): {listed(span.what)}"]
            fill = "good" if is_whole else "chip"
            bars.append(Bar(span, [*whole, *words], words[0], fill=fill))

    return TimeLane("isr", "ISR", bars, "ink")
