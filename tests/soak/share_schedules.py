"""Random minutes of a share group (KIP-932), each from a seed: `python -m
tests.soak.share_schedules --schedules 1000`.

What happens and what must hold is in tests/simulation/share_schedules.py. A failure
prints its schedule.
"""

import sys

from tests.simulation.share_schedules import Run, Schedule
from tests.soak.replication import soak

if __name__ == "__main__":
    sys.exit(soak("share_schedules", Schedule, Run, __doc__))
