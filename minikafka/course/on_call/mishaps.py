"""What a plan lets go wrong; a learner can't.

mishap crash kafka-1          the process is killed
mishap cut kafka-1            no other broker reaches it, clients do
mishap heal                   all cuts end
mishap hold kafka-1 no power  it can't be started, and that is why
mishap hold reports no data   the same of a program: its pods end as soon as they start
mishap release kafka-1        it can
mishap disk kafka-1 12000     only this many bytes are left on its disk
mishap kill billing           the pod that has most to do is killed
mishap freeze payouts         its pods freeze
mishap orders shop 90         this many of a hundred orders are one customer's
mishap send orders 3 {"id     this record, to this partition
mishap tell ...               this message comes from a colleague
"""

from collections.abc import Callable

from minikafka.course.on_call.apps import App, Pod
from minikafka.course.on_call.brokers import BROKERS
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.programs import Shop
from minikafka.course.on_call.usage import Given
from minikafka.course.on_call.world import World

IN_HAND = 3  # orders that a pod has read and not handled, when it is killed
LOOK_MS = 500  # between two looks at how many it has
LOOKS = 120  # at most; then it is killed with what it has


def mishap(world: World, given: Given) -> str:
    """Carry out one line of a plan, such as "crash kafka-2"."""
    what, _, rest = given["WHAT"].partition(" ")
    MISHAPS[what](world, rest)
    return ""


def broker_of(name: str) -> int:
    """The id of a broker: kafka-2 is 2."""
    return int(name.removeprefix("kafka-"))


def _crash(world: World, rest: str) -> None:
    """crash BROKER: its process is killed."""
    world.cluster.crash(broker_of(rest))


def _cut(world: World, rest: str) -> None:
    """cut BROKER: no other broker reaches it, but clients still do."""
    broker = broker_of(rest)
    for other in BROKERS:
        if other != broker:
            world.cluster.cut(broker, other)


def _heal(world: World, rest: str) -> None:
    """heal: end all network cuts."""
    world.cluster.heal()


def _hold(world: World, rest: str) -> None:
    """hold NAME WHY: a machine that can't be started, or an app that can't work."""
    name, _, why = rest.partition(" ")
    if name in world.apps:
        world.apps[name].held = why
    else:
        world.brokers.held[broker_of(name)] = why


def _release(world: World, rest: str) -> None:
    """release NAME: what was held can start again."""
    name = rest
    if name in world.apps:
        world.apps[name].held = ""
    else:
        world.brokers.held.pop(broker_of(name), None)


def _disk(world: World, rest: str) -> None:
    """disk BROKER BYTES: only this much space is left on the broker's volume."""
    name, left = rest.split()
    disk = world.brokers.disk(broker_of(name))
    disk.capacity_bytes = disk.used_bytes + int(left)


def _kill(world: World, rest: str) -> None:
    """The operating system kills a pod that needs too much memory."""
    app = world.apps[rest]
    _wait_until_busy(world, app)
    living = [pod for pod in app.pods if pod.is_up]
    if living:
        busiest = max(living, key=_in_hand)
        app.kill(busiest)


def _wait_until_busy(world: World, app: App) -> None:
    """Let time pass until one of its pods has orders to lose."""
    for _ in range(LOOKS):
        if max(map(_in_hand, app.pods)) >= IN_HAND:
            return
        world.cluster.run_ms(LOOK_MS)


def _in_hand(pod: Pod) -> int:
    """How many orders it has read, and not handled yet."""
    return len(pod.hand)


def _freeze(world: World, rest: str) -> None:
    """Freeze an app's pods, like a garbage collection that never ends."""
    for pod in world.apps[rest].pods:
        world.cluster.freeze(pod.program)


def _orders(world: World, rest: str) -> None:
    """orders SHOP N: from now on, N of a hundred are one customer's."""
    name, count = rest.split()
    shop = world.apps[name]
    assert isinstance(shop, Shop), shop
    shop.large = int(count)


def _send(world: World, rest: str) -> None:
    """Some other program writes one record."""
    topic, partition, value = rest.split(" ", 2)
    producer = world.cluster.producer(client_id="import")
    producer.send(topic, value=value, partition=int(partition))
    producer.flush()
    producer.close()


def _tell(world: World, rest: str) -> None:
    """tell WORDS: a message from a colleague appears."""
    world.messages.append(f"{clock(world.now_ms)}  {rest}")


MISHAPS: dict[str, Callable[[World, str], None]] = {
    "crash": _crash,
    "cut": _cut,
    "heal": _heal,
    "hold": _hold,
    "release": _release,
    "disk": _disk,
    "kill": _kill,
    "freeze": _freeze,
    "orders": _orders,
    "send": _send,
    "tell": _tell,
}
