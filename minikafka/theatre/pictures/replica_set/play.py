"""The replica set: one partition's copies, how far each goes, the leader of each epoch,
and what producers were told.

Options: topic, partition (without them: the one that is copied most); live: with levers
on the brokers' cards.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.theatre.axis import Scene, spans
from minikafka.theatre.broker_lanes import NOBODY, Leads, broker_lane, leader_lane
from minikafka.theatre.drawing import Box, Drawing
from minikafka.theatre.nodes import (
    CARD,
    CARD_NARROW,
    GUTTER,
    MOST_WITH_LANES,
    Columns,
    Row,
    draw_log,
    listed,
    rows_of,
)
from minikafka.theatre.pictures.log_partition import LEGEND
from minikafka.theatre.pictures.replica_set.names import Names
from minikafka.theatre.pictures.replica_set.story import ReplicaStory
from minikafka.theatre.pictures.replica_set.told import LINE as TOLD
from minikafka.theatre.pictures.replica_set.told import ToldRows
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes

# heights: of the lamp's line, of a record
HEAD, CELL = 24, 26
LINE = 16  # of the words beside a log
# width of the area right of a log
NUMBERS, NUMBERS_NARROW, NUMBERS_PHONE = 136, 100, 118
IN_ISR = ("ISR", "good", "ink")
NOT_IN_ISR = ("not in ISR", "chip", "trouble")
ISR_ASKED = ("ISR?", "said", "ink")
NO_CHIP = ("", "", "")


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

    def summary(self, space: dict[str, Any]) -> str:
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
        self.time_lanes = TimeLanes(scenes, self.time)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        now = scene["number"]
        right = NUMBERS_NARROW if d.narrow else NUMBERS
        if d.phone:
            right = NUMBERS_PHONE
        left = (CARD_NARROW if d.narrow else CARD) + GUTTER
        columns = Columns(
            Box(left, 0, d.width - right - left, 0),
            most=self.cast["most"],
            end=space["end"],
            least=34,
            widest=96,
        )
        names = Names(columns, self.cast)
        names.legend(d, space)
        head = names.height(d)
        _lamp(d, space["lost"], head)
        lines_of_told = 2 if self.cast["ever_lost"] else 1
        top = head + HEAD + TOLD * lines_of_told + 6
        told_y = top - TOLD - 4
        brokers = [copy["broker"] for copy in space["copies"]]
        live = bool(self.cast.get("live"))
        rows, foot = rows_of(
            d,
            brokers=brokers,
            top=top,
            cell=CELL,
            live=live,
        )
        leads = rows.get(space["leader"])
        answers_y = leads.cells_y if leads else None
        told = ToldRows(d, columns, names, told_y, answers_y)
        told.draw(space["told"], self.cast["producers"])

        for row, copy in zip(rows.values(), space["copies"], strict=True):
            _card(row, copy, space)
            leader = None if copy["leads"] else rows.get(copy["follows"])
            # a producer's records come from above, and copies from their leader
            from_y: float | None = None
            if copy["leads"]:
                from_y = told_y
            elif leader:
                from_y = leader.cells_y
            leaders = self.cast["leaders"]
            log = names.of_log(copy)
            draw_log(
                d,
                columns,
                log,
                leaders,
                y=row.cells_y,
                cell=CELL,
                now=now,
                from_y=from_y,
            )
            _numbers(row, copy)
            if leader:
                row.link(leader, copy["apart"])
                if copy["asked_at"] == now:
                    row.asks(leader, now, f"Fetch: {copy['says']}")

        if len(rows) <= MOST_WITH_LANES:
            self.time_lanes.draw(d, foot - 6, _lanes(scenes), scene)


def _lamp(d: Drawing, lost: int, y: float) -> None:
    words = "no acknowledged record lost"
    if lost:
        words = f"{counted(lost, 'acknowledged record')} lost"
    d.lamp("lamp", d.width, y, words, bool(lost), anchor="end")


def _card(row: Row, copy: Mapping[str, Any], space: dict[str, Any]) -> None:
    leads = copy["leads"]
    epoch = copy["epoch"]
    broker = copy["broker"]
    words = "follows nobody"
    if leads and epoch < space["epoch"]:
        words = f"thinks it leads, epoch {epoch}"
    elif leads:
        words = f"leads, epoch {epoch}" if row.d.narrow else f"leads in epoch {epoch}"
    elif copy["follows"] >= 0:
        words = f"follows broker {copy['follows']}"
    is_inside = broker in space["isr"]
    is_asked = broker in space["asked"]
    chip = IN_ISR if is_inside else NOT_IN_ISR
    if space["asked"] and is_inside != is_asked:
        chip = ISR_ASKED
    if not space["isr"]:
        chip = NO_CHIP
    row.card(copy["life"], words, chip, leads)


def _numbers(row: Row, copy: Mapping[str, Any]) -> None:
    """Right of a log: where it ends, its high watermark, and what its fetch says."""
    d = row.d
    x = row.d.width
    y = row.cells_y + 10
    d.number(row.key + "/end", x, y, f"end {copy['end']}", ink="ink")
    name = "watermark" if d.narrow else "high watermark"
    watermark = f"{name} {copy['high_watermark']}"
    d.number(row.key + "/counts", x, y + LINE, watermark, bold=False)
    if copy["says"]:
        y += 2 * LINE
        d.note(
            row.key + "/says",
            x,
            y,
            copy["says"],
            anchor="end",
            size=12,
        )


def _lanes(scenes: Sequence[Scene]) -> list[TimeLane]:
    """The lanes: what producers were told, the leader, each broker, and the ISR."""
    space = scenes[-1]["space"]
    lost = space["lost"]
    words = f"{lost} lost" if lost else ""
    lanes = [
        TimeLane(
            key="told",
            name="told",
            number=words,
            trouble=lost > 0,
        ),
        leader_lane("leader", scenes, _leader),
    ]
    for number in range(len(space["copies"])):
        copy = _of_copy(number)
        lanes.append(broker_lane(scenes, copy, _believes_to_lead))
    return [*lanes, _isr(scenes)]


def _of_copy(number: int) -> Callable[[Scene], dict[str, Any]]:
    def of(scene: Scene) -> dict[str, Any]:
        copy: dict[str, Any] = scene["space"]["copies"][number]
        return copy

    return of


def _believes_to_lead(copy: Mapping[str, Any]) -> str:
    return f"leads, epoch {copy['epoch']}" if copy["leads"] else ""


def _leader(scene: Scene) -> Leads:
    """The leader of a scene's latest epoch, if its copy is there."""
    space = scene["space"]
    for copy in space["copies"]:
        if copy["broker"] == space["leader"]:
            return Leads(copy["broker"], copy["life"], space["epoch"])
    return NOBODY


def _isr(scenes: Sequence[Scene]) -> TimeLane:
    """The lane of the ISR: pale while a replica is missing."""
    bars = []
    for span in spans(scenes, lambda scene: tuple(scene["space"]["isr"])):
        if span.what:
            is_whole = len(span.what) == len(scenes[-1]["space"]["copies"])
            words = [f"ISR {listed(span.what)}", listed(span.what)]
            fill = "good" if is_whole else "chip"
            bars.append(Bar(span, words, words[0], fill=fill))

    now = listed(scenes[-1]["space"]["isr"])

    return TimeLane(
        key="isr",
        name="ISR",
        bars=bars,
        colour="ink",
        number=now,
    )
