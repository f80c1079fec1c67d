"""The counts for lesson 22's two predictions, on a quiet night."""

from minikafka.course.on_call import tools
from minikafka.course.on_call.incident import Incident

LISTS = ("under-replicated", "unavailable", "under-min-isr")


def partitions_listed(night: Incident) -> dict[str, int]:
    """How many partitions of the shop's topics kafka-topics lists as such."""
    found = {}
    for name in LISTS:
        line = f"kafka-topics --describe --exclude-internal --{name}-partitions"
        said = tools.printed(tools.understood(line, acts=False), night.world)
        found[name] = len(said.splitlines())
    return found


def committed(night: Incident) -> int:
    """The sum of what billing has committed."""
    return sum(night.world.cluster.committed_offsets("billing").values())
