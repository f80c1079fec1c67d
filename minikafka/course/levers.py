"""Pictures with levers: the theatre's live controls on clusters of the simulation. Each change runs the same calls
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from minikafka.course.live import Live
from minikafka.course.live_rebalance import Change, RebalanceLive
from minikafka.faults import Delay, Fault, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.handles import Handle
from minikafka.theatre import picture
from minikafka.theatre.picture import Picture
from minikafka.trace import Event

LOST = ("nothing", "a request", "an answer")
SETTINGS = {
    "idempotence": "enable_idempotence",
    "in_flight": "max_in_flight_requests_per_connection",
    "linger_ms": "linger_ms",
    "acks": "acks",
}


def partitioner(keys: str = "alice bob carol dave", partitions: int = 3, then: int = 4, seed: int = 7) -> Live:
    """The partitioner's machine: type keys, change the count before and after, choose the rule for records without a
    key.

    keys: words; `-` is a record without a key. partitions, then: the topic's partitions at first, and after it grew.
    """

    def show(keys: str, partitions: int, then: int, rule: str) -> Picture:
        given = [None if key == "-" else key for key in keys.split()]
        if not given:
            raise ValueError("type at least one key; - is a record without key")
        if then < partitions:
            raise ValueError(f"{partitions} partitions can't become {then}: a topic never loses partitions")
        with Cluster(seed=seed) as cluster:
            cluster.create_topic("orders", partitions=partitions)
            shop = cluster.producer(partitioner=rule, client_id="shop")
            for key in given:
                shop.send("orders", key=key, value="created")
            cluster.run(seconds=1)
            if then > partitions:
                cluster.create_partitions("orders", then)
                cluster.run(seconds=300)  # until the producer has noticed
                for key in given:
                    shop.send("orders", key=key, value="paid")
                cluster.run(seconds=1)
            return picture("partitioner", cluster.trace, seed=seed)

    def code(name: str, keys: str, partitions: int, then: int, rule: str) -> str:
        return {
            "keys": f'for key in "{keys}".split(): producer.send("orders", key=key)',
            "partitions": f'cluster.create_topic("orders", partitions={partitions})',
            "then": f'cluster.create_partitions("orders", {then})',
            "rule": f'producer = cluster.producer(partitioner="{rule}")'.replace('partitioner="default"', ""),
        }[name]

    controls = {
        "keys": ("keys", keys),
        "partitions": ("partitions", partitions, range(1, 9)),
        "then": ("grows to", then, range(1, 9)),
        "rule": ("partitioner", "default", ["default", "round_robin"]),
    }
    return Live(show, controls, code)


def pipeline(seed: int = 7, lost: str = "an answer", idempotence: bool = False, in_flight: int = 5, linger_ms: int = 0,
             acks: str = "all") -> Live:  # fmt: skip
    """The producer's pipeline: lose a request or an answer, change the settings, and watch the three lamps.

    The shop sends order 0, then eight orders, one a millisecond, to a broker 12 ms away. What is lost (one of LOST)
    belongs to the second request.
    """

    def show(lost: str, **values: Any) -> Picture:
        faults: list[Fault] = [Delay("shop", 1, extra_ms=10)]
        if lost != "nothing":
            faults.append(Lose("shop", 1, "Produce", nth=2, answer=lost == "an answer"))
        with Cluster(seed=seed, faults=faults) as cluster:
            cluster.create_topic("orders")
            shop = cluster.producer(client_id="shop", **{SETTINGS[name]: value for name, value in values.items()})
            shop.send("orders", key="alice", value="order 0").get()
            for number in range(1, 9):
                shop.send("orders", key="alice", value=f"order {number}")
                cluster.run_ms(1)
            cluster.run(seconds=2)
            return picture("pipeline", cluster.trace, seed=seed)

    def code(name: str, lost: str, **values: Any) -> str:
        if name != "lost":
            return f"cluster.producer({SETTINGS[name]}={values[name]!r})"
        answer = ", answer=True" if lost == "an answer" else ""
        lose = "" if lost == "nothing" else f', Lose("shop", 1, "Produce", nth=2{answer})'
        return f'cluster = Cluster(faults=[Delay("shop", 1, extra_ms=10){lose}])'

    controls = {
        "lost": ("lost", lost, LOST),
        "idempotence": ("idempotent", idempotence, [("no", False), ("yes", True)]),
        "in_flight": ("in flight", in_flight, range(1, 6)),
        "linger_ms": ("linger_ms", linger_ms, range(21)),
        "acks": ("acks", acks, ["0", "1", "all"]),
    }
    return Live(show, controls, code)


def rebalance(cluster: Cluster, slow_ms: int = 400, **options: Any) -> RebalanceLive:
    """The rebalance of a run that is over, with levers on the members' cards: freeze, slow, close or crash one at any
    moment of it, or add one.

    Each change replays the cluster's calls up to its moment, changes one thing, and lets the run go on to where it
    ended before. Programs that are to be run again get cluster and clients as arguments. options: the picture's own.
    """
    members = [name for name, each in cluster._clients.items() if _group(each)]
    if not members:
        raise ValueError('there is no consumer with a group_id: cluster.consumer("orders", group_id="billing")')
    end_ms = cluster.now_ms

    def rerun(changes: Sequence[Change]) -> Sequence[Event]:
        again = cluster
        for at_ms, together in groupby(changes, key=attrgetter("at_ms")):
            if at_ms >= end_ms:
                raise ValueError(f"The run ends at {end_ms / 1000:.3f} s: choose an earlier moment.")
            again = again.replay(at_ms)
            for change in together:
                _do(again, change, slow_ms)
            again.run_ms(end_ms - again.now_ms)
        return list(again.trace)

    def code(change: Change) -> str:
        return {
            "add": f'cluster.start({_program(cluster)}, cluster.consumer(..., client_id="{change.who}"))',
            "leave": f'consumer.close()  # "{change.who}"',
            "crash": f'cluster.crash("{change.who}")',
            "freeze": f'cluster.freeze("{change.who}")',
            "slow": f'cluster.slow("{change.who}", processing_ms={slow_ms})',
        }[change.what]

    return RebalanceLive(rerun, code, members, seed=cluster.seed, **options)


def _group(handle: Handle) -> str | None:
    return handle.core.config["group_id"] if isinstance(handle, ConsumerHandle) else None


def _program(cluster: Cluster) -> str:
    """The name of the function that members run."""
    programs = (each for each in cluster.kernel.programs.all if any(map(_is_member, each.args)))
    return next((each.function.__name__ for each in programs), "program")


def _is_member(value: Any) -> bool:
    return isinstance(value, Handle) and _group(value) is not None


def _do(cluster: Cluster, change: Change, slow_ms: int) -> None:
    if change.what == "add":
        _add(cluster, change.who)
        return
    if change.who not in cluster._clients:
        raise ValueError(f"{change.who} is not there yet at {change.at_ms / 1000:.3f} s.")
    if change.what == "leave":
        cluster._clients[change.who].close()
    elif change.what == "crash":
        cluster.crash(change.who)
    elif change.what == "freeze":
        cluster.freeze(change.who)
    else:
        cluster.slow(change.who, slow_ms)


def _add(cluster: Cluster, name: str) -> None:
    """One more member: made and started as the one before it."""
    made = [call for call in cluster.calls if call.method == "consumer" and call.kwargs.get("group_id")]
    programs = [each for each in cluster.kernel.programs.all if any(map(_is_member, each.args))]
    if not made or not programs:
        raise ValueError("no member was started before this moment: cluster.start(program, consumer)")
    consumer = cluster.consumer(*made[-1].args, **made[-1].kwargs | {"client_id": name})
    cluster.start(programs[-1].function, *(consumer if _is_member(each) else each for each in programs[-1].args))
