"""What a share group is configured to: by itself, else by the broker for all groups."""

from typing import Protocol

from minikafka.cluster.metadata import GROUP_RESOURCE, Image
from minikafka.cluster.share_acquiring import Limits
from minikafka.coordinators import group_rules
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


def configured(group: Configured, name: str) -> int:
    """A number."""
    return group_rules.configured(group.group_id, name, group.image, group.config)


def configured_text(group: Configured, name: str) -> str:
    """A word."""
    own = group.image.config(GROUP_RESOURCE, group.group_id)
    return own.get(name) or DEFAULTS[name]


def limits(group: Configured) -> Limits:
    """Those of its share partitions."""
    renews = configured_text(group, "share.renew.acknowledge.enable")
    return Limits(
        most_in_flight=configured(group, "share.partition.max.record.locks"),
        most_deliveries=configured(group, "share.delivery.count.limit"),
        lock_ms=configured(group, "share.record.lock.duration.ms"),
        renews=renews == "true",
    )
