"""What all tests share: seeds that replay, pictures as text, and tests that say what
they need.
"""

import gc
import os
import shutil
import sys
import threading
import time
from _thread import interrupt_main
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import tests.no_grammar  # noqa: F401 (before nbformat)
from tests.kafka import java_missing
from tests.rabbitmq import rabbitmq_missing
from tests.standing_still import StandingStill, Told

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
    "replay",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("replay"), max_examples=16)
settings.load_profile("replay")


def spark_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on the PATH"
    return None if find_spec("pyspark") else "PySpark is not installed"


def browser_missing() -> str | None:
    if find_spec("playwright") is None:
        return "Playwright is not installed"
    return None if shutil.which("chromium") else "no chromium on the PATH"


NEEDS = {
    "java": java_missing,
    "spark": spark_missing,
    "browser": browser_missing,
    "rabbitmq": rabbitmq_missing,
}


# What `make quick` leaves out beside Java, Spark and the browser: real clients, lessons
# and most of their checks, soaks, the largest that a node takes, what looks at every step of
# every picture, servers that are several processes, and the longer histories of simulated
# clusters (one of each kind stays).
SLOW = (
    "tests/broker/test_bombs.py",
    "tests/broker/test_many_partitions.py",
    "tests/broker/test_most_items.py",
    "tests/broker/test_very_many_partitions.py",
    "tests/browser/",
    "tests/clients/",
    "tests/clients_sim/test_assignors_user_data.py",
    "tests/clients_sim/test_consumer_membership.py::test_kip_848_whatever",
    "tests/conformance/",
    "tests/coordinators/test_decisions.py::test_random",
    "tests/coordinators/test_replayed_state.py::test_of_groups_in_trouble",
    "tests/coordinators/test_streams_group.py::test_kip_1071_whatever",
    "tests/coordinators/test_what_is_written_can_be_loaded.py",
    "tests/course/",
    "tests/datasets/test_all.py::test_the_command",
    "tests/datasets/test_replay.py",
    "tests/docker/",
    "tests/house/test_doctor.py::test_a_broker_that_advertises",
    "tests/house/test_doctor.py::test_the_ports_of_the_three",
    "tests/house/test_installed.py",
    "tests/house/test_packaging.py::test_the_workflows",
    "tests/house/test_wheels.py",
    "tests/notebooks/",
    "tests/server/test_bounds.py",
    "tests/server/test_connection.py::test_while_a_request_is_parked",
    "tests/server/test_data_folder.py",
    "tests/server/test_hostile_frames.py",
    "tests/server/test_memory.py",
    "tests/server/test_processes.py",
    "tests/server/test_secret.py",
    "tests/server/test_three_brokers.py",
    "tests/simulation/test_damaged_disks.py",
    "tests/simulation/test_determinism.py::test_another_process",
    "tests/simulation/test_fault_map.py::test_forked",
    "tests/simulation/test_faults.py::test_a_consumer_on_a_bad",
    "tests/simulation/test_group_schedules.py::test_the_detectors",
    "tests/simulation/test_groups_programs.py::test_effects",
    "tests/simulation/test_replication_schedules.py",
    "tests/simulation/test_requests_that_fit.py",
    "tests/simulation/test_share_schedules.py",
    "tests/simulation/test_two_that_die.py",
    "tests/soak/",
    "tests/storage/test_damage.py",
    "tests/theatre/test_cleaner.py::test_the_bytes",
    "tests/theatre/test_hostile_names.py",
    "tests/theatre/test_lag.py",
    "tests/theatre/test_lessons.py",
    "tests/theatre/test_page.py",
    "tests/theatre/test_partitioner.py::test_many",
    "tests/theatre/test_pipeline.py::test_many",
    "tests/theatre/test_rebalance.py::test_nothing",
    "tests/theatre/test_rebalance_live.py",
    "tests/theatre/test_replication_served.py",
    "tests/theatre/test_scenes.py",
    "tests/theatre/test_share_partition.py::test_each",
    "tests/theatre/test_share_partition.py::test_it_is_drawn",
    "tests/wire/test_against_kafka_python.py",
)


# What it keeps of folders that are slow as a whole.
KEPT = (
    "tests/course/test_cards.py",
    "tests/course/test_curves.py",
    "tests/course/test_editions.py",
    "tests/course/test_from_trace.py",
    "tests/course/test_group_runs.py",
    "tests/course/test_group_states.py",
    "tests/course/test_lag_runs.py",
    "tests/course/test_lesson_02_checks.py",
    "tests/course/test_lesson_14_outbox.py",
    "tests/course/test_lesson_23_kafka.py",
    "tests/course/test_lessons.py",
    "tests/course/test_live.py",
    "tests/course/test_predictions.py",
    "tests/course/test_producer_runs.py",
    "tests/course/test_progress.py",
    "tests/course/test_site_address.py",
    "tests/course/test_site_lab.py",
    "tests/course/test_title_pictures.py",
    "tests/notebooks/test_client_defaults.py",
    "tests/notebooks/test_commands.py",
    "tests/notebooks/test_glossary.py",
    "tests/notebooks/test_pattern.py",
)


