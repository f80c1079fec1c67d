"""The producer's pipeline: records wait in batches, batches travel in requests, the log
grows, answers come back.

Three lamps compare what the program sent with what the log holds: each record once, in
the order of sending, none lost. A fourth stands beside what the program was told.
Options: topic, producer (its name). Without them: the topic and the producer that sent
most.
"""

from collections.abc import Sequence

from minikafka.theatre.drawing import Box, Drawing
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.pipeline.columns import COLUMNS, HEAD, ROW, Column
from minikafka.theatre.pictures.pipeline.logs import Logs
from minikafka.theatre.pictures.pipeline.records import Outcome
from minikafka.theatre.pictures.pipeline.rows import draw_batch, in_flight
from minikafka.theatre.pictures.pipeline.says import ANSWERS, LOG, REQUESTS, SEND
from minikafka.theatre.pictures.pipeline.story import PipelineStory
from minikafka.theatre.pictures.pipeline.wire import Message, draw_wire
from minikafka.theatre.pictures.pipeline.words import in_one_line, settings
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

ROWS = 5  # batches that wait, and requests in flight: Kafka's default of five
FEWEST_ROWS = 2
# where what the program was told begins, and how much lower that is on narrow pages
TOLD_LEFT, LINE_OF_TOLD = 178, 28
TOLD = 44  # width of a record of which the program was told
MOST_UNTRUE = 2  # of them that are always shown


