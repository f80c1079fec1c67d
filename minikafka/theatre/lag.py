"""Lag over time: how far a group is behind in each partition, and who reads it.

The whole height of a step is the lag that tools show: log end offset less committed offset. Its dark foot is what the
reader has not been handed yet: log end offset less position. Hatched: nobody reads the partition. Options: topic,
group, partitions. Without them: the topic most commits are about, and up to six partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from minikafka.theatre.casting import busiest_group, busiest_partitions, busiest_topic, groups_of_members
from minikafka.theatre.drawing import Drawing, actor_colour, fit, text_width
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import QUIETLY, Cast, Detail, Play, Space, Story, Told
from minikafka.theatre.text import capital, counted
from minikafka.trace import Event, moment

MOST_PARTITIONS = 6
ROOM = 280  # height of all lanes together, before the axis
TALLEST = 110


@dataclass
class Followed:
    """One partition as the group sees it. position: of the member that reads it now, or None."""

    log_end_offset: int = 0
    log_start_offset: int = 0
    committed: int | None = None
    position: int | None = None
    owner: str = ""

    def lags(self) -> tuple[int, int]:
        """Behind the committed offset, behind the position; both count from the log's start where there is none."""
        committed = self.log_start_offset if self.committed is None else max(self.committed, self.log_start_offset)
        position = committed if self.position is None else self.position
        return max(self.log_end_offset - committed, 0), max(self.log_end_offset - position, 0)


class LagStory(Story):
    name = "lag"

    def __init__(self, trace: Sequence[Event], *, topic: str | None = None, group: str | None = None,
                 partitions: Sequence[int] | None = None, **options: Any) -> None:  # fmt: skip
        super().__init__(trace, **options)
        commits = [
            event for event in trace if event.kind == "OffsetCommitted" and group in (None, event.detail["group"])
        ]
        self.topic = topic or busiest_topic(commits) or busiest_topic(trace)
        mine = [event for event in trace if event.detail.get("topic") == self.topic]
        self.chosen = list(partitions) if partitions is not None else busiest_partitions(mine, MOST_PARTITIONS)
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        self.title = f"Lag of {self.group or 'the readers'} in {self.topic}" if self.topic else "Lag"
        self.followed = {partition: Followed() for partition in self.chosen}
        self.members: dict[str, str] = {}  # reader -> "", crashed, frozen, closed, slow

    def cast(self) -> Cast:
        return super().cast() | {"partitions": self.chosen, "members": list(self.members)}

    def is_mine(self, event: Event) -> bool:
        d = event.detail
        if d.get("topic", self.topic) != self.topic or d.get("group", self.group) != self.group:
            return False
        if self.groups.get(event.node, self.group) != self.group:
            return False
        return "partition" not in d or d["partition"] in self.followed

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = self.followed[d["partition"]]
        partition.log_end_offset = d["last_offset"] + 1
        count = d["last_offset"] - d["base_offset"] + 1
        many = "a record" if count == 1 else f"{count} records"
        waits = "" if partition.owner else " Nobody reads it." if self.members else ""
        return Told(f"{capital(many)} more in partition {d['partition']}: the log ends at "
                    f"{partition.log_end_offset}, the lag is {partition.lags()[0]}.{waits}")  # fmt: skip

    def _see_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> Told:
        self.followed[d["partition"]].log_start_offset = d["log_start_offset"]
        return QUIETLY

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        self.members.setdefault(event.node, "")
        partition.owner, partition.position = event.node, d["position"]
        count = d["position"] - d["records"][0][0]  # the event lists the first of them only
        return Told(f"{event.node} is handed {counted(count, 'record')} of partition {d['partition']}: "
                    f"{partition.lags()[1]} are left to hand over.")  # fmt: skip

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        self.members.setdefault(event.node, "")
        self.followed[d["partition"]].position = d["offset"]
        self.followed[d["partition"]].owner = event.node
        return QUIETLY

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told:
        partition = self.followed[d["partition"]]
        partition.committed = d["offset"]
        return Told(f"{self.group} has committed {d['offset']} in partition {d['partition']}: its lag is "
                    f"{partition.lags()[0]}.", self.once("first commit"))  # fmt: skip

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told | None:
        self.members.setdefault(event.node, "")
        mine = self._mine(d["partitions"])
        for partition in mine:
            self.followed[partition].owner = event.node
        if not mine:
            return None
        return Told(f"{event.node} is given {_partitions(mine)}, in generation {d['generation']}.",
                    self.once(f"generation {d['generation']}"))  # fmt: skip

    def _see_PartitionsRevoked(self, event: Event, d: Detail) -> Told | None:
        mine = self._mine(d["partitions"])
        for partition in mine:
            self._leave(partition, event.node)
        return Told(f"{event.node} gives up {_partitions(mine)}.") if mine else None

    _see_PartitionsLost = _see_PartitionsRevoked

    def _see_ProcessingSlowed(self, event: Event, d: Detail) -> Told:
        return Told(f"{event.node} needs {d['processing_ms']} ms for each record from now on.", f"{event.node} is slow",
                    True)  # fmt: skip

    def _see_NodeCrashed(self, event: Event, d: Detail) -> Told:
        return self._state(event, "crashed", f"{event.node} crashes.")

    def _see_NodeFrozen(self, event: Event, d: Detail) -> Told:
        return self._state(event, "frozen", f"{event.node} is frozen: it does nothing and hears nothing.")

    def _see_NodeRestarted(self, event: Event, d: Detail) -> Told:
        return self._state(event, "", f"{event.node} is back.")

    def _see_NodeThawed(self, event: Event, d: Detail) -> Told:
        return self._state(event, "", f"{event.node} goes on.")

    def _see_ClientClosed(self, event: Event, d: Detail) -> Told | None:
        return self._state(event, "closed", f"{event.node} closes.") if event.node in self.members else None

    def _state(self, event: Event, state: str, sentence: str) -> Told:
        left = [p for p, each in self.followed.items() if each.owner == event.node]
        if event.node in self.members:
            self.members[event.node] = state
            if state in ("crashed", "closed"):
                for partition in left:
                    self._leave(partition, event.node)
            if left and state:
                sentence += f" Nobody reads {_partitions(left)}."
        return Told(sentence, f"{event.node} {state or 'is back'}", state in ("crashed", "frozen"))

    def _leave(self, partition: int, node: str) -> None:
        if self.followed[partition].owner == node:
            self.followed[partition].owner, self.followed[partition].position = "", None

    def _mine(self, partitions: Sequence[Sequence[Any]]) -> list[int]:
        return [number for topic, number in partitions if topic == self.topic and number in self.followed]

    def space(self) -> Space:
        return {
            "partitions": [
                {
                    "partition": number,
                    "end": each.log_end_offset,
                    "committed": each.committed,
                    "position": each.position,
                    "owner": each.owner,
                    "unread": bool(self.members) and (not each.owner or self.members.get(each.owner) == "frozen"),
                    "lags": list(each.lags()),
                }
                for number, each in self.followed.items()
            ],
            "members": dict(self.members),
        }


