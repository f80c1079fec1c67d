"""Random minutes of DeleteRecords and compaction beside transactions, each from a seed:
`python -m tests.soak.clearing --schedules 1000`.

What happens and what must hold is in tests/simulation/clearing_schedules.py. A failure
prints its schedule.
"""

import sys

from tests.simulation.clearing_schedules import Run, Schedule
from tests.soak.replication import soak

if __name__ == "__main__":
    sys.exit(soak("clearing", Schedule, Run, __doc__))
