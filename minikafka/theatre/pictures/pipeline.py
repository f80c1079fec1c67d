"""The producer's pipeline: records wait in batches, batches travel in requests, the log
grows, answers come back.

Three lamps compare what the program sent with what the log holds: each record once, in
the order of sending, none lost. A fourth stands beside what the program was told.
Options: topic, producer (its name). Without them: the topic and the producer that sent
most.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    NARROW,
    WIDE,
    Drawing,
    Place,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.pipeline_story import (
    ANSWERS,
    LOG,
    REQUESTS,
    SEND,
    PipelineStory,
)
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted

ROWS = 5  # batches that wait, and requests in flight: Kafka's default of five
# pitch of the rows, width of a record, and of one of which the program was told
ROW, CELL, TOLD = 30, 28, 44
HEAD = 24
PILL, CUT = 30, 0.45  # width of a message on the wire, and where that breaks
ANSWERED = ("written", "known", "refused")
COLUMNS = {  # of the buffer, of what is in flight, and of the wire: x and width
    WIDE: ((0, 248), (258, 256), (514, 110)),
    NARROW: ((0, 226), (232, 234), (466, 92)),
}

SETTINGS = {
    "acks": "acks",
    "linger_ms": "linger_ms",
    "batch_size": "batch_size",
    "max_in_flight_requests_per_connection": "in flight at most",
}


class PipelinePlay(Play):
    story = PipelineStory
    foot = (
        "A producer that hears nothing can't tell a lost request from a lost answer. "
        "Sequence numbers let the broker recognise what it has."
    )

    def scenario(self, scene: Scene) -> str:
        config, down = scene["space"]["config"], scene["space"]["down"]
        told = [
            f"{words} {config[name]}"
            for name, words in SETTINGS.items()
            if name in config
        ]
        if "enable_idempotence" in config:
            told.append(
                "idempotent" if config["enable_idempotence"] else "not idempotent"
            )
        return dotted(
            *told,
            *(f"{node} {state}" for node, state in down.items()),
            self.cast["legend"],
        )

    def summary(self, space: dict[str, Any]) -> str:
        held = "; ".join(
            f"partition {log['partition']}:"
            f" {' '.join(str(cell[2] or '–') for cell in log['records']) or 'empty'}"
            for log in space["logs"]
        )
        parts = [
            f"{space['sent']} sent in {counted(space['requests'], 'request')}",
            f"{space['acknowledged']} done",
        ]
        parts += [f"{space['failed']} failed"] if space["failed"] else []
        lamps = [words for _, words, _ in _lamps(space)]
        lamps += [f"{space['untrue']} told wrong"] if space["untrue"] else []
        return f"{held or 'nothing yet'} ({', '.join(parts)}; {', '.join(lamps)})"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene, space = drawing, scenes[-1], scenes[-1]["space"]
        below = HEAD + self.rows * ROW
        (x, w), (flight, long), (wire, reach) = COLUMNS[d.width]
        self._buffer(d, space, (x, 0, w))
        self._wire(d, space, (wire, 0, reach))
        self._flight(d, space, (flight, 0, long))
        logs = (
            (0, below + 10, d.width)
            if d.narrow
            else (wire + reach + 10, 0, d.width - wire - reach - 10)
        )
        bottom = max(self._logs(d, space, logs, wire + reach), below)
        self._told(d, space, bottom + 4)
        self.lanes.draw(d, bottom + 33, self._lanes(space), scene["step"])

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        most = max(
            (
                max(len(s["space"]["buffer"]), len(s["space"]["in_flight"]))
                for s in scenes
            ),
            default=0,
        )
        self.rows = min(max(most, 2), ROWS)
        self.longest = max(
            (log["end"] for scene in scenes[-1:] for log in scene["space"]["logs"]),
            default=0,
        )

    def _buffer(self, d: Drawing, space: dict[str, Any], place: Place) -> None:
        waiting = sum(batch["count"] for batch in space["buffer"])
        words = f"{waiting} waiting" if waiting else "empty"
        x, y, w = self._column(
            d, "buffer", place, f"{self.cast['producer']}'s buffer", words
        )
        hidden = len(space["buffer"]) - self.rows
        for row, batch in enumerate(space["buffer"][: self.rows]):
            more = f", +{hidden} more" if hidden > 0 and row == self.rows - 1 else ""
            self._batch(d, batch, (x, y + row * ROW, w), batch["state"] + more)

    def _column(
        self, d: Drawing, key: str, place: Place, name: str, words: str
    ) -> Place:
        """What stands above a column; returns the place under it."""
        x, y, w = place
        d.text(key + "/name", x, y + 14, name, bold=True, room=w - 100)
        d.note(key + "/count", x + w, y + 14, words, "end", mono=True)
        return x, y + HEAD, w

    def _flight(self, d: Drawing, space: dict[str, Any], place: Place) -> None:
        limit = space["config"].get("max_in_flight_requests_per_connection", ROWS)
        waits = [request for request in space["in_flight"] if request["acks"] != 0]
        x, y, w = self._column(
            d, "flight", place, "in flight", f"{len(waits)} of {limit} unanswered"
        )
        shown = self._in_flight(space)
        for row in range(self.rows):
            top = y + row * ROW
            if row >= len(shown):
                d.rect(
                    f"slot/{row}", x, top, w, ROW - 6, "none", "rule", r=6, dash="2 4"
                )
                continue
            request, batch = shown[row]
            lost = request["state"] in ("lost", "answer lost", "refused")
            state = {"answer lost": "no answer", "on its way": ""}.get(
                request["state"], request["state"]
            )
            tried = f"try {request['attempt']}" if request["attempt"] > 1 else ""
            state = ": ".join(filter(None, [tried, state]))
            self._batch(d, batch, (x, top, w), state, lost)

    def _in_flight(self, space: dict[str, Any]) -> list[tuple[Any, Any]]:
        """Requests and their batches, one a row."""
        every = [
            (request, batch)
            for request in space["in_flight"]
            for batch in request["batches"]
        ]
        return every[: self.rows]

    def _wire(self, d: Drawing, space: dict[str, Any], place: Place) -> None:
        """Between producer and broker: what travels, and the place where the connection
        broke.
        """
        x, y, w = place
        top, cut = y + HEAD, x + w * CUT
        d.line(
            "wire/door", x + w, top, x + w, top + self.rows * ROW - 6, "rule", width=3
        )
        messages = [
            (row, batch, request["state"])
            for row, (request, batch) in enumerate(self._in_flight(space))
        ]
        for row, batch, state in space["stuck"] if len(messages) < self.rows else ():
            messages.append((min(max(row, len(messages)), self.rows - 1), batch, state))
        for row, batch, state in messages:
            level = top + row * ROW + 12
            near, far = (
                "2 4" if state == gone else None for gone in ("answer lost", "lost")
            )
            d.line(f"wire/{row}", x + 1, level, cut, level, "rule", width=2, dash=near)
            d.line(
                f"wire/{row}/far",
                cut,
                level,
                x + w - 2,
                level,
                "rule",
                width=2,
                dash=far,
            )
            # What broke, broke behind what is on its way; what was cut by hand holds it
            # back.
            past = space["cut"] and "parted" not in space and state == "on its way"
            self._message(
                d,
                batch["batch"],
                state,
                (cut + 8 if past else x + 4, level - 9, x + w),
                cut,
            )
        if space["cut"]:
            teeth = "".join("l4,4 l-8,8 l4,4" for _ in range(self.rows * ROW // 16))
            d.path(
                "wire/cut",
                cut,
                top - 3,
                "M0,0 " + teeth,
                line="trouble",
                width=2.5,
                tip="the connection is lost",
            )
            d.text(
                "wire/cut/name",
                cut,
                y + 14,
                "cut",
                "trouble",
                bold=True,
                anchor="middle",
            )
        if "live" in self.cast:
            d.wire(
                "wire/lever",
                cut,
                top + self.rows * ROW,
                self.cast["producer"],
                "parted" in space,
            )

    def _message(
        self, d: Drawing, number: int, state: str, place: Place, cut: float
    ) -> None:
        """A request on its way to the broker, or the answer on its way back; lost, it
        gets as far as the cut.
        """
        x, y, end = place
        answer, lost = state in (*ANSWERED, "answer lost"), "lost" in state
        stopped = cut + 8 if answer else cut - 8 - PILL
        left = stopped if lost else end - PILL - 4 if answer else x
        words = "no" if state == "refused" else "ok" if answer else "→"
        bad = lost or state == "refused"
        key, fade = f"wire/{number}/message", 0.7 if lost else None
        fill, line, ink = (
            ("paper", "trouble", "trouble")
            if bad
            else ("good" if answer else "chip", "rule", "ink")
        )
        d.boxed(
            key,
            left,
            y,
            PILL,
            18,
            words,
            fill,
            ink,
            line=line,
            width=1.5,
            dash="3 3" if lost else None,
            fade=fade,
        )

    def _told(self, d: Drawing, space: dict[str, Any], y: float) -> None:
        """Beside each other: what the program was told of its records, and whether that
        is true.
        """
        d.text("caption/told", 0, y + 17, "the program is told", bold=True)
        words, left = (
            (f"{space['untrue']} told wrong" if space["untrue"] else "told the truth"),
            178,
        )
        lamp = d.lamp("lamp/truth", d.width, y + 3, words, space["untrue"] > 0, "end")
        most = int((d.width - left - lamp - 8) // (TOLD + 4))
        untrue = [told for told in space["told"] if told[3]][-2:]
        latest = [told for told in space["told"] if told not in untrue]
        for column, (n, letter, said, lie) in enumerate(
            sorted([*untrue, *latest[len(untrue) - most :]])
        ):
            x = left + column * (TOLD + 4)
            if not said:
                d.cell(
                    f"future/{n}",
                    x,
                    y,
                    TOLD,
                    25,
                    str(letter),
                    fill="none",
                    ink="quiet",
                    dash="2 3",
                )
            else:
                fill, mark, ink = (
                    ("good", "✓", "ink") if said == "done" else ("wash", "✗", "trouble")
                )
                d.cell(
                    f"told/{n}",
                    x,
                    y,
                    TOLD,
                    25,
                    str(letter),
                    mark,
                    fill=fill,
                    line="trouble" if lie else "rule",
                    ink=ink,
                    width=2 if lie else None,
                    from_x=COLUMNS[d.width][1][0],
                    from_y=HEAD,
                    tip=f"the program is told: {said}",
                )

    def _batch(
        self,
        d: Drawing,
        batch: dict[str, Any],
        place: Place,
        state: str,
        trouble: bool = False,
    ) -> None:
        """A batch with its records, wherever it is: the player moves it from the buffer
        to its flight and back.
        """
        x, y, w = place
        key = f"batch/{batch['batch']}"
        line, dash = ("trouble", "4 3") if trouble else ("actor1", None)
        d.rect(key, x, y, w, ROW - 6, "wash", line, r=6, width=1.5, dash=dash)
        name = f"batch {batch['batch']}" + (
            f" P{batch['partition']}" if len(self.cast["chosen"]) > 1 else ""
        )
        d.text(key + "/name", x + 8, y + 17, name, size=12.5, bold=True)
        left = x + 12 + text_width(name, 12.5, bold=True) / LEAST_STRETCH
        room = x + w - 12 - text_width(state, 12.5) / LEAST_STRETCH - left
        fits = max(int(room // (CELL + 2)), 1)
        count, shown = batch["count"], batch["records"]
        shown = shown if count <= min(fits, len(shown)) else shown[: max(fits - 1, 0)]
        for n, letter, sent_key, value in shown:
            d.cell(
                f"{key}/{n}",
                left,
                y + 3,
                CELL,
                ROW - 12,
                str(letter),
                tip=f"key {sent_key} · value {value}",
            )
            left += CELL + 2
        if len(shown) < count:
            d.note(key + "/more", left, y + 17, f"+{count - len(shown)}", mono=True)
        d.text(
            key + "/state",
            x + w - 8,
            y + 17,
            state,
            "trouble" if trouble else "quiet",
            size=12.5,
            anchor="end",
        )

    def _logs(
        self, d: Drawing, space: dict[str, Any], place: Place, door: float
    ) -> float:
        """The partitions' logs and the lamps under them; returns the lowest point."""
        chosen, many = self.cast["chosen"], len(self.cast["chosen"]) > 1
        name = (
            "the log" if many else f"the log of partition {chosen[0] if chosen else 0}"
        )
        written = f"{sum(log['end'] for log in space['logs'])} written"
        x, top, w = self._column(d, "caption/log", place, name, written)
        per_row = int((w - (30 if many else 0)) // (CELL + 5))
        rows = 1 if many else min(max(-(-self.longest // per_row), 1), 3)
        for log in space["logs"]:
            if many:
                d.text(
                    f"log/{log['partition']}/name",
                    x,
                    top + 19,
                    f"P{log['partition']}",
                    mono=True,
                    bold=True,
                )
            self._cells_of(d, log, (x + 30 * many, top, per_row), rows, door)
            top += 46
        top += 46 * (rows - 1)
        right = float(x + w)
        for name, words, broken in reversed(_lamps(space)):
            right -= d.lamp(f"lamp/{name}", right, top + 2, words, broken, "end") + 4
        return top + 22

    def _cells_of(
        self, d: Drawing, log: dict[str, Any], place: Place, rows: int, door: float
    ) -> None:
        left, top, per_row = place[0], place[1], int(place[2])
        hidden = max(log["end"] - rows * per_row + 1, 0)

        def at(offset: int) -> tuple[float, float]:
            row, column = divmod(offset - hidden, per_row)
            return left + column * (CELL + 5), top + row * 46

        for offset, n, letter, value, state in (
            each for each in log["records"] if each[0] >= hidden
        ):
            why = {
                "again": " · it is there twice",
                "late": " · overtaken by a later one",
                "": "",
            }[state]
            d.cell(
                f"log/{log['partition']}/{offset}",
                *at(offset),
                CELL,
                28,
                str(letter or "–"),
                below=str(offset),
                line="trouble" if state else "rule",
                width=2 if state else None,
                from_x=door,
                from_y=top,
                tip=(
                    f"offset {offset} · "
                    f"{'somebody else wrote it' if n is None else f'value {value}'}"
                    f"{why}"
                ),
            )
        d.slot(f"log/{log['partition']}/next", *at(log["end"]), CELL, 28, log["end"])

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["end"] for log in space["logs"])
        answers = (
            f"{space['failed']} failed"
            if space["failed"]
            else f"{space['acknowledged']} done"
        )
        lanes = [
            Lane(SEND, "send()", "quiet", f"{space['sent']} sent"),
            Lane(REQUESTS, "requests", "actor1", f"{space['requests']} sent"),
            Lane(LOG, "log", "ink", f"{written} written"),
            Lane(ANSWERS, "answers", "actor1", answers, bool(space["failed"])),
        ]
        return [lane for lane in lanes if lane.key in self.lanes.marks]


def _lamps(space: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """What must hold: name, words, and whether it is broken."""
    return [
        (
            "once",
            f"{space['twice']} twice" if space["twice"] else "each once",
            bool(space["twice"]),
        ),
        (
            "order",
            f"{space['late']} overtaken" if space["late"] else "in order",
            bool(space["late"]),
        ),
        (
            "lost",
            f"{space['lost']} lost" if space["lost"] else "none lost",
            bool(space["lost"]),
        ),
    ]
