"""Rows under the lanes, each for one length or one kind of mark, on the same axis: how
long a newcomer waits, a member's signs of life and its silence, what was written
outside Kafka.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from minikafka.theatre.drawing import Box, Look, fitting, has_room, widest
from minikafka.theatre.pictures.rebalance.cast import Actor
from minikafka.theatre.pictures.rebalance.effect_events import Effect
from minikafka.theatre.pictures.rebalance.lanes import FOOT, Band, Group
from minikafka.theatre.pictures.rebalance.lengths import Silence, Wait, in_tenths
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

END = 3  # of a bracket, above and below its line
THIN, THICK = 1.25, 3  # a bracket
AFTER = 7  # from a mark or a bracket to its words
TOO_LONG = 1.5  # times the longest time between two signs of life


class Rows:
    """The rows of one group, up to the cursor."""

    def __init__(self, band: Band, group: Group, space: Space) -> None:
        self.d = band.d
        self.band = band
        self.axis = band.axis
        self.space = space
        self.height = group.height
        self.table = group.cast["table"]
        self.actors = group.actors

    # -- what rows are made of

    def _name(self, key: str, y: float, words: str, letter: str = "") -> None:
        """letter: whose row it is, at its beginning; words: what it is, at its end."""
        foot = y + self.height - FOOT
        if letter:
            self.d.number(f"{key}/name", self.axis.left - 8, foot, letter, "ink")
        right, room = self.band.unread_x, self.band.room
        said = fitting([words, words.split()[0]], room, 12.5)
        self.d.note(f"{key}/what", right, foot, said, "end")

    def _bracket(
        self,
        key: str,
        y: float,
        since_ms: int,
        until_ms: int | None,
        line: str,
        width: float = 2,
    ) -> Box:
        """Draw a bracket from one moment to another; None: it still goes on."""
        left, right = self.axis.x(since_ms), self.axis.x(until_ms)
        middle = y + self.height / 2
        look: Look = {"line": line, "width": width}
        self.d.level(f"{key}/line", left=left, right=right, y=middle, **look)
        top, bottom = middle - END, middle + END
        self.d.upright(f"{key}/begin", x=left, top=top, bottom=bottom, **look)
        self.d.upright(f"{key}/end", x=right, top=top, bottom=bottom, **look)
        return Box(left, y, right - left, self.height)

    def _inside(
        self, key: str, box: Box, ways: Sequence[str], ink: str, bold: bool = True
    ) -> bool:
        """In the middle of a bracket, whose line ends there, the first that fits."""
        said = fitting(ways, box.w - 24, bold=bold)
        if said:
            middle, wide = box.x + box.w / 2, widest(said, 12, bold=bold) + 8
            left, foot = middle - wide / 2, box.bottom - FOOT
            self.d.rect(f"{key}/paper", left, box.y + 1, wide, box.h - 2, "paper")
            look: Look = {"size": 12, "bold": bold, "anchor": "middle"}
            self.d.text(f"{key}/words", middle, foot, said, ink, **look)
        return bool(said)

    def _behind(self, key: str, box: Box, ways: Sequence[str], ink: str) -> None:
        """Draw words behind a bracket, if there is room before the axis ends."""
        left = box.right + AFTER
        said = fitting(ways, self.axis.right - left, bold=True)
        if said:
            foot = box.bottom - FOOT
            self.d.text(f"{key}/words", left, foot, said, ink, size=12, bold=True)

    def _tick(self, key: str, y: float, at_ms: int, actor: Actor) -> None:
        x, top, bottom = self.axis.x(at_ms), y + 3, y + self.height - 3
        look: Look = {"line": actor.colour, "width": 2.5}
        self.d.upright(key, x=x, top=top, bottom=bottom, **look)

    # -- a newcomer

    def wait(self, key: str, y: float) -> None:
        """From its JoinGroup to its first partition."""
        wait = Wait(**self.space["wait"])
        actor = self.actors[wait.who]
        self._name(key, y, f"until {actor.letter} reads", actor.letter)
        if wait.since_ms is None:
            return
        box = self._bracket(key, y, wait.since_ms, wait.until_ms, actor.colour)
        lasted = in_tenths(wait.lasts_ms(self.axis.now_ms))
        ways = [f"{actor.letter} waits {lasted}", lasted]
        if not self._inside(key, box, ways, "ink"):
            self._behind(key, box, ways, "ink")

    # -- a member that is silent

    def silence(self, key: str, y: float) -> None:
        """Draw a member's signs of life, how long it is silent, and when another member
        learns that it is out.
        """
        silence = Silence(**self.space["silence"])
        actor = self.actors[silence.who]
        first_ms = self.axis.time.first_ms
        signs = [at for at in silence.signs if at >= first_ms]
        self._name(key, y, f"heard from {actor.letter}", actor.letter)
        for number, at in enumerate(signs):
            self._tick(f"{key}/sign/{number}", y, at, actor)
        out_ms = silence.out_ms
        if not signs or (out_ms is None and not self._is_long(signs)):
            return
        end_ms = self.axis.now_ms if out_ms is None else out_ms
        box = self._bracket(f"{key}/out", y, signs[-1], out_ms, "trouble", THIN)
        lasted = in_tenths(end_ms - signs[-1])
        ways = [f"{lasted} without a sign of life", f"{lasted} silent", lasted]
        has_said = self._inside(f"{key}/out", box, ways, "trouble", bold=False)
        if out_ms is not None:
            self._heard(f"{key}/heard", y, out_ms, silence)
        elif not has_said:
            self._behind(f"{key}/out", box, ways, "trouble")

    def killed(self, key: str, y: float) -> None:
        """Draw how long after a member's end the coordinator evicts it."""
        silence = Silence(**self.space["silence"])
        since_ms, out_ms = silence.crashed_ms, silence.out_ms
        if since_ms is None or self.axis.now_ms == since_ms:
            return
        box = self._bracket(key, y, since_ms, out_ms, "ink", THICK)
        lasted = in_tenths((out_ms or self.axis.now_ms) - since_ms)
        lasted = lasted.replace(".0 s", " s")
        ways = [f"{lasted} after the kill", lasted]
        if not self._inside(key, box, ways, "ink"):
            self._behind(key, box, ways, "ink")

    def _is_long(self, signs: Sequence[int]) -> bool:
        """Whether the last one is longer ago than usual."""
        usual_ms = max((after - at for at, after in pairwise(signs)), default=0)
        return self.axis.now_ms - signs[-1] > usual_ms * TOO_LONG

    def _heard(self, key: str, y: float, out_ms: int, silence: Silence) -> None:
        until_ms = silence.heard_ms
        box = self._bracket(key, y, out_ms, until_ms, "ink", THIN)
        if until_ms is None:
            return
        lasted = in_tenths(until_ms - out_ms)
        by = f"{silence.by}'s"
        ways = [f"{lasted} to {by} next heartbeat", f"{lasted}: {by} heartbeat", lasted]
        self._behind(key, box, ways, "ink")

    # -- what was written outside Kafka

    def effects(self, key: str, y: float) -> None:
        """Draw a tick for each effect; one that is there twice has its key and
        a letter.
        """
        told = [Effect(*each) for each in self.space["effects"]]
        rows = counted(len(told), "row")
        ways = [f"{self.table}: {rows}", f"{self.table}: {len(told)}", rows]
        what = fitting(ways, self.band.room, 12.5)
        self._name(key, y, what)
        times = Counter(each.key for each in told)
        twice = [number for number, each in enumerate(told) if times[each.key] > 1]
        for number, each in enumerate(told):
            if number not in twice:
                self._tick(f"{key}/{number}", y, each.at_ms, self.actors[each.who])
        if not twice:
            return
        # words go on behind the axis
        right = self.band.unread_x - widest(what, 12.5)
        ends = [self.axis.x(told[number].at_ms) for number in twice]
        befores, afters = [self.axis.left, *ends], [*ends[1:], right]
        for number, before, after in zip(twice, befores, afters, strict=False):
            self._marked(f"{key}/{number}", y, told[number], before, after)
        look: Look = {"line": "trouble", "width": 2}
        foot = y + self.height
        self.d.level(f"{key}/twice", left=ends[0], right=ends[-1], y=foot, **look)

    def _marked(
        self, key: str, y: float, each: Effect, before: float, after: float
    ) -> None:
        """With words behind it, or before it: where there is room between the marks
        before and after.
        """
        x = self.axis.x(each.at_ms)
        self.d.rect(f"{key}/tick", x - 2.5, y, 5, self.height, "trouble", r=2)
        letter = self.actors[each.who].letter
        words = f"{each.key} {letter}"
        has_behind = has_room(words, after - x - 16, bold=True)
        has_before = has_room(words, x - before - 16, bold=True)
        if not has_behind and not has_before:
            words = letter
        left = x + AFTER
        if has_before and not has_behind:
            left = x - 10 - widest(words, 12, bold=True)
        look: Look = {"size": 12, "bold": True, "halo": "paper"}
        foot = y + self.height - FOOT
        self.d.text(f"{key}/words", left, foot, words, "trouble", **look)
