"""Rows under the lanes, each for one length or one kind of mark, on the same axis: how
long a newcomer waits, a member's signs of life and its silence, what was written
outside Kafka.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from minikafka.theatre.axis import Axis
from minikafka.theatre.drawing import Box, Look, fitting, has_room, widest
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of
from minikafka.theatre.pictures.rebalance.draw_lanes import FOOT, Band, paper_width
from minikafka.theatre.pictures.rebalance.effect_events import Effect
from minikafka.theatre.pictures.rebalance.lengths import Silence, Wait, in_tenths
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

END = 3  # of a bracket, above and below its line
AFTER = 7  # from a mark or a bracket to its words
TOO_LONG = 1.5  # times the longest time between two signs of life


class Rows:
    """The rows of one group, up to the cursor."""

    def __init__(self, band: Band, cast: Cast, space: Space, height: int) -> None:
        self.d = band.d
        self.band = band
        self.axis: Axis = band.axis
        self.space = space
        self.height = height
        self.table = cast["table"]
        self.actors = actors_of(cast)

    # -- what rows are made of

    def _name(self, key: str, y: float, words: str, letter: str = "") -> None:
        """letter: whose row it is, at its beginning; words: what it is, at its end."""
        foot = y + self.height - FOOT
        if letter:
            d = self.d
            d.number(
                f"{key}/name",
                self.axis.left - 8,
                foot,
                letter,
                ink="ink",
            )
        right = self.band.unread_x
        self.d.note(
            f"{key}/what",
            right,
            foot,
            words,
            anchor="end",
            room=168,
        )

    def _bracket(
        self, key: str, y: float, since_ms: int, until_ms: int | None, line: str
    ) -> Box:
        """Draw a bracket from one moment to another; None: it still goes on."""
        left = self.axis.x(since_ms)
        right = self.axis.x(until_ms)
        middle = y + self.height / 2
        look: Look = {"line": line, "width": 2}
        self.d.level(
            f"{key}/line",
            left=left,
            right=right,
            y=middle,
            **look,
        )
        for end, x in (("begin", left), ("end", right)):
            top = middle - END
            self.d.upright(
                f"{key}/{end}",
                x=x,
                top=top,
                bottom=middle + END,
                **look,
            )
        return Box(x=left, y=y, w=right - left, h=self.height)

    def _inside(self, key: str, box: Box, texts: Sequence[str], ink: str) -> bool:
        """In the middle of a bracket, the first that has room."""
        said = fitting(texts, box.w - 24, bold=True)
        if not said:
            return False
        wide = paper_width(self.d, said) + 10
        middle = box.x + box.w / 2
        paper = Box(x=middle - wide / 2, y=box.y + 1, w=wide, h=self.height - 2)
        self.d.rect(
            f"{key}/paper",
            *paper,
            fill="paper",
        )
        look: Look = {"size": 12, "bold": True, "anchor": "middle"}
        self.d.text(
            f"{key}/words",
            middle,
            box.bottom - FOOT,
            said,
            ink,
            **look,
        )
        return True

    def _behind(self, key: str, box: Box, texts: Sequence[str], ink: str) -> None:
        """Draw words behind a bracket, if there is room before the axis ends."""
        left = box.right + AFTER
        said = fitting(texts, self.axis.right - left, bold=True)
        if said:
            look: Look = {"size": 12, "bold": True}
            self.d.text(
                f"{key}/words",
                left,
                box.bottom - FOOT,
                said,
                ink,
                **look,
            )

    # -- a newcomer

    def wait(self, key: str, y: float) -> None:
        """From its JoinGroup to its first partition."""
        wait = Wait(**self.space["wait"])
        actor = self.actors[wait.who]
        self._name(key, y, f"until {actor.letter} reads", actor.letter)
        if wait.since_ms is None:
            return
        box = self._bracket(
            key,
            y,
            since_ms=wait.since_ms,
            until_ms=wait.until_ms,
            line=actor.colour,
        )
        lasted = in_tenths(wait.lasts_ms(self.axis.now_ms))
        texts = [f"{actor.letter} waits {lasted}", lasted]
        if not self._inside(key, box, texts, "ink"):
            self._behind(key, box, texts, "ink")

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
        if not signs:
            return
        last_ms = signs[-1]
        if silence.out_ms is None and not self._is_long(signs):
            return
        until_ms = silence.out_ms
        end_ms = self.axis.now_ms if until_ms is None else until_ms
        box = self._bracket(
            f"{key}/out", y, since_ms=last_ms, until_ms=until_ms, line="trouble"
        )
        lasted = in_tenths(end_ms - last_ms)
        texts = [f"{lasted} without a sign of life", f"{lasted} silent", lasted]
        has_said = self._inside(f"{key}/out", box, texts, "trouble")
        if until_ms is not None:
            self._heard(f"{key}/heard", y, until_ms, silence)
        elif not has_said:
            self._behind(f"{key}/out", box, texts, "trouble")

    def _is_long(self, signs: Sequence[int]) -> bool:
        """Whether the last one is longer ago than usual."""
        apart = [after - at for at, after in pairwise(signs)]
        usual_ms = max(apart, default=0)
        return self.axis.now_ms - signs[-1] > usual_ms * TOO_LONG

    def _tick(self, key: str, y: float, at: int, actor: Actor) -> None:
        x = self.axis.x(at)
        look: Look = {"line": actor.colour, "width": 2.5}
        self.d.upright(
            key,
            x=x,
            top=y + 3,
            bottom=y + self.height - 3,
            **look,
        )

    def _heard(self, key: str, y: float, out_ms: int, silence: Silence) -> None:
        until_ms = silence.heard_ms
        box = self._bracket(key, y, since_ms=out_ms, until_ms=until_ms, line="ink")
        if until_ms is None:
            return
        lasted = in_tenths(until_ms - out_ms)
        texts = [
            f"{lasted} to {silence.by}'s next heartbeat",
            f"{lasted}: {silence.by}'s heartbeat",
            lasted,
        ]
        self._behind(key, box, texts, "ink")

    # -- what was written outside Kafka

    def effects(self, key: str, y: float) -> None:
        """Draw a tick for each effect; one that is there twice has its key and
        a letter.
        """
        d = self.d
        told = [Effect(*each) for each in self.space["effects"]]
        count = str(len(told)) if d.phone else counted(len(told), "row")
        what = f"{self.table}: {count}"
        self._name(key, y, what)
        right = self.axis.right
        if d.phone:  # words go on behind the axis
            right = self.band.unread_x - widest(what, 12.5)
        times = Counter(each.key for each in told)
        twice = [number for number, each in enumerate(told) if times[each.key] > 1]
        for number, each in enumerate(told):
            if number not in twice:
                self._tick(f"{key}/{number}", y, each.at_ms, self.actors[each.who])
        ends = [self.axis.x(told[number].at_ms) for number in twice]
        taken = self.axis.left
        for place, number in enumerate(twice):
            until = [*ends[place + 1 :], right][0]
            self._marked(f"{key}/{number}", y, told[number], taken, until)
            taken = ends[place]
        if twice:
            foot = y + self.height
            look: Look = {"line": "trouble", "width": 2}
            d.level(
                f"{key}/twice",
                left=ends[0],
                right=ends[-1],
                y=foot,
                **look,
            )

    def _marked(
        self, key: str, y: float, each: Effect, taken: float, until: float
    ) -> None:
        """With words behind it, or before it: where there is room between taken and
        until.
        """
        d = self.d
        actor = self.actors[each.who]
        x = self.axis.x(each.at_ms)
        mark = Box(x=x - 2.5, y=y, w=5, h=self.height)
        d.rect(
            f"{key}/tick",
            *mark,
            fill="trouble",
            r=2,
        )
        words = f"{each.key} {actor.letter}"
        has_behind = has_room(words, until - x - 16, 12, bold=True)
        has_before = has_room(words, x - taken - 16, 12, bold=True)
        if not has_behind and not has_before:
            words = actor.letter
        wide = paper_width(d, words) + 6
        left = x + 4
        if has_before and not has_behind:
            left = x - 4 - wide
        paper = Box(x=left, y=y + 1, w=wide, h=self.height - 2)
        d.rect(
            f"{key}/paper",
            *paper,
            fill="paper",
            r=3,
        )
        look: Look = {"size": 12, "bold": True}
        foot = y + self.height - FOOT
        d.text(
            f"{key}/words",
            left + 3,
            foot,
            words,
            "trouble",
            **look,
        )
