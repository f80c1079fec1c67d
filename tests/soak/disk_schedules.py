"""Random hours of a replicated cluster with failing disks and old data folders, each
from a seed: `python -m tests.soak.disk_schedules --schedules 1000`.

What happens and what must hold is in tests/simulation/disk_schedules.py. A failure
prints its schedule.
"""

import sys

from tests.simulation.disk_schedules import Run, Schedule
from tests.soak.replication import soak

if __name__ == "__main__":
    sys.exit(soak("disk_schedules", Schedule, Run, __doc__))
