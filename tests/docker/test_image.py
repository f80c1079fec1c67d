"""The Dockerfile's steps run to their end, and lesson 17 in what they have made."""

import shutil

import nbformat
import pytest

from tests.docker.an_image import ROOT, image_missing, the_image
from tests.notebooks.running import NOTEBOOKS, code_cells, read, shown

LESSON = NOTEBOOKS / "17_spark_kafka_as_a_source.ipynb"
# said where the connector may not be there yet, as in the edition that is stored
FETCHES = " (the very first time it also fetches its Kafka connector, 10 MB)"
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
    stored["setup"] = [
        (name, text.replace(FETCHES, "")) for name, text in stored["setup"]
    ]
    assert {cell.id: shown(cell) for _, cell in code_cells(ran)} == stored


def test_the_images_doctor_misses_nothing_that_a_lesson_needs(image):
    said = image.run("minikafka", "doctor")
    assert "spark-sql-kafka" in said


def test_nothing_that_spark_or_pip_fetched_is_kept_twice(image):
    """What was copied to Spark's own folder is not in Ivy's any more."""
    image.run("sh", "-c", 'test ! -e "$HOME/.ivy2.5.2" && test ! -e "$HOME/.cache"')


def test_a_lesson_that_was_edited_is_built_without_fetching_spark_again(
    image, tmp_path
):
    """What is fetched comes before what is edited: the steps up to the lessons are
    those of the first build.
    """
    unneeded = shutil.ignore_patterns(".git", ".cache", ".venv", "__pycache__")
    project = shutil.copytree(ROOT, tmp_path / "course", ignore=unneeded)
    lesson = project / "notebooks" / LESSON.name
    lesson.write_text(lesson.read_text() + "\n")
    steps = image.build(project).split("STEP ")
    done_again = [each for each in steps if "Using cache" not in each]
    assert any("pip install" in each for each in steps)
    assert not any("pip install" in each or "session()" in each for each in done_again)
    assert any("COPY --chown=1000 notebooks" in each for each in done_again)
