"""The registry's HTTP calls, as Confluent's clients make them: of their API what
serializers and deserializers ask, and what an administrator asks to look at it.

with Served(registry) as served:
    client = SchemaRegistryClient({"url": served.url})
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from minikafka.course.experiments.lesson_21_compatibility import LEVELS
from minikafka.course.experiments.lesson_21_registry import Incompatible, Registry

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
KNOWN_LEVELS = {*LEVELS, *(f"{level}_TRANSITIVE" for level in LEVELS[1:])}
OF_A_SCHEMA = ("schema", "schemaType", "references")


class Refused(Exception):
    """An error answer: HTTP status, the registry's own code, and a text."""

    def __init__(self, status: int, code: int, text: str) -> None:
        self.status, self.code, self.text = status, code, text


def _no_subject(subject: str) -> Refused:
    return Refused(404, 40401, f"Subject '{subject}' not found.")


def answer(registry: Registry, method: str, path: str, body: Any) -> Any:
    """What a call is answered. Raises Refused."""
    registry.catch_up()
    match [method, *map(unquote, path.strip("/").split("/"))]:
        case ["POST", "subjects", subject, "versions"]:
            return _register(registry, subject, _schema_in(body))
        case ["POST", "subjects", subject]:
            return _looked_up(registry, subject, _schema_in(body))
        case ["GET", "subjects"]:
            return list(registry.subjects)
        case ["GET", "subjects", subject, "versions"]:
            return list(range(1, len(_ids(registry, subject)) + 1))
        case ["GET", "subjects", subject, "versions", version]:
            return _version(registry, subject, version)
        case ["GET", "schemas", "ids", number]:
            return _by_id(registry, number)
        case ["GET", "schemas", "types"]:
            return ["AVRO", "JSON", "PROTOBUF"]
        case ["POST", "compatibility", "subjects", subject, "versions", *_]:
            refusal = registry.refuses(subject, **_schema_in(body))
            return {"is_compatible": refusal is None, "messages": [refusal or ""]}
        case ["GET" | "PUT", "config", *subject]:
            return _level(registry, "".join(subject), method, body)
    raise Refused(404, 404, f"HTTP 404 Not Found: {method} {path}")


def _schema_in(body: Any) -> dict[str, Any]:
    found = {name: body[name] for name in OF_A_SCHEMA if body and body.get(name)}
    if "schema" not in found:
        raise Refused(422, 42201, "Empty schema")
    return found


def _register(registry: Registry, subject: str, schema: Any) -> Any:
    try:
        return {"id": registry.register(subject, **schema)}
    except Incompatible as error:
        text = f"Schema being registered is incompatible with an earlier one: {error}"
        raise Refused(409, 409, text) from None


def _looked_up(registry: Registry, subject: str, schema: Any) -> Any:
    _ids(registry, subject)
    version = registry.version(subject, **schema)
    if version is None:
        raise Refused(404, 40403, "Schema not found")
    return _version(registry, subject, str(version))


def _ids(registry: Registry, subject: str) -> list[int]:
    if subject not in registry.subjects:
        raise _no_subject(subject)
    return registry.subjects[subject]


def _version(registry: Registry, subject: str, version: str) -> Any:
    ids = _ids(registry, subject)
    wanted = len(ids) if version in ("latest", "-1") else version
    if not str(wanted).isdigit() or not 0 < int(wanted) <= len(ids):
        raise Refused(404, 40402, f"Version {version} not found.")
    number = ids[int(wanted) - 1]
    about = {"subject": subject, "version": int(wanted), "id": number}
    return {**about, **_of(registry.schemas[number])}


def _by_id(registry: Registry, number: str) -> Any:
    schema = registry.schemas.get(int(number) if number.isdigit() else 0)
    if schema is None:
        raise Refused(404, 40403, f"Schema {number} not found")
    return _of(schema)


def _of(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: schema[name] for name in OF_A_SCHEMA if name in schema}


def _level(registry: Registry, subject: str, method: str, body: Any) -> Any:
    if method == "GET":
        level = registry.levels.get(subject, registry.levels[""])
        return {"compatibilityLevel": level}
    level = str((body or {}).get("compatibility")).upper()
    if level not in KNOWN_LEVELS:
        raise Refused(422, 42203, "Invalid compatibility level")
    registry.set_level(subject, level)
    return {"compatibility": level}


class Served:
    """A registry at an address of its own on this machine. calls: what was asked, as
    "POST /subjects/orders-value/versions".
    """

    def __init__(self, registry: Registry) -> None:
        self.calls: list[str] = []
        calls, one_at_a_time = self.calls, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self) -> None:
                path = urlsplit(self.path).path
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with one_at_a_time:  # the registry's clients are for one thread
                    calls.append(f"{self.command} {path}")
                    try:
                        given = json.loads(body) if body else None
                        status = 200
                        found = answer(registry, self.command, path, given)
                    except Refused as error:
                        status = error.status
                        found = {"error_code": error.code, "message": error.text}
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = _do

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
