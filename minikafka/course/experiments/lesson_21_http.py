"""The registry's HTTP calls, as Confluent's clients make them: of their API what
serializers and deserializers ask, and what an administrator asks to look at it.

with Served(registry) as served:
    client = SchemaRegistryClient({"url": served.url})
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from minikafka.course.experiments.lesson_21_compatibility import LEVELS, Schema
from minikafka.course.experiments.lesson_21_registry import Incompatible, Registry

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
KNOWN_LEVELS = {*LEVELS, *(f"{level}_TRANSITIVE" for level in LEVELS[1:])}
OF_A_SCHEMA = ("schema", "schemaType", "references")


class Refused(Exception):
    """An error answer: HTTP status, the registry's own code, and a text."""

    def __init__(self, status: int, code: int, text: str) -> None:
        self.status, self.code, self.text = status, code, text


class Calls:
    """The calls of one registry: each method is one of them, and returns its answer or
    raises Refused.
    """

    def __init__(self, registry: Registry, body: Any) -> None:
        self.registry = registry
        self.body = body

    def register(self, subject: str) -> Any:
        """A producer's serializer, for a schema that it meets the first time."""
        try:
            number = self.registry.register(subject, **_schema_in(self.body))
        except Incompatible as error:
            text = f"Schema being registered is incompatible: {error}"
            raise Refused(409, 409, text) from None
        return {"id": number}

    def look_up(self, subject: str) -> Any:
        """A serializer that may not register, for the id of its schema."""
        self._ids(subject)
        version = self.registry.version(subject, **_schema_in(self.body))
        if version is None:
            raise Refused(404, 40403, "Schema not found")
        return self.version(subject, str(version))

    def by_id(self, number: str) -> Any:
        """A deserializer, for the id in front of a record."""
        known = self.registry.schemas
        if not number.isdigit() or int(number) not in known:
            raise Refused(404, 40403, f"Schema {number} not found")
        return _described(known[int(number)])

    def subjects(self) -> Any:
        """GET /subjects: the names of all subjects."""
        return list(self.registry.subjects)

    def versions(self, subject: str) -> Any:
        """GET /subjects/NAME/versions: the version numbers of a subject,
        counted from 1.
        """
        count = len(self._ids(subject))
        return list(range(1, count + 1))

    def version(self, subject: str, version: str) -> Any:
        """One of a subject's versions; `latest` is the last one."""
        ids = self._ids(subject)
        if version in ("latest", "-1"):
            version = str(len(ids))
        at = int(version) if version.isdigit() else 0
        if not 0 < at <= len(ids):
            raise Refused(404, 40402, f"Version {version} not found.")
        number = ids[at - 1]
        described = _described(self.registry.schemas[number])
        return {"subject": subject, "version": at, "id": number, **described}

    def compatible(self, subject: str) -> Any:
        """Whether a schema may be the next version; nothing is registered."""
        refusal = self.registry.refuses(subject, **_schema_in(self.body))
        return {
            "is_compatible": refusal is None,
            "messages": [] if refusal is None else [refusal],
        }

    def level(self, subject: str) -> Any:
        """The compatibility level for the next version."""
        levels = self.registry.levels
        return {"compatibilityLevel": levels.get(subject, levels[""])}

    def set_level(self, subject: str) -> Any:
        """PUT /config/NAME: set a subject's compatibility level from now on. Errors:
        422 for an unknown level.
        """
        level = None
        if isinstance(self.body, dict):
            level = self.body.get("compatibility")
        if level not in KNOWN_LEVELS:
            raise Refused(422, 42203, "Invalid compatibility level")
        self.registry.set_level(subject, level)
        return {"compatibility": level}

    def _ids(self, subject: str) -> list[int]:
        found = self.registry.subjects.get(subject)
        if found is None:
            raise Refused(404, 40401, f"Subject '{subject}' not found.")
        return found


def _schema_in(body: Any) -> Schema:
    """The schema in a request."""
    given = body if isinstance(body, dict) else {}
    if not given.get("schema"):
        raise Refused(422, 42201, "Empty schema")
    return {name: given[name] for name in OF_A_SCHEMA if given.get(name)}


def _described(schema: Schema) -> Schema:
    """The schema in an answer."""
    return {name: schema[name] for name in OF_A_SCHEMA if name in schema}


# method, path, who answers it: the parts in brackets are its arguments
ROUTES = (
    ("POST", "/subjects/([^/]+)/versions", Calls.register),
    ("POST", "/subjects/([^/]+)", Calls.look_up),
    ("GET", "/schemas/ids/([^/]+)", Calls.by_id),
    ("GET", "/subjects", Calls.subjects),
    ("GET", "/subjects/([^/]+)/versions", Calls.versions),
    ("GET", "/subjects/([^/]+)/versions/([^/]+)", Calls.version),
    ("POST", "/compatibility/subjects/([^/]+)/versions.*", Calls.compatible),
    ("GET", "/config/?([^/]*)", Calls.level),
    ("PUT", "/config/?([^/]*)", Calls.set_level),
)


def answer(registry: Registry, method: str, path: str, body: Any) -> Any:
    """The answer to a call. Raises Refused."""
    registry.catch_up()
    for known, pattern, call in ROUTES:
        found = re.fullmatch(pattern, path)
        if found and known == method:
            arguments = map(unquote, found.groups())
            return call(Calls(registry, body), *arguments)
    raise Refused(404, 404, f"HTTP 404 Not Found: {method} {path}")


def replied(registry: Registry, method: str, path: str, body: bytes) -> tuple[int, Any]:
    """The HTTP status of a call, and what it is answered."""
    try:
        given = json.loads(body) if body else None
        return 200, answer(registry, method, path, given)
    except Refused as error:
        return error.status, {"error_code": error.code, "message": error.text}
    except ValueError as error:
        return 400, {"error_code": 400, "message": f"no JSON: {error}"}


class Served:
    """A registry at an address of its own on this machine, for clients and not for a
    page in a browser. calls: what was asked, as "POST /subjects/orders-value/versions".
    """

    def __init__(self, registry: Registry) -> None:
        calls: list[str] = []
        self.calls, served = calls, self
        one_at_a_time = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self) -> None:
                path = urlsplit(self.path).path
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if "Origin" in self.headers or self.headers["Host"] != served.host:
                    self.send_error(403)
                    return
                with one_at_a_time:  # the registry's clients are for one thread
                    calls.append(f"{self.command} {path}")
                    status, found = replied(registry, self.command, path, body)
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = _do

            def log_message(self, format: str, *args: Any) -> None:
                """Suppress the standard log line of each request."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
