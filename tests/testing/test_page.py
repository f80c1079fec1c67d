"""The page for users: what it says is run, and nothing is left out of it."""

import re
from pathlib import Path

import pytest

from minikafka import testing
from minikafka.testing.failing import Clock, OneBroker
from minikafka.testing.groups import Group
from minikafka.testing.kafka import Kafka

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

PAGE = Path(testing.__file__).with_name("README.md").read_text("utf-8")
BEGINS, STORY, *SECTIONS = re.split("^(?=## )", PAGE, flags=re.MULTILINE)
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile("^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [section for section in SECTIONS if FENCED.search(section)]
# what the fixtures use
FOR_US = {"close", "is_as_new", "lift_faults", "made_topics", "mend_all", "broker_id"}


@pytest.fixture
def run(pytester):
    """Runs the tests in the folder; what pytest says."""

    def run():
        plugin = ("-p", "no:minikafka", "-p", "minikafka.testing.plugin")
        return pytester.runpytest_inprocess(*plugin)

    return run


def test_the_story_goes_from_green_to_red_and_to_green_again(pytester, run):
    shop, test, lost, mended = FENCED.findall(STORY)
    pytester.makepyfile(shop=shop, test_shop=test)
    run().assert_outcomes(passed=1)
    pytester.makepyfile(test_shop=test + lost)
    red = run()
    red.assert_outcomes(passed=1, failed=1)
    reports = [text for kind, text in BLOCKS.findall(STORY) if not kind]
    for report in reports:
        lines = re.sub(r"topic-1|[\d.]+ s ", "*", report).splitlines()
        red.stdout.fnmatch_lines([f"*{line}" for line in lines])
    pytester.makepyfile(shop=mended)
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize("section", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_an_example_passes(pytester, run, section):
    examples = "\n\n".join(FENCED.findall(section))
    pytester.makepyfile(shop=FENCED.findall(STORY)[-1], test_it=examples)
    run().assert_outcomes(passed=len(re.findall(r"^ *def test_", examples, re.M)))


def test_a_reader_finds_all_there_is():
    missing = [name for name in testing.__all__ if f"{name}(" not in PAGE]
    for each in (Kafka, OneBroker, Clock, Group):
        named = {name for name in dir(each) if not name.startswith("_")} - FOR_US
        missing += [
            name for name in sorted(named) if not re.search(rf"\b{name}\b", PAGE)
        ]
    assert missing == []
