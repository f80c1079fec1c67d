"""Random minutes of transactions in which each producer id has few epochs, so that they
are used up again and again (KIP-360, KIP-890), over crashes and restarts of the
coordinator too: `python -m tests.soak.epochs --schedules 1000`.

What happens and what must hold is in tests/simulation/transaction_schedules.py. A
failure prints its schedule.
"""

import sys
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from minikafka.cluster import controller
from minikafka.coordinators import transaction_states
from minikafka.storage import producer_state
from tests.simulation import transaction_schedules
from tests.simulation.transaction_schedules import Schedule
from tests.soak.replication import soak

LAST = 1  # instead of 32,766


class Run(transaction_schedules.Run):
    """ids: the producer ids that each transactional id had."""

    def __init__(self, schedule: Schedule) -> None:
        few: tuple[tuple[Any, str, int], ...] = (
            (transaction_states, "LAST_EPOCH", LAST),
            (transaction_states, "FENCE_EPOCH", LAST + 1),
            (producer_state, "MAX_EPOCH", LAST + 1),
            # so that a later id is a larger one
            (controller, "PRODUCER_ID_BLOCK_SIZE", 1),
        )
        with ExitStack() as limits:
            for module, name, value in few:
                limits.enter_context(patch.object(module, name, value))
            super().__init__(schedule)
        self.ids: dict[str, set[int]] = {}
        for event in self.cluster.trace:
            if event.kind == "TransactionStateChanged":
                assert event.detail["producer_epoch"] <= LAST + 1
                ids = self.ids.setdefault(event.detail["transactional_id"], set())
                ids.add(event.detail["producer_id"])


if __name__ == "__main__":
    sys.exit(soak("epochs", Schedule, Run, __doc__))
