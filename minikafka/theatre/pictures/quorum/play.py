"""The controller quorum: the active controller of each term, the votes, and the
metadata log from which every broker learns which brokers are fenced and which lead.

Options: topic, partition: of which partition the brokers' knowledge is shown; since_ms:
what happens earlier is not told; live: with levers on the cards.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.broker_lanes import NOBODY, Leads, broker_lane, leader_lane
from minikafka.theatre.drawing import Drawing, Look, fitting
from minikafka.theatre.nodes import (
    MOST_WITH_LANES,
    Columns,
    Row,
    draw_log,
    rows_of,
)
from minikafka.theatre.pictures.quorum.ballot import draw_votes, votes_of
from minikafka.theatre.pictures.quorum.story import QuorumStory
from minikafka.theatre.pictures.quorum.votes import LOST, VoteAnswer
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted
from minikafka.theatre.time_lanes import TimeLane, TimeLanes

# heights: of the first line, of a record, and where there are many brokers; units from
# one record to the next, at least
HEAD, CELL, LOW_CELL, PITCH = 28, 44, 40, 96
PITCH_PHONE = 90
# what an arrow says: by whether it was only a PreVote, and whether it was granted
ANSWERS = {
    (True, True): "would vote",
    (True, False): "would not",
    (False, True): "vote",
    (False, False): "no",
}
# of a client's metadata
FRESH = ("up to date", "good", "ink")
STALE = ("stale metadata", "trouble", "paper")
NO_CHIP = ("", "", "")
OBSERVER = ("observer", "chip", "ink")
CHIPS = {
    "controller": ("controller", "good", "ink"),
    "candidate": ("candidate", "said", "ink"),
    LOST: (LOST, "trouble", "paper"),
    "pre-candidate": ("PreVote", "said", "ink"),
    "follower": ("follower", "chip", "ink"),
    "": ("no leader", "chip", "trouble"),
}


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
        if _is_away(space, space["controller"]):
            active = "nobody is the controller"
        elif space["controller"] >= 0:
            active = f"broker {space['controller']} is the controller of epoch"
            active += f" {space['epoch']}"
        fenced = " ".join(map(str, space["fenced"]))
        leads = ""
        if space["leader"] >= 0:
            leads = f"broker {space['leader']} leads {self.cast['part']}"
        return dotted(
            counted(voters, "voter"),
            f"majority {space['majority']}",
            active,
            f"fenced: {fenced}" if fenced else "",
            leads,
        )

    def summary(self, space: dict[str, Any]) -> str:
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
        self.time_lanes = TimeLanes(scenes, self.time)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        now = scene["number"]
        lamp = _lamp(d, space["two"])
        if space["clients"]:
            latest = space["clients"][-1]
            _client(d, *latest, room=d.width - lamp)
        columns = self._columns(d, space["end"])
        brokers = [voter["broker"] for voter in space["voters"]]
        live = bool(self.cast.get("live"))
        is_low = len(brokers) > MOST_WITH_LANES
        cell = LOW_CELL if is_low else CELL
        rows, foot = rows_of(d, brokers=brokers, top=HEAD, cell=cell, live=live)

        for row, voter in zip(rows.values(), space["voters"], strict=True):
            self._card(row, voter, space)
            leader = rows.get(voter["leader"])
            comes_from = leader if leader is not row else None
            from_y = comes_from.cells_y if comes_from else None
            _link(row, voter, rows)
            leaders = self.cast["leaders"]
            draw_log(
                row, columns=columns, log=voter, leaders=leaders, now=now, from_y=from_y
            )
            self._answer(row, voter["answered"], rows, now)

        # over all cards, since a vote goes from one to another
        for row, voter in zip(rows.values(), space["voters"], strict=True):
            draw_votes(row, voter, space)

        # the levers of many brokers leave no room for time
        if not (is_low and live):
            rows_of_time = self._few(scenes) if is_low else self._lanes(scenes)
            self.time_lanes.draw(d, foot - 8, rows_of_time, scene)

    def _columns(self, d: Drawing, end: int) -> Columns:
        """As many columns as fit into the whole width."""
        right = -4 if d.phone else 4  # behind the last place there is a gap

        def of(pitch: float) -> Columns:
            return Columns(
                d,
                most=self.cast["most"],
                end=end,
                right=right,
                least=pitch,
                widest=pitch,
                counts=not d.phone,
            )

        least = PITCH_PHONE if d.phone else PITCH
        room = d.width - right - of(least).left
        whole = room // least
        return of(room / whole - 0.1)

    def _lanes(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """The lanes of each voter, the metadata log, and the partition's leader."""
        space = scenes[-1]["space"]
        lanes = []
        for number in range(len(space["voters"])):
            lanes.append(_broker(scenes, number))
        end = f"end {space['end']}"
        lanes.append(TimeLane(key="log", name="metadata", colour="ink", number=end))
        return [*lanes, *self._part(scenes)]

    def _few(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """With many brokers, only the lanes of the controller, the partition's leader,
        and the brokers that are away in the end.
        """
        lanes = [leader_lane("controller", scenes, _active, key="controller")]
        lanes += self._part(scenes)
        for number, voter in enumerate(scenes[-1]["space"]["voters"]):
            if voter["life"]:
                lanes.append(_broker(scenes, number))
        return lanes

    def _part(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        part = self.cast["part"]
        return [leader_lane(part, scenes, _leader)] if part else []

    def _card(
        self, row: Row, voter: Mapping[str, Any], space: Mapping[str, Any]
    ) -> None:
        is_fenced = voter["broker"] in space["fenced"]
        knows = ""
        if is_fenced:
            knows = "fenced" if row.d.narrow else "fenced: leads nothing"
        elif voter["knows"] >= 0:
            knows = f"leader {voter['knows']}"
            if not row.d.narrow:
                knows += f" of {self.cast['part']}"
        chip = CHIPS[voter["role"]]
        if voter["life"] not in ("", "cut off"):
            chip = NO_CHIP
        elif row.name in self.cast["observers"]:
            chip = OBSERVER
        words = f"epoch {voter['epoch']}"
        if voter["role"] == "" and voter["vote"] >= 0:
            words += f", vote {voter['vote']}"
            if not row.d.narrow:
                words = f"epoch {voter['epoch']}, voted for {voter['vote']}"
        row.card(
            voter["life"],
            words,
            chip,
            leads=voter["role"] == "controller",
            knows=knows,
            trouble=is_fenced,
        )

    def _answer(
        self, row: Row, answered: Sequence[Any], rows: Mapping[int, Row], now: int
    ) -> None:
        """An arrow to the candidate, at the step at which its answer is told."""
        if not answered:
            return
        answer = VoteAnswer(*answered)
        candidate = rows.get(answer.candidate)
        if answer.number != now or candidate is None or candidate is row:
            return
        word = ANSWERS[answer.pre_vote, answer.granted]
        ink = "ink" if answer.granted else "trouble"
        words = f"{row.name} to {candidate.name}: {word}"
        row.asks(candidate, now, words, trouble=not answer.granted)
        # between it and the next card
        y = row.y - 5 if candidate.y < row.y else row.y + row.height - 5
        if row.d.phone:  # over the epoch of the records, which are near
            y -= 4
        look: Look = {"size": 12, "bold": True, "halo": "paper", "of": now}
        row.d.text(f"{row.key}/answer", row.gutter + 8, y + 4, word, ink, **look)


def _link(row: Row, voter: Mapping[str, Any], rows: Mapping[int, Row]) -> None:
    """Draw the lever on one link of a voter: a link that is cut, or else the one to the
    controller.
    """
    apart = voter.get("apart", [])
    if voter["life"]:
        return  # a voter that reaches nobody is healed at its wire
    other = rows.get(apart[0] if apart else voter["leader"])
    if other is not None and other is not row:
        row.link(other, cut=bool(apart))


def _lamp(d: Drawing, two: int) -> float:
    """two: an epoch with two controllers, which should never be. Returns its width."""
    words = f"two controllers in epoch {two}" if two else "one controller in each epoch"
    if d.phone:
        words = "two controllers" if two else "one controller"
    return d.lamp("lamp", d.width, 0, words, bool(two), anchor="end")


def _client(d: Drawing, name: str, to: int, fresh: bool, *, room: float) -> None:
    """To which broker a client sends its records, and whether that is still right."""
    state, fill, ink = FRESH if fresh else STALE
    words_ink = "ink" if fresh else "trouble"
    wide = d.chip("clients/state", 0, 0, state, fill=fill, ink=ink)
    room -= wide + 28
    ways = [f"{name} writes to broker {to}", f"{name} → broker {to}"]
    words = fitting(ways, room, 12.5) or f"{name} → {to}"
    d.text("clients/words", wide + 8, 14, words, fill=words_ink, size=12.5, room=room)


def _is_away(space: Mapping[str, Any], broker: int) -> bool:
    for voter in space["voters"]:
        if voter["broker"] == broker:
            return voter["life"] not in ("", "cut off")
    return False


def _broker(scenes: Sequence[Scene], number: int) -> TimeLane:
    """number: its place among the voters."""
    of = _of_voter(number)
    epoch = f"epoch {of(scenes[-1])['epoch']}"
    return broker_lane(scenes, of, _is_controller, epoch)


def _active(scene: Scene) -> Leads:
    """The active controller of a scene, if there is one."""
    space = scene["space"]
    controller = space["controller"]
    if controller < 0:
        return NOBODY
    lives = {voter["broker"]: voter["life"] for voter in space["voters"]}
    return Leads(controller, lives.get(controller, ""), space["epoch"])


def _of_voter(number: int) -> Callable[[Scene], dict[str, Any]]:
    def of(scene: Scene) -> dict[str, Any]:
        voter: dict[str, Any] = scene["space"]["voters"][number]
        return voter

    return of


def _is_controller(voter: Mapping[str, Any]) -> str:
    if voter["role"] != "controller":
        return ""
    return f"controller, epoch {voter['epoch']}"


def _leader(scene: Scene) -> Leads:
    """The partition's leader, as it is decided."""
    space = scene["space"]
    lives = {voter["broker"]: voter["life"] for voter in space["voters"]}
    leader = space["leader"]
    return Leads(leader, lives.get(leader, "")) if leader >= 0 else NOBODY
