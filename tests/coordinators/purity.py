"""Whether a decision changes nothing: the state as data, before and after."""

from collections.abc import Mapping, Sequence, Set
from contextlib import contextmanager
from enum import Enum

from minikafka.cluster.metadata import Image
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.expressions import Expressions
from minikafka.trace import Trace

PLAIN = (str, bytes, int, float, bool, type(None), Enum)


def state_of(thing):
    """All that a coordinator's object knows, as plain data. What it was handed (config,
    image, what expressions match) is not of it; of the trace counts how many events were told.
    """
    if isinstance(thing, PLAIN):
        return thing
    if isinstance(thing, Wait):
        return id(thing), thing.is_done
    if isinstance(thing, Deadlines):
        return sorted(thing._at.items())  # its heap is corrected by whoever looks
    if isinstance(thing, Trace):
        return thing._number
    if isinstance(thing, Image | Expressions) or callable(thing):
        return None
    if isinstance(thing, Set):
        return sorted(map(state_of, thing), key=repr)
    if isinstance(thing, Mapping) and not hasattr(thing, "__slots__"):
        return [(state_of(key), state_of(value)) for key, value in thing.items()]
    if isinstance(thing, Sequence):
        return [state_of(each) for each in thing]
    names = [*getattr(thing, "__dict__", {}), *getattr(type(thing), "__slots__", ())]
    return [
        type(thing).__name__,
        *(
            (name, state_of(getattr(thing, name)))
            for name in names
            if name != "_config"
        ),
    ]


@contextmanager
def unchanged(thing):
    """Whatever is done inside changes nothing of it."""
    before = state_of(thing)
    try:
        yield
    finally:
        assert state_of(thing) == before, "it changed"


def watch(monkeypatch, shard_class):
    """From now on every decision of a shard is checked. Returns the keys of the
    decisions.
    """
    checked = []
    right = shard_class.run

    def run(shard, write, now):
        decide = write.decide

        def only_decide(now):
            checked.append(write.key)
            with unchanged(shard.state):
                return decide(now)

        write.decide = only_decide
        right(shard, write, now)

    monkeypatch.setattr(shard_class, "run", run)
    return checked
