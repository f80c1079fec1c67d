"""The value of `sasl.jaas.config`: a login module of Java's, and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        user_alice="alice-secret" user_bob="bob-secret";

Only the options mean anything here. They may be secrets, which no error repeats.
"""

import re
from typing import NamedTuple

from minikafka.wire.errors import Error, KafkaError

_VALUE = r'"(?:\\.|[^"\\])*"|[^\s;"=]+'
_OPTION = re.compile(rf"\s*([\w.$@+-]+)\s*=\s*({_VALUE})")
_BEGINNING = re.compile(
    r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)(?=[\s;])", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Jaas(NamedTuple):
    """module: its class, without the package."""

    module: str
    options: dict[str, str]


def parse_jaas(text: str) -> Jaas:
    """Errors: INVALID_CONFIG."""
    beginning = _BEGINNING.match(text)
    if beginning is None:
        raise _bad("it begins with a login module and the word required")
    at = beginning.end()
    options = {}
    while (option := _OPTION.match(text, at)) is not None:
        options[option[1]] = _unquoted(option[2])
        at = option.end()
    if text[at:].strip() != ";":
        raise _bad(
            'behind the module there are options, NAME="VALUE", and one ; at last'
        )
    return Jaas(beginning[1].rpartition(".")[2], options)


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    return _ESCAPED.sub(r"\1", value[1:-1])


def _bad(why: str) -> KafkaError:
    return KafkaError(Error.INVALID_CONFIG, f"sasl.jaas.config can't be read: {why}")