class PipelinePlay(Play):
    story = PipelineStory
    rule = (
        "A producer that hears nothing can't tell a lost request from a lost answer. "
        "Sequence numbers let the broker recognise what it has."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        said = settings(space["config"])
        for node, state in space["down"].items():
            said.append(f"{node} {state}")
        return dotted(*said, self.cast["legend"])

    def summary(self, space: Space) -> str:
        return in_one_line(space)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        most = FEWEST_ROWS
        for space in spaces:
            waiting = len(space["buffer"])
            requests = len(space["in_flight"])
            most = max(most, waiting, requests)
        self.rows = min(most, ROWS)
        self.logs = Logs.of(self.cast["chosen"], spaces)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        columns = COLUMNS[d.width]
        self._buffer(d, space, columns.buffer)
        self._wire(d, space, columns.wire)
        self._flight(d, space, columns.flight)

        foot: float = HEAD + self.rows * ROW
        logs = self._place_of_logs(d, below=foot + 10)
        foot = max(foot, self.logs.draw(d, space, logs))
        foot = self._told(d, space, foot + 4)
        left, right = (96, d.width - 92) if d.narrow else (124, d.width - 124)
        self.lanes.draw(d, foot, self._lanes(space), scene["step"], left, right)

    def _place_of_logs(self, d: Drawing, below: float) -> Column:
        """Behind the broker's door; on narrow pages below all that is before it."""
        if d.narrow:
            return Column(0, d.width, y=below)
        wire = COLUMNS[d.width].wire
        left = wire.right + 10
        return Column(left, d.width - left)

    # -- batches

    def _buffer(self, d: Drawing, space: Space, column: Column) -> None:
        batches = space["buffer"]
        waiting = sum(batch["count"] for batch in batches)
        name = "buffer"
        if not d.phone:
            name = f"{self.cast['producer']}'s buffer"
        column.head(
            d,
            "buffer",
            name=name,
            words=f"{waiting} waiting" if waiting else "empty",
        )

        shown = batches[: self.rows]
        hidden = len(batches) - len(shown)
        for row, batch in enumerate(shown):
            state = batch["state"]
            is_last = row == len(shown) - 1
            if is_last and hidden:
                state += f", +{hidden} more"
            draw_batch(
                d,
                batch,
                column.row(row),
                name=self._name(batch["partition"]),
                state=state,
            )

    def _flight(self, d: Drawing, space: Space, column: Column) -> None:
        config = space["config"]
        limit = config.get("max_in_flight_requests_per_connection", ROWS)
        # with acks=0 there is nothing to wait for
        waits = sum(request["acks"] != 0 for request in space["in_flight"])
        words = f"{waits} of {limit}"
        if not d.phone:
            words += " unanswered"
        column.head(d, "flight", name="in flight", words=words)

        shown = in_flight(space)[: self.rows]
        for row, each in enumerate(shown):
            draw_batch(
                d,
                each.batch,
                column.row(row),
                name=self._name(each.batch["partition"]),
                state=each.words,
                is_lost=each.is_lost,
            )
        for row in range(len(shown), self.rows):
            _free_place(d, row, column.row(row))

    def _name(self, partition: int) -> str:
        """The name of a batch for this partition."""
        return f"batch P{partition}" if self.logs.are_many else "batch"

    def _wire(self, d: Drawing, space: Space, column: Column) -> None:
        lever = ""
        if "live" in self.cast:
            lever = self.cast["producer"]
        box = Box(
            x=column.x,
            y=column.top,
            w=column.w,
            h=self.rows * ROW,
        )
        draw_wire(
            d,
            space=space,
            box=box,
            messages=self._messages(space),
            pitch=ROW,
            lever=lever,
        )

    def _messages(self, space: Space) -> list[Message]:
        """The messages in each row; one that waited too long is shown as stuck."""
        messages = []
        for row, each in enumerate(in_flight(space)[: self.rows]):
            state = each.request["state"]
            messages.append(Message(row, each.batch["batch"], state))
        if len(messages) == self.rows:
            return messages
        for row, batch, state in space["stuck"]:
            free = max(row, len(messages))
            row = min(free, self.rows - 1)
            messages.append(Message(row, batch["batch"], state))
        return messages

    # -- what the program was told

    def _told(self, d: Drawing, space: Space, y: float) -> float:
        """Beside each other: what the program was told of its records, and whether that
        is true; on narrow pages the records have a line of their own. Returns the
        lowest point.
        """
        d.text("caption/told", 0, y + 17, "the program is told", bold=True)
        is_red = space["untrue"] > 0
        words = "told the truth"
        if is_red:
            words = f"{space['untrue']} told wrong"
        lamp = d.lamp("lamp/truth", d.width, y + 3, words, is_red, anchor="end")
        x = TOLD_LEFT
        room = d.width - x - lamp - 8
        if d.narrow:
            x = 0
            y += LINE_OF_TOLD
            room = float(d.width)

        pitch = TOLD + 4
        most = int(room // pitch)
        told = [Outcome(*each) for each in space["told"]]
        for outcome in _that_have_room(told, most):
            _outcome(d, Box(x=x, y=y, w=TOLD, h=25), outcome)
            x += pitch
        return y + 29

    # -- lanes

    def _lanes(self, space: Space) -> list[Lane]:
        written = sum(log["end"] for log in space["logs"])
        failed = space["failed"]
        answers = f"{space['acknowledged']} done"
        if failed:
            answers = f"{failed} failed"
        lanes = [
            Lane(
                key=SEND,
                name="send()",
                colour="quiet",
                number=f"{space['sent']} sent",
            ),
            Lane(
                key=REQUESTS,
                name="requests",
                colour="actor1",
                number=f"{space['requests']} sent",
            ),
            Lane(
                key=LOG,
                name="log",
                colour="ink",
                number=f"{written} written",
            ),
            Lane(
                key=ANSWERS,
                name="answers",
                colour="actor1",
                number=answers,
                trouble=bool(failed),
            ),
        ]
        return [lane for lane in lanes if lane.key in self.lanes.marks]


def _free_place(d: Drawing, row: int, box: Box) -> None:
    d.rect(
        f"slot/{row}",
        *box,
        fill="none",
        line="rule",
        r=6,
        dash="2 4",
    )


def _that_have_room(told: Sequence[Outcome], most: int) -> list[Outcome]:
    """The latest that are untrue, wherever they are, and the latest of the others."""
    untrue = [each for each in told if each.untrue]
    untrue = untrue[-MOST_UNTRUE:]
    others = [each for each in told if each not in untrue]
    latest = others[len(untrue) - most :]
    return sorted([*untrue, *latest])


def _outcome(d: Drawing, box: Box, outcome: Outcome) -> None:
    """Draw what the program was told about one record; a dashed place if it was told
    nothing yet.
    """
    letter = str(outcome.letter)
    if not outcome.word:
        key = f"future/{outcome.number}"
        d.cell(key, *box, letter, fill="none", ink="quiet", dash="2 3")
        return
    is_done = outcome.word == "done"
    d.cell(
        f"told/{outcome.number}",
        *box,
        letter,
        "✓" if is_done else "✗",
        fill="good" if is_done else "wash",
        line="trouble" if outcome.untrue else "rule",
        ink="ink" if is_done else "trouble",
        width=2 if outcome.untrue else None,
        from_x=COLUMNS[d.width].flight.x,
        from_y=HEAD,
        tip=f"the program is told: {outcome.word}",
    )
