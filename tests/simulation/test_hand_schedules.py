"""Whatever hands do to a cluster, at whatever moment: it answers or refuses."""

import pytest

from tests.simulation.hand_schedules import Run, Schedule

SEEDS = [
    pytest.param(seed, marks=[] if seed == 40 else [pytest.mark.slow])
    for seed in range(40, 48)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hand_meets_a_bug(seed, capsys):
    schedule = Schedule(seed)
    assert not Run(schedule).problems, schedule
    capsys.readouterr()
