"""The picture at the top of lesson 15: ten jobs in one partition, three workers, and the
first job takes as long as twenty others.
"""

from typing import NamedTuple

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

JOBS = 10
SLOW, QUICK = "20 s", "1 s"
WORKERS = ("A", "B", "C")


class Place(NamedTuple):
    """left, top: where records begin, beside or below the name. pitch: from record to
    record. in_a_row: records. workers: where their row begins.
    """

    left: float
    top: float
    pitch: float
    in_a_row: int
    workers: float


BESIDE = Place(110, 0, pitch=78, in_a_row=JOBS, workers=120)
SMALL = Place(0, 24, pitch=72, in_a_row=JOBS // 2, workers=190)  # on a phone
_LOG_TOP, _ROW = 20, 70  # from one row of records to the next
_BETWEEN, _HEIGHT = 8, 40  # of records, and how high they are


def one_slow_job(width: int = WIDE) -> str:
    """SVG: jobs in their order, and who might do them. Who does is the lesson's to
    say.
    """
    body = Drawing(width)
    place = SMALL if body.phone else BESIDE
    _jobs(body.part("log", 0, _LOG_TOP), place)
    _workers(body.part("workers", 0, place.workers), place)
    said = "The first job takes 20 s, the others 1 s. Which of them must wait for it?"
    alt = (
        f"{said} One partition with ten jobs in their order, and the workers A, B and"
        " C."
    )
    return svg(
        body,
        title="ten jobs, one partition",
        scenario="three workers",
        sentence=said,
        corner="who does what?",
        time="the jobs have come",
        alt=alt,
    )


def _name(row: Drawing, words: str, place: Place) -> None:
    row.text("name", 0, 12 if place.top else 25, words, bold=True)


def _jobs(log: Drawing, place: Place) -> None:
    _name(log, "jobs", place)
    for offset in range(JOBS):
        is_slow = offset == 0
        row, column = divmod(offset, place.in_a_row)
        x = place.left + column * place.pitch
        y = place.top + row * _ROW
        key = f"job/{offset}"
        log.rect(key, x, y, place.pitch - _BETWEEN, _HEIGHT, "cell", "rule", r=4)
        ink = "trouble" if is_slow else "ink"
        takes = SLOW if is_slow else QUICK
        log.text(f"{key}/takes", x + 12, y + 25, takes, ink, mono=True, size=12)
        log.note(f"{key}/offset", x + 12, y + 58, str(offset), size=12)


def _workers(row: Drawing, place: Place) -> None:
    _name(row, "workers", place)
    for number, name in enumerate(WORKERS):
        worker = row.part(
            f"worker/{name}", place.left + number * place.pitch, place.top
        )
        width = place.pitch - _BETWEEN
        worker.rect("box", 0, 0, width, _HEIGHT, "paper", "rule", r=20)
        worker.text("name", width / 2 - 6, 25, name, bold=True)
