"""Whatever hands do to a cluster, at whatever moment: it answers or refuses."""

import pytest

from tests.seeds import seeds
from tests.simulation.hand_schedules import Run, Schedule

pytestmark = [pytest.mark.apart, pytest.mark.slow]


@pytest.mark.parametrize("seed", seeds(range(40, 48)))
def test_no_hand_meets_a_bug(seed, capsys):
    schedule = Schedule(seed)
    assert not Run(schedule).problems, schedule
    capsys.readouterr()
