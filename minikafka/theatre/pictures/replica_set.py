"""The replica set: one partition's copies, how far each goes, who leads in which epoch,
and what producers were told.

Options: topic, partition (without them: the one that is copied most); live: with levers
on the brokers' cards.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing, fitting
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.nodes import (
    MOST_WITH_LANES,
    Columns,
    Row,
    colour,
    draw_log,
    listed,
    rows_of,
)
from minikafka.theatre.pictures.replica_story import ReplicaStory
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted

# heights: of the lamp's line, of a row of what producers heard, of a record
HEAD, TOLD, CELL = 24, 22, 26
NUMBERS = 136  # width of what stands right of a log


class ReplicaSetPlay(Play):
    story = ReplicaStory
    foot = (
        "Colour: who led when it was written. Filled: below the high watermark (the"
        " heavy line), as far as this broker knows. Outlined: may still be lost."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        acks = [
            f"{producer} with acks={acks}"
            for producer, acks in space["acks"].items()
            if acks != ""
        ]
        leader = (
            f"broker {space['leader']} leads in epoch {space['epoch']}"
            if space["leader"] >= 0
            else "no leader"
        )
        return dotted(
            counted(len(space["copies"]), "replica"),
            leader,
            f"ISR {listed(space['isr'])}",
            *acks,
        )

    def summary(self, space: dict[str, Any]) -> str:
        copies = [
            f"broker {copy['broker']}"
            f"{' leads and' if copy['leads'] and not copy['life'] else ''}"
            f" ends at {copy['end']}{' (' + copy['life'] + ')' if copy['life'] else ''}"
            for copy in space["copies"]
        ]
        lost = (
            f"{counted(space['lost'], 'acknowledged record')} lost"
            if space["lost"]
            else "nothing acknowledged lost"
        )
        return "; ".join([*copies, f"ISR {listed(space['isr'])}", lost])

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene, space = drawing, scenes[-1], scenes[-1]["space"]
        self._lamp(d, space)
        top: float = HEAD + TOLD * (2 if self.cast["ever_lost"] else 1) + 6
        right = NUMBERS if not d.narrow else 100
        columns = Columns(d, self.cast["most"], space["end"], right, 34, 96)
        self._told(d, columns, space, top - TOLD - 4)
        rows, top = rows_of(
            d,
            [copy["broker"] for copy in space["copies"]],
            top,
            CELL,
            bool(self.cast.get("live")),
        )
        for row, copy in zip(rows.values(), space["copies"], strict=True):
            self._copy(
                row, copy, space, columns, rows.get(copy["follows"]), scene["number"]
            )
        if len(rows) <= MOST_WITH_LANES:
            self.lanes.draw(d, top - 6, self._lanes(space), scene["step"])

    def _lamp(self, d: Drawing, space: dict[str, Any]) -> None:
        lost = space["lost"]
        words = (
            f"{counted(lost, 'acknowledged record')} lost"
            if lost
            else "no acknowledged record lost"
        )
        d.lamp("lamp", d.width, 0, words, bool(lost), "end")

    def _told(
        self, d: Drawing, columns: Columns, space: dict[str, Any], y: float
    ) -> None:
        """Over each offset what the producer of the record heard; what is lost, one
        line higher.
        """
        producers = self.cast["producers"]
        who = (
            f"{producers[0]} was told" if len(producers) == 1 else "producers were told"
        )
        d.text(
            "told/name",
            columns.left - 8,
            y + 15,
            who,
            anchor="end",
            room=columns.left - 8,
        )
        latest = {told[0]: told[1] for told in space["told"] if not told[6]}
        for offset, epoch, told, name, producer, number, lost in space["told"]:
            if offset < columns.first or (not lost and latest[offset] != epoch):
                continue
            key, x, w = f"told/{offset}/{epoch}", columns(offset), columns.pitch - 5
            sign = {"acknowledged": "✓", "failed": "✗", "": "…"}[told]
            tip = (
                f"{producer or 'the producer'}: offset {offset}, {name}:"
                f" {told or 'not answered yet'}"
            )
            look: dict[str, Any] = {
                "fill": "good" if told == "acknowledged" else "paper",
                "line": "rule",
            }
            look |= (
                {"line": "trouble", "ink": "trouble", "width": 2}
                if lost or told == "failed"
                else {}
            )
            look |= {"dash": "3 3"} if not told else {}
            words = (
                fitting([f"{sign} lost", "lost"], w, 13.5, bold=True) if lost else sign
            )
            d.cell(
                key,
                x,
                y - (TOLD if lost else 0),
                w,
                TOLD - 3,
                words or "!",
                of=number,
                tip=tip,
                same=f"{offset}/{epoch}",
                **look,
            )

    def _copy(
        self,
        row: Row,
        copy: dict[str, Any],
        space: dict[str, Any],
        columns: Columns,
        leader: Row | None,
        now: int,
    ) -> None:
        d, leads = row.d, copy["leads"]
        words = f"leads in epoch {copy['epoch']}" if leads else "follows nobody"
        if leads and copy["epoch"] < space["epoch"]:
            words = f"thinks it leads, epoch {copy['epoch']}"
        elif not leads and copy["follows"] >= 0:
            words = f"follows broker {copy['follows']}"
        inside, wanted = (
            copy["broker"] in space["isr"],
            copy["broker"] in space["asked"],
        )
        chip = ("ISR", "good", "ink") if inside else ("not in ISR", "chip", "trouble")
        if space["asked"] and inside != wanted:
            chip = ("ISR?", "said", "ink")
        row.card(copy["life"], words, chip if space["isr"] else ("", "", ""), leads)
        from_y = leader.cells_y if leader is not None and not leads else None
        draw_log(row, columns, copy, self.cast["leaders"], now=now, from_y=from_y)
        ends = d.width, row.cells_y + 10
        d.number(row.key + "/end", *ends, f"end {copy['end']}", "ink")
        words = "watermark" if d.narrow else "high watermark"
        d.number(
            row.key + "/counts",
            ends[0],
            ends[1] + 16,
            f"{words} {copy['high_watermark']}",
            bold=False,
        )
        if copy["says"]:
            d.note(
                row.key + "/says", ends[0], ends[1] + 32, copy["says"], "end", size=12
            )
        if leader is not None and not leads:
            row.link(leader, copy["apart"])
            if copy["asked_at"] == now:
                row.asks(leader, now, f"Fetch: {copy['says']}")

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        rows = [
            Lane(
                "told",
                "told",
                "quiet",
                f"{space['lost']} lost" if space["lost"] else "",
                space["lost"] > 0,
            )
        ]
        for copy in space["copies"]:
            name = f"broker {copy['broker']}"
            rows.append(
                Lane(
                    name, name, colour(copy["broker"]), copy["life"], bool(copy["life"])
                )
            )
        return [*rows, Lane("isr", "ISR", "ink", listed(space["isr"]))]
