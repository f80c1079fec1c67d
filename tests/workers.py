"""Which tests stay together when several workers share them (pytest-xdist).

A module does, as with `--dist loadscope`: its tests share what takes long to start.
Where they share nothing, each goes to whoever is free, so that no worker is left alone
with minutes of work in the end. All that starts Spark stays together: two sessions at a
time, one of the tests and one of a lesson's kernel, are two gigabytes.
"""

import re

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPARK = re.compile(
    r"tests/spark/"
    r"|tests/course/test_lesson_(17|18|20)_checks"
    r"|tests/course/test_wrong_answers.*\[(17|18|20)/"
)
LESSONS = re.compile(
    r"tests/notebooks/test_(solved_editions|stored_outputs).*\[(\d\d)_"
)
SPARKS_LESSONS = ("17", "18", "19", "20")
EACH_ALONE = re.compile(
    r"tests/simulation/test_(group|hand|replication|share|transaction)_schedules"
    r"|tests/soak/"
    r"|tests/course/test_lesson_23_checks"
)
# each is computed once in a process (tests/course/nights.py)
NIGHTS = re.compile(
    r"tests/course/test_on_call\.py::test_.*\[([a-z0-9-]+?)(-lines.*)?\]$"
)
# each draws all pictures of all lessons, once in a process (tests/theatre/lessons.py)
PICTURES = re.compile(r"tests/theatre/test_(lessons|lessons_browser|pace)\.py")
WRONG_ANSWERS = re.compile(r"tests/course/test_wrong_answers.*\[(\d\d)/")


def together(nodeid: str) -> str:
    """The name of what a test belongs to."""
    if SPARK.match(nodeid):
        return "Spark"
    if lesson := LESSONS.match(nodeid):
        return "Spark's lessons" if lesson[2] in SPARKS_LESSONS else nodeid
    if PICTURES.match(nodeid):
        return "pictures of lessons"
    if EACH_ALONE.match(nodeid):
        return nodeid
    if night := NIGHTS.match(nodeid):
        return f"night {night[1]}"
    if answers := WRONG_ANSWERS.match(nodeid):
        return f"wrong answers of lesson {answers[1]}"
    return nodeid.rsplit("::", 1)[0]


class Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """A worker ends. If it crashed, others take over what it had begun, and not what
        it had done: who is given a module without a test to run waits for ever.
        """
        work = self.assigned_work[node]
        for name in [name for name, done in work.items() if all(done.values())]:
            del work[name]
        return super().remove_node(node)
