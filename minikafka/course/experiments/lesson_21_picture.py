"""The picture at the top of lesson 21: the lesson's first run, in which a shop renames a
field, and billing is started again and again.
"""

import json

from minikafka.course.experiments.lesson_21_schemas import orders_billed
from minikafka.theatre.drawing import WIDE
from minikafka.theatre.svg import svg

SECONDS = 12  # of the run: all orders are there, and billing has tried for a while
WRITTEN, ASKED = "amount", "cents"


def one_renamed_field(width: int = WIDE) -> str:
    """SVG: ten orders by the field that has their price, and where billing is. Who
    could have known before is the lesson's to say.
    """
    deaths: list[str] = []
    with orders_billed(lambda order: order[ASKED], deaths, SECONDS) as cluster:
        played = cluster.play("commit")
        orders = [json.loads(record.value) for record in cluster.records("orders", 0)]
    tried = [each["step"] for each in played.scenes if each["kind"] == "PositionSought"]
    step = tried[-1]
    scene = played.scenes[step]
    body = played.drawing(step, width)
    for offset, order in enumerate(orders):
        [field] = order.keys() - {"customer"}
        record = body.shapes[f"record/0/{offset}"]
        record |= {"text": field[0] if body.phone else field}
        if field == WRITTEN:
            record |= {"line": "trouble", "ink": "trouble", "width": 2}
    scenario = played.scenario(scene)
    if body.phone:  # a record has room for a letter
        scenario = f"{ASKED[0]}: {ASKED}, {WRITTEN[0]}: {WRITTEN} · {scenario}"
    said = (
        f"One order has {WRITTEN} where billing looks for {ASKED}. Billing has crashed"
        f" {len(deaths)} times. Who could have known before?"
    )
    return svg(
        body,
        title="One renamed field",
        scenario=scenario,
        sentence=said,
        corner=played.corner,
        time=scene["time"],
        alt=f"{said} {played.summary(scene)}.",
    )
