"""The voters' cards in the controllers' picture. A vote is a disc with the number of who
gives it, and lies on the card of whom it is for: so one sees who voted for whom, and how
many votes a candidate lacks. A bar that empties is the time after which a voter asks
for votes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part, row
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, has_room
from minikafka.theatre.nodes import Card, Chip, card_high, colour, name_of
from minikafka.theatre.pictures.quorum.votes import LOST, VoteAnswer
from minikafka.theatre.play import Cast, Space, draws_levers

LEAST = 144  # width of a card
VOTE, PITCH, MARGIN = 12, 32, 8  # radius of a vote; from one to the next; from the edge
# heights of what empties, and of all that tells of it; width of a lever beside it
BAR, WAITS, LINK = 7, 28, 26
STRIP = 18  # height of the arrows between cards
CONTENDERS = ("candidate", LOST, "controller")
ASKING = ("pre-candidate", "candidate")  # what they wait for are answers
CHIPS = {
    "controller": Chip("controller", "good", "ink"),
    "candidate": Chip("candidate", "said", "ink"),
    LOST: Chip(LOST, "trouble", "paper"),
    "pre-candidate": Chip("PreVote", "said", "ink"),
    "follower": Chip("follower", "chip", "ink"),
    "": Chip("no leader", "chip", "trouble"),
}
OBSERVER = Chip("observer", "chip", "ink")
# what an arrow says: by whether it was only a PreVote, and whether it was granted
ANSWERS = {
    (True, True): "would vote",
    (True, False): "would not",
    (False, True): "vote",
    (False, False): "no",
}
Voter = Mapping[str, Any]


def votes_of(space: Space, contender: Voter) -> list[int]:
    """The voters that have voted for it in its epoch, itself first."""
    broker = contender["broker"]
    mine = broker, contender["epoch"]
    voters = []
    for each in space["voters"]:
        if (each["vote"], each["epoch"]) == mine:
            voters.append(each["broker"])
    voters.sort(key=lambda voter: (voter != broker, voter))
    return voters


class Ballot:
    """The cards of all brokers, those without a vote, too. live: they have levers."""

    def __init__(self, cast: Cast, scenes: Sequence[Scene]) -> None:
        self.observers = cast["observers"]
        self.live = bool(cast.get("live"))
        self.draws_levers = draws_levers(cast)
        waits = [
            until - since
            for scene in scenes
            for voter in scene["space"]["voters"]
            for since, until in [voter["waits"]] * bool(voter["waits"])
        ]
        self.longest = max(waits, default=1)

    def cards(self, brokers: Sequence[int]) -> Item:
        cards = map(self._card, range(len(brokers)), brokers)
        return row(*cards, gap=8, line_gap=6, lower=0)

    def _card(self, number: int, broker: int) -> Item:
        name = f"card {broker}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            self._draw(d, places[name], scene["space"]["voters"][number], scene)

        # an observer waits for no vote
        waits = 0 if name_of(broker) in self.observers else WAITS
        high = card_high(1, self.draws_levers)
        look: Look = {"least": LEAST, "grow": 1}
        return part(name, draw, high=lambda wide: high(wide) + waits, **look)

    def _draw(self, d: Drawing, place: Box, voter: Voter, scene: Scene) -> None:
        space = scene["space"]
        life = voter["life"]
        card = Card(d, voter["broker"], place, self.live)
        chip = CHIPS[voter["role"]]
        if life not in ("", "cut off"):
            chip = Chip(life, "trouble", "paper")
        elif card.name in self.observers:
            chip = OBSERVER
        card.draw(life, chip, leads=voter["role"] == "controller")
        words = f"epoch {voter['epoch']}"
        if card.name in self.observers:
            words += ", no vote"
        votes = max(space["majority"], len(votes_of(space, voter)))
        room = place.w - 2 * MARGIN - (PITCH * votes if _contends(voter) else 0)
        if has_room(words, room, 12.5):
            card.say("words", words, line=0)
        if voter["waits"] and voter["role"] not in ASKING:
            self._waits(card, voter, scene["at"])
        self._link(card, voter)

    def _waits(self, card: Card, voter: Voter, now_ms: int) -> None:
        """What is left of a time-out: all bars have one scale."""
        since, until = voter["waits"]
        room = card.place.w - 2 * MARGIN - (LINK if self.live else 0)
        a_ms = room / self.longest
        left_ms = max(until - now_ms, 0)
        x, y = card.place.x + MARGIN, card.place.y + card.top + 37
        key = f"time/waits/{card.broker}"
        look: Look = {"r": 3, "tip": f"{card.name} waits {until - since} ms"}
        card.d.rect(
            f"{key}/all", x, y, (until - since) * a_ms, BAR, "wash", "rule", r=3
        )
        card.d.rect(key, x, y, left_ms * a_ms, BAR, colour(card.broker), **look)
        again = "again " if voter["role"] == LOST else ""
        words = f"in {left_ms / 1000:.1f} s"
        ways = [f"asks {again}{words}", f"{again}{words}", words]
        said = fitting(ways, room)
        card.d.note(f"{key}/left", x, y - 5, said, size=12)

    def _link(self, card: Card, voter: Voter) -> None:
        """The lever on one link of a voter: a link that is cut, or else the one to the
        controller.
        """
        apart = voter.get("apart", [])
        other = apart[0] if apart else voter["leader"]
        # a voter that reaches nobody is healed at its wire
        if not voter["life"] and other not in (-1, card.broker):
            y = card.top + 40
            card.link(name_of(other), card.place.w - 14, y, cut=bool(apart))

    # -- between the cards

    def answers(self) -> Item:
        """The votes, over all cards, and under these the answers that are told now."""
        return part("answers", self._answers, high=STRIP)

    def _answers(self, d: Drawing, places: Places, scene: Scene) -> None:
        voters = scene["space"]["voters"]
        for voter in voters:
            if _contends(voter):
                _votes(d, places, voter, scene["space"])
            if voter["answered"]:
                answer = VoteAnswer(*voter["answered"])
                if answer.number == scene["number"]:
                    _answer(d, places, voter["broker"], answer)


def _contends(voter: Voter) -> bool:
    return not voter["life"] and voter["role"] in CONTENDERS


def _votes(d: Drawing, places: Places, contender: Voter, space: Space) -> None:
    """On a contender's card the votes that it has in its epoch, and the places of those
    that it lacks.
    """
    broker = contender["broker"]
    voters = votes_of(space, contender)
    card = Card(d, broker, places[f"card {broker}"], live=False)
    count = max(space["majority"], len(voters))
    x = card.place.right - MARGIN - VOTE - PITCH * (count - 1)
    y = card.place.y + card.top + VOTE - 2
    for voter in voters:
        home = places[f"card {voter}"]
        d.disc(
            f"vote/{voter}",
            x=x,
            y=y,
            r=VOTE,
            letter=str(voter),
            number=voter - 1,
            size=13,
            from_x=home.x + home.w / 2,
            from_y=home.y + home.h / 2,
            tip=f"broker {voter} has voted for {card.name}",
        )
        x += PITCH
    for place in range(len(voters), count):
        d.circle(
            f"{card.key}/lacks/{place}",
            x=x,
            y=y,
            r=VOTE - 1,
            line="trouble",
            dash="3 3",
            tip=f"{card.name} lacks this vote for a majority",
        )
        x += PITCH


def _answer(d: Drawing, places: Places, broker: int, answer: VoteAnswer) -> None:
    """An arrow from a voter's card to the candidate's, and the answer on it."""
    if answer.candidate == broker or f"card {answer.candidate}" not in places:
        return
    begin, end = places[f"card {broker}"], places[f"card {answer.candidate}"]
    word = ANSWERS[answer.pre_vote, answer.granted]
    ink = "ink" if answer.granted else "trouble"
    x, x2 = begin.x + begin.w / 2, end.x + end.w / 2
    y = places["answers"].y + 9
    key = f"node/{broker}/answer"
    tip = f"broker {broker} to broker {answer.candidate}: {word}"
    look: Look = {"line": ink, "width": 2, "of": answer.number, "tip": tip}
    d.upright(f"{key}/from", x, begin.bottom + 1, y, **look)
    d.level(f"{key}/way", x, x2, y, **look)
    d.arrow(f"node/{broker}/asks", x2, y, x2, end.bottom + 2, **look)
    words: Look = {"bold": True, "halo": "paper", "anchor": "middle"}
    d.text(key, (x + x2) / 2, y + 5, word, ink, of=answer.number, **words)
