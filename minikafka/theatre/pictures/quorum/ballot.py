"""Votes as things, in the controllers' picture: a vote is a disc with the number of who
gives it, and lies on the card of whom it is for. So one sees who voted for whom, and how
many votes a candidate lacks.
"""

from collections.abc import Mapping
from typing import Any

from minikafka.theatre.nodes import Row
from minikafka.theatre.pictures.quorum.votes import LOST

VOTE, PITCH = 8, 19  # radius of a vote; from one to the next
# where votes are, from a card's right edge and from the top of its second line
MARGIN, LINE = 8, 38
CONTENDERS = ("candidate", LOST, "controller")


def votes_of(space: Mapping[str, Any], contender: Mapping[str, Any]) -> list[int]:
    """The voters that have voted for it in its epoch, itself first."""
    broker = contender["broker"]
    mine = broker, contender["epoch"]
    voters = []
    for each in space["voters"]:
        if (each["vote"], each["epoch"]) == mine:
            voters.append(each["broker"])
    voters.sort(key=lambda voter: (voter != broker, voter))
    return voters


def draw_votes(row: Row, voter: Mapping[str, Any], space: Mapping[str, Any]) -> None:
    """On a contender's card the votes that it has in its epoch, and the places of those
    that it lacks.
    """
    is_away = bool(voter["life"])
    if is_away or voter["role"] not in CONTENDERS:
        return

    voters = votes_of(space, voter)
    places = space["majority"]
    if not row.d.narrow:
        places = max(places, len(voters))

    right = row.width - MARGIN - VOTE
    left = right - (places - 1) * PITCH
    y = row.y + LINE + row.below
    if not row.d.narrow:
        _name(row, left - VOTE - 5, y)

    for place in range(places):
        x = left + place * PITCH
        if place < len(voters):
            _vote(row, voters[place], x, y)
        else:
            _lacks(row, place, x, y)


def _name(row: Row, right: float, y: float) -> None:
    """Draw the name of the row of votes."""
    key = f"{row.key}/votes"
    row.d.note(key, right, y + 4, "votes", anchor="end", size=12)


def _vote(row: Row, voter: int, x: float, y: float) -> None:
    """Draw a vote, which comes from the card of its voter."""
    row.d.disc(
        f"vote/{voter}",
        x=x,
        y=y,
        r=VOTE,
        letter=str(voter),
        number=voter - 1,
        size=12,
        tip=f"broker {voter} has voted for {row.name}",
    )


def _lacks(row: Row, place: int, x: float, y: float) -> None:
    """The place of a vote that a majority needs."""
    row.d.circle(
        f"{row.key}/lacks/{place}",
        x=x,
        y=y,
        r=VOTE - 1,
        fill="none",
        line="trouble",
        dash="2 2",
        tip=f"{row.name} lacks this vote for a majority",
    )
