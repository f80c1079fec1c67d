"""The payment that lesson 04 gives to copy, put into the faults that lessons 04 and 05
are about: frozen, and killed at each line.
"""

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from minikafka.course.experiments.lesson_05_runs import paid_twice, pay_with
from minikafka.faults import Freeze
from tests.course.recipes import recipe

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ASLEEP = Freeze("consumer A", at_ms=24_100, for_ms=60_000)  # lesson 05's
ORDER = SimpleNamespace(key=b"o-24", value=b"20 euros")
STEPS = 40  # more lines than a payment has
posix = pytest.mark.skipif(os.name != "posix", reason="no such signals to send")


class Payments:
    """payments.py in a process of its own: as a module with its own connection."""

    def __init__(self, folder):
        self.file = folder / "payments.py"
        self.file.write_text(recipe("04", "payments.py"))
        self.code = compile(self.file.read_text(), str(self.file), "exec")
        self.names = {}
        here = Path.cwd()
        os.chdir(folder)
        try:
            exec(self.code, self.names)
        finally:
            os.chdir(here)
        self.names["database"].execute("PRAGMA busy_timeout = 0")

    def pay_once(self, record):
        self.names["pay_once"](record)

    def rows(self, table):
        found = self.names["database"].execute(f"SELECT number FROM {table}")
        return [number for (number,) in found]


def test_a_member_that_wakes_up_pays_again_what_it_looked_for_before_it_slept():
    def looks_first(consumer, payments, wait):
        while True:
            for [record] in consumer.poll(timeout_ms=1000, max_records=1).values():
                if record.key not in payments:
                    wait(0.4)  # the bank
                    payments.add(record, record.value)
                consumer.commit()

    assert paid_twice(pay_with(looks_first, [ASLEEP]).trace) == ["o-24"]


def test_a_member_that_wakes_up_pays_nothing_again_where_the_order_is_a_primary_key(
    tmp_path,
):
    payments, tried = Payments(tmp_path), Counter()

    def pays_once(consumer, _, wait):
        while True:
            for [record] in consumer.poll(timeout_ms=1000, max_records=1).values():
                wait(0.4)  # the bank
                tried[record.key.decode()] += 1
                payments.pay_once(record)
                consumer.commit()

    pay_with(pays_once, [ASLEEP])
    assert tried["o-24"] == 2
    for table in ("payments", "mails"):
        paid = Counter(payments.rows(table))
        assert set(paid) == set(tried) and set(paid.values()) == {1}


def at_line(number, act, call):
    """Calls, and acts before the so-manieth line of payments.py: whether it came to
    that.
    """
    left, came = number, False

    def tracer(frame, event, _):
        nonlocal left, came
        if Path(frame.f_code.co_filename).name != "payments.py":
            return None
        if event in ("line", "return"):
            left -= 1
            if left == 0:
                came = True
                act()
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(before)
    return came


def test_two_members_that_pay_at_the_same_moment_pay_once_wherever_one_stands_still(
    tmp_path,
):
    for step in range(1, STEPS):
        folder = tmp_path / str(step)
        folder.mkdir()
        asleep, other = Payments(folder), Payments(folder)
        refused = []

        def pays_meanwhile(other=other, refused=refused):
            try:
                other.pay_once(ORDER)
            except sqlite3.OperationalError as error:  # locked: it comes again
                refused.append(error)

        came = at_line(
            step, pays_meanwhile, lambda asleep=asleep: asleep.pay_once(ORDER)
        )
        other.pay_once(ORDER)
        assert other.rows("payments") == other.rows("mails") == ["o-24"]
        if not came:
            break
    assert 5 < step < STEPS - 1


KILLED = """
import os, signal, sys
from tests.course.test_recipes import ORDER, Payments, at_line
from pathlib import Path
payments = Payments(Path("."))
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
at_line(int(sys.argv[1]), kill, lambda: payments.pay_once(ORDER))
"""


@posix
def test_a_payment_that_is_killed_at_any_line_is_made_whole_by_the_next_life(tmp_path):
    for step in range(1, STEPS):
        folder = tmp_path / str(step)
        folder.mkdir()
        command = [sys.executable, "-c", KILLED, str(step)]
        done = run(command, folder)
        payments = Payments(folder)
        assert payments.rows("payments") == payments.rows("mails")
        payments.pay_once(ORDER)
        assert payments.rows("payments") == payments.rows("mails") == ["o-24"]
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert 5 < step < STEPS - 1


def run(command, folder, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        **options,
    )
