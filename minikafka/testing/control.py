"""`serve --control`: what kafka.py offers to a test in Python, for tests in any language:
HTTP and JSON, on this machine only, for clients that have the token.

    POST   /faults            begin a fault: planned.py has its words
    GET    /faults/1          how often it has hit
    DELETE /faults/1          end it
    POST   /clock/advance     {"seconds": 46}
    POST   /brokers/1/kill    or restart, freeze, thaw
    POST   /cut, /mend        {"brokers": [1, 2]}
    GET    /                  how all is; /heard: what clients have asked

A web page on this machine must not get here, not even one whose host name is made to
mean 127.0.0.1 (DNS rebinding): hence the token, and the checks of Host and Origin.
"""

import asyncio
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.server.http import Answer, Asked, Page
from minikafka.server.log import log
from minikafka.testing.failing import FailingKafka, OneBroker
from minikafka.testing.faults import Active
from minikafka.testing.planned import planned

if TYPE_CHECKING:
    import socket

MOST_AT_ONCE = 32  # requests; others are turned away
MOST_BODY_BYTES = 64 * 1024
MOST_FAULTS = 100  # at a time
TOKEN_BYTES = 32
JSON = "application/json"
OK, MADE = "200 OK", "201 Created"

Body = Mapping[str, Any]


class No(Exception):
    """The answer to a request that isn't done; str() says why."""

    def __init__(self, status: str, why: str, more: str = "") -> None:
        super().__init__(why)
        self.answer = Answer(status, f"{why}\n", more=more)


class Route(NamedTuple):
    """do(control, the parts of the path, the body) returns what is answered. blocks:
    it waits for the brokers.
    """

    method: str
    path: str
    do: Callable[..., Any]
    words: frozenset[str] | None = frozenset()
    blocks: bool = False


class Control:
    """The endpoint of these brokers. token: what a request has to show."""

    def __init__(self, kafka: FailingKafka, port: int) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._kafka = kafka
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._faults: dict[int, Active] = dict(enumerate(kafka.planned, 1))
        self._made = len(self._faults)
        # one thing happens to the brokers after the other
        self._doing = ThreadPoolExecutor(1, "minikafka-control")
        self._page = Page(self._answer, MOST_AT_ONCE, MOST_BODY_BYTES)

    async def serve(self, listener: "socket.socket") -> None:
        """Answer until cancelled."""
        try:
            await self._page.serve(listener)
        finally:
            self._doing.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, asked: Asked) -> Answer:
        try:
            self._check(asked)
            route, parts = route_of(asked)
            body = body_of(asked, route)
            if route.blocks:
                loop = asyncio.get_running_loop()
                told = await loop.run_in_executor(
                    self._doing, lambda: route.do(self, *parts, body)
                )
            else:
                told = route.do(self, *parts, body)
        except No as error:
            return error.answer
        except (ValueError, TypeError) as error:
            return Answer("400 Bad Request", f"{error}\n")
        except LookupError as error:
            return Answer("404 Not Found", f"{error.args[0]}\n")
        except Exception as error:
            log(f"{asked.method} {asked.target} failed: {error!r}", error)
            return Answer("500 Internal Server Error", f"{error!r}\n")
        status = MADE if asked.method == "POST" and route.path == "/faults" else OK
        return Answer(status, json.dumps(told) + "\n", JSON)

    def _check(self, asked: Asked) -> None:
        """Errors: No, for a request of somebody whom this isn't for."""
        headers = asked.headers
        if headers.get("host", "").lower() not in self._hosts:
            why = (
                "the header Host names another host: say the address of the ready line"
            )
            raise No("421 Misdirected Request", why)
        if "origin" in headers:
            raise No("403 Forbidden", "web pages may not ask here")
        shown = headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, f"Bearer {self.token}".encode()):
            raise No(
                "401 Unauthorized",
                "show the token of the ready line: Authorization: Bearer TOKEN",
                "WWW-Authenticate: Bearer\r\n",
            )

    # -- what may be asked

    def state(self, body: Body) -> dict[str, Any]:
        return {
            "brokers": [of_broker(each) for each in self._kafka.brokers],
            "advanced_seconds": self._kafka.clock.advanced_seconds,
            "faults": [self.fault(str(each), body) for each in self._faults],
        }

    def heard(self, body: Body) -> dict[str, Any]:
        return {"heard": str(self._kafka.heard).splitlines()}

    def begin(self, body: Body) -> dict[str, Any]:
        if len(self._faults) >= MOST_FAULTS:
            raise ValueError(f"{MOST_FAULTS} faults are there: end some of them first")
        active = self._kafka.fault(*planned(body))
        self._made += 1
        self._faults[self._made] = active
        return self.fault(str(self._made), {})

    def fault(self, number: str, body: Body) -> dict[str, Any]:
        active = self._fault(number)
        return {
            "id": int(number),
            "fault": repr(active.fault),
            "hits": active.hits,
            "seen": active.seen,
        }

    def end(self, number: str, body: Body) -> dict[str, Any]:
        told = self.fault(number, body)
        self._faults.pop(int(number)).lift()
        return told

    def end_all(self, body: Body) -> list[dict[str, Any]]:
        return [self.end(str(number), body) for number in list(self._faults)]

    def _fault(self, number: str) -> Active:
        if int(number) not in self._faults:
            raise LookupError(f"no fault {number}: {[*self._faults]}")
        return self._faults[int(number)]

    def advance(self, body: Body) -> dict[str, Any]:
        seconds = body.get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool):
            raise ValueError(f"seconds: a number, not {seconds!r}")
        self._kafka.clock.advance(seconds)
        return {"advanced_seconds": self._kafka.clock.advanced_seconds}

    def kill(self, number: str, body: Body) -> dict[str, Any]:
        power = body.get("power", False)
        if type(power) is not bool:
            raise ValueError(f"power: true or false, not {power!r}")
        broker = self._kafka.broker(int(number))
        broker.kill(power=power)
        return of_broker(broker)

    def restart(self, number: str, body: Body) -> dict[str, Any]:
        broker = self._kafka.broker(int(number))
        broker.restart()
        return of_broker(broker)

    def freeze(self, number: str, body: Body) -> dict[str, Any]:
        broker = self._kafka.broker(int(number))
        broker.freeze()
        return of_broker(broker)

    def thaw(self, number: str, body: Body) -> dict[str, Any]:
        broker = self._kafka.broker(int(number))
        broker.thaw()
        return of_broker(broker)

    def cut(self, body: Body) -> dict[str, Any]:
        self._kafka.cut(*self._two(body))
        return self.state({})

    def mend(self, body: Body) -> dict[str, Any]:
        self._kafka.mend(*self._two(body))
        return self.state({})

    def _two(self, body: Body) -> tuple[int, int]:
        two = body.get("brokers")
        if not isinstance(two, list) or [*map(type, two)] != [int, int]:
            raise ValueError(f"brokers: two of their ids, not {two!r}")
        for each in two:
            self._kafka.broker(each)
        return two[0], two[1]


