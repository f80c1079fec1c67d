"""The controller quorum: the active controller of each term, the votes, and the
metadata log from which every broker learns which brokers are fenced and which lead.

Options: topic, partition: of which partition the brokers' knowledge is shown; since_ms:
what happens earlier is not told; live: with levers on the cards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, part, row
from minikafka.theatre.broker_lanes import NOBODY, Leads, broker_lane, leader_lane
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, lamp_width, widest
from minikafka.theatre.nodes import Columns, DrawnLog, draw_disc
from minikafka.theatre.pictures.quorum.ballot import Ballot, votes_of
from minikafka.theatre.pictures.quorum.story import QuorumStory
from minikafka.theatre.pictures.quorum.votes import LOST
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted
from minikafka.theatre.time_lanes import TimeLane, TimeLanes

LABEL = 104  # width of what is before a log
# width of a record whose words are below each other; of one with all in a line; and how
# many of these a log must have room for
LEAST_CELL, CELL, FEW = 90, 175, 4
MOST_RESULTS, RESULT = 2, 26  # epochs that are told, and the height of a line
VOTE, NEXT = 11, 31  # radius of a vote there; from one to the next
# of a client's metadata
FRESH = ("up to date", "good", "ink")
STALE = ("stale metadata", "trouble", "paper")


class QuorumPlay(Play):
    story = QuorumStory
    ms_a_second = 1000
    legend = (
        "A record's colour says which controller wrote it. It's filled once it's below"
        " the high watermark (the heavy line), as far as this broker knows. Brokers act"
        " only on filled records."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        voters = len(space["voters"]) - len(self.cast["observers"])
        active = "no controller yet"
        if _lives(space).get(space["controller"]) not in (None, "", "cut off"):
            active = "nobody is the controller"
        elif space["controller"] >= 0:
            active = f"broker {space['controller']} is the controller"
        fenced = " ".join(map(str, space["fenced"]))
        return dotted(
            counted(voters, "voter"),
            active,
            f"fenced: {fenced}" if fenced else "",
        )

    def summary(self, space: Space) -> str:
        said = []
        for voter in space["voters"]:
            state = voter["life"] or voter["role"] or "without a leader"
            epoch = f"epoch {voter['epoch']}"
            if state in ("candidate", LOST):
                epoch += f" with {counted(len(votes_of(space, voter)), 'vote')}"
            said.append(
                f"broker {voter['broker']}: {state}, {epoch}, metadata up to"
                f" {voter['end']}"
            )
        if space["fenced"]:
            said.append(f"fenced: {', '.join(map(str, space['fenced']))}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        brokers = [voter["broker"] for voter in spaces[0]["voters"]] if spaces else []
        ballot = Ballot(self.cast, scenes)
        lanes = TimeLanes(scenes, self.time)
        votes = (
            ballot.cards(brokers),
            ballot.answers(),
            _results(spaces),
            lanes.box(scenes, self._lanes),
            row(_client(spaces), _lamp(), gap=8),
        )
        logs = map(self._log, range(len(brokers)), brokers)
        self.boxes = Stage(column(*votes, self._offsets(), *logs, gap=4))
        self.of_votes = Stage(column(*votes, gap=4))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """A phone shows the votes alone where the last step is about them."""
        is_about_votes = "time/lane" in scenes[-1].get("light", ())
        stage = self.of_votes if drawing.phone and is_about_votes else self.boxes
        stage.draw(drawing, scenes[-1])

    # -- the metadata log

    def _columns(self, place: Box, space: Space) -> Columns:
        """As many columns as fit into the whole width."""
        least = CELL if place.w >= FEW * CELL else LEAST_CELL
        pitch = place.w / max(place.w // least, 1) - 0.1
        return Columns(
            place, self.cast["most"], space["end"], pitch, pitch, counts=False
        )

    def _offsets(self) -> Item:
        """Over all copies, since a record has one offset in all of them."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places["offsets"]
            columns = self._columns(place, scene["space"])
            for offset in range(columns.first, scene["space"]["end"] + 1):
                x = columns(offset) + columns.pitch / 2 - 2.5
                words = str(offset)
                d.note(f"offset/{offset}", x, place.y + 13, words, "middle", mono=True)
            title = places["title"]
            d.text("title", title.x, title.y + 13, "metadata log", bold=True)

        title = part("title", lambda *_: None, high=17, least=LABEL)
        numbers = part("offsets", draw, high=17, grow=1)
        return row(title, numbers, gap=8, breaks=False)

    def _log(self, number: int, broker: int) -> Item:
        """A broker's copy, and what it knows from that."""
        name = f"log {broker}"

        def label(d: Drawing, places: Places, scene: Scene) -> None:
            voter = scene["space"]["voters"][number]
            _knows(
                d, places[f"label {broker}"], voter, scene["space"], self.cast["part"]
            )

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[name]
            voter = scene["space"]["voters"][number]
            leader = places.get(f"log {voter['leader']}")
            from_y = leader.y + 3 if leader else None
            columns = self._columns(place, scene["space"])
            y, cell, leaders = place.y + 3, place.h - 6, self.cast["leaders"]
            log = DrawnLog(d, columns, voter, leaders, y, cell, bare=True)
            log.draw(scene["number"], from_y=from_y)

        def high(width: float) -> float:
            return 28 if width >= FEW * CELL else 50

        beside = part(f"label {broker}", label, high=24, least=LABEL)
        return row(beside, part(name, draw, high=high, grow=1), gap=8, breaks=False)

    # -- time

    def _lanes(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """The lanes of the controller, the partition's leader, and the brokers that are
        away.
        """
        lanes = [leader_lane("controller", scenes, _active, key="controller")]
        if part_name := self.cast["part"]:
            lanes.append(leader_lane(part_name, scenes, _leader))
        for number, voter in enumerate(scenes[-1]["space"]["voters"]):
            if voter["life"]:
                lanes.append(broker_lane(scenes, "voters", number))
        return lanes


def _knows(
    d: Drawing, place: Box, voter: Mapping[str, Any], space: Space, part: str
) -> None:
    """Whose copy it is, and what this broker knows from it."""
    broker = voter["broker"]
    label = d.part(f"log/{broker}", place.x, place.y)
    draw_disc(label, broker, 12, 12, voter["life"])
    if broker in space["fenced"]:
        label.text("knows", 30, 17, "fenced", "trouble", size=12.5)
    elif voter["knows"] >= 0:
        tip = f"of {part}, as broker {broker} knows"
        label.note("knows", 30, 17, f"leader {voter['knows']}", tip=tip)


def _results(spaces: Sequence[Space]) -> Item:
    """Who voted for whom in each epoch that brokers stood for, and how it ended: the
    latest ones.
    """
    most = min(
        max((len(space["results"]) for space in spaces), default=0), MOST_RESULTS
    )

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["results"]
        space = scene["space"]
        for line, result in enumerate(space["results"][-most:]):
            box = place._replace(y=place.y + RESULT * line, h=RESULT)
            _result(d, box, space["majority"], *result)

    return part("results", draw, high=RESULT * most)


def _result(
    d: Drawing,
    place: Box,
    majority: int,
    epoch: int,
    votes: list[list[int]],
    winner: str,
) -> None:
    """A disc for each vote, and an empty place for each that a candidate lacked."""
    key, base, middle = f"result/{epoch}", place.y + 18, place.y + RESULT / 2
    d.text(f"{key}/name", place.x, base, f"epoch {epoch}", bold=True)
    x = place.x + widest("epoch 10", bold=True) + 8 + VOTE
    for candidate, voters in enumerate(votes):
        if candidate:
            d.upright(
                f"{key}/or/{candidate}", x, place.y + 2, place.y + RESULT - 2, "ink"
            )
            x += 2 * VOTE
        for broker in voters:
            letter = str(broker)
            d.disc(f"{key}/vote/{broker}", x, middle, VOTE, letter, broker - 1, size=13)
            x += NEXT
        for place_left in range(len(voters), majority):
            lacks = f"{key}/lacks/{candidate}/{place_left}"
            d.circle(lacks, x, middle, VOTE - 1, line="trouble", dash="3 3", width=1.5)
            x += NEXT
    ways = [f"nobody wins: none has {majority} votes", f"none has {majority} votes"]
    if winner:
        ways = [f"{winner} wins"]
    room = place.right - x
    words = fitting(ways, room, bold=True) or ways[-1]
    ink = "ink" if winner else "trouble"
    d.text(key, x, base, words, ink, bold=True, room=room)


def _lamp() -> Item:
    """Whether there was an epoch with two controllers, which should never be."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["lamp"]
        two = scene["space"]["two"]
        long, short = "one controller in each epoch", "one controller"
        if two:
            long, short = f"two controllers in epoch {two}", "two controllers"
        words = long if place.w >= lamp_width(long) else short
        d.lamp("lamp", place.right, place.y, words, bool(two), anchor="end")

    least, wanted = map(lamp_width, ("two controllers", "one controller in each epoch"))
    return part("lamp", draw, high=19, least=least, wanted=wanted)


def _client(spaces: Sequence[Space]) -> Item:
    """To which broker a client sends its records, and whether that is still right."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places["client"]
        for name, to, fresh in scene["space"]["clients"][-1:]:
            state, fill, ink = FRESH if fresh else STALE
            x = d.chip("clients/state", 0, place.y, state, fill=fill, ink=ink) + 8
            ways = [f"{name} writes to broker {to}", f"{name} → broker {to}"]
            room = place.w - x
            words = fitting(ways, room, 12.5) or f"{name} → {to}"
            ink = "ink" if fresh else "trouble"
            look: Look = {"size": 12.5, "room": room}
            d.text("clients/words", x, place.y + 14, words, ink, **look)

    some = any(space["clients"] for space in spaces)
    return part("client", draw, high=19 * some, least=220 * some, grow=1)


def _lives(space: Space) -> dict[int, str]:
    """What is wrong with each broker, if anything."""
    return {voter["broker"]: voter["life"] for voter in space["voters"]}


def _active(scene: Scene) -> Leads:
    """The active controller of a scene, if there is one."""
    space = scene["space"]
    return _leads(space, space["controller"], space["epoch"])


def _leader(scene: Scene) -> Leads:
    """The partition's leader, as it is decided."""
    return _leads(scene["space"], scene["space"]["leader"])


def _leads(space: Space, broker: int, epoch: int | None = None) -> Leads:
    life = _lives(space).get(broker, "")
    return Leads(broker, life, epoch) if broker >= 0 else NOBODY
