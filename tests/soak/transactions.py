"""Random minutes of transactions, each from a seed: `python -m tests.soak.transactions
--schedules 1000`.

What happens and what must hold is in tests/simulation/transaction_schedules.py. A
failure prints its schedule.
"""

import sys

from tests.simulation.transaction_schedules import Run, Schedule
from tests.soak.replication import soak

if __name__ == "__main__":
    sys.exit(soak("transactions", Schedule, Run, __doc__))
