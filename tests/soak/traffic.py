"""The hostile day: many clients at once, each at its script, and what befalls them,
step after step out of one seed.

A driver (core.py, tcp.py) takes a step, does it, and hands back the answers. What comes
next depends on nothing but the seed and the answers.
"""

from random import Random
from typing import NamedTuple

from minikafka.wire.messages import API
from tests.soak.clients import SCRIPTS, Ask, Script, janitor
from tests.soak.frames import encoded, fitted, makes_much, mutated, twisted
from tests.soak.values import Values, World

CLIENTS = 12
HOUSEWORK = 700  # requests between two of the janitor's visits
SILENCE = 3000  # requests between two silences, after which the node is started again


class Send(NamedTuple):
    """This client sends a frame. ask: what it means; bytes behind the header may have
    been changed since.
    """

    client: int
    ask: Ask
    correlation_id: int
    frame: bytes
    intact: bool


class Drop(NamedTuple):
    """This client hangs up, whatever it waits for, and comes back as another."""

    client: int


class Pass(NamedTuple):
    """A step in which only time passes."""

    ms: int


class Restart(NamedTuple):
    """An hour without a request, then the node stops (how: stop, crash) and is started
    again.
    """

    how: str


Step = Send | Drop | Pass | Restart


class Traffic:
    """All clients of one run.

    busy: client -> what it waits for the answer to. sent: how many requests so far.
    """

    def __init__(self, seed: int, restarts: bool = True) -> None:
        self.random = Random(seed)
        self.world = World(self.random)
        self.values = Values(self.world)
        self.busy: dict[int, Send] = {}
        self.sent = 0
        self._clients = range(CLIENTS)
        self._scripts: dict[int, tuple[Script, Ask]] = {}
        self._housework = HOUSEWORK // 10
        self._silence = SILENCE if restarts else None

    def next(self) -> Step:
        """The next step, chosen at random."""
        idle = [client for client in self._clients if client not in self.busy]
        if self._silence is not None and self.sent >= self._silence:
            self._silence += SILENCE
            return Restart(self.random.choice(["stop", "crash"]))
        if not idle and self.random.random() < 0.05:
            return Drop(self.random.choice(self._clients))
        dice = self.random.random()
        if not idle or dice < 0.03:
            return Pass(self.random.choice([1, 5, 20, 100, 500, 500, 2000, 10_000]))
        if dice < 0.04:
            return Drop(self.random.choice(self._clients))
        return self._send(self.random.choice(idle))

    def answered(self, client: int, answer) -> None:
        """A client's request came to its end: a decoded answer, or None if there is
        none or the connection closed.
        """
        ask = self.busy.pop(client).ask
        if answer is not None:
            self.world.learn(ask.api, ask.body, answer)
        script, _ = self._scripts.pop(client)
        try:
            self._scripts[client] = script, script.send(answer)
        except StopIteration:
            pass

    def dropped(self, client: int) -> None:
        """A client's connection is gone, and its script with it."""
        self.busy.pop(client, None)
        self._scripts.pop(client, None)

    def forget(self) -> None:
        """All connections are gone."""
        self.busy.clear()
        self._scripts.clear()

    def _send(self, client: int) -> Send:
        if client not in self._scripts:
            script = self._new_script()
            self._scripts[client] = script, next(script)
        script, ask = self._scripts[client]
        shape = API[ask.api].request.struct
        body, dice = fitted(shape, ask.version, ask.body), self.random.random()
        if dice < 0.15:
            body = twisted(shape, ask.version, body, self.values)
        ask = ask._replace(body=body)
        self.sent += 1
        frame = encoded(ask, self.sent)
        intact = not 0.15 <= dice < 0.2
        if not intact and not makes_much(changed := mutated(frame, self.random)):
            frame = changed
        self.busy[client] = Send(client, ask, self.sent, frame, intact)
        return self.busy[client]

    def _new_script(self) -> Script:
        if self.sent >= self._housework:
            self._housework += HOUSEWORK
            return janitor(self.values)
        return self.random.choice(SCRIPTS)(self.values)
