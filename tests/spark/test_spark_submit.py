"""What the page "From a notebook to spark-submit" says, as far as one machine can try
it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.course import spark
from minikafka.course.connect import Connection
from minikafka.course.data import dataset
from minikafka.course.places import NOTEBOOKS
from minikafka.course.spark import Lab
from minikafka.server.embedded import Served
from tests.clients.brokers import until

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

PAGE = (NOTEBOOKS / "from_notebook_to_spark_submit.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    shlex.split(line, comments=True)
    for language, text in BLOCKS
    if language == "sh"
    for line in text.replace("\\\n", " ").splitlines()
]
PROGRAM = str(Path(sys.executable).parent / "spark-submit")
# it asks the first python3 where Spark is
HERE = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYSPARK_PYTHON": sys.executable,
}
STOP_WANTED = """
from pathlib import Path

def stop_wanted():
    return Path({file!r}).exists()

"""


def the_file(stop):
    """Section 1's file, with section 6's listener and section 8's clean stop."""
    main, listener, end = PYTHON
    classes, _, add = listener.rpartition("\n\n")
    add = add.strip().partition("  #")[0]
    last = "    query.awaitTermination()\n"
    begin = "    rows = (\n        spark.readStream"
    assert last in main and begin in main
    good_end = "".join(f"    {line}\n" for line in end.strip().splitlines())
    main = main.replace(last, good_end).replace(begin, f"    {add}\n{begin}")
    return classes + STOP_WANTED.format(file=str(stop)) + main


def submitted():
    """The command of section 1."""
    [words] = [words for words in COMMANDS if "local[2]" in words]
    return words


def lines_of(log):
    """What the listener has told so far."""
    told = [line for line in log.read_text().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in told]


def rows_of(table):
    from pyarrow import parquet

    return sum(parquet.read_metadata(path).num_rows for path in table.glob("*.parquet"))


def test_the_file_is_submitted_reports_each_micro_batch_and_ends_between_two(tmp_path):
    stop, log, table = tmp_path / "stop", tmp_path / "log", tmp_path / "orders"
    (tmp_path / "orders.py").write_text(the_file(stop))
    quick = [f"spark.jars.excludes={','.join(spark.THERE_ALREADY)}"]
    quick += ["spark.driver.host=localhost", "spark.driver.bindAddress=127.0.0.1"]
    with Served() as served:
        lab = Lab("17", Connection(served.bootstrap))
        topic = lab.topic("orders", partitions=3)
        lab.send(topic, dataset("orders").stream("orders", count=600, seed=7))
        here = {"spark-submit": PROGRAM, "BROKERS": served.bootstrap, "orders": topic}
        words = [
            here.get(word, word.replace("/tmp/", f"{tmp_path}/"))
            for word in submitted()
        ]
        words[1:1] = [each for setting in quick for each in ("--conf", setting)]
        with log.open("w") as output:
            process = subprocess.Popen(
                words,
                cwd=tmp_path,
                env=HERE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            until(
                lambda: (
                    process.poll() is not None
                    or sum(each.get("rows", 0) for each in lines_of(log)) == 608
                ),
                seconds=400,
            )
            stop.touch()
            assert process.wait(timeout=200) == 0, log.read_text()[-3000:]
        finally:
            process.kill()
            process.wait()
        lab.close()
    told = lines_of(log)
    assert told[0] == {"started": "orders"} and told[-1]["error"] is None
    assert rows_of(table) == 608
    assert json.loads((tmp_path / "orders-checkpoint" / "metadata").read_text())["id"]


def test_every_option_of_spark_submit_on_the_page_is_one():
    done = subprocess.run(
        [PROGRAM, "--help"], env=HERE, capture_output=True, text=True, check=False
    )
    known = set(re.findall(r"--[a-z-]+", done.stdout + done.stderr))
    used = {
        word
        for words in COMMANDS
        if words and words[0] in ("spark-submit", "--packages", "--conf")
        for word in words
        if word.startswith("--")
    }
    assert used and used <= known, used - known
