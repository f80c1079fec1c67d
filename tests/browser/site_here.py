"""The site, and what the lessons' runs for its gallery were here: a tab's are compared
with them.
"""

import pytest

from minikafka.course.publishing import gallery, site
from minikafka.course.publishing.pictures_of_lessons import shown
from tests.simulation import lesson_traces


def written(folder):
    """Write the site. Lesson -> what lesson_traces.digests() would be of it, of the
    lessons with pictures.
    """
    found = {}

    def kept(lesson):
        with lesson_traces.clusters() as made:
            pictures = list(shown(lesson))
        found[lesson.number] = lesson_traces.of(made, pictures)
        return pictures

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "shown", kept)
        site.write(folder)
    return found
