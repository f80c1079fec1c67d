"""The producer's pipeline: records wait in batches, batches travel in requests, the log
grows, answers come back.

Four lamps compare what the program sent with what the log holds and with what the
program is told, each beside what it is about. Options: topic, producer (its name).
Without them: the topic and the producer that sent most.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Stage, column, row
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Lane
from minikafka.theatre.pictures.pipeline.logs import Records, lamps_of
from minikafka.theatre.pictures.pipeline.rows import buffer_box, flight_box, rows_of
from minikafka.theatre.pictures.pipeline.says import ANSWERS, LOG, REQUESTS, SEND
from minikafka.theatre.pictures.pipeline.story import PipelineStory
from minikafka.theatre.pictures.pipeline.wire import wire_box
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

# what is under the title, unless it is this
SETTINGS = {"acks": None, "linger_ms": None, "batch_size": 16384}


class PipelinePlay(Play):
    story = PipelineStory
    rule = (
        "A producer that hears nothing can't tell a lost request from a lost answer. "
        "Sequence numbers let the broker recognise what it has."
    )

    def scenario(self, scene: Scene) -> str:
        """The settings that decide on the fate of records, and who is away."""
        config = scene["space"]["config"]
        said = [
            f"{name} {config[name]}"
            for name, plain in SETTINGS.items()
            if config.get(name, plain) != plain
        ]
        if "enable_idempotence" in config:
            said.append(
                "idempotent" if config["enable_idempotence"] else "not idempotent"
            )
        for node, state in scene["space"]["down"].items():
            said.append(f"{node} {state}")
        return dotted(*said, self.cast["legend"])

    def summary(self, space: Space) -> str:
        """The logs' records, the requests' results, and the lamps' words."""
        logs = "; ".join(map(_held, space["logs"])) or "nothing yet"
        requests = counted(space["requests"], "request")
        counts = [f"{space['sent']} sent in {requests}"]
        counts.append(f"{space['acknowledged']} done")
        if space["failed"]:
            counts.append(f"{space['failed']} failed")
        lamps = [lamp.words for lamp in lamps_of(space)]
        if space["untrue"]:
            lamps.append(f"{space['untrue']} told wrong")
        return f"{logs} ({', '.join(counts)}; {', '.join(lamps)})"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        rows = rows_of(spaces)
        travels = row(
            flight_box(self.cast, rows), wire_box(self.cast, rows), breaks=False
        )
        sends = row(buffer_box(self.cast, rows), travels, gap=8, breaks=False)
        arrives = Records(self.cast, spaces).item()
        lanes = self.lanes.box(spaces, self._lanes, "buffer")
        whole = row(sends, arrives, gap=12, line_gap=8, lower=0)
        self.boxes = Stage(column(whole, lanes, gap=4))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _lanes(self, space: Space) -> list[Lane]:
        """Those in which anything happens."""
        written = sum(log["end"] for log in space["logs"])
        failed = space["failed"]
        answers = f"{failed} failed" if failed else f"{space['acknowledged']} done"
        lanes = [
            Lane(SEND, "send()", "quiet", f"{space['sent']} sent"),
            Lane(REQUESTS, "requests", "actor1", f"{space['requests']} sent"),
            Lane(LOG, "log", "ink", f"{written} written"),
            Lane(ANSWERS, "answers", "actor1", answers, trouble=bool(failed)),
        ]
        return [lane for lane in lanes if lane.key in self.lanes.marks]


def _held(log: Mapping[str, Any]) -> str:
    """A partition's records in words, such as "partition 0: a b c"."""
    letters: Iterable[str] = (str(letter or "–") for _, _, letter, *_ in log["records"])
    return f"partition {log['partition']}: {' '.join(letters) or 'empty'}"