def of_broker(broker: OneBroker) -> dict[str, Any]:
    return {"id": broker.broker_id, "address": broker.address, "state": broker.state}


# N stands for a number
ROUTES = (
    Route("GET", "/", Control.state),
    Route("GET", "/heard", Control.heard),
    Route("POST", "/faults", Control.begin, words=None),  # planned.py checks them
    Route("DELETE", "/faults", Control.end_all),
    Route("GET", "/faults/N", Control.fault),
    Route("DELETE", "/faults/N", Control.end),
    Route("POST", "/clock/advance", Control.advance, frozenset({"seconds"}), True),
    Route("POST", "/brokers/N/kill", Control.kill, frozenset({"power"}), True),
    Route("POST", "/brokers/N/restart", Control.restart, blocks=True),
    Route("POST", "/brokers/N/freeze", Control.freeze, blocks=True),
    Route("POST", "/brokers/N/thaw", Control.thaw, blocks=True),
    Route("POST", "/cut", Control.cut, frozenset({"brokers"}), True),
    Route("POST", "/mend", Control.mend, frozenset({"brokers"}), True),
)


def route_of(asked: Asked) -> tuple[Route, list[str]]:
    """What is asked for, and the numbers in its path. Errors: No."""
    allowed = []
    for route in ROUTES:
        pattern = route.path.replace("N", "([0-9]{1,10})")
        match = re.fullmatch(pattern, asked.target)
        if match is None:
            continue
        if route.method == asked.method:
            return route, [*match.groups()]
        allowed.append(route.method)
    if allowed:
        words = ", ".join(allowed)
        raise No("405 Method Not Allowed", f"only {words}", f"Allow: {words}\r\n")
    there = ", ".join(f"{each.method} {each.path}" for each in ROUTES)
    raise No("404 Not Found", f"there is {there}")


def body_of(asked: Asked, route: Route) -> Body:
    """Errors: No, ValueError."""
    if not asked.body:
        return {}
    if asked.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise No("415 Unsupported Media Type", f"say Content-Type: {JSON}")
    try:
        body = json.loads(asked.body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise ValueError("the body is an object")
    unknown = sorted(body.keys() - route.words) if route.words is not None else []
    if unknown:
        takes = ", ".join(sorted(route.words or ())) or "nothing"
        raise ValueError(f"{route.path} has no {unknown[0]!r}; it takes {takes}")
    return body
