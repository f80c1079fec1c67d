"""Repeats a run from the seed: the recorded calls, each at its time, on a new cluster.

Arguments that are the old cluster, its clients or programs are replaced by the new
one's. A global name in a program keeps its old value, so a program that is to be run
again must get cluster and clients as arguments.
"""

from typing import TYPE_CHECKING, Any

from minikafka.clients.future import Future
from minikafka.simulation.handles import Handle
from minikafka.simulation.programs import Program
from minikafka.simulation.tables import Table

if TYPE_CHECKING:
    from minikafka.simulation.cluster import Cluster


def replayed(
    old: "Cluster", new: "Cluster", until_ms: int, since_ms: int = 0
) -> "Cluster":
    """Repeat old's calls on new up to a time, then stop there. since_ms: only calls
    from then on, if new has got that far already.

    A call that raised an error then raises it again now, and is passed over.
    """
    places = {id(future): index for index, future in enumerate(old.futures)}

    def here(value: Any) -> Any:
        if value is old:
            return new
        if isinstance(value, Handle):
            return new._clients[value.name]
        if isinstance(value, Program):
            return next(
                each for each in new.kernel.programs.all if each.name == value.name
            )
        if isinstance(value, Table):
            return new.table(value.name)
        if isinstance(value, Future):
            return new.futures[places[id(value)]]
        return value

    for call in old.calls:
        if call.at_ms >= until_ms:
            break
        if isinstance(call.target, tuple):
            target: Any = new.table(call.target[1])
        else:
            target = new if call.target == "cluster" else new._clients[call.target]
        args, kwargs = (
            [here(each) for each in call.args],
            {name: here(each) for name, each in call.kwargs.items()},
        )
        if call.method in ("run", "run_ms", "sleep"):
            ms = (
                args[0]
                if call.method == "run_ms"
                else round((args[0] if args else kwargs.get("seconds", 1)) * 1000)
            )
            end_ms = min(call.at_ms + ms, until_ms)
            if end_ms >= since_ms:
                new.run_ms(max(end_ms - new.now_ms, 0))
            continue
        if call.at_ms < since_ms:
            continue
        # the changed call took less time than the original
        if call.at_ms > new.now_ms:
            new.run_ms(call.at_ms - new.now_ms)
        try:
            getattr(target, call.method)(*args, **kwargs)
        except Exception:
            pass
    return new
