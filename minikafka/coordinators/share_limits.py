"""What a share group is configured to: by itself, else by the broker for all groups."""

from typing import Protocol

from minikafka.cluster.metadata import GROUP_RESOURCE, Image
from minikafka.cluster.share_acquiring import Limits
from minikafka.coordinators.runtime import Configs

# those that no broker config stands behind
DEFAULTS = {
    "share.auto.offset.reset": "latest",
    "share.isolation.level": "read_uncommitted",
    "share.renew.acknowledge.enable": "true",
}


class Configured(Protocol):
    """Whoever knows the configs of a group."""

    @property
    def group_id(self) -> str:
        """Which group."""

    @property
    def config(self) -> Configs:
        """The broker's."""

    @property
    def image(self) -> Image:
        """Where the group's own are."""


def configured(of: Configured, name: str) -> int:
    """A number."""
    own = of.image.config(GROUP_RESOURCE, of.group_id).get(name)
    return int(own or of.config[f"group.{name}"])


def configured_text(of: Configured, name: str) -> str:
    """A word."""
    return of.image.config(GROUP_RESOURCE, of.group_id).get(name) or DEFAULTS[name]


def limits(of: Configured) -> Limits:
    """Those of its share partitions."""
    renews = configured_text(of, "share.renew.acknowledge.enable")
    return Limits(
        most_in_flight=configured(of, "share.partition.max.record.locks"),
        most_deliveries=configured(of, "share.delivery.count.limit"),
        lock_ms=configured(of, "share.record.lock.duration.ms"),
        renews=renews == "true",
    )
