"""The picture at the top of lesson 11: five brokers, the metadata log on each, and the
one that died had the say.
"""

from minikafka.theatre.drawing import WIDE, Drawing
from minikafka.theatre.svg import svg

LOG = ("topic orders", "broker 4 leads", "topic payments")
# broker -> what stands beside its name, and how much of the log it has
BROKERS = {
    1: ("the controller", 3),
    2: ("voter", 3),
    3: ("voter", 2),
    4: ("leads orders", 2),
    5: ("follows orders", 2),
}
DEAD = 1
_TOP, _ROW, _NAME, _PITCH, _CELL = 14, 44, 250, 168, 32


def the_controller_is_dead() -> str:
    """SVG: who has how much of the metadata log. What goes on, and who decides next, is
    the lesson's to say.
    """
    body = Drawing(WIDE)
    for place, (broker, (role, end)) in enumerate(BROKERS.items()):
        y = _TOP + place * _ROW
        body.text(
            f"name/{broker}",
            0,
            y + 20,
            f"broker {broker}",
            "quiet" if broker == DEAD else "ink",
            bold=True,
        )
        said = f"{role}; dead" if broker == DEAD else role
        body.text(
            f"role/{broker}",
            76,
            y + 20,
            said,
            "trouble" if broker == DEAD else "quiet",
            size=12,
        )
        for offset, words in enumerate(LOG[:end]):
            x = _NAME + offset * _PITCH
            # the last one doesn't count yet, as far as anybody knows
            fill = "cell" if offset < 2 else "paper"
            body.rect(
                f"record/{broker}/{offset}", x, y, _PITCH - 10, _CELL, fill, "rule", r=4
            )
            body.text(
                f"record/{broker}/{offset}/words",
                x + 12,
                y + 21,
                words,
                "ink",
                mono=True,
                size=12,
            )
    said = (
        "The controller decided something, and died. Who decides next, what counts, and"
        " what goes on meanwhile?"
    )
    return svg(
        body,
        title="the metadata log, on five brokers",
        scenario="three of them are voters",
        sentence=said,
        corner="majority 2",
        time="a moment after",
        alt=(
            f"{said} Brokers 1 and 2 have three records of the metadata log, brokers 3,"
            " 4 and 5 have two."
        ),
    )
