"""Where a learner drags an answer: a line along one of the picture's axes, and the truth
beside it.

What can be said on it stands on the page as words, one for each place that the line can
take, and which of them are near enough to be right. So the script (drag.js) knows no
units, and the same words say what it was.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.prediction import NEAR, Prediction, Stretch, size
from minikafka.theatre.axis import Time

MOST_PLACES = 200  # that a line can take
STEPS_MS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000)
LONG_MS = 600_000  # from here on minutes are told


class Ruler(NamedTuple):
    """An axis in its place in the drawing, along which is dragged. first, last: what
    stands at its left and right end; step: from one place to the next.

    edge, reach: where the line enters the drawing, behind the axis's own words, and how
    far it goes. It comes from a strip that tells what was said; above: whether that is
    over the drawing, and not under it. says: a value, or how long something is, in words.
    """

    left: float
    right: float
    first: float
    last: float
    step: float
    edge: float
    reach: float
    says: Callable[[float], str]
    above: bool = False

    @classmethod
    def of_time(
        cls, left: float, right: float, time: Time, *, edge: float, reach: float
    ) -> "Ruler":
        """A ruler for an axis of time, with steps that fit its length."""
        whole_ms = time.last_ms - time.first_ms
        fitting = [ms for ms in STEPS_MS if whole_ms / ms <= MOST_PLACES]
        step_ms = [*fitting, whole_ms / MOST_PLACES][0]
        says = _minutes if whole_ms > LONG_MS else _seconds
        first, last = time.first_ms, time.last_ms
        return cls(left, right, first, last, step_ms, edge, reach, says)

    def place(self) -> dict[str, Any]:
        """What the page needs to know for each layout."""
        told = self._asdict()
        del told["says"], told["step"]
        return told


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"


def _minutes(ms: float) -> str:
    return f"{ms / 60_000:.1f} min"


def draggable(asked: Prediction, ruler: Ruler) -> dict[str, Any]:
    """What the page needs to know of a prediction whose answer is dragged. A length
    begins where the true one does, so that the two can be compared.

    right: the first and the last place that are near enough.
    """
    truth = asked.truth
    was = size(truth)
    is_length = isinstance(truth, Stretch)
    begin = truth.begin if isinstance(truth, Stretch) else ruler.first
    count = int((ruler.last - begin) // ruler.step) + 1
    values = [number * ruler.step for number in range(count)]
    if not is_length:
        values = [begin + value for value in values]
    stretch, right = None, None
    if was is not None:
        stretch = truth if isinstance(truth, Stretch) else Stretch(was, was)
        off = max(NEAR * abs(was), ruler.step / 2)
        near = [n for n, value in enumerate(values) if abs(value - was) <= off]
        right = near[:1] + near[-1:]
    return {
        "begin": begin,
        "step": ruler.step,
        "length": is_length,
        "words": list(map(ruler.says, values)),
        "right": right,
        "truth": stretch,
        "was": "" if was is None else ruler.says(was),
        "because": asked.why,
    }
