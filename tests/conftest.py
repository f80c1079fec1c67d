"""What all tests share: seeds that replay, pictures as text, and tests that say what they need."""

import os
import shutil
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from tests.kafka import java_missing

# Stored outputs hold pictures as text; kernels and servers that a test starts inherit it.
os.environ["MINIKAFKA_PICTURES"] = "text"

# The same examples on every machine and every run: a failure in CI is a failure here. No deadline: workers share cores.
settings.register_profile("replay", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("replay")


def spark_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on the PATH"
    return None if find_spec("pyspark") else "PySpark is not installed"


def browser_missing() -> str | None:
    if find_spec("playwright") is None:
        return "Playwright is not installed"
    return None if shutil.which("chromium") else "no chromium on the PATH"


NEEDS = {"java": java_missing, "spark": spark_missing, "browser": browser_missing}


# What `make quick` leaves out beside Java, Spark and the browser: real clients, lessons and their checks, soaks.
SLOW = ("tests/broker/test_bombs.py", "tests/clients/", "tests/conformance/", "tests/course/",
        "tests/datasets/test_replay.py", "tests/house/test_wheels.py", "tests/notebooks/",
        "tests/server/test_bounds.py", "tests/server/test_hostile_frames.py", "tests/soak/",
        "tests/theatre/test_hostile_names.py")  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose needs this machine lacks are skipped and listed; in CI, where all is installed, they fail."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    if os.environ.get("CI"):
        return
    for need, missing in NEEDS.items():
        wanting = [item for item in items if item.get_closest_marker(need)]
        why = missing() if wanting else None
        if why:
            for item in wanting:
                item.add_marker(pytest.mark.skip(reason=f"{why}: `make test` installs it or says how"))
