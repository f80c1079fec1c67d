"""The page's HTTP server, for this machine only: it listens on the loopback interface,
and answers nobody who came by another name (a page elsewhere whose name leads here).
"""

import json
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = "127.0.0.1"
PATIENCE_S = 10.0  # for a browser that stands still


class PageServer(ThreadingHTTPServer):
    """page(): the HTML, and its policy. news(width, last): what changed."""

    daemon_threads = True

    def __init__(
        self,
        port: int,
        page: Callable[[], tuple[str, str]],
        news: Callable[[int, int], Mapping[str, Any]],
    ) -> None:
        super().__init__((LOOPBACK, port), Answering)
        self.page = page
        self.news = news

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    @property
    def names(self) -> set[str]:
        """What a browser on this machine may call it."""
        return {f"{host}:{self.server_port}" for host in (LOOPBACK, "localhost")}


class Answering(BaseHTTPRequestHandler):
    """One connection."""

    server: PageServer
    timeout = PATIENCE_S
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The page at /, its news at /now."""
        if self.headers.get("Host") not in self.server.names:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", "not by this name\n")
            return
        asked = urlsplit(self.path)
        if asked.path == "/":
            html, policy = self.server.page()
            self._answer(HTTPStatus.OK, "text/html", html, policy)
        elif asked.path == "/now":
            self._tell_news(asked.query)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "the page is at /\n")

    def _tell_news(self, query: str) -> None:
        given = parse_qs(query)
        try:
            width, last = (int(given[name][0]) for name in ("width", "last"))
        except (LookupError, ValueError):
            self._answer(
                HTTPStatus.BAD_REQUEST, "text/plain", "width= and last= are numbers\n"
            )
            return
        told = json.dumps(self.server.news(width, last))
        self._answer(HTTPStatus.OK, "application/json", told)

    def _answer(
        self,
        status: HTTPStatus,
        kind: str,
        text: str,
        policy: str = "default-src 'none'",
    ) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", policy),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: who asks is a page of ours."""
