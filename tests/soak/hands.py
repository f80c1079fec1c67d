"""Clumsy hands on a simulated cluster, each time from a seed: `python -m
tests.soak.hands --schedules 500`.

What they do and what must not come of it is in tests/simulation/hand_schedules.py. A
failure prints its schedule.
"""

import sys

from tests.simulation.hand_schedules import Run, Schedule
from tests.soak.replication import soak

if __name__ == "__main__":
    sys.exit(soak("hands", Schedule, Run, __doc__))
