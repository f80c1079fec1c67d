"""How long the map of all faults takes: 360 runs of lesson 09's shop, each of them
made, in as many processes as there are cores.
"""

import time

from minikafka.course.experiments.lesson_09_runs import every_moment, fared, five_orders
from minikafka.simulation.fault_map import Outcome, fault_map

MOMENTS_MS = range(4980, 5070)


def table():
    faults = [row[0].fault for row in every_moment(1).rows]
    began = time.perf_counter()
    found = fault_map(five_orders, faults, each_its_own, MOMENTS_MS)
    took_s = time.perf_counter() - began
    return f"a map of all faults: {found.runs} runs in {took_s:.1f} s"


def each_its_own(cluster):
    """So that no two neighbours are alike, and each cell is run."""
    return Outcome(fared(cluster).kind, repr(cluster._plan.faults))
