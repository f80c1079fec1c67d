"""Pictures with levers: the theatre's live controls on clusters of the simulation. Each
change runs the same calls again.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from minikafka.clients.structs import TopicPartition
from minikafka.course.levers.controls import Live
from minikafka.course.levers.dials import Dial, Dials
from minikafka.course.levers.fault_strip import FaultsLive
from minikafka.course.levers.on_stage import Change, LiveRun
from minikafka.faults import Delay, Fault, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.fault_map import FaultMap
from minikafka.simulation.handles import Handle
from minikafka.theatre import picture
from minikafka.theatre.casting import busiest_topic
from minikafka.theatre.picture import Picture
from minikafka.trace import Event

GRABBED = ("rebalance", "log", "lag", "pipeline")
MOST_RATES = 4  # members whose rate can be dragged
LOST = ("nothing", "a request", "an answer")
SETTINGS = {
    "idempotence": "enable_idempotence",
    "in_flight": "max_in_flight_requests_per_connection",
    "linger_ms": "linger_ms",
    "acks": "acks",
}


def partitioner(
    keys: str = "alice bob carol dave",
    partitions: int = 3,
    then: int = 4,
    seed: int = 7,
) -> Live:
    """The partitioner's machine: type keys, change the count before and after, choose
    the rule for records without a key.

    keys: words; `-` is a record without a key. partitions, then: the topic's partitions
    at first, and after it grew.
    """

    def show(keys: str, partitions: int, then: int, rule: str) -> Picture:
        given = [None if key == "-" else key for key in keys.split()]
        if not given:
            raise ValueError("type at least one key; - is a record without a key")
        if then < partitions:
            raise ValueError(
                f"{partitions} partitions can't become {then}: a topic never loses"
                " partitions"
            )
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
        given = "" if rule == "default" else f'partitioner="{rule}"'
        lines = {
            "keys": f'for key in "{keys}".split(): producer.send("orders", key=key)',
            "partitions": f'cluster.create_topic("orders", partitions={partitions})',
            "then": f'cluster.create_partitions("orders", {then})',
            "rule": f"producer = cluster.producer({given})",
        }
        return lines[name]

    controls = {
        "keys": ("keys", keys),
        "partitions": ("partitions", partitions, range(1, 9)),
        "then": ("grows to", then, range(1, 9)),
        "rule": ("partitioner", "default", ["default", "round_robin"]),
    }
    return Live(show, controls, code)


def pipeline(
    seed: int = 7,
    lost: str = "an answer",
    idempotence: bool = False,
    in_flight: int = 5,
    linger_ms: int = 0,
    acks: str = "all",
) -> Live:
    """The producer's pipeline: lose a request or an answer, change the settings, and
    watch the three lamps.

    The shop sends order 0, then eight orders, one a millisecond, to a broker 12 ms
    away. What is lost (one of LOST) belongs to the second request.
    """

    def show(lost: str, **values: Any) -> Picture:
        faults: list[Fault] = [Delay("shop", 1, extra_ms=10)]
        if lost != "nothing":
            is_answer = lost == "an answer"
            faults.append(Lose("shop", 1, "Produce", nth=2, answer=is_answer))
        settings = {SETTINGS[name]: value for name, value in values.items()}
        with Cluster(seed=seed, faults=faults) as cluster:
            cluster.create_topic("orders")
            shop = cluster.producer(client_id="shop", **settings)
            shop.send("orders", key="alice", value="order 0").get()
            for number in range(1, 9):
                shop.send("orders", key="alice", value=f"order {number}")
                cluster.run_ms(1)
            cluster.run(seconds=2)
            return picture("pipeline", cluster.trace, seed=seed)

    def code(name: str, lost: str, **values: Any) -> str:
        if name != "lost":
            return f"cluster.producer({SETTINGS[name]}={values[name]!r})"
        lose = ""
        if lost != "nothing":
            answer = ", answer=True" if lost == "an answer" else ""
            lose = f', Lose("shop", 1, "Produce", nth=2{answer})'
        return f'cluster = Cluster(faults=[Delay("shop", 1, extra_ms=10){lose}])'

    controls = {
        "lost": ("lost", lost, LOST),
        "idempotence": ("idempotent", idempotence, [("no", False), ("yes", True)]),
        "in_flight": ("in flight", in_flight, range(1, 6)),
        "linger_ms": ("linger_ms", linger_ms, range(21)),
        "acks": ("acks", acks, ["0", "1", "all"]),
    }
    return Live(show, controls, code)


def rebalance(cluster: Cluster, slow_ms: int = 400, **options: Any) -> LiveRun:
    """The rebalance of a run that is over, with levers on the members' cards: freeze,
    slow, close or crash one at any moment of it, cut its wire, or add one. slow_ms:
    what a slow one needs for a record.
    """
    if not _members(cluster):
        raise ValueError(
            'there is no consumer with a group_id: cluster.consumer("orders",'
            ' group_id="billing")'
        )
    return hands(cluster, "rebalance", slow_ms, **options)


def hands(cluster: Cluster, name: str, slow_ms: int = 400, **options: Any) -> LiveRun:
    """The picture of a run that is over, with what can be grabbed in it. name:
    "rebalance"; "log", whose readers are dragged to where they seek; "lag", whose
    members are dragged to another rate; "pipeline", whose wire can be cut.

    Each change replays the cluster's calls up to its moment, changes one thing, and
    replays the rest. Programs that are to be run again get cluster and clients as
    arguments. options: the picture's own.
    """
    if name not in GRABBED:
        raise ValueError(
            f"nothing can be grabbed in {name!r}: choose one of {', '.join(GRABBED)}"
        )
    members, brokers = _members(cluster), list(cluster.brokers)
    topic = options.get("topic") or busiest_topic(cluster.trace)
    live: Any = True
    if name == "lag":
        live = {each: _processing_ms(cluster, each) for each in members[:MOST_RATES]}

    def code(change: Change) -> str:
        return line(change, _program(cluster), slow_ms, topic, brokers)

    def do_again(again: Cluster, change: Change) -> None:
        do(again, change, slow_ms, topic)

    rerun = partial(_rerun, cluster, cluster.now_ms, do_again)
    return LiveRun(name, rerun, code, members, live=live, seed=cluster.seed, **options)


def replication(cluster: Cluster, name: str = "replica-set", **options: Any) -> LiveRun:
    """The replicas of a run that is over, or with name="quorum" its controllers: kill,
    freeze or restart a broker on its card, cut it off from the other brokers, or a
    follower from its leader, as with hands().
    """

    brokers = list(cluster.brokers)
    rerun = partial(_rerun, cluster, cluster.now_ms, do_to_broker)
    return LiveRun(
        name,
        rerun,
        partial(broker_line, brokers=brokers),
        [],
        seed=cluster.seed,
        **options,
    )


def faults(
    found: FaultMap,
    name: str = "replica-set",
    marks: Mapping[int, str] | None = None,
    **options: Any,
) -> FaultsLive:
    """A map of faults under the picture of its runs: point at a cell, and the picture
    shows its run; pin its fault, and the map shows what one fault more does.

    name: of the picture; options: the picture's own. marks: what happens in every run,
    by its moment in virtual ms.
    """
    return FaultsLive(found, name, marks, **options)


def dials(sentence: str, run: Callable[..., Picture], **dials: Dial) -> Dials:
    """A sentence whose numbers play a run anew: dials("Billing is off for {minutes}
    minutes.", run, minutes=(10, range(1, 31))).

    run(minutes=10) returns the picture. A dial: the number at first, and those that it
    may be.
    """
    return Dials(sentence, run, dials)


def do_to_broker(cluster: Cluster, change: Change) -> None:
    """Carry out a lever on a broker's card."""
    for method, brokers in _broker_calls(change, list(cluster.brokers)):
        getattr(cluster, method)(*brokers)


def broker_line(change: Change, brokers: Sequence[int]) -> str:
    """The line of code that does it."""
    lines = []
    for method, given in _broker_calls(change, brokers):
        arguments = ", ".join(map(str, given))
        lines.append(f"cluster.{method}({arguments})")
    return "; ".join(lines)


def _broker_calls(
    change: Change, brokers: Sequence[int]
) -> list[tuple[str, tuple[int, ...]]]:
    broker, *named = [int(name.split()[-1]) for name in change.who.split(",")]
    if change.what in ("cut", "heal"):
        others = [each for each in named or brokers if each != broker]
        return [(change.what, (broker, other)) for other in others]
    method = "crash" if change.what == "kill" else change.what
    return [(method, (broker,))]


def _rerun(
    cluster: Cluster,
    end_ms: int,
    do: Callable[[Cluster, Change], None],
    changes: Sequence[Change],
) -> Sequence[Event]:
    """The trace of the run with these changes, up to where it ended."""
    again = cluster
    for at_ms, together in groupby(changes, key=attrgetter("at_ms")):
        if at_ms >= end_ms:
            raise ValueError(
                f"The run ends at {end_ms / 1000:.3f} s: choose an earlier moment."
            )
        before, again = again, again.replay(at_ms)
        for change in together:
            do(again, change)
        again.repeat(before, end_ms, at_ms)
        again.run_ms(max(end_ms - again.now_ms, 0))
    return list(again.trace)


def line(
    change: Change, program: str, slow_ms: int, topic: str, brokers: Sequence[int]
) -> str:
    """The line of code that does what a lever does. program: what members run."""
    who, what = change.who, change.what
    number, to = change.place
    lines = {
        "add": f'cluster.start({program}, cluster.consumer(..., client_id="{who}"))',
        "leave": f'consumer.close()  # "{who}"',
        "slow": f'cluster.slow("{who}", processing_ms={slow_ms})',
        "rate": f'cluster.slow("{who}", processing_ms={to})',
        "seek": f'consumer.seek(TopicPartition("{topic}", {number}), {to})  # "{who}"',
    }
    if what in lines:
        return lines[what]
    if what in ("cut", "heal"):
        wires = [f'cluster.{what}("{who}", {broker})' for broker in brokers]
        return "; ".join(wires)
    return f'cluster.{what}("{who}")'


def _members(cluster: Cluster) -> list[str]:
    return [name for name, each in cluster.clients.items() if _group(each)]


def _group(handle: Handle) -> str | None:
    if not isinstance(handle, ConsumerHandle):
        return None
    return handle.core.config["group_id"]


def _processing_ms(cluster: Cluster, member: str) -> int:
    client: Any = cluster.clients[member]
    return client.core.config["processing_ms"]


def _program(cluster: Cluster) -> str:
    """The name of the function that members run."""
    programs = _programs_of_members(cluster)
    return programs[0].function.__name__ if programs else "program"


def _programs_of_members(cluster: Cluster) -> list[Any]:
    programs = cluster.kernel.programs.all
    return [each for each in programs if any(map(_is_member, each.args))]


def _is_member(value: Any) -> bool:
    return isinstance(value, Handle) and _group(value) is not None


def do(cluster: Cluster, change: Change, slow_ms: int, topic: str) -> None:
    """Carry out a lever. ValueError: it isn't possible at this moment."""
    what, who = change.what, change.who
    number, to = change.place
    if what == "add":
        _add(cluster, who)
        return
    if who not in cluster.clients:
        raise ValueError(f"{who} is not there yet at {change.at_ms / 1000:.3f} s.")
    client: Any = cluster.clients[who]
    if what == "leave":
        client.close()
    elif what == "seek":
        client.seek(TopicPartition(topic, int(number)), to)
    elif what == "slow":
        cluster.slow(who, slow_ms)
    elif what == "rate":
        cluster.slow(who, to)
    elif what in ("cut", "heal"):
        for broker in cluster.brokers:
            getattr(cluster, what)(who, broker)
    else:
        getattr(cluster, what)(who)


def _add(cluster: Cluster, name: str) -> None:
    """One more member: made and started as the one before it."""
    consumers = [call for call in cluster.calls if call.method == "consumer"]
    made = [call for call in consumers if call.kwargs.get("group_id")]
    programs = _programs_of_members(cluster)
    if not made or not programs:
        raise ValueError(
            "no member was started before this moment: cluster.start(program, consumer)"
        )
    last, program = made[-1], programs[-1]
    settings = {**last.kwargs, "client_id": name}
    consumer = cluster.consumer(*last.args, **settings)
    arguments = [consumer if _is_member(each) else each for each in program.args]
    cluster.start(program.function, *arguments)
