"""Two leaders, one log: each broker's copy, the offset at which they diverge, and the
records that are cut off when the brokers meet again. Producers are beside the broker
that they reach, with the records in their hands.

Below, as lengths: the brokers that believed they led, and the producers that waited for
an answer. Options: topic, partition (without them: the one that is copied most).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.theatre.actors import ink_on_actor
from minikafka.theatre.axis import Scene, Span
from minikafka.theatre.boxes import Item, Places, Stage, column, part
from minikafka.theatre.broker_lanes import lasted
from minikafka.theatre.drawing import Box, Drawing, Look, has_room, widest
from minikafka.theatre.nodes import Card, Chip, Columns, Copied, colour
from minikafka.theatre.pictures.fork.hands import HIGH, WIDTHS, Hands, Waiting
from minikafka.theatre.pictures.fork.story import ForkStory
from minikafka.theatre.pictures.log_partition import LEGEND
from minikafka.theatre.pictures.log_rows import CELL, HEAD, LogRows
from minikafka.theatre.pictures.replica_set.names import BETWEEN, Names
from minikafka.theatre.play import Detail, Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import dotted
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes, gone

# heights: of the words where the logs part; of what is between the two sides
HIGH_FORK, TRAY = 18, 36
MOST_LANES = 3  # producers with a lane
LEAST_MS = 50  # that a producer with a lane has waited

# the fate of a record that was dropped, by the answer that its producer got
FATES = {
    "": "nobody was told done",
    "acknowledged": "was ✓, now lost",
    "written again": "then sent again",
    "failed": "its producer knows",
}


class ForkPlay(Play):
    story = ForkStory
    ms_a_second = 1000
    legend = LEGEND
    rule = "Outlined: may still be cut off."

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        leading = [copy for copy in space["copies"] if copy["leads"]]
        leading.sort(key=lambda copy: copy["epoch"])
        words = [
            f"broker {copy['broker']} leads in epoch {copy['epoch']}"
            for copy in leading
        ]
        return dotted(*words) or "nobody leads"

    def summary(self, space: Space) -> str:
        said = []
        for copy in space["copies"]:
            held = [Copied(*record).more for record in copy["records"]]
            words = f"broker {copy['broker']} holds {', '.join(held) or 'nothing'}"
            if copy["life"]:
                words += f" ({copy['life']})"
            said.append(words)

        offset = space["fork"]
        if offset is not None:
            said.append(f"the logs part at offset {offset}")

        for each in space["producers"]:
            producer = Waiting(*each)
            said.append(f"{producer.name}: {producer.heard}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.rows = LogRows(self.cast, scenes, 1, _card, _from_a_producer)
        hands = {broker: self._hands(broker) for broker in self.rows.brokers}
        # the first leader is on top: what it had alone falls off below
        order = self.cast["order"][::-1]
        self.waiting = _waiting(scenes)[:MOST_LANES]
        rows = [self.rows.item(each, hands[each]) for each in order]
        legend = [self.rows.legend(each) for each in rows[:1]]
        between = part("between", self._between, high=TRAY)
        fork = part("fork", self._fork, high=HIGH_FORK)
        time = TimeLanes(scenes, self.time).box(scenes, self._lanes)
        self.boxes = Stage(
            column(*legend, fork, *rows[:1], between, *rows[1:], time, gap=2)
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Over the logs: before which offset something happens to them."""
        places = self.boxes.places(drawing.width)
        columns = self.rows.columns(places, scene["space"])
        last = max(self.cast["most"], 1)
        return Ruler(
            left=columns(columns.first) - BETWEEN / 2,
            right=columns(last) - BETWEEN / 2,
            first=columns.first,
            last=last,
            step=1,
            edge=places["fork"].y,
            reach=max(places[f"card {each}"].bottom for each in self.rows.brokers),
            says=_offset,
            above=True,
        )

    def _lanes(self, scenes: Sequence[Scene]) -> list[TimeLane]:
        """Who believed to lead, and who waited."""
        scene = scenes[-1]
        led = {
            copy["broker"]: [_span(each, scene) for each in copy["led"]]
            for copy in scene["space"]["copies"]
        }
        every = [span for spans in led.values() for span in spans]
        lanes = []
        for broker, spans in led.items():
            if broker not in self.cast["leaders"].values():
                continue
            name = f"broker {broker} leads"
            look = name, colour(broker), ink_on_actor(broker - 1)
            bars = [Bar(span, _both(span, every), *look) for span in spans]
            lanes.append(TimeLane(name, name if bars else "", bars))
        producers = [Waiting(*each) for each in scene["space"]["producers"]]
        known = {each.name: each for each in producers}
        return lanes + [_waits(name, known.get(name), scene) for name in self.waiting]

    def _hands(self, broker: int) -> Item:
        """The producers that reach a broker, beside its log."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            columns = self.rows.columns(places, scene["space"])
            names = Names(columns, self.cast)
            place = places[f"hands {broker}"]
            hands = Hands(d, names, scene, columns, place)
            hands.beside(broker, places[f"log {broker}"].y + HEAD)

        least, wanted = WIDTHS
        name = f"hands {broker}"
        return part(name, draw, high=2 * HIGH, least=least, wanted=wanted)

    def _fork(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The line at the offset where the logs diverge; and where a leader says that a
        log must end.
        """
        space = scene["space"]
        columns = self.rows.columns(places, space)
        for copy in space["copies"]:
            offset = copy["asked_to"]
            if offset is not None and offset >= columns.first:
                top = places[f"log {copy['broker']}"].y + HEAD
                look: Look = {"line": "trouble", "width": 3, "dash": "5 3"}
                x = columns(offset) - BETWEEN / 2
                key = f"node/{copy['broker']}/end-here"
                d.upright(key, x, top - 8, top + CELL + 8, **look)

        offset = space["fork"]
        if offset is None or offset < columns.first:
            return
        x = columns(offset) - BETWEEN / 2
        words = f"the logs part at offset {offset}"
        is_wide = widest(words, 12, bold=True) > d.width - x
        look = {"size": 12, "bold": True, "anchor": "end" if is_wide else "start"}
        top = places["fork"].y
        d.text("fork/words", x + (-4 if is_wide else 4), top + 14, words, **look)
        foot = max(places[f"log {each}"].bottom for each in self.rows.brokers)
        d.upright("fork", x, top + 4, foot - 14, line="ink", width=1.5, dash="3 4")

    def _between(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Between the first leader and the others: what keeps them apart, and later the
        records that were cut off. No broker has them any more.
        """
        space = scene["space"]
        place = places["between"]
        lives = {copy["broker"]: copy["life"] for copy in space["copies"]}
        if lives[self.cast["order"][-1]] == "cut off":
            y = place.y + TRAY / 2
            words = "nothing passes"
            d.text("wall/words", 0, y + 4, words, "trouble", size=12, bold=True)
            left = widest(words, 12, bold=True) + 10
            d.level("wall", left, d.width, y, "trouble", width=2, dash="6 5")

        title, told = "", ""
        columns = self.rows.columns(places, space)
        for copy in space["copies"]:
            for *record, told in copy["dropped"]:
                title = f"broker {copy['broker']} dropped"
                if record[0] >= columns.first:
                    dropped = Copied(*record)
                    self._dropped(d, columns, copy["broker"], dropped, told, place.y)
        if title:
            ink = "trouble" if told == "acknowledged" else "quiet"
            look: Look = {"size": 12.5, "bold": True}
            d.text("dropped/what", 10, place.y + 12, title, "trouble", **look)
            d.text("dropped/fate", 10, place.y + 28, FATES[told], ink, size=12.5)

    def _dropped(
        self,
        d: Drawing,
        columns: Columns,
        broker: int,
        record: Copied,
        told: str,
        y: float,
    ) -> None:
        width = columns.pitch - BETWEEN
        box = Box(columns(record.offset), y, width, CELL)
        text, more = Names(columns, self.cast).words(record.text, record.more)
        is_lost = told == "acknowledged"
        if is_lost and has_room(f"✓{text or more}", width - 20, 13.5):
            text = f"✓{text}"
        look: Look = {
            "text": text,
            "more": more,
            "fill": "good" if is_lost else "none",
            "line": "trouble",
            "ink": "trouble",
            "dash": "3 3",
            "width": 2,
            "same": record.same,
            "tip": f"{record.place}, cut off: {record.tip}",
        }
        d.cell(f"record/{broker}/{record.offset}/{record.epoch}", *box, **look)
        y = box.y + box.h / 2
        look = {"line": "trouble", "width": 2}
        d.level(f"cut/{broker}/{record.offset}", box.x + 4, box.right - 4, y, **look)


def _from_a_producer(places: Places, broker: int) -> Look:
    return {
        "from_x": places[f"hands {broker}"].x,
        "from_y": places[f"log {broker}"].y + HEAD,
    }


def _card(card: Card, copy: Detail, places: Places, scene: Scene) -> None:
    """Which of two leaders is the newer one, its epoch says."""
    words = f"follows broker {copy['follows']}"
    if copy["asked_to"] is not None:
        words = f"must end at {copy['asked_to']}"
    elif copy["leads"]:
        words = "leads"
    elif copy["follows"] < 0:
        words = "follows nobody"
    epoch = Chip(f"epoch {copy['epoch']}", "chip", "ink")
    card.draw(copy["life"], epoch if copy["leads"] else Chip(), copy["leads"])
    card.role(copy["life"], words, copy["leads"])


def _waits(name: str, producer: Waiting | None, scene: Scene) -> TimeLane:
    """For how long a producer heard nothing, and then what; no name before that."""
    key = f"{name} waits"
    if producer is None:
        return TimeLane(key, "")
    bars = []
    for each in producer.waited:
        span = _span(each, scene)
        bars.append(gone(span, [f"no answer for {lasted(span)}", lasted(span)]))
    number = "error" if producer.failed else "✓ done" if producer.done else ""
    is_trouble = bool(producer.failed)
    return TimeLane(key, key, bars, number=number, trouble=is_trouble)


def _both(span: Span, led: Iterable[Span]) -> Sequence[str]:
    """For how long another broker, which led before this one, believed it still did."""
    for other in led:
        if other.begin_ms < span.begin_ms < other.end_ms:
            both = span._replace(end_ms=min(span.end_ms, other.end_ms))
            return f"two leaders, {lasted(both)}", lasted(both)
    return ()


def _span(time: Sequence[Any], scene: Scene) -> Span:
    """time: [begin, end or None, number of the event]."""
    begin_ms, end_ms, number = time
    return Span(begin_ms, scene["at"] if end_ms is None else end_ms, "", number)


def _waiting(scenes: Sequence[Scene]) -> list[str]:
    """The producers that wait for a time that one sees."""
    found = []
    for scene in scenes[-1:]:
        for each in scene["space"]["producers"]:
            producer = Waiting(*each)
            spans = [_span(time, scene) for time in producer.waited]
            if any(span.end_ms - span.begin_ms >= LEAST_MS for span in spans):
                found.append(producer.name)
    return found


def _offset(offset: float) -> str:
    return f"offset {offset:.0f}"
