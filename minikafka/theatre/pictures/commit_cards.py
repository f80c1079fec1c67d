"""The commit point's actors: who writes, and the readers with what is in their memory.
A record is a square that comes from the log, and lies there until it is done and
committed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.drawing import Box, Drawing, Look, Part, Point, fitting, widest
from minikafka.theatre.pictures.commit_cast import (
    DONE,
    GONE,
    TO_DO,
    Commit,
    Held,
)
from minikafka.theatre.pictures.commit_row import FLAG, CommitRow, draw_flag
from minikafka.theatre.play import Space
from minikafka.theatre.row import Record
from minikafka.theatre.text import counted, key_part

SHOP_Y, SHOP = 10, 34  # of the card of who writes
# height of a reader's card: on a wide page all of it is on one line
CARD, CARD_NARROW = 42, 68
GAP = 10  # between two cards
HEAD_NARROW = 34  # of a narrow page's card: the line with the name
SQUARE, STEP = 30, 34  # of a record in memory, and to the next one
MOST, MOST_NARROW = 4, 2  # cards beside each other
WIDEST = 560  # card


def draw_producers(d: Drawing, space: Space, width: float, now: int) -> None:
    """Draw the producers of this partition. now: the event that is shown."""
    names = space["producers"]
    if not names:
        return
    box = Box(
        x=0,
        y=SHOP_Y,
        w=width,
        h=SHOP,
    )
    look: Look = {
        "fill": "wash",
        "line": "rule",
        "r": 8,
    }
    numbers = [Record(*each).number for each in space["log"]["records"]]
    if now in numbers:
        look["line"] = "ink"
        look["width"] = 2
    d.rect("producer", *box, **look)
    words = names[0]
    if len(names) > 1:
        words = counted(len(names), "producer")
    card = d.part("producer", box.x, box.y)
    card.text(
        "name",
        10,
        21,
        words,
        bold=True,
        room=width - 16,
    )


def home_of_records() -> Point:
    """Where a record comes from."""
    return Point(8, SHOP_Y + 2)


class Cards:
    """The readers beside each other. y: of their upper edge."""

    def __init__(
        self,
        d: Drawing,
        cast: Mapping[str, Any],
        space: Space,
        y: float,
    ) -> None:
        self.d = d
        self.space = space
        self.y = y
        self.names = list(cast["readers"])
        most = MOST_NARROW if d.narrow else MOST
        self.count = min(len(self.names), most)

    @property
    def height(self) -> float:
        """With what lies between them and what is below."""
        return self.card + GAP if self.count else 0

    @property
    def card(self) -> int:
        """The height of a card."""
        return CARD_NARROW if self.d.narrow else CARD

    def draw(self, row: CommitRow) -> None:
        """row: where their records come from."""
        for number, reader in self._shown().items():
            _Card(self, reader, self._box(number), row).draw()

    def home_of(self, name: str) -> Point | None:
        """Where an effect of this reader comes from."""
        for number, reader in self._shown().items():
            if reader["name"] == name:
                box = self._box(number)
                return Point(box.x + 8, box.y + 30)
        return None

    def _box(self, number: int) -> Box:
        gaps = GAP * (self.count - 1)
        width = min((self.d.width - gaps) / self.count, WIDEST)
        return Box(
            x=number * (width + GAP),
            y=self.y,
            w=width,
            h=self.card,
        )

    def _shown(self) -> dict[int, Space]:
        """Each at its place; of several at one place who lives, and came last."""
        shown: dict[int, Space] = {}
        for reader in self.space["readers"]:
            number = self.names.index(reader["name"])
            place = number % self.count
            there = shown.get(place)
            is_free = there is None or there["state"]
            lives = not reader["state"]
            if is_free or lives:
                shown[place] = reader
        return shown


class _Card:
    """The card of one reader."""

    def __init__(
        self,
        cards: Cards,
        reader: Space,
        box: Box,
        row: CommitRow,
    ) -> None:
        self.d = cards.d
        self.space = cards.space
        self.reader = reader
        self.name = reader["name"]
        self.actor = actor_number(self.name, cards.names)
        self.box = box
        self.row = row
        self.key = f"card/{key_part(self.name)}"
        self.hand = [Held(*each) for each in reader["hand"]]
        # of the line with its name
        self.middle = (HEAD_NARROW if self.d.narrow else CARD) / 2
        self.name_ends = 34 + min(widest(self.name, 13, bold=True), box.w / 3)

    def draw(self) -> None:
        """Its name and state, and the records in its memory."""
        state = self.reader["state"]
        look: Look = {"fill": "wash", "line": "rule"}
        if state:
            look = {"fill": "paper", "line": "rule", "dash": "7 4"}
        if state == "crashed":
            look |= {"line": "trouble", "width": 2}
        self.d.rect(self.key, *self.box, r=8, **look)
        card = self.d.part(self.key, self.box.x, self.box.y)
        letter = self.name[:1].upper()
        fade = 0.4 if state in ("crashed", "closed") else None
        card.disc(
            "disc",
            x=18,
            y=self.middle,
            r=10,
            letter=letter,
            number=self.actor,
            size=12,
            fade=fade,
        )
        told = self._tell(card)
        room = self.box.w - 44 - told if self.d.narrow else self.name_ends - 34
        card.text("name", 34, self.middle + 5, self.name, bold=True, room=room)
        self._memory(told)

    # -- in words

    def _tell(self, card: Part) -> float:
        """At the right what it is about; returns the room that this takes."""
        state = self.reader["state"]
        commit = self._under_way()
        if commit:
            return self._send(commit)
        if state:
            return self._say(card, state)
        states = self._states()
        words = fitting(states, self._room_for_words(), 12) or states[-1]
        card.note("does", self.box.w - 10, self.middle + 4, words, "end", size=12)
        return widest(words, 12)

    def _room_for_words(self) -> float:
        """The room for words; on a wide page the card's records are in front of
        them.
        """
        if self.d.narrow:
            return self.box.w / 2
        records = STEP * len(self.hand)
        return self.box.w - self.name_ends - records - 34

    def _say(self, card: Part, state: str) -> float:
        """Draw the chip that says what has happened to the reader."""
        look: Look = {"fill": "chip"}
        if state == "crashed":
            look = {"fill": "trouble", "ink": "paper"}
        width = widest(state, 12, bold=True) + 10
        return card.chip(
            "state",
            self.box.w - 8 - width,
            self.middle - 10,
            state,
            **look,
        )

    def _under_way(self) -> Commit | None:
        """Its commit, until it is noted."""
        if self.reader["commits"] is None:
            return None
        commit = Commit(*self.reader["commits"])
        return None if commit.number == self.space["flag"] else commit

    def _send(self, commit: Commit) -> float:
        """It leaves the card at its upper edge."""
        words = f"commit {commit.offset}"
        width = widest(words, 12, bold=True) + 10
        place = Box(
            x=self.box.right - 8 - width,
            y=self.box.y - FLAG / 2 + 3,
            w=width,
            h=FLAG,
        )
        draw_flag(self.d, commit.number, words, place)
        return width

    def _states(self) -> Sequence[str]:
        """The content of its memory in words, the longest first."""
        committed = self.space["committed"] or 0
        waiting = self.reader["holds"]
        undone = []
        for held in self.hand:
            if held.state == TO_DO and held.offset < committed:
                undone.append(held)
        if undone:
            many = len(undone)
            return [f"{many} committed, not done", f"{many} not done"]
        if waiting:
            return [
                f"{waiting} read, not committed",
                f"{waiting} not committed",
                f"{waiting} read",
            ]
        return ["nothing in memory", "nothing"]

    # -- its memory

    def _memory(self, told: float) -> None:
        """The latest records that have room, and how many lie under them. told: the
        room of what is said at the right.
        """
        hand = self.hand
        count = self.reader["holds"]
        x = self.box.x + 8
        y = self.box.y + HEAD_NARROW - 2
        room = self.box.w - 12
        if not self.d.narrow:
            x = self.box.x + self.name_ends + 12
            y = self.box.y + (CARD - SQUARE) / 2
            room = self.box.w - self.name_ends - told - 30
        has_room_for = max(int(room // STEP), 3)
        if count > min(has_room_for, len(hand)):
            hand = hand[-(has_room_for - 2) :]
            self.d.left_out(
                f"{self.key}/more",
                x + STEP - 4,
                y + 13,
                count - len(hand),
                tip="records that it had before",
            )
            x += 2 * STEP
        for held in hand:
            square = Box(
                x=x,
                y=y,
                w=SQUARE,
                h=SQUARE,
            )
            self._square(held, square)
            x += STEP

    def _square(self, held: Held, box: Box) -> None:
        """A record in memory. It comes from its row in the log, at each reading."""
        look: Look = {
            "fill": "good" if held.state == DONE else "paper",
            "line": actor_colour(self.actor),
            "width": 2,
            "of": held.number,
            "same": f"{self.row.key}/{held.offset}",
            "tip": f"record {held.offset}, in memory: {held.state}",
        }
        is_gone = held.state == GONE
        if is_gone:
            look |= {
                "fill": "none",
                "line": "gone",
                "ink": "gone",
                "dash": "3 3",
                "width": None,
            }
        if held.handed == self.row.now:
            home = self.row.place_of(held.offset)
            look |= {"from_x": home.x, "from_y": home.y}
        key = f"{self.key}/{held.offset}/{held.handed}"
        self.d.cell(key, *box, text=str(held.offset), **look)
        if is_gone:
            self.d.line(
                f"{key}/gone",
                x=box.x + 3,
                y=box.bottom - 3,
                x2=box.right - 3,
                y2=box.y + 3,
                line="gone",
            )
