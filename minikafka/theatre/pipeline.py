"""The producer's pipeline: records wait in batches, batches travel in requests, the log grows, answers come back.

Three lamps compare what the program sent with what the log holds: each record once, in the order of sending, none
lost. Options: topic, producer (its name). Without them: the topic and the producer that sent most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing, fit, text_width
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pipeline_story import ANSWERS, LOG, REQUESTS, SEND, PipelineStory
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted

ROWS = 5  # batches that wait, and requests in flight: Kafka's default of five
ROW, CELL = 34, 28  # pitch of the rows, width of a record
HEAD = 26
FLIES = ("on its way", "written", "known", "refused")

Place = tuple[float, float, float]  # x, y, width


class PipelinePlay(Play):
    story = PipelineStory
    foot = (
        "A producer that hears nothing can't tell a lost request from a lost answer. "
        "Sequence numbers let the broker recognise what it has."
    )

    def scenario(self, scene: Scene) -> str:
        config = scene["space"]["config"]
        names = {
            "acks": "acks",
            "linger_ms": "linger_ms",
            "batch_size": "batch_size",
            "max_in_flight_requests_per_connection": "in flight at most",
        }
        parts = [f"{words} {config[name]}" for name, words in names.items() if name in config]
        if "enable_idempotence" in config:
            parts.append("idempotent" if config["enable_idempotence"] else "not idempotent")
        parts += [f"{node} {state}" for node, state in scene["space"]["down"].items()]
        parts += [self.cast["legend"]] if self.cast["legend"] else []
        return " · ".join(parts)

    def summary(self, space: dict[str, Any]) -> str:
        held = "; ".join(
            f"partition {log['partition']}: {' '.join(str(cell[2] or '–') for cell in log['records']) or 'empty'}"
            for log in space["logs"]
        )
        parts = [f"{space['sent']} sent in {counted(space['requests'], 'request')}", f"{space['acknowledged']} done"]
        parts += [f"{space['failed']} failed"] if space["failed"] else []
        return f"{held or 'nothing yet'} ({', '.join(parts)}; {', '.join(words for words, _ in _lamps(space))})"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene = drawing, scenes[-1]
        space = scene["space"]
        rows = self.rows
        below = HEAD + rows * ROW
        if d.narrow:
            half = (d.width - 16) / 2
            self._buffer(d, space, (0, 0, half))
            self._flight(d, space, (half + 16, 0, half))
            bottom = self._logs(d, space, (0, below + 10, d.width), half + 16)
        else:
            self._buffer(d, space, (0, 0, 306))
            self._flight(d, space, (322, 0, 288))
            bottom = max(self._logs(d, space, (650, 0, d.width - 650), 574), below)
        self.lanes.draw(d, bottom + 6, self._lanes(space), scene["step"])

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        most = max((max(len(s["space"]["buffer"]), len(s["space"]["in_flight"])) for s in scenes), default=0)
        self.rows = min(max(most, 2), ROWS)
        logs = scenes[-1]["space"]["logs"] if scenes else []
        self.longest = max((log["end"] for log in logs), default=0)

    def _buffer(self, d: Drawing, space: dict[str, Any], place: Place) -> None:
        x, y, w = place
        d.text("buffer/name", x, y + 14, fit(f"{self.cast['producer']}'s buffer", w - 120, bold=True), bold=True)
        waiting = sum(batch["count"] for batch in space["buffer"])
        words = f"{waiting} waiting" if waiting else "empty"
        d.text("buffer/count", x + w, y + 14, words, "quiet", size=12.5, mono=True, anchor="end")
        hidden = len(space["buffer"]) - self.rows
        for row, batch in enumerate(space["buffer"][: self.rows]):
            top = y + HEAD + row * ROW
            last = hidden > 0 and row == self.rows - 1
            state = f"{batch['state']}, +{hidden} more" if last else batch["state"]
            self._batch(d, batch, (x, top, w), state, "actor1")

    def _flight(self, d: Drawing, space: dict[str, Any], place: Place) -> None:
        x, y, w = place
        d.text("flight/name", x, y + 14, "in flight", bold=True)
        limit = space["config"].get("max_in_flight_requests_per_connection", ROWS)
        waits = [request for request in space["in_flight"] if request["acks"] != 0]
        words = f"{len(waits)} of {limit} await answers"
        d.text("flight/count", x + w, y + 14, words, "quiet", size=12.5, mono=True, anchor="end")
        shown = [(request, batch) for request in space["in_flight"] for batch in request["batches"]][: self.rows]
        for row in range(self.rows):
            top = y + HEAD + row * ROW
            if row >= len(shown):
                d.rect(f"slot/{row}", x, top, w, ROW - 6, "none", "rule", r=6, dash="2 4")
                continue
            request, batch = shown[row]
            lost = request["state"] in ("lost", "answer lost", "refused")
            state = request["state"] if request["attempt"] == 1 else f"try {request['attempt']}: {request['state']}"
            self._batch(d, batch, (x, top, w), state, "trouble" if lost else "actor1", lost)
            if not d.narrow and request["state"] in FLIES:
                ends = (x + w + 3, x + w + 34)
                start, end = ends if request["state"] == "on its way" else ends[::-1]
                d.arrow(f"arrow/{row}", start, top + 14, end, top + 14, "ink", width=1.5)
            elif not d.narrow:
                d.text(f"arrow/{row}/lost", x + w + 18, top + 19, "✕", "trouble", bold=True, anchor="middle")

    def _batch(
        self, d: Drawing, batch: dict[str, Any], place: Place, state: str, line: str, trouble: bool = False
    ) -> None:
        """A batch with its records, wherever it is: the player moves it from the buffer to its flight and back."""
        x, y, w = place
        key = f"batch/{batch['batch']}"
        d.rect(key, x, y, w, ROW - 6, "wash", line, r=6, width=1.5, dash="4 3" if trouble else None)
        name = f"batch {batch['batch']}" + (f" P{batch['partition']}" if len(self.cast['chosen']) > 1 else "")
        d.text(key + "/name", x + 8, y + 19, name, size=12.5, bold=True)
        left = x + 16 + text_width(name, 12.5, bold=True)
        room = x + w - 8 - text_width(state, 12.5) - left
        fits = max(int(room // (CELL + 2)), 1)
        count = batch["count"]
        shown = batch["records"] if count <= min(fits, len(batch["records"])) else batch["records"][: max(fits - 1, 0)]
        for column, (n, letter, sent_key, value) in enumerate(shown):
            tip = f"key {sent_key} · value {value}"
            at = left + column * (CELL + 2)
            d.cell(f"{key}/{n}", at, y + 3, CELL, ROW - 12, str(letter), line="rule", tip=tip)
        if len(shown) < count:
            at = left + len(shown) * (CELL + 2)
            d.text(key + "/more", at, y + 19, f"+{count - len(shown)}", "quiet", size=12.5, mono=True)
        d.text(key + "/state", x + w - 8, y + 19, state, "trouble" if trouble else "quiet", size=12.5, anchor="end")

    def _logs(self, d: Drawing, space: dict[str, Any], place: Place, door: float) -> float:
        """The partitions' logs and the lamps under them; returns the lowest point."""
        x, y, w = place
        chosen = self.cast["chosen"]
        many = len(chosen) > 1
        name = "the log" if many else f"the log of partition {chosen[0] if chosen else 0}"
        d.text("log/name", x, y + 14, name, bold=True)
        end = sum(log["end"] for log in space["logs"])
        d.text("log/end", x + w, y + 14, f"{end} written", "quiet", size=12.5, mono=True, anchor="end")
        per_row = int((w - (30 if many else 0)) // (CELL + 5))
        rows = 1 if many else min(max(-(-self.longest // per_row), 1), 3)
        top = y + HEAD
        for log in space["logs"]:
            left = x
            if many:
                d.text(f"log/{log['partition']}/name", x, top + 19, f"P{log['partition']}", mono=True, bold=True)
                left += 30
            self._cells_of(d, log, (left, top, per_row), rows, door)
            top += 48
        top += 48 * (rows - 1)
        wide = sum(text_width(words, 12, bold=True) + 18 + 6 for words, _ in _lamps(space)) - 6
        x = min(x, d.width - wide)
        for words, broken in _lamps(space):
            chip = ("trouble", "on1") if broken else ("good", "ink")
            x += d.chip(f"lamp/{words}", x, top + 2, words, *chip) + 6
        return top + 22

    def _cells_of(self, d: Drawing, log: dict[str, Any], place: Place, rows: int, door: float) -> None:
        left, top, per_row = place[0], place[1], int(place[2])
        room = rows * per_row - 1
        hidden = max(log["end"] - room, 0)
        for offset, n, letter, value, state in log["records"]:
            if offset < hidden:
                continue
            row, column = divmod(offset - hidden, per_row)
            x, y = left + column * (CELL + 5), top + row * 48
            why = {"again": " · it is there twice", "late": " · overtaken by a later one", "": ""}[state]
            d.cell(
                f"log/{log['partition']}/{offset}", x, y, CELL, 28, str(letter or "–"), below=str(offset),
                line="trouble" if state else "rule", width=2 if state else None, from_x=door, from_y=top,
                tip=f"offset {offset} · {'somebody else wrote it' if n is None else f'value {value}'}{why}",
            )  # fmt: skip
        row, column = divmod(log["end"] - hidden, per_row)
        x, y = left + column * (CELL + 5), top + row * 48
        d.cell(f"log/{log['partition']}/next", x, y, CELL, 28, below=str(log["end"]), fill="none", line="ink",
               dash="2 3", weight=600, tip=f"the next record gets offset {log['end']}")  # fmt: skip

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["end"] for log in space["logs"])
        answers = f"{space['acknowledged']} done"
        if space["failed"]:
            answers += f", {space['failed']} failed"
        lanes = [
            Lane(SEND, "send()", "quiet", f"{space['sent']} sent"),
            Lane(REQUESTS, "requests", "actor1", f"{space['requests']} sent"),
            Lane(LOG, "log", "ink", f"{written} written"),
            Lane(ANSWERS, "answers", "actor1", answers, bool(space["failed"])),
        ]
        return [lane for lane in lanes if lane.key in self.lanes.marks]


def _lamps(space: dict[str, Any]) -> list[tuple[str, bool]]:
    """What must hold, as words, each with whether it is broken."""
    return [
        (f"{space['twice']} twice", True) if space["twice"] else ("each once", False),
        (f"{space['late']} overtaken", True) if space["late"] else ("in order", False),
        (f"{space['lost']} lost", True) if space["lost"] else ("none lost", False),
    ]
