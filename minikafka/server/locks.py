"""The locks of listeners: what each demands of a client, before it hears a word of Kafka's
protocol (TLS), or before it answers more than a login (SASL).
"""

import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.certificate_names import (
    Rule,
    distinguished_name,
    name_by,
    rules_in,
)
from minikafka.broker.config import BrokerConfig
from minikafka.broker.listeners import PLAINTEXT, WITH_SASL, WITH_TLS
from minikafka.broker.login import check_logins
from minikafka.cluster.principals import ANONYMOUS, USER, Principal
from minikafka.server.addresses import CannotServe
from minikafka.server.tls import ListenerTls
from minikafka.server.tls_connection import NoPrincipal
from minikafka.trace import printable
from minikafka.wire.errors import KafkaError


class Door(NamedTuple):
    """What a listener with a lock demands. context: of TLS. principal_of: who shows a
    certificate. logs_in: a client says who it is (SASL). max_frame_bytes: of a request
    before.
    """

    context: ssl.SSLContext | None
    principal_of: Callable[[Any], Principal]
    logs_in: bool
    max_frame_bytes: int | None


def doors_of(config: BrokerConfig) -> dict[str, Door]:
    """The listeners that have a lock. Errors: CannotServe."""
    doors = {}
    for name in config.advertised:
        protocol = config.protocol(name)
        if protocol == PLAINTEXT:
            continue
        context = None
        rules: list[Rule] = []
        if protocol in WITH_TLS:
            context = ListenerTls(config, name).context()
            try:
                rules = rules_in(
                    config.of_listener(name, "ssl.principal.mapping.rules")
                )
            except KafkaError as error:
                why = f"ssl.principal.mapping.rules: {error.message}"
                raise CannotServe(f"listener {name}: {why}.") from error
        logs_in = protocol in WITH_SASL
        most_bytes = None
        if logs_in:
            try:
                check_logins(config, name)
            except KafkaError as error:
                raise CannotServe(f"{error.message}.") from error
            most_bytes = config.of_listener(name, "sasl.server.max.receive.size")
        principal_of = partial(principal_by, rules)
        doors[name] = Door(context, principal_of, logs_in, most_bytes)
    return doors


def principal_by(rules: Sequence[Rule], certificate: Any) -> Principal:
    """Who shows this certificate (of Python's ssl); None: nobody. Errors:
    NoPrincipal.
    """
    if not certificate:
        return ANONYMOUS
    subject = distinguished_name(certificate["subject"])
    name = name_by(rules, subject)
    if name is None:
        raise NoPrincipal(
            f"shows a certificate of {printable(subject)}, to which no rule of"
            " ssl.principal.mapping.rules applies"
        )
    return Principal(USER, name)
