"""The transaction timeline: who asks what of the coordinator, in which state that is,
the partitions with their markers and last stable offsets, and what two readers are
handed, side by side.

A record has the colour of its producer: an outline while its transaction is open,
filled when that is committed, crossed out when it is aborted. It keeps its place in the
log whatever happens. Option: transactional_id; without it, the one that most is told
of.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import (
    COLOURS,
    LEAST_STRETCH,
    Drawing,
    actor_colour,
    fit,
    has_room,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.transaction_story import LEVELS, TransactionStory
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted, key_part

STATES = (
    ("Empty",),
    ("Ongoing",),
    ("PrepareCommit", "PrepareAbort"),
    ("CompleteCommit", "CompleteAbort"),
)
# of a producer; whatever else it may be is trouble
CHIPS = {"open": ("said", "ink"), "idle": ("chip", "ink")}
# heights: of states, a producer, a row, its records, what is read
HEAD, CARD, LOG, CELL, READ = 52, 52, 62, 30, 24
LEFT, PITCH, GAP = 128, 84, 10  # LEFT: where records begin


class TransactionPlay(Play):
    story = TransactionStory
    foot = (
        "Outline: open. Filled: committed. Crossed out: aborted. The heavy line is the"
        " last stable offset: readers of committed records get what is before it,"
        " without the aborted."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        if not space["state"]:
            return "the coordinator has not heard of it"
        offsets = space["offsets"]
        said = (
            f"group {offsets[0]}: {offsets[1]} at {offsets[2]}, {offsets[3]}"
            if offsets
            else ""
        )
        return dotted(space["state"], f"newest epoch {space['epoch']}", said)

    def summary(self, space: Space) -> str:
        said = [f"coordinator: {space['state'] or 'nothing yet'}"]
        said += [
            f"{name}: epoch {epoch}, {life}"
            for name, epoch, life in space["producers"]
            if life
        ]
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            said.append(
                f"{part}: log end offset {log['end']}, last stable offset"
                f" {log['last_stable_offset']}"
            )
        for name, found in space["readers"]:
            said.append(
                f"{name} has read {' '.join(each[2] for each in found) or 'nothing'}"
            )
        return "; ".join(said)

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene, space = drawing, scenes[-1], scenes[-1]["space"]
        self._states(d, space)
        self._producers(d, space, HEAD + GAP, scene["number"])
        top = HEAD + CARD + 2 * GAP + 4
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            self._log(d, part, log, top)
            top += LOG
        self._readers(d, space, top)
        top += READ + 36 if self.cast["levels"] else 0
        self.lanes.draw(d, top, self._lanes(space), scene["step"])

    def _states(self, d: Drawing, space: Space) -> None:
        """The way of a transaction: one of two columns at the end, and where it is
        now.
        """
        x = 0.0
        for column, states in enumerate(STATES):
            wide = (
                max(text_width(state, 12, bold=True) for state in states)
                / LEAST_STRETCH
                + 10
            )
            for row, state in enumerate(states):
                y, now = (13 if len(states) == 1 else row * 26), space["state"] == state
                fill = (
                    (
                        "trouble"
                        if "Abort" in state
                        else "good"
                        if "Commit" in state
                        else "said"
                    )
                    if now
                    else "wash"
                )
                ink = ("paper" if "Abort" in state else "ink") if now else "quiet"
                d.boxed(
                    f"state/{state}",
                    x,
                    y,
                    wide,
                    20,
                    state,
                    fill,
                    ink,
                    line="ink" if now else "rule",
                    bold=now,
                )
            if column:
                d.arrow(
                    f"state/arrow/{column}", x - 14, 23, x - 3, 23, "rule", width=1.5
                )
            x += wide + 17
        if d.narrow:
            return
        wrong = any(
            each[4] == "aborted"
            for name, found in space["readers"]
            for each in found
            if self.cast["levels"][name] == LEVELS[1]
        )
        d.lamp(
            "lamp", d.width, 1, "read_committed reads no aborted record", wrong, "end"
        )
        if space["offsets"]:
            group, part, offset, state = space["offsets"]
            words = fit(
                f"group {group}: {part} at {offset}, {state}", d.width - x - 8, 12.5
            )
            ink = {"pending": "quiet", "dropped": "trouble"}.get(state, "ink")
            d.text("offsets", d.width, 40, words, ink, size=12.5, anchor="end")

    def _producers(self, d: Drawing, space: Space, y: float, now: int) -> None:
        count = max(len(space["producers"]), 2)
        wide = (d.width + GAP) / count - GAP
        for number, (name, epoch, life) in enumerate(space["producers"]):
            if not life:
                continue
            key, x, look = (
                f"producer/{number}",
                number * (wide + GAP),
                CHIPS.get(life, ("trouble", "paper")),
            )
            d.rect(
                key,
                x,
                y,
                wide,
                CARD,
                "paper",
                "rule" if life in CHIPS else "trouble",
                r=8,
                width=1.5,
            )
            d.disc(key + "/disc", x + 18, y + 17, 10, name[:1].upper(), number, 12)
            chip = text_width(life, 12, bold=True) / LEAST_STRETCH + 10
            d.chip(key + "/chip", x + wide - chip - 6, y + 7, life, *look)
            shown = fit(name, (wide - chip - 50) * LEAST_STRETCH, 13, bold=True)
            d.text(key + "/name", x + 34, y + 22, shown, bold=True)
            asks = space["asks"]
            said = f"epoch {epoch}" if epoch >= 0 else "no epoch yet"
            said += (
                f": {asks[1]}" if asks and asks[0] == name and asks[3] == now else ""
            )
            d.text(
                key + "/words",
                x + 10,
                y + 43,
                fit(said, (wide - 16) * LEAST_STRETCH, 12.5),
                "ink",
                size=12.5,
            )

    def _log(self, d: Drawing, part: str, log: dict[str, Any], y: float) -> None:
        part_key, left = key_part(part), LEFT
        key = f"log/{part_key}"
        pitch = min(max((d.width - left) / (self.cast["most"] + 1), 44), PITCH)
        w, room = pitch - 5, int((d.width - left) // pitch) - 1
        first = max(log["end"] - room, 0)
        d.text(
            key + "/name",
            left - 10,
            y + 14,
            part,
            bold=True,
            anchor="end",
            room=left - 12,
        )
        if log["joined"]:
            wide = text_width(log["joined"], 12, bold=True) / LEAST_STRETCH + 10
            fill = "said" if log["joined"] == "joined" else "chip"
            d.chip(key + "/joined", left - 10 - wide, y + 20, log["joined"], fill)
        for record in log["records"]:
            if record[0] >= first:
                place = left + (record[0] - first) * pitch, y, w, CELL
                self._record(
                    d,
                    f"record/{part_key}/{record[0]}",
                    place,
                    part,
                    record,
                    str(record[0]),
                )
        d.slot(
            key + "/next", left + (log["end"] - first) * pitch, y, w, CELL, log["end"]
        )
        if log["last_stable_offset"] >= first:
            x = left + (log["last_stable_offset"] - first) * pitch - 2.5
            d.line(key + "/last-stable", x, y - 6, x, y + CELL + 6, "ink", width=3)

    def _readers(self, d: Drawing, space: Space, y: float) -> None:
        """What each was handed, in its order: side by side."""
        wide = d.width / 2 - GAP / 2
        for side, (name, found) in enumerate(space["readers"]):
            key, x, level = (
                f"reader/{side}",
                side * (wide + GAP),
                self.cast["levels"][name],
            )
            d.rect(key, x, y, wide, READ + 30, "wash", r=8)
            d.note(key + "/level", x + wide - 8, y + 17, level, "end", size=12)
            room = (wide - 24) * LEAST_STRETCH - text_width(level, 12)
            d.text(
                key + "/name", x + 10, y + 17, fit(name, room, 13, bold=True), bold=True
            )
            cells = max(int((wide - 16) // 54), 1)
            first = max(len(found) - cells, 0)
            for number, (place, *record) in enumerate(found[first:], first):
                at = x + 8 + 54 * (number - first), y + 24, 50, READ
                self._record(
                    d, f"{key}/{number}", at, self.cast["parts"][place], record
                )

    def _record(
        self,
        d: Drawing,
        key: str,
        place: tuple[float, float, float, float],
        part: str,
        record: Sequence[Any],
        below: str = "",
    ) -> None:
        """A record by what became of its transaction. place: x, y, width, height."""
        offset, text, whose, state, number = record
        x, y, w, h = place
        producers = self.cast["producers_shown"]
        actor = producers.index(whose) if whose in producers else None
        look = {"fill": "paper", "line": "trouble", "ink": "trouble"}  # aborted
        if state == "COMMIT":
            look = {"fill": "good", "line": "ink"}
        elif state == "open":
            look = {
                "fill": "paper",
                "line": "quiet" if actor is None else actor_colour(actor),
                "dash": "4 3",
            }
        elif state in ("", "committed"):
            look = {"fill": "cell", "line": "quiet"}
            if actor is not None:
                look = {
                    "fill": actor_colour(actor),
                    "line": actor_colour(actor),
                    "ink": f"on{actor % COLOURS + 1}",
                }
        short = (
            text[:1]
            if state in ("COMMIT", "ABORT")
            and not has_room(text, w - 8, 13.5, mono=True)
            else text
        )
        shown = fit(short, (w - 8) * LEAST_STRETCH, 13.5, mono=True, bold=True)
        d.cell(
            key,
            x,
            y,
            w,
            h,
            shown,
            below=below,
            width=2,
            of=number,
            same=f"{part}/{offset}",
            tip=f"offset {offset} of {part}: {state or 'of no transaction'}",
            **look,
        )
        if state == "aborted":
            d.line(
                key + "/cross", x + 3, y + h - 3, x + w - 3, y + 3, "trouble", width=2
            )

    def _lanes(self, space: Space) -> list[Lane]:
        rows = []
        for number, (name, epoch, life) in enumerate(space["producers"]):
            said, shown = f"epoch {epoch}" if epoch >= 0 else "", name if life else ""
            rows.append(
                Lane(
                    f"producer {name}",
                    shown,
                    actor_colour(number),
                    said,
                    life in ("zombie", "fenced"),
                )
            )
        rows.append(
            Lane(
                "coordinator",
                "state",
                "ink",
                f"epoch {space['epoch']}" if space["state"] else "",
            )
        )
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            rows.append(
                Lane(f"log {part}", part, "quiet", f"LSO {log['last_stable_offset']}")
            )
        return rows + [
            Lane(f"reader {name}", name, "gone", f"{len(found)} read")
            for name, found in space["readers"]
        ]
