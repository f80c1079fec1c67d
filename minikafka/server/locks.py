"""The locks of listeners: what each demands of a client, before it hears a word of Kafka's
protocol (TLS), or before it answers more than a login (SASL).

What TLS needs may be set anew while the node runs, listener by listener (KIP-226). It
holds for connections that come from then on. Files are read again whenever a config of
this node is set, even if their paths stay the same.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.certificate_names import (
    Certificate,
    Rule,
    changed_names,
    distinguished_name,
    name_by,
    rules_in,
)
from minikafka.broker.config import BrokerConfig
from minikafka.broker.config_rules import is_legal
from minikafka.broker.config_table import BROKER_CONFIGS, PER_LISTENER
from minikafka.broker.listeners import PLAINTEXT, WITH_SASL, WITH_TLS, of_listener
from minikafka.broker.login import check_logins
from minikafka.cluster.principals import ANONYMOUS, USER, Principal
from minikafka.server.addresses import CannotServe
from minikafka.server.log import log
from minikafka.server.tls import ListenerTls, own_certificate
from minikafka.server.tls_connection import NoPrincipal
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

# the configs that say what TLS needs, and may be set while a node runs
STORES = [name for name, row in BROKER_CONFIGS.items() if row.update == PER_LISTENER]


class Door(NamedTuple):
    """What a listener with a lock demands. context: of TLS. principal_of: who shows a
    certificate. logs_in: a client says who it is (SASL). max_frame_bytes: of a request
    before.
    """

    context: ssl.SSLContext | None
    principal_of: Callable[[Any], Principal]
    logs_in: bool
    max_frame_bytes: int | None


class Stores(NamedTuple):
    """What a listener with TLS uses. texts: its configs of STORES, as they were when it
    was last opened, or couldn't be. certificate: the broker's.
    """

    texts: list[str]
    context: ssl.SSLContext
    certificate: Certificate


class Locks:
    """The locks of one node. doors: what each listener with a lock demands of a new
    connection. Errors: CannotServe.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.doors = doors_of(config)
        self._in_use: dict[str, Stores] = {}
        for name, door in self.doors.items():
            if door.context is not None:
                self._in_use[name] = _stores(config, name, door.context)

    def check_stores(self, configs: Mapping[str, str]) -> None:
        """Whether the listeners could use their keystores and truststores if these
        configs of the broker were set at run time. As in Apache Kafka, where a
        listener's configs stay the same, its files are not looked at before they are
        used. Errors: INVALID_REQUEST.
        """
        wanted = self._with(configs)
        for name, used in self._in_use.items():
            if _texts(wanted, name) == used.texts:
                continue
            try:
                self._opened(name, wanted)
            except CannotServe as error:
                why = (
                    "Invalid dynamic configuration: Validation of dynamic config update"
                    f" of SSLFactory failed: {error}"
                )
                raise KafkaError(Error.INVALID_REQUEST, why) from None

    def open_stores(self, configs: Mapping[str, str]) -> None:
        """Use what these configs say from now on. A listener that can't goes on with what
        it has.
        """
        wanted = self._with(configs)
        for name in self._in_use:
            try:
                opened = self._opened(name, wanted)
            except CannotServe as error:
                log(f"{error} It goes on with the keys and certificates that it has.")
                used = self._in_use[name]
                self._in_use[name] = used._replace(texts=_texts(wanted, name))
            else:
                self._in_use[name] = opened
                self.doors[name] = self.doors[name]._replace(context=opened.context)

    def _with(self, configs: Mapping[str, str]) -> BrokerConfig:
        """The node's configs, where these come before those of its start."""
        at_run_time = {}
        for name, text in configs.items():
            of_one = of_listener(name)
            if of_one is None or of_one.name not in STORES:
                continue
            if is_legal(BROKER_CONFIGS[of_one.name], text):
                at_run_time[name] = text
        return replace(self._config, properties=self._config.properties | at_run_time)

    def _opened(self, name: str, config: BrokerConfig) -> Stores:
        """Errors: CannotServe."""
        has_new_trust = any(
            config.of_listener(name, each) != self._config.of_listener(name, each)
            for each in STORES
            if each.startswith("ssl.truststore.")
        )
        context = ListenerTls(config, name).context(has_new_trust)
        opened = _stores(config, name, context)
        why = changed_names(
            self._in_use[name].certificate,
            opened.certificate,
            config.of_listener(name, "ssl.allow.dn.changes"),
            config.of_listener(name, "ssl.allow.san.changes"),
        )
        if why is not None:
            raise CannotServe(f"listener {name}: {why}.")
        return opened


def _texts(config: BrokerConfig, name: str) -> list[str]:
    return [str(config.of_listener(name, each) or "") for each in STORES]


def _stores(config: BrokerConfig, name: str, context: ssl.SSLContext) -> Stores:
    return Stores(_texts(config, name), context, own_certificate(context))


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
