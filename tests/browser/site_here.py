"""The site, and what the lessons' runs for its gallery were here: a tab's are compared
with them.
"""

import pytest

from minikafka.course.publishing import gallery, site, site_address
from minikafka.course.publishing.pictures_of_lessons import shown
from tests.simulation import lesson_traces

ADDRESS = "https://example.org/some/where/"
REPOSITORY = "https://example.org/source"


def written(folder):
    """Write the site, as one whose address is known. Lesson -> what lesson_traces.digests() would be of it, of the
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
        patch.setattr(site_address, "web_address", lambda: ADDRESS)
        patch.setattr(site_address, "repository", lambda: REPOSITORY)
        site.write(folder)
    return found
