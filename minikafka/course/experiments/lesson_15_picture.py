"""The picture at the top of lesson 15: ten jobs in one partition, three workers, and the
first job takes as long as twenty others.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

JOBS = 10
SLOW, QUICK = "20 s", "1 s"
WORKERS = ("A", "B", "C")

_LOG_TOP, _WORKERS_TOP = 20, 120
_LEFT, _PITCH = 110, 78  # where records begin; from record to record
_WIDTH, _HEIGHT = 70, 40  # of a record


def one_slow_job() -> str:
    """SVG: jobs in their order, and who might do them. Who does is the lesson's to
    say.
    """
    body = Drawing(WIDE)
    _jobs(body)
    _workers(body)
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


def _jobs(body: Drawing) -> None:
    log = body.part("log", 0, _LOG_TOP)
    log.text("name", 0, 25, "jobs", bold=True)
    for offset in range(JOBS):
        is_slow = offset == 0
        x = _LEFT + offset * _PITCH
        key = f"job/{offset}"
        log.rect(key, x, 0, _WIDTH, _HEIGHT, "cell", "rule", r=4)
        ink = "trouble" if is_slow else "ink"
        takes = SLOW if is_slow else QUICK
        log.text(f"{key}/takes", x + 12, 25, takes, ink, mono=True, size=12)
        log.note(f"{key}/offset", x + 12, 58, str(offset), size=12)


def _workers(body: Drawing) -> None:
    row = body.part("workers", 0, _WORKERS_TOP)
    row.text("name", 0, 25, "workers", bold=True)
    for place, name in enumerate(WORKERS):
        x = _LEFT + place * _PITCH
        row.rect(f"worker/{name}", x, 0, _WIDTH, _HEIGHT, "paper", "rule", r=20)
        row.text(f"worker/{name}/name", x + 29, 25, name, bold=True)
