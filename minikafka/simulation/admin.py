"""The admin client: one request, one answer, from a given broker or from any (in KRaft
each broker forwards changes).
"""

from collections.abc import Sequence
from typing import Any

from minikafka.clients.connection import DEFAULTS, Client
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.metadata import Address
from minikafka.clients.request_state import Question
from minikafka.clock import Now
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.network import Network
from minikafka.simulation.processes import ClientProcess
from minikafka.simulation.programs import never
from minikafka.trace import Trace

PATIENCE_MS = 30_000


class AdminRequest(Question):
    """node: the id of the broker to ask; None: any."""

    def __init__(
        self, client: Client, api: str, body: dict[str, Any], node: int | None
    ) -> None:
        super().__init__(client)
        self._client = client
        self._api, self._body, self._node = api, body, node

    def attempt(self) -> None:
        node = (
            self._client.any_node()
            if self._node is None
            else self._client.ready(self._node)
        )
        if node is not None:
            self._client.request(
                node, self._api, self._body, self.state.sent(self.succeed)
            )


class Admin(Client):
    """Requests whose connection is lost are sent again, until the shell gives
    them up.
    """

    def __init__(self, name: str, bootstrap: Sequence[Address], trace: Trace) -> None:
        super().__init__(name, bootstrap, trace, DEFAULTS)

    def call(
        self, api: str, body: dict[str, Any], now: Now, node: int | None = None
    ) -> Future:
        """Send a request. The future's value is the response as it came; its error
        codes haven't been looked at.
        """
        self._enter(now)
        request = AdminRequest(self, api, body, node)
        self.questions.add(request)
        self._do_what_is_due()
        return request

    def busy(self) -> bool:
        return not all(question.is_done for question in self.questions)


class AdminHandle:
    """The admin client behind a cluster's own calls: each request takes some
    virtual ms.
    """

    def __init__(self, core: Admin, kernel: Kernel, network: Network) -> None:
        self._core = core
        self._kernel = kernel
        self._process = ClientProcess(
            core.name, core, kernel.clock, network, core.trace
        )
        kernel.agenda.add(self._process)

    def ask(self, api: str, body: dict[str, Any], node: int | None = None) -> Any:
        """Send one request and return its answer. Errors: KafkaTimeoutError."""
        self._kernel.programs.enter(api)
        future = self._core.call(api, body, self._process.now(), node)
        self._process.turn()
        if not self._kernel.wait(lambda: future.is_done, PATIENCE_MS):
            self._core.questions.give_up(future)
            raise KafkaTimeoutError(
                f"no broker answered {api} within {PATIENCE_MS // 1000} virtual"
                " seconds: is one up?"
            )
        return future.value

    def pause(self, ms: int) -> None:
        """Let some virtual ms pass before the next request."""
        self._kernel.wait(never, ms)
