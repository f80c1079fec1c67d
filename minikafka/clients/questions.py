"""What a program asks through a client and waits for: offsets, commits, the requests of an admin client.

A question is a future. The client sends its requests as soon as it can, and again while that makes sense, until the
question is answered, refused for good, or given up by the shell, which has no more patience.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minikafka.clients.future import Future
from minikafka.clients.request_state import Guide, RequestState

if TYPE_CHECKING:
    from minikafka.clients.connection import Client


class Question(Future):
    """The base of all questions."""

    def __init__(self, client: Client, guide: Guide | None = None) -> None:
        super().__init__()
        self.client = client
        self.state = RequestState(client, guide)

    def attempt(self) -> None:
        """Send the request, if the broker can be sent to."""
        raise NotImplementedError


class Questions:
    """The open questions of one client."""

    def __init__(self) -> None:
        self._open: list[Question] = []

    def __iter__(self) -> Iterator[Question]:
        return iter(self._open)

    def add(self, question: Question) -> None:
        """The next work() attempts it."""
        self._open.append(question)

    def ask(self, question: Question) -> None:
        """Attempt it at once."""
        self.add(question)
        question.attempt()

    def give_up(self, future: Future) -> None:
        """Ask this question no more: nobody waits for the answer."""
        self._open = [each for each in self._open if each is not future]

    def work(self) -> None:
        self._open = [each for each in self._open if not each.is_done]
        for question in list(self._open):
            if question.client.is_due(question.state):
                question.attempt()
