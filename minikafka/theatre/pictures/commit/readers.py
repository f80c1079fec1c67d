"""The commit point's readers, each a card with what is in its memory. A record is a
square that comes from the log, and lies there until it is done and committed.
"""

from collections.abc import Callable, Sequence

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Draws, Item, Places, framed, part, row
from minikafka.theatre.drawing import Box, Drawing, Look, Point, fitting, widest
from minikafka.theatre.pictures.commit.log import FLAG, draw_flag
from minikafka.theatre.pictures.commit.memory import (
    DONE,
    GONE,
    MOST_TOLD,
    TO_DO,
    Commit,
    Held,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import key_part

MOST = 4  # cards
LINE = 24  # height of a card's line of words
SQUARE, STEP = 30, 34  # of a record in memory, and to the next one
LEAST_SQUARES = 6
LONGEST_NAME = 120
Tells = Callable[[Drawing, Box, Space, Scene], None]


class Readers:
    """The cards of all readers. Of several at one place the one is shown that lives,
    and came last.
    """

    def __init__(self, cast: Cast, scenes: Sequence[Scene]) -> None:
        self.names = list(cast["readers"])
        self.count = min(len(self.names), MOST)
        self.scenes = scenes

    def box(self) -> Item:
        cards = [self._card(number) for number in range(self.count)]
        return row(*cards, gap=10, line_gap=10)

    def home_of_effects(self, places: Places, space: Space) -> Point | None:
        """Where an effect of the reader comes from that wrote last."""
        for number in range(self.count):
            reader = self._shown(number, space)
            if reader and reader["name"] == space["wrote"]:
                card = places[f"card {number}"]
                return Point(card.x + 8, card.y + 30)
        return None

    def _card(self, number: int) -> Item:
        """A box as large as its readers need at any step."""
        names = self.names[number :: self.count]
        readers = []
        said = [[""]]
        for scene in self.scenes:
            space = scene["space"]
            for reader in space["readers"]:
                if reader["name"] in names:
                    readers.append(reader)
                    said.append(_in_words(reader, space))
        squares = max((_squares(reader) for reader in readers), default=0)
        name = 26 + max(widest(name, 13, bold=True) for name in names)

        def told(tells: Tells, key: str) -> Draws:
            def draw(d: Drawing, places: Places, scene: Scene) -> None:
                reader = self._shown(number, scene["space"])
                if reader:
                    tells(d, places[key], reader, scene)

            return draw

        def box(key: str, tells: Tells, high: int, least: float, wanted: float) -> Item:
            draw = told(tells, key)
            return part(key, draw, high=high, least=least, wanted=wanted)

        states = [max(_wide(ways[at]) for ways in said) for at in (-1, 0)]
        piles = [STEP * min(squares, LEAST_SQUARES), STEP * squares]
        inside = row(
            box(f"name {number}", self._name, LINE, min(name, LONGEST_NAME), name),
            box(f"state {number}", _state, LINE, *states),
            box(f"memory {number}", self._memory, SQUARE if squares else 0, *piles),
            gap=10,
        )
        key = f"card {number}"
        return framed(key, inside, told(_frame, key), pad=7, grow=1)

    def _shown(self, number: int, space: Space) -> Space | None:
        """The reader at a place."""
        shown: Space | None = None
        for reader in space["readers"]:
            if self.names.index(reader["name"]) % self.count == number:
                is_free = shown is None or shown["state"]
                if is_free or not reader["state"]:
                    shown = reader
        return shown

    def _name(self, d: Drawing, place: Box, reader: Space, scene: Scene) -> None:
        """A disc with the reader's letter, and its name."""
        name = reader["name"]
        card = d.part(_key(reader), place.x, place.y)
        is_gone = reader["state"] in ("crashed", "closed")
        look: Look = {"letter": name[:1].upper(), "fade": 0.4 if is_gone else None}
        actor = actor_number(name, self.names)
        card.disc("disc", 10, LINE / 2, 10, number=actor, size=12, **look)
        card.text("name", 26, LINE / 2 + 5, name, bold=True, room=place.w - 26)

    def _memory(self, d: Drawing, place: Box, reader: Space, scene: Scene) -> None:
        """The latest records that have room, and how many lie under them."""
        hand = [Held(*each) for each in reader["hand"]]
        count = reader["holds"]
        x = place.x
        has_room_for = int((place.w + 5) // STEP)
        if count > min(has_room_for, len(hand)):
            hand = hand[-(has_room_for - 2) :]
            key = f"{_key(reader)}/more"
            tip = "records that it had before"
            d.left_out(key, x + STEP - 4, place.y + 13, count - len(hand), tip=tip)
            x += 2 * STEP
        colour = actor_colour(actor_number(reader["name"], self.names))
        for held in hand:
            _square(d, Box(x, place.y, SQUARE, SQUARE), held, reader, scene, colour)
            x += STEP


def _square(
    d: Drawing, box: Box, held: Held, reader: Space, scene: Scene, colour: str
) -> None:
    """A record in memory. It comes from its row in the log, at each reading."""
    is_gone = held.state == GONE
    same = f"{scene['space']['log']['partition']}/{held.offset}"
    look: Look = {"fill": "paper", "line": colour, "width": 2}
    if held.state == DONE:
        look["fill"] = "good"
    if is_gone:
        look = {"fill": "none", "line": "gone", "ink": "gone", "dash": "3 3"}
    record = d.shapes.get(f"record/{same}")
    if held.handed == scene["number"] and record:
        look |= {"from_x": record["x"], "from_y": record["y"]}
    key = f"{_key(reader)}/{held.offset}/{held.handed}"
    tip = f"record {held.offset}, in memory: {held.state}"
    look |= {"of": held.number, "same": same, "tip": tip}
    d.cell(key, *box, text=str(held.offset), **look)
    if is_gone:
        low, high = box.bottom - 3, box.y + 3
        d.line(f"{key}/gone", box.x + 3, low, box.right - 3, high, "gone")


def _frame(d: Drawing, place: Box, reader: Space, scene: Scene) -> None:
    look: Look = {"fill": "wash", "line": "rule"}
    if reader["state"]:
        look = {"fill": "paper", "line": "rule", "dash": "7 4"}
    if reader["state"] == "crashed":
        look |= {"line": "trouble", "width": 2}
    d.rect(_key(reader), *place, r=8, **look)


def _state(d: Drawing, place: Box, reader: Space, scene: Scene) -> None:
    """Its commit, which leaves the card at its upper edge; or a chip with what has
    happened to it; or what it has in memory.
    """
    space = scene["space"]
    commit = _under_way(reader, space)
    ways = _in_words(reader, space)
    words = fitting(ways, place.w - 10, 12) or ways[-1]
    if commit:
        top = d.shapes[_key(reader)]["y"] - FLAG / 2 + 3
        flag = Box(place.x, top, _wide(words), FLAG)
        draw_flag(d, commit.number, words, flag)
    elif reader["state"]:
        look: Look = {"fill": "chip"}
        if reader["state"] == "crashed":
            look = {"fill": "trouble", "ink": "paper"}
        d.chip(f"{_key(reader)}/state", place.x, place.y + 2, words, **look)
    else:
        key = f"{_key(reader)}/does"
        d.note(key, place.x, place.y + 16, words, size=12, room=place.w)


def _in_words(reader: Space, space: Space) -> list[str]:
    """What is said of a reader, the longest way first."""
    commit = _under_way(reader, space)
    if commit:
        return [f"commit {commit.offset}"]
    if reader["state"]:
        return [reader["state"]]
    committed = space["committed"] or 0
    hand = [Held(*each) for each in reader["hand"]]
    undone = sum(held.state == TO_DO and held.offset < committed for held in hand)
    waiting = reader["holds"]
    if undone:
        return [f"{undone} committed, not done", f"{undone} not done"]
    if waiting:
        return [
            f"{waiting} read, not committed",
            f"{waiting} not committed",
            f"{waiting} read",
        ]
    return ["nothing in memory", "nothing"]


def _under_way(reader: Space, space: Space) -> Commit | None:
    """Its commit, until it is noted."""
    if reader["commits"] is None:
        return None
    commit = Commit(*reader["commits"])
    return None if commit.number == space["flag"] else commit


def _squares(reader: Space) -> int:
    """How many places its memory takes: those that aren't told take two."""
    count: int = reader["holds"]
    return count if count <= MOST_TOLD else MOST_TOLD + 2


def _wide(words: str) -> float:
    """The width of a chip with these words."""
    return widest(words, 12, bold=True) + 10


def _key(reader: Space) -> str:
    return f"card/{key_part(reader['name'])}"
