"""The page over HTTP, for this machine only: it listens on the loopback interface, and
answers nobody who came by another name (a page elsewhere whose name leads here).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from minikafka.server.addresses import listen_socket
from minikafka.server.http import PLAIN, Answer, Asked, Page

LOOPBACK = "127.0.0.1"
MOST_AT_ONCE = 32  # requests; others are turned away
NO_POLICY = "default-src 'none'"
FOR_THE_PAGE_ALONE = (
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n"
)


class PageServer:
    """page(): the HTML, and its policy. news(width, last): what changed. Errors:
    CannotServe, if the port is taken.
    """

    def __init__(
        self,
        port: int,
        page: Callable[[], tuple[str, str]],
        news: Callable[[int, int], Mapping[str, Any]],
    ) -> None:
        self.listener = listen_socket(LOOPBACK, port, option="--port")
        self.port: int = self.listener.getsockname()[1]
        self._html = page
        self._news = news

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/"

    async def serve(self) -> None:
        """Answer until cancelled."""
        await Page(self._answer, MOST_AT_ONCE).serve(self.listener)

    async def _answer(self, asked: Asked) -> Answer:
        """The page at /, its news at /now."""
        by_name = {f"{host}:{self.port}" for host in (LOOPBACK, "localhost")}
        if asked.headers.get("host") not in by_name:
            return answer("403 Forbidden", "not by this name\n")
        if asked.method != "GET":
            return answer("405 Method Not Allowed", "only GET\n")
        path, _, query = asked.target.partition("?")
        if path == "/":
            html, policy = self._html()
            return answer("200 OK", html, "text/html; charset=utf-8", policy)
        if path == "/now":
            return self._answer_news(query)
        return answer("404 Not Found", "the page is at /\n")

    def _answer_news(self, query: str) -> Answer:
        given = parse_qs(query)
        try:
            width, last = (int(given[name][0]) for name in ("width", "last"))
        except (LookupError, ValueError):
            return answer("400 Bad Request", "width= and last= are numbers\n")
        told = json.dumps(self._news(width, last))
        return answer("200 OK", told, "application/json")


def answer(
    status: str, text: str, kind: str = PLAIN, policy: str = NO_POLICY
) -> Answer:
    more = f"Content-Security-Policy: {policy}\r\n{FOR_THE_PAGE_ALONE}"
    return Answer(status, text, kind, more)
