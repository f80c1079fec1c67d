"""The broker that a fault needs: one that dies and comes back, or one behind a proxy that
loses answers. Of both kinds.
"""

from contextlib import ExitStack, contextmanager

from minikafka.server.embedded import Served
from minikafka.server.proxy import Proxy
from tests.clients.brokers import KEPT, overrides
from tests.kafka import MINIKAFKA, ApacheKafka, free_ports

# members that are gone are missed soon
QUICK = {"group.min.session.timeout.ms": "1000", **KEPT}


class LosesAnswers:
    """A change of a proxy: each so-manieth answer of an API is lost, and its connection."""

    def __init__(self):
        self.api = self.every = None
        self.seen = self.lost = 0

    def lose(self, api, every):
        self.api, self.every = api, every

    def __call__(self, request, answer):
        if int.from_bytes(request[:2], "big") == self.api:
            self.seen += 1
            if self.seen % self.every == 0:
                self.lost += 1
                raise OSError("lost")
        return answer


@contextmanager
def behind_proxy(kind):
    """Its address, which is the proxy's, and what loses answers on their way."""
    losing = LosesAnswers()
    with ExitStack() as ends:
        if kind == MINIKAFKA:
            port = free_ports(1)[0]
            proxy = ends.enter_context(Proxy(f"127.0.0.1:{port}", losing))
            options = (*overrides(QUICK), "--advertised-port", str(proxy.port))
            served = Served(port=port, options=options)
            ends.callback(served.stop)
        else:
            kafka = ApacheKafka(QUICK)
            proxy = ends.enter_context(Proxy(kafka.bootstrap, losing))
            listeners = f"PLAINTEXT://{proxy.address}"
            kafka.properties["advertised.listeners"] = listeners
            ends.enter_context(kafka)
        yield proxy.address, losing


def kill(broker):
    """kill -9; `restart` brings it back."""
    if hasattr(broker, "kafka"):
        broker.kafka.process.kill()
    else:
        broker.served.kill()
