"""The controller quorum: who is the active controller in which term, who votes for
whom, and the metadata log from which every broker learns who is fenced and who leads.

Options: topic, partition: of which partition the brokers' knowledge is shown; live:
with levers on the cards.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.nodes import (
    MOST_WITH_LANES,
    Columns,
    Row,
    colour,
    draw_log,
    rows_of,
)
from minikafka.theatre.pictures.quorum_story import QuorumStory
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted

# heights: of the first line, of a record; units from one record to the next
HEAD, CELL, PITCH = 28, 44, 96
CHIPS = {
    "controller": ("controller", "good", "ink"),
    "candidate": ("candidate", "said", "ink"),
    "pre-candidate": ("would it win?", "said", "ink"),
    "follower": ("follower", "chip", "ink"),
    "": ("no leader", "chip", "trouble"),
}


class QuorumPlay(Play):
    story = QuorumStory
    foot = (
        "Colour: which controller wrote it. Filled: below the high watermark (the heavy"
        " line), as far as this broker knows. What counts, brokers act on."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        active = (
            f"broker {space['controller']} is the controller of epoch {space['epoch']}"
        )
        fenced = (
            f"fenced: {' '.join(map(str, space['fenced']))}" if space["fenced"] else ""
        )
        leads = (
            f"broker {space['leader']} leads {self.cast['part']}"
            if space["leader"] >= 0
            else ""
        )
        majority = f"majority {space['majority']}"
        voters = len(space["voters"]) - len(self.cast["observers"])
        return dotted(
            counted(voters, "voter"),
            majority,
            active if space["controller"] >= 0 else "no controller yet",
            fenced,
            leads,
        )

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for voter in space["voters"]:
            state = voter["life"] or voter["role"] or "without a leader"
            said.append(
                f"broker {voter['broker']}: {state}, epoch {voter['epoch']}, metadata"
                f" up to {voter['end']}"
            )
        fenced = (
            [f"fenced: {', '.join(map(str, space['fenced']))}"]
            if space["fenced"]
            else []
        )
        return "; ".join([*said, *fenced])

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene, space = drawing, scenes[-1], scenes[-1]["space"]
        self._head(d, space)
        columns = Columns(d, self.cast["most"], space["end"], 4, PITCH, PITCH)
        rows, top = rows_of(
            d,
            [voter["broker"] for voter in space["voters"]],
            HEAD,
            CELL,
            bool(self.cast.get("live")),
        )
        for row, voter in zip(rows.values(), space["voters"], strict=True):
            self._voter(row, voter, space, rows, scene["number"])
            leader = rows.get(voter["leader"])
            from_y = (
                leader.cells_y if leader is not None and leader is not row else None
            )
            draw_log(
                row,
                columns,
                voter,
                self.cast["leaders"],
                now=scene["number"],
                from_y=from_y,
            )
        if len(rows) <= MOST_WITH_LANES:
            self.lanes.draw(d, top - 8, self._lanes(space), scene["step"])

    def _head(self, d: Drawing, space: dict[str, Any]) -> None:
        two = (
            f"two controllers in epoch {space['two']}"
            if space["two"]
            else "one controller an epoch"
        )
        width = d.lamp("lamp", d.width, 0, two, bool(space["two"]), "end")
        if space["clients"]:
            name, to, fresh = space["clients"][-1]
            words = f"{name} writes to broker {to}"
            wide = d.chip(
                "clients/state",
                0,
                0,
                "up to date" if fresh else "stale metadata",
                "good" if fresh else "trouble",
                "ink" if fresh else "paper",
            )
            d.text(
                "clients/words",
                wide + 8,
                14,
                words,
                "ink" if fresh else "trouble",
                size=12.5,
                room=d.width - width - wide - 28,
            )

    def _voter(
        self,
        row: Row,
        voter: dict[str, Any],
        space: dict[str, Any],
        rows: dict[int, Row],
        now: int,
    ) -> None:
        d, key, role = row.d, row.key, voter["role"]
        knows = (
            f"leader {voter['knows']} of {self.cast['part']}"
            if voter["knows"] >= 0
            else ""
        )
        if voter["broker"] in space["fenced"]:
            knows = "fenced" if d.narrow else "fenced: leads nothing"
        chip = (
            ("observer", "chip", "ink")
            if row.name in self.cast["observers"]
            else CHIPS[role]
        )
        chip = chip if voter["life"] in ("", "cut off") else ("", "", "")
        row.card(
            voter["life"],
            f"epoch {voter['epoch']}",
            chip,
            role == "controller",
            knows=knows,
            trouble=voter["broker"] in space["fenced"],
        )
        if voter["vote"] in rows and not voter["life"]:
            candidate = rows[voter["vote"]]
            x, y = row.width - 20, row.y + 38
            d.note(key + "/voted", x - 12, y + 4, "vote", "end", size=12)
            d.disc(
                key + "/vote",
                x,
                y,
                8,
                str(candidate.broker),
                candidate.broker - 1,
                12,
                tip=f"voted for {candidate.name} in epoch {voter['epoch']}",
            )
        if (
            voter["answered"]
            and voter["answered"][2] == now
            and voter["answered"][0] in rows
        ):
            candidate, granted = rows[voter["answered"][0]], voter["answered"][1]
            if candidate is not row:
                row.asks(
                    candidate,
                    now,
                    f"{'yes' if granted else 'no'} to {candidate.name}",
                    trouble=not granted,
                )

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        rows: list[Lane] = []
        for voter in space["voters"]:
            name = f"broker {voter['broker']}"
            rows.append(
                Lane(
                    name,
                    name,
                    colour(voter["broker"]),
                    voter["life"] or f"epoch {voter['epoch']}",
                    bool(voter["life"]),
                )
            )
        return [*rows, Lane("log", "metadata", "ink", f"end {space['end']}")]
