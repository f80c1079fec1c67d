"""What every lesson shows: its pictures, run once in a process, and what stands on the
page before a question.
"""

from functools import cache

from minikafka.course.contents import Asked, contents
from minikafka.course.publishing.pictures_of_lessons import (
    Shown,
    leading_to_pictures,
    shown,
)
from minikafka.prediction import Prediction
from minikafka.theatre.drawing import NARROW, WIDE, Drawing
from minikafka.theatre.picture import Picture

LESSONS = [
    number for number, lesson in contents().items() if leading_to_pictures(lesson.code)
]

# questions whose answer could be computed from what had happened by then
known_at_the_stop: set[str] = set()


@cache
def pictures(number: str) -> list[Shown]:
    """All that the cells of a lesson show; a lesson runs once a process."""
    placed = Prediction.place

    def place(self, surprise, trace, scenes):
        placed(self, surprise, trace, scenes)
        if self._gives_the_answer(trace[: scenes[self.stop]["position"] + 1]):
            known_at_the_stop.add(self.question)

    Prediction.place = place
    try:
        return list(shown(contents()[number]))
    finally:
        Prediction.place = placed


def texts_before_the_answer(each: Shown) -> dict[str, str]:
    """All that a learner can read in a picture up to the stop of its prediction, in
    both layouts, and where it stands first.
    """
    found: dict[str, str] = {each.picture.title: f"{each.name}, title"}
    for step in range(each.picture.prediction.stop + 1):
        told = each.picture._step(each.picture.scenes[step])
        texts = [
            (name, told[name] or "")
            for name in ("sentence", "scenario", "summary", "chapter", "foot")
        ]
        for drawings in layouts(each.picture):
            for key, shape in drawings[step].shapes.items():
                texts += [
                    (key, str(shape.get(name, "")))
                    for name in ("text", "more", "below", "tip")
                ]
        for where, text in texts:
            found.setdefault(text, f"{each.name}, step {step}, {where}")
    return found


def layouts(picture: Picture) -> list[list[Drawing]]:
    return [picture.drawings(width) for width in (WIDE, NARROW)]


def page_before(number: str, asked: Asked) -> str:
    """What a learner has read of the lesson when it asks: Markdown, code, and what
    cells have shown.
    """
    texts = []
    for cell in contents()[number].cells:
        if cell["id"] == asked.cell:
            return "\n".join(
                [*texts, cell["source"][: cell["source"].index("predict(")]]
            )
        texts.append(cell["source"])
        for output in cell.get("outputs", []):
            texts.append(
                "".join(
                    output.get("text", output.get("data", {}).get("text/plain", []))
                )
            )
    raise AssertionError(asked.cell)
