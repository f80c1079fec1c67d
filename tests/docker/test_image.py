"""The Dockerfile's steps run to their end, and lesson 17 in what they have made."""

import nbformat
import pytest

from tests.docker.an_image import image_missing, the_image
from tests.notebooks.running import NOTEBOOKS, code_cells, read, shown

LESSON = NOTEBOOKS / "17_spark_kafka_as_a_source.ipynb"
RUN_IT = """
import nbformat, os, sys
from nbclient import NotebookClient

os.environ["MINIKAFKA_PICTURES"] = "text"
book = nbformat.read(sys.argv[1], 4)
where = {"metadata": {"path": "/course/notebooks"}}
NotebookClient(book, resources=where, timeout=300, coalesce_streams=True).execute()
print(nbformat.writes(book))
"""


@pytest.fixture(scope="module")
def image():
    with the_image() as image:
        yield image


pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(bool(image_missing()), reason=str(image_missing())),
    pytest.mark.timeout(3600),  # it installs 1.5 GB, as `docker compose build` does
]


def test_lesson_17_shows_in_the_image_what_is_stored(image):
    """As the image's own user, with its own Python, Java and jars: nothing is fetched."""
    path = f"/course/notebooks/{LESSON.name}"
    ran = nbformat.reads(image.run("python", "-c", RUN_IT, path), as_version=4)
    stored = {cell.id: shown(cell) for _, cell in code_cells(read(LESSON))}
    assert {cell.id: shown(cell) for _, cell in code_cells(ran)} == stored


def test_the_images_doctor_misses_nothing_that_a_lesson_needs(image):
    said = image.run("minikafka", "doctor")
    assert "spark-sql-kafka" in said


def test_nothing_that_spark_or_pip_fetched_is_kept_twice(image):
    """What was copied to Spark's own folder is not in Ivy's any more."""
    image.run("sh", "-c", 'test ! -e "$HOME/.ivy2.5.2" && test ! -e "$HOME/.cache"')
