"""What tests of several pictures ask of their drawings."""

import json

from minikafka.theatre.drawing import IN_NOTEBOOKS
from minikafka.theatre.picture import Picture


def assert_drawn_from_json(pic, most):
    """It is the same when it is made of its own JSON, and at most so high."""
    cast, scenes = json.loads(json.dumps([pic.cast, pic.scenes]))
    again = Picture(type(pic.play), cast, scenes)
    for width in IN_NOTEBOOKS:
        for mine, other in zip(pic.drawings(width), again.drawings(width), strict=True):
            assert mine.shapes == other.shapes and mine.bottom <= most


def assert_no_mark_after_the_cursor(drawing):
    """On the axis of time."""
    cursor = drawing.shapes["time/cursor"]["x"]
    for key, shape in drawing.shapes.items():
        if key.startswith("time/") and shape["kind"] == "rect" and "of" in shape:
            assert shape["x"] + 3 <= cursor + 0.1