class LagPlay(Play):
    story = LagStory
    foot = (
        "Lag counts offsets, not time: from the committed offset to the log end offset. Its dark foot was not handed "
        "over yet."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        count = len(space["partitions"])
        parts = [counted(count, "partition")]
        parts += [f"{name}{f' {state}' if state else ''}" for name, state in space["members"].items()]
        return " · ".join([*parts, f"lag of all {sum(each['lags'][0] for each in space['partitions'])}"])

    def summary(self, space: dict[str, Any]) -> str:
        said = [
            f"partition {each['partition']}: lag {each['lags'][0]}" + (", nobody reads it" if each["unread"] else "")
            for each in space["partitions"]
        ]
        return "; ".join(said) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.first: int = scenes[0]["at"] if scenes else 0
        self.last: int = max(scenes[-1]["at"] if scenes else 0, self.first + 1)
        lags = [each["lags"][0] for scene in scenes for each in scene["space"]["partitions"]]
        self.most = max([*lags, 1])

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, space = drawing, scenes[-1]["space"]
        left, right = (70, d.width - 118) if d.narrow else (84, d.width - 150)
        many = len(self.cast["partitions"])
        pitch = min(ROOM // max(many, 1), TALLEST + 8)
        d.text("head/lag", right + 10, 12, "lag", "quiet", size=12.5, bold=True)
        d.text("head/handed", d.width, 12, "to hand over", "quiet", size=12.5, anchor="end")
        for row, each in enumerate(space["partitions"]):
            self._partition(d, scenes, row, each, (left, right, 20 + row * pitch, pitch - 8))
        bottom = 20 + pitch * many
        x = self._x(scenes[-1]["at"], left, right)
        d.cursor(x, 12, bottom)
        self._axis(d, bottom + 12, left, right, scenes[-1]["at"])

    def _partition(self, d: Drawing, scenes: Sequence[Scene], row: int, now: dict[str, Any],
                   place: tuple[float, float, float, float]) -> None:  # fmt: skip
        left, right, y, height = place
        key = f"lag/{now['partition']}"
        d.rect(key + "/ground", left, y, right - left, height, "wash", r=3)
        d.text(key + "/name", 0, y + 13, f"P{now['partition']}", mono=True, bold=True)
        who = "nobody" if now["unread"] else fit(now["owner"], left + 4, 12)
        d.text(key + "/owner", 0, y + 29, who, "trouble" if now["unread"] else "quiet", size=12, bold=now["unread"])
        for number, (begin, end, each) in enumerate(self._steps(scenes, row)):
            x, x2 = self._x(begin, left, right), self._x(end, left, right)
            self._step(d, f"{key}/{number}", (x, max(x2 - x, 0.5), y + height), height, each)
        ink = "trouble" if now["unread"] and now["lags"][0] else "ink"
        d.text(key + "/lag", right + 10, y + 13, str(now["lags"][0]), ink, mono=True, bold=True, size=14)
        d.text(key + "/handed", d.width, y + 13, str(now["lags"][1]), "quiet", mono=True, size=12.5, anchor="end")

    def _steps(self, scenes: Sequence[Scene], row: int) -> list[tuple[int, int, dict[str, Any]]]:
        """(from, until, state) of one partition, a step as long as its lag and reader stay; up to the cursor."""
        found: list[tuple[int, int, dict[str, Any]]] = []
        for scene, after in pairwise([*scenes, scenes[-1]]):
            each, begin = scene["space"]["partitions"][row], scene["at"]
            if found and _looks(found[-1][2]) == _looks(each):
                begin = found.pop()[0]
            found.append((begin, after["at"], each))
        return [step for step in found[:-1] if step[0] < step[1]] + found[-1:]

    def _step(
        self, d: Drawing, key: str, place: tuple[float, float, float], height: float, each: dict[str, Any]
    ) -> None:
        x, w, foot = place
        lag, waiting = (value * height / self.most for value in each["lags"])
        if not lag:
            return
        tip = f"lag {each['lags'][0]} = end {each['end']} − committed {each['committed'] or 0}"
        if each["unread"]:
            d.rect(key, x, foot - lag, w, lag, "hatch", tip=tip + " · nobody reads")
            return
        colour = self._colour(each["owner"])
        d.rect(key, x, foot - lag, w, lag, colour, fade=0.35, tip=tip)
        if waiting:
            d.rect(key + "/wait", x, foot - waiting, w, waiting, colour, tip=tip)

    def _colour(self, name: str) -> str:
        members = self.cast["members"]
        return actor_colour(members.index(name)) if name in members else "gone"

    def _x(self, at: int, left: float, right: float) -> float:
        return left + (right - left) * (at - self.first) / (self.last - self.first)

    def _axis(self, d: Drawing, y: float, left: float, right: float, until: int) -> None:
        """Round times, as far as the cursor has come."""
        tick = next((ms for ms in TICKS_MS if (self.last - self.first) / ms <= (5 if d.narrow else 8)), TICKS_MS[-1])
        at = -(-self.first // tick) * tick
        after = -1000.0
        while at <= until:
            words = f"{at // 1000} s" if tick % 1000 == 0 and at < 3_600_000 else moment(at, thousandths=tick < 1000)
            x, half = self._x(at, left, right), text_width(words, 12, mono=True) / 2
            if x - half > after:
                d.text(f"time/axis/{at}", x, y + 4, words, "quiet", size=12, mono=True, anchor="middle")
                after = x + half + 8
            at += tick


TICKS_MS = [unit * times for unit in (100, 1000, 10_000, 100_000, 1_000_000) for times in (1, 2, 5)]
TICKS_MS += [days * 86_400_000 for days in (1, 10, 100)]


def _looks(each: dict[str, Any]) -> tuple[Any, ...]:
    return (*each["lags"], each["owner"], each["unread"])


def _partitions(numbers: Sequence[int]) -> str:
    """partition 2 · partitions 0 and 1"""
    words = ", ".join(map(str, numbers[:-1]))
    return f"partition {numbers[0]}" if len(numbers) == 1 else f"partitions {words} and {numbers[-1]}"
