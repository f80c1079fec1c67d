"""The life of a node, from its start to its stop, as one table.

    starting
       |  registered: the controller knows this run: open the logs
    recovering
       |  logs_opened: ask to be let in
    fenced
       |  unfenced: the controller has let it in: coordinate, lead, follow
    ready
       |  asked_to_leave: others are to take over what it leads
    leaving
       |  handed_over: they have, or had the time for it
    left
       |  stopped: nothing is open any more
    stopped

    from each of them but stopped:
       |  storage_failed: its only log directory is of no use
    failed

The table is what runs, and the diagram is drawn from it (a test compares them). States
are Apache Kafka's BrokerState in other words: its STARTING, RECOVERY, RUNNING (fenced
and ready) and PENDING_CONTROLLED_SHUTDOWN (KIP-631).

A node that was ready stays so when its controller fences it or forgets it: it registers
again, and goes on with the logs that it has. A node that leads nothing yet has nothing
to hand over: it may stop as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from minikafka.clock import Now
from minikafka.cluster.states import table

# states
STARTING = "starting"
RECOVERING = "recovering"
FENCED = "fenced"
READY = "ready"
LEAVING = "leaving"
LEFT = "left"
STOPPED = "stopped"
FAILED = "failed"

# events
REGISTERED = "registered"
LOGS_OPENED = "logs_opened"
UNFENCED = "unfenced"
ASKED_TO_LEAVE = "asked_to_leave"
HANDED_OVER = "handed_over"
STOPS = "stopped"
STORAGE_FAILED = "storage_failed"

# state, event, next state, what it means; "any": each state that has a row of its own
# (so "left" has one, with what "any" says)
TRANSITIONS = table("""
    starting    registered      recovering  the controller knows this run: open the logs
    recovering  logs_opened     fenced      ask to be let in
    fenced      unfenced        ready       the controller has let it in: coordinate, lead, follow
    ready       asked_to_leave  leaving     others are to take over what it leads
    leaving     handed_over     left        they have, or had the time for it
    left        stopped         stopped     nothing is open any more
    any         stopped         stopped     nothing is open any more
    any         storage_failed  failed      its only log directory is of no use
""")


class Allowed(NamedTuple):
    """What a node does and may do in a state of its life.

    follows_image: its replicas are created, changed and removed as the image says.
    has_logs: its logs are open. coordinates: clients may come, and it coordinates what
    it leads. may_stop: nobody needs it to stay.
    """

    follows_image: bool = False
    has_logs: bool = False
    coordinates: bool = False
    may_stop: bool = False


_AT_WORK = Allowed(follows_image=True, has_logs=True, coordinates=True)
ALLOWED = {
    STARTING: Allowed(may_stop=True),
    RECOVERING: Allowed(follows_image=True, may_stop=True),
    FENCED: Allowed(follows_image=True, has_logs=True, may_stop=True),
    READY: _AT_WORK,
    LEAVING: _AT_WORK,
    LEFT: _AT_WORK._replace(may_stop=True),
    STOPPED: Allowed(),
    FAILED: Allowed(),
}


class Lifecycle:
    """Where a node is in its life. It knows no part of the node: what each state begins
    with is wired in parts.py (begins), in the order in which it is done. is_over:
    whether it has stopped, by itself or not, and its logs are closed. why_failed: None,
    or why the node stopped by itself, in one plain sentence.
    """

    def __init__(self) -> None:
        self.state = STARTING
        self.is_over = False
        self.begins: Mapping[str, Sequence[Callable[[Now], object]]] = {}
        self.why_failed: str | None = None

    @property
    def allowed(self) -> Allowed:
        """What the current state allows."""
        return ALLOWED[self.state]

    @property
    def is_leaving(self) -> bool:
        """Whether it has begun to hand over what it leads."""
        return self.state in (LEAVING, LEFT)

    def take(self, event: str, now: Now) -> None:
        """The next step: go where the table says, and do what begins there."""
        transition = TRANSITIONS.get((self.state, event))
        refused = f"nothing is {event} while a node is {self.state}"
        assert transition is not None, refused
        self.state = transition.next_state
        self.is_over = self.state == STOPPED
        for begin in self.begins.get(self.state, ()):
            begin(now)

    def fail(self, why: str) -> bool:
        """It can't go on. Returns False if it was over before."""
        if self.is_over:
            return False
        assert self.why_failed is None, "a node fails once"
        self.state = TRANSITIONS[self.state, STORAGE_FAILED].next_state
        self.is_over = True
        self.why_failed = why
        return True
