"""Lesson 22's nights as they are when somebody is called: each is computed once in a
process, and a test that goes on with one does so in a fork, whose end nobody else sees.
"""

import multiprocessing
import sys
import traceback
from functools import cache, wraps

import pytest

from minikafka.course.on_call import plans
from minikafka.course.on_call.incident import Incident

# a night takes ten seconds to compute: these have one fault of each kind
IN_THE_GATE = ("night-01", "night-03", "night-07", "night-13", "quiet-night")
CAN_FORK = sys.platform == "linux"  # elsewhere each test computes a night of its own


def begun(name):
    """An incident at the moment when somebody is called."""
    night = Incident(plans.read(name))
    assert night.world.now_ms == night.plan.called_ms
    return night


kept = cache(begun) if CAN_FORK else begun


def case(name, *more):
    """Parameters of a test. One worker has all that is asked of a night."""
    marks = [pytest.mark.xdist_group(f"night {name}")]
    if name not in IN_THE_GATE:
        marks.append(pytest.mark.nightly)
    return pytest.param(name, *more, marks=marks)


def at_night(*names):
    """A test of each of these nights: its fixture `night` gets a name, and what it does
    with the night is undone.
    """

    def decorated(test):
        cases = [case(name) for name in names]
        return pytest.mark.parametrize("night", cases, indirect=True)(in_a_fork(test))

    return decorated


def in_a_fork(test):
    """The same test in a process that begins with all that this one has computed."""
    if not CAN_FORK:
        return test

    @wraps(test)
    def forked(**given):
        forking = multiprocessing.get_context("fork")
        hearing, telling = forking.Pipe(duplex=False)
        process = forking.Process(target=told, args=(telling, test, given))
        process.start()
        telling.close()  # so that we hear when the other end is gone
        try:
            failed = hearing.recv()
        finally:
            process.kill()
            process.join()
            hearing.close()
        if failed:
            pytest.fail(failed, pytrace=False)

    return forked


def told(telling, test, given):
    """Run a test and say why it failed, or nothing."""
    try:
        test(**given)
    except BaseException:
        telling.send(traceback.format_exc())
    else:
        telling.send("")
