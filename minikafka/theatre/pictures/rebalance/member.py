"""One member of the group as it is shown: what it reads as it believes, what the
coordinator wants of it, and what the two say to each other.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.theatre.pictures.rebalance.cast import Actor, Part
from minikafka.theatre.text import counted, lasting

LONG_WORK_MS = 3000  # a heartbeat's interval: from here on others notice
HEARS_NOTHING = ("frozen", "cut off")  # in no position to know that it is out


class Work(NamedTuple):
    """So many records in hand, from when to when."""

    records: int
    since_ms: int
    until_ms: int

    @property
    def lasts_ms(self) -> int:
        return self.until_ms - self.since_ms

    @property
    def words(self) -> str:
        return f"{counted(self.records, 'record')}, {lasting(self.lasts_ms)}"


class Answer(NamedTuple):
    """An answer of the coordinator. step: at which it was told."""

    words: str
    trouble: bool
    step: int


@dataclass
class Member:
    """id: the member id. inside: a member, as the coordinator sees it. life: "" while it
    runs, else why it doesn't: "frozen", "cut off", "crashed", "closed", "left". cut:
    nothing passes between it and the coordinator.

    owns: what it reads as it believes; gives: of these, what it must give up; waits:
    what it was given and may not read yet; given: by the coordinator's last word;
    revoked: given up just now, its listener still runs; gave: given up as others are to
    have it, so that it joins again. reconciled: nothing to give up,
    nothing to wait for, as the coordinator sees it.

    busy: with what it has in hand. asked: the request it waits for; answered: the
    answer that came last. overdue: it hasn't polled in time. told: of the rebalance, and has not joined again yet. why:
    it is in its state, in its own words.
    """

    actor: Actor
    id: str = ""
    inside: bool = False
    life: str = ""
    cut: bool = False
    owns: list[Part] = field(default_factory=list)
    gives: list[Part] = field(default_factory=list)
    waits: list[Part] = field(default_factory=list)
    given: list[Part] = field(default_factory=list)
    revoked: list[Part] = field(default_factory=list)
    gave: list[Part] = field(default_factory=list)
    epoch: int = -1
    reconciled: bool = True
    asked: str = ""
    asked_at: int = -1
    answered: Answer | None = None
    processing_ms: int = 0
    busy: Work | None = None
    overdue: bool = False
    told: bool = False
    why: str = ""

    # -- what holds

    @property
    def joining(self) -> bool:
        """Its JoinGroup of this rebalance is in."""
        return self.inside and self.asked == "JoinGroup"

    @property
    def must_give(self) -> list[Part]:
        return [part for part in self.gives if part in self.owns]

    @property
    def still_waits(self) -> list[Part]:
        return [part for part in self.waits if part not in self.owns]

    @property
    def reads(self) -> bool:
        return self.inside and not self.life

    @property
    def is_blind(self) -> bool:
        """Removed, and doesn't know it."""
        knows_nothing = self.life in ("", *HEARS_NOTHING)
        return not self.inside and bool(self.owns) and knows_nothing

    @property
    def holds(self) -> bool:
        """Whether it owns its partitions: by the coordinator's word, or because it is
        working and believes so.
        """
        return self.inside or not self.life

    def work(self, at: int) -> Work | None:
        """The work that keeps it from polling for long."""
        busy = self.busy
        is_long = busy is not None and busy.lasts_ms >= LONG_WORK_MS
        return busy if busy and is_long and at < busy.until_ms else None

    # -- what happens to it

    def takes(self, count: int, at: int) -> None:
        """So many records, one after the other, behind what it has in hand."""
        so_far = self.busy
        if so_far is None or at >= so_far.until_ms:
            so_far = Work(0, at, at)
        until_ms = so_far.until_ms + count * self.processing_ms
        self.busy = Work(so_far.records + count, so_far.since_ms, until_ms)

    def ask(self, api: str, step: int) -> None:
        self.asked = api
        self.asked_at = step

    def answer(self, words: str, step: int, *, trouble: bool = False) -> None:
        self.answered = Answer(words, trouble, step)

    def enter(self, member_id: str) -> None:
        """The coordinator takes it for a member."""
        self.id = member_id
        self.inside = True
        self.life = ""
        self.overdue = False

    def leave(self) -> None:
        """It isn't a member any more; it still believes that it owns its partitions."""
        self.inside = False
        self.asked = ""
        self.told = False
        self.gives = []
        self.waits = []
        self.given = []
        self.revoked = []
        self.gave = []
        if self.life == "crashed":
            self.owns = []

    def now_owns(self, parts: list[Part]) -> None:
        self.owns = parts
        self.waits = [part for part in self.waits if part not in parts]
        self.revoked = []

    def now_owns_only(self, parts: list[Part], revoked: list[Part]) -> None:
        self.owns = parts
        self.gives = [part for part in self.gives if part in parts]
        self.revoked = revoked

    def assigned(self, parts: list[Part]) -> None:
        """It is told what it may add, and what it must give up."""
        self.given = parts
        self.waits = [part for part in parts if part not in self.owns]
        self.gives = [part for part in self.owns if part not in parts]

    def lives(self, life: str) -> None:
        """Its process has crashed, closed, frozen, or goes on."""
        cut_off = "cut off" if self.cut else ""
        self.life = life or cut_off
        if life in ("crashed", "closed"):
            self.asked = ""
            self.waits = []
            self.revoked = []
        if life == "closed" or (life == "crashed" and not self.inside):
            self.owns = []

    def link(self, *, cut: bool) -> None:
        self.cut = cut
        if self.life in ("", "cut off"):
            self.life = "cut off" if cut else ""
