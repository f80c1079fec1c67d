"""What lesson 22's two predictions are about, counted on a quiet night."""

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


def option_of(listed: dict[str, int]) -> int:
    """The option of the first prediction that these counts make right."""
    if listed["under-min-isr"]:
        return 3
    return 2 if listed["unavailable"] else 1


def handled_again(night: Incident) -> int:
    """How many orders billing has handled more than once."""
    return len(night.world.orders.twice("billing"))


def option_for(before: int, after: int) -> int:
    """The option of the second prediction: how many orders were handled again before
    the rebalance, and after it.
    """
    if before:
        return 1
    return 2 if after else 3
