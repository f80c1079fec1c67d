"""The configuration of a share group: the group's own configs, and the broker's as
defaults for all groups.
"""

from typing import Protocol

from minikafka.cluster import features
from minikafka.cluster.metadata import GROUP_RESOURCE, Image
from minikafka.cluster.share_acquiring import Limits
from minikafka.coordinators import group_rules
from minikafka.coordinators.runtime import Configs

# defaults of configs that have no broker config
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
DEAD_LETTERS_FEATURE = 2  # the first level of share.version that has them
DEFAULTS = {
    DEAD_LETTERS: "",
    "share.auto.offset.reset": "latest",
    "share.isolation.level": "read_uncommitted",
    "share.renew.acknowledge.enable": "true",
}


class Configured(Protocol):
    """A share group, as far as its configs are concerned."""

    @property
    def group_id(self) -> str:
        """The group's id, under which its own configs are stored."""

    @property
    def config(self) -> Configs:
        """The broker's configs, by Kafka's names."""

    @property
    def image(self) -> Image:
        """The metadata image, which has the group's own configs."""


def configured(group: Configured, name: str) -> int:
    """A numeric config, without the prefix `group.` of the broker's config."""
    return group_rules.configured(group.group_id, name, group.image, group.config)


def configured_text(group: Configured, name: str) -> str:
    """A text config; DEFAULTS has its default."""
    own = group.image.config(GROUP_RESOURCE, group.group_id)
    return own.get(name) or DEFAULTS[name]


def limits(group: Configured) -> Limits:
    """The limits of the group's share partitions."""
    renews = configured_text(group, "share.renew.acknowledge.enable")
    return Limits(
        most_in_flight=configured(group, "share.partition.max.record.locks"),
        most_deliveries=configured(group, "share.delivery.count.limit"),
        lock_ms=configured(group, "share.record.lock.duration.ms"),
        renews=renews == "true",
        dead_letters=features.level(group.image, features.SHARE_FEATURE)
        >= DEAD_LETTERS_FEATURE
        and bool(configured_text(group, DEAD_LETTERS)),
    )
