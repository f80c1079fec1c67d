"""A request on its way through the node, who sent it, and how it is refused where its handler knows no better."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from minikafka.broker.effects import Connection
from minikafka.cluster.waiting import Answer
from minikafka.wire import messages
from minikafka.wire.errors import KafkaError
from minikafka.wire.schema import Message


@dataclass(slots=True)
class Client:
    """One connection as the broker sees it. software: name and version if the client told them (KIP-511)."""

    listener: str
    host: str
    client_id: str | None = None
    software: str = ""


class Call(NamedTuple):
    """A request on its way through a handler."""

    connection: Connection
    client: Client
    api: str
    version: int
    correlation_id: int
    body: Message
    handler: ModuleType


def refusal(api: str, error: KafkaError) -> Answer:
    """The answer to a request that failed as a whole. Where an API has no field for that, the connection is closed."""
    fields = messages.API[api].response.struct.by_attribute
    if "error_code" not in fields:
        return {"close": f"sent {api}, which failed: {error.message}"}
    return {"error_code": error.error} | ({"error_message": error.message} if "error_message" in fields else {})
