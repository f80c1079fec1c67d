"""A request before it is a frame, and a client's course of them."""

from collections.abc import Generator
from typing import Any, NamedTuple


class Ask(NamedTuple):
    """A request before it is a frame."""

    api: str
    version: int
    body: dict[str, Any]
    client_id: str | None = "soak"


Script = Generator[Ask, Any, None]