# What takes minutes begins first, so that no worker is left alone with it in the end.
FIRST = (
    "tests/spark/",
    "tests/notebooks/test_solved",
    "tests/docker/test_jvm",
    "tests/clients/test_groups.py",
    "tests/browser/test_site.py",
    "tests/theatre/test_lessons",
    "tests/theatre/test_pace.py",
    "tests/soak/",
    "tests/simulation/test_group_schedules.py",
    "tests/simulation/test_replication_schedules.py",
    "tests/simulation/test_transaction_schedules.py",
    "tests/course/test_wrong_answers.py",
    "tests/course/test_claims_06",
    "tests/notebooks/test_stored",
    "tests/course/test_claims_05",
    "tests/course/test_claims_09",
    "tests/course/test_claims_10",
    "tests/course/test_claims_11",
    "tests/theatre/test_browser.py",
    "tests/course/test_lesson_23_checks.py",
    "tests/course/test_on_call",
    "tests/course/test_errors_on_both.py",
    "tests/clients/test_streams.py",
    "tests/clients/test_transactions.py",
    "tests/clients/test_share_groups.py",
    "tests/house/test_installed.py",
    "tests/clients/test_connect.py",
    "tests/conformance/test_same_answers.py",
    "tests/course/test_claims_15",
    "tests/simulation/test_share_schedules.py",
    "tests/theatre/test_share_partition_browser.py",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What is slow as a whole isn't even imported for `make quick`."""
    if not is_quick(config):
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    if any(kept.startswith(f"{name}/") for kept in KEPT):
        return None
    folder = collection_path.parent.relative_to(config.rootpath).as_posix()
    is_whole = bool({name, f"{name}/", f"{folder}/"} & {*SLOW})
    return True if is_whole and name not in KEPT else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose needs this machine lacks are skipped and listed; in CI, where all is
    installed, they fail.
    """
    items.sort(
        key=lambda item: next(
            (at for at, name in enumerate(FIRST) if item.nodeid.startswith(name)),
            len(FIRST),
        )
    )
    for item in items:
        if item.nodeid.startswith(SLOW) and not item.nodeid.startswith(KEPT):
            item.add_marker(pytest.mark.slow)
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


def pytest_collection_finish() -> None:
    """Eleven thousand tests are half a million objects that stay: a collector that looks
    at them again and again, and at whatever lives for one test, is an eighth of a
    simulation's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.option.dist != "loadscope":
        return None
    from tests.workers import Together

    return Together(config, log)


class Watch:
    """A run that hangs tells nobody where: when no test has ended for a while, this
    says which are running.

    What goes on far too long is interrupted: pytest then says what failed.
    """

    SILENT_S = 240
    LONGEST_S = 82 * 60

    def __init__(self) -> None:
        self.running: dict[str, float] = {}
        self.moved = self.began = time.monotonic()
        self.over = threading.Event()

    def pytest_sessionstart(self) -> None:
        threading.Thread(target=self._look, daemon=True).start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running[nodeid] = self.moved = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.running.pop(nodeid, None)
        self.moved = time.monotonic()

    def pytest_sessionfinish(self) -> None:
        self.over.set()

    def _look(self) -> None:
        while not self.over.wait(30):
            now = time.monotonic()
            late = now - self.began > self.LONGEST_S
            if late or now - self.moved > self.SILENT_S:
                running = ", ".join(
                    f"{nodeid} ({now - since:.0f} s)"
                    for nodeid, since in self.running.items()
                )
                minutes = (now - self.began) / 60
                print(
                    f"\n{minutes:.0f} minutes; running: {running or 'no test'}",
                    file=sys.__stderr__,
                    flush=True,
                )
                self.moved = now
            if late:
                interrupt_main()
                return


def is_quick(config: pytest.Config) -> bool:
    return "not slow" in config.option.markexpr


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if is_quick(config) else "replay")
    if hasattr(config, "workerinput"):
        timeout_s = float(config.getini("timeout"))
        config.pluginmanager.register(StandingStill(timeout_s))
    else:  # with xdist, in the process that hears of all tests
        config.pluginmanager.register(Watch())
        config.pluginmanager.register(Told())
