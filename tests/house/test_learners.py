"""The environments in which lessons are tested hold what set-up gives a learner."""

from importlib.metadata import distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import learners

pytestmark = pytest.mark.slow  # makes the environments where there are none


def installed(name):
    return {
        canonicalize_name(each.name): each
        for each in distributions(path=[str(learners.packages(name))])
    }


def asked_for(there, extras):
    """The packages that `minikafka[extras]` asks for, and what these ask for."""
    found, waiting = set(), [("minikafka", frozenset(extras))]
    seen = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen or name not in there:
            continue
        seen.add((name, wanted))
        found.add(name)
        for line in there[name].requires or []:
            need = Requirement(line)
            if need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in ("", *wanted)
            ):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    return found


@pytest.mark.parametrize("name", learners.EXTRAS)
def test_a_learners_environment_holds_nothing_that_set_up_does_not_install(name):
    there = installed(name)
    brought_by_venv = {"pip", "setuptools"}
    assert set(there) - brought_by_venv <= asked_for(there, learners.EXTRAS[name])
    assert "pytest" not in there
