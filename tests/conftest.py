"""What all tests share: seeds that replay, pictures as text, and tests that say what
they need.
"""

import gc
import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tests.no_grammar  # noqa: F401 (before nbformat)
from tests.kafka import java_missing
from tests.rabbitmq import rabbitmq_missing
from tests.times import Times

# Stored outputs hold pictures as text; kernels and servers that a test starts inherit
# it.
os.environ["MINIKAFKA_PICTURES"] = "text"

# Where Python keeps no bytecode, as in many containers, each worker, server and kernel
# of a run would compile all of it anew: minutes in all.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The same examples on every machine and every run: a failure in CI is a failure here.
# No deadline: workers share cores.
settings.register_profile(
    "night",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("gate", settings.get_profile("night"), max_examples=40)
settings.register_profile("quick", settings.get_profile("night"), max_examples=16)
settings.load_profile("night")


def spark_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on the PATH"
    return None if find_spec("pyspark") else "PySpark is not installed"


def browser_missing() -> str | None:
    if find_spec("playwright") is None:
        return "Playwright is not installed"
    return None if shutil.which("chromium") else "no chromium on the PATH"


def firefox_missing() -> str | None:
    return None if shutil.which("firefox-esr") else "no firefox-esr on the PATH"


NEEDS = {
    "java": java_missing,
    "spark": spark_missing,
    "browser": browser_missing,
    "firefox": firefox_missing,
    "rabbitmq": rabbitmq_missing,
}


MARKS_OF_MODULE = re.compile(
    r"^pytestmark = (\[.*?\]|[^\[]*?)\n", re.MULTILINE | re.DOTALL
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module that is left out as a whole isn't even imported."""
    left_out = re.findall(r"\bnot (\w+)", config.option.markexpr)
    if not left_out or not collection_path.name.startswith("test_"):
        return None
    found = MARKS_OF_MODULE.search(collection_path.read_text(encoding="utf-8"))
    marks = re.findall(r"pytest\.mark\.(\w+)", found[1]) if found else []
    return True if {*marks} & {*left_out} else None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose needs this machine lacks are skipped and listed; in CI, where all is
    installed, they fail. What belongs together goes to one worker: a module, whose tests
    share what takes long to start, and all that starts Spark, since two sessions at a
    time are enough for a machine's memory.
    """
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif not item.get_closest_marker("apart"):
            item.add_marker(pytest.mark.xdist_group(module_of(item)))
    if os.environ.get("CI"):
        return
    for need, missing in NEEDS.items():
        wanting = [item for item in items if item.get_closest_marker(need)]
        why = missing() if wanting else None
        if why:
            for item in wanting:
                item.add_marker(
                    pytest.mark.skip(
                        reason=f"{why}: `make test` installs it or says how"
                    )
                )


def module_of(item: pytest.Item) -> str:
    """clients/test_groups"""
    return item.nodeid.partition(".py::")[0].removeprefix("tests/")


def pytest_collection_finish() -> None:
    """Eleven thousand tests are half a million objects that stay: a collector that looks
    at them again and again, and at whatever lives for one test, is an eighth of a
    simulation's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    """The gate tries fewer examples than the night, `make quick` still fewer."""
    chosen = config.option.markexpr
    profile = "gate" if "not nightly" in chosen else "night"
    settings.load_profile("quick" if "not slow" in chosen else profile)
    config.pluginmanager.register(Times())
