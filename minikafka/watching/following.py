"""The file that `minikafka serve --trace FILE` writes, as it grows: its events become
what is seen of the cluster, and sentences.
"""

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.testing.telling import Weight, is_interesting, sentence, weight
from minikafka.trace import SENTENCES, Event, moment, printable
from minikafka.watching.seen import (
    INTERNAL,
    UNKNOWN,
    Group,
    Member,
    Part,
    Place,
    Seen,
)

MOST_BYTES = 4 << 20  # that are read at once, so that a page never waits long
MOST_TOLD = 100
# told, though they are routine; records come and go too often for that
OF_TOPICS = {"TopicCreated", "TopicDeleted"}
MOST_PARTS, MOST_GROUPS = 2000, 200


class Told:
    """An event in words. number: later ones have greater ones."""

    def __init__(self, number: int, event: Event) -> None:
        self.number = number
        self.at = moment(event.at)
        self.node = printable(event.node)
        self.words = sentence(event)
        self.is_trouble = weight(event) is Weight.TROUBLE


class Following:
    """A trace file. With --processes there is one for each broker, FILE.1 and so on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: deque[Told] = deque(maxlen=MOST_TOLD)
        self._files: dict[Path, Tail] = {}
        self._began_again()

    def _began_again(self) -> None:
        self._number = 0
        self._state = State()
        self.told.clear()

    def read_on(self) -> bool:
        """Take what has been written since. Returns whether more is there already.
        Errors: OSError.
        """
        paths = [self.path]
        if not self.path.exists():
            paths = sorted(self.path.parent.glob(f"{self.path.name}.[0-9]*"))
            if not paths:
                raise FileNotFoundError(f"there is no file {self.path} yet")
        events: list[Event] = []
        for path in paths:
            tail = self._files.setdefault(path, Tail(path))
            if tail.is_new:
                self._began_again()
            events += tail.read_on()
        events.sort(key=lambda event: event.at)
        for event in events:
            self._happened(event)
        return any(tail.has_more for tail in self._files.values())

    def _happened(self, event: Event) -> None:
        self._state.see(event)
        is_news = weight(event) is not Weight.ROUTINE or event.kind in OF_TOPICS
        if is_news and is_interesting(event):
            self._number += 1
            self.told.append(Told(self._number, event))

    def seen(self, at_s: float) -> Seen:
        return self._state.seen(at_s)


class Tail:
    """One file that grows. is_new: another program began to write it, or will."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""  # of a line that isn't whole yet
        self.has_more = False

    @property
    def is_new(self) -> bool:
        """Whether its beginning is to be read, since a server writes it anew."""
        if self._path.stat().st_size >= self._at:
            return False
        self._at, self._rest = 0, b""
        return True

    def read_on(self) -> list[Event]:
        """Errors: OSError."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            new = file.read(MOST_BYTES)
        self._at += len(new)
        self.has_more = len(new) == MOST_BYTES
        *lines, self._rest = (self._rest + new).split(b"\n")
        self._rest = self._rest[-MOST_BYTES:]
        return [event for event in map(event_of, lines) if event is not None]


def event_of(line: bytes) -> Event | None:
    """None: no node has written it."""
    try:
        event = Event.from_json(json.loads(line))
        str(event)  # which reads the details that its sentence needs
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return event if event.kind in SENTENCES else None


def limited(known: dict[Any, Any], most: int) -> None:
    """Forget the oldest."""
    while len(known) > most:
        del known[next(iter(known))]


class State:
    """What the events have led to."""

    def __init__(self) -> None:
        self._brokers: dict[int, str] = {}
        self._parts: dict[Place, Part] = {}
        self._groups: dict[str, Group] = {}
        self._controller = UNKNOWN
        self._by_kind: dict[str, Callable[[Event, dict[str, Any]], None]] = {
            name.removeprefix("_see_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_see_")
        }

    def see(self, event: Event) -> None:
        broker = broker_of(event.node)
        if broker:
            self._brokers[broker] = ""  # a trace names no address
        handler = self._by_kind.get(event.kind)
        topic = event.detail.get("topic", "")
        if handler is None or str(topic).startswith(INTERNAL):
            return
        try:
            handler(event, event.detail)
        except (LookupError, TypeError, ValueError, AttributeError):
            return  # details that no node has written
        limited(self._parts, MOST_PARTS)
        limited(self._groups, MOST_GROUPS)

    def seen(self, at_s: float) -> Seen:
        return Seen(
            at_s=at_s,
            brokers=dict(self._brokers),
            controller=self._controller,
            parts=dict(self._parts),
            groups=dict(self._groups),
        )

    # -- nodes

    def _see_NodeStopped(self, event: Event, d: dict[str, Any]) -> None:
        self._brokers.pop(broker_of(event.node), None)

    def _see_ControllerElected(self, event: Event, d: dict[str, Any]) -> None:
        self._controller = broker_of(event.node)

    def _see_BrokerFenced(self, event: Event, d: dict[str, Any]) -> None:
        self._brokers.pop(d["broker"], None)

    # -- topics

    def _see_TopicCreated(self, event: Event, d: dict[str, Any]) -> None:
        self._grow(d["topic"], d["partitions"])

    _see_PartitionsCreated = _see_TopicCreated

    def _grow(self, topic: str, count: int) -> None:
        for number in range(min(count, MOST_PARTS)):
            self._parts.setdefault(
                Place(printable(topic), number), Part(UNKNOWN, end=0)
            )

    def _see_TopicDeleted(self, event: Event, d: dict[str, Any]) -> None:
        gone = [place for place in self._parts if place.topic == d["topic"]]
        for place in gone:
            del self._parts[place]

    def _change(self, d: dict[str, Any], **changes: Any) -> None:
        place = place_of(d)
        self._parts[place] = self._parts.get(place, Part(UNKNOWN))._replace(**changes)

    def _see_ReplicaOpened(self, event: Event, d: dict[str, Any]) -> None:
        self._change(
            d,
            leader=d["leader"],
            replicas=tuple(d["replicas"]),
            isr=tuple(d["isr"]),
        )

    def _see_LeaderElected(self, event: Event, d: dict[str, Any]) -> None:
        self._change(d, leader=broker_of(event.node), isr=tuple(d["isr"]))

    def _see_IsrShrunk(self, event: Event, d: dict[str, Any]) -> None:
        self._change(d, isr=tuple(d["isr"]))

    _see_IsrExpanded = _see_IsrShrunk

    def _see_RecordsAppended(self, event: Event, d: dict[str, Any]) -> None:
        self._change(d, leader=broker_of(event.node), end=d["last_offset"] + 1)

    # -- groups

    def _group(self, d: dict[str, Any]) -> Group:
        name = printable(d["group"])
        return self._groups.get(name, Group(name, "", "Empty"))

    def _becomes(self, group: Group) -> None:
        self._groups[group.name] = group

    def _see_GroupStateChanged(self, event: Event, d: dict[str, Any]) -> None:
        self._becomes(self._group(d)._replace(state=printable(d["state"])))

    def _see_MemberJoined(self, event: Event, d: dict[str, Any]) -> None:
        group = self._group(d)
        new = Member(printable(d["member"]), printable(d["client"]))
        self._becomes(group._replace(members=(*others(group, new.member_id), new)))

    def _see_MemberLeft(self, event: Event, d: dict[str, Any]) -> None:
        group = self._group(d)
        left = others(group, printable(d["member"]))
        self._becomes(group._replace(members=left))

    def _see_AssignmentMade(self, event: Event, d: dict[str, Any]) -> None:
        group = self._group(d)
        shares = {printable(each): share for each, share in d["assignment"].items()}
        members = [
            member._replace(parts=places(shares.get(member.member_id, ())))
            for member in group.members
        ]
        kind = "consumer" if d["by"] == "coordinator" else "classic"
        self._becomes(group._replace(kind=kind, members=tuple(members)))

    def _see_MemberReconciled(self, event: Event, d: dict[str, Any]) -> None:
        group = self._group(d)
        named = printable(d["member"])
        members = [
            each._replace(parts=places(d["owned"])) if each.member_id == named else each
            for each in group.members
        ]
        self._becomes(group._replace(members=tuple(members)))

    def _see_OffsetCommitted(self, event: Event, d: dict[str, Any]) -> None:
        group = self._group(d)
        committed = {**group.committed, place_of(d): d["offset"]}
        self._becomes(group._replace(committed=committed))

    _see_PendingOffsetCommitted = _see_OffsetCommitted

    def _see_GroupDeleted(self, event: Event, d: dict[str, Any]) -> None:
        self._groups.pop(printable(d["group"]), None)


def broker_of(node: str) -> int:
    """3 for "broker 3"; 0 if it is none."""
    number = node.removeprefix("broker ")
    return int(number) if number.isdecimal() else 0


def place_of(d: dict[str, Any]) -> Place:
    return Place(printable(d["topic"]), d["partition"])


def places(told: Any) -> tuple[Place, ...]:
    return tuple(sorted(Place(printable(topic), number) for topic, number in told))


def others(group: Group, member: str) -> tuple[Member, ...]:
    return tuple(each for each in group.members if each.member_id != member)
