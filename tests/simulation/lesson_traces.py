"""The traces of a lesson's clusters, as digests. The cells that lead to its pictures
are run for them; of a lesson without pictures all that need neither TCP nor an answer.
"""

import contextlib
import hashlib
import io
import json
import os
from unittest import mock

from minikafka.course.contents import contents
from minikafka.course.publishing.pictures_of_lessons import shown
from minikafka.simulation import fault_map
from minikafka.simulation.cluster import Cluster

LESSONS = (
    "00",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "07",
    "08",
    "09",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
)


def digests(number):
    """One for each cluster that the lesson makes, in the order in which it makes
    them; and those of its pictures.
    """
    lesson = contents()[number]
    # a map shows another run to those who read it as text
    text = mock.patch.dict(os.environ, MINIKAFKA_PICTURES="text")
    with text, clusters() as made:
        pictures = list(shown(lesson))
        if not pictures:
            run(lesson)
    return of(made, pictures)


@contextlib.contextmanager
def clusters():
    """All that are made meanwhile, in this process as in a tab."""
    made, begin, cores = [], Cluster.__init__, fault_map._cores

    def begun(cluster, *args, **options):
        begin(cluster, *args, **options)
        made.append(cluster)

    Cluster.__init__ = begun
    fault_map._cores = lambda: 1
    try:
        yield made
    finally:
        Cluster.__init__ = begin
        fault_map._cores = cores


def of(made, pictures):
    """The digests of clusters' traces, and those of pictures."""
    lines = [
        "\n".join(json.dumps(event.to_json(), sort_keys=True) for event in each.trace)
        for each in made
    ]
    traces = [hashlib.sha256(text.encode()).hexdigest() for text in lines]
    return traces, [each.picture.digest for each in pictures]


def run(lesson):
    """The cells, as a notebook runs them."""
    names = {"__name__": "__main__"}
    for cell in lesson.code:
        if (
            set(cell["metadata"].get("tags", [])) <= {"setup"}
            and "lesson(" not in cell["source"]
        ):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(cell["source"], names)
