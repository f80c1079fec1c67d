"""Who gives way when all connections together hold too much."""

from dataclasses import dataclass

import pytest

from minikafka.server.addresses import CannotServe
from minikafka.server.budget import Budget
from minikafka.server.open_files import LEAST, share


@dataclass(eq=False)
class Holder:
    name: str
    host: str = "127.0.0.1"


def budget(*held):
    """(holder, bytes) each, the one that has been still for longest first."""
    made = Budget(1000)
    for holder, nbytes in held:
        made.hold(holder, nbytes)
    return made


def test_the_total_follows_what_each_connection_holds():
    a, b = Holder("a"), Holder("b")
    made = budget((a, 600), (b, 500))
    assert (made.total_bytes, made.full) == (1100, True)
    made.hold(a, 100)
    made.hold(b, 0)
    made.hold(b, 0)
    assert (made.total_bytes, made.full, made.holders(), made.held(b)) == (
        100,
        False,
        [a],
        0,
    )


def test_a_thousand_half_requests_give_way_and_not_the_large_one_that_moves():
    halves = [Holder(f"half {number}") for number in range(1000)]
    honest = Holder("honest")
    made = budget(*((half, 256) for half in halves), (honest, 200_000))
    gone = []
    while made.total_bytes > 410_000:
        gone.append(made.who_gives_way())
        made.hold(gone[-1], 0)
    assert gone == halves[: len(gone)], "the one that has been still for longest first"


def test_a_large_one_that_does_not_move_gives_way():
    honest, hog = Holder("honest"), Holder("hog")
    assert budget((hog, 900), (honest, 200)).who_gives_way() is hog
    assert (
        budget((honest, 1), (hog, 900), (Holder("moves"), 200)).who_gives_way() is hog
    )


def test_the_host_that_holds_most_of_what_is_still_gives_way():
    crowd = [(Holder(f"half {number}", "10.0.0.66"), 10) for number in range(50)]
    slow = Holder("slow", "10.0.0.7")
    made = budget((slow, 90), *crowd, (Holder("fast", "10.0.0.8"), 400))
    assert made.who_gives_way() is crowd[0][0]


def test_a_small_one_that_waits_does_not_give_way_for_the_large():
    small = [(Holder(f"small {number}"), 1) for number in range(10)]
    half = Holder("half")
    assert budget(*small, (half, 500), (Holder("moves"), 900)).who_gives_way() is half


def test_who_is_alone_gives_way():
    alone = Holder("alone")
    assert budget((alone, 2000)).who_gives_way() is alone


@pytest.mark.parametrize(
    ("limit", "disk", "connections"),
    [(100, 25, 25), (256, 103, 103), (1024, 200, 774), (10_240, 200, 9990)],
)
def test_the_open_files_are_shared_between_the_disk_and_the_connections(
    limit, disk, connections
):
    assert share(limit) == (disk, connections)


def test_too_few_open_files_are_refused_with_the_way_out():
    with pytest.raises(CannotServe, match="ulimit -n 100"):
        share(LEAST - 1)
