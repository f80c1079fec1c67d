"""The features that this code knows, and at which level the cluster uses them (KIP-584):
what a node may write, and which protocols it serves.

Who serves the protocol of a feature asks `level(image, SHARE_FEATURE)` with each
request, as ConsumerGroupHeartbeat does for GROUP_FEATURE: 0 means that it is off, and
the request is refused with UNSUPPORTED_VERSION. It may be switched while a node runs.
"""

from typing import NamedTuple

from minikafka.cluster.metadata import Image
from minikafka.cluster.registration import METADATA_VERSION, OLDEST_METADATA_VERSION

METADATA_FEATURE = "metadata.version"
GROUP_FEATURE = "group.version"
TRANSACTION_FEATURE = "transaction.version"
ELR_FEATURE = "eligible.leader.replicas.version"
KRAFT_FEATURE = "kraft.version"
SHARE_FEATURE = "share.version"
STREAMS_FEATURE = "streams.version"


class Levels(NamedTuple):
    """Which levels of a feature this code knows. undecided: that of a cluster that
    never decided.
    """

    lowest: int
    highest: int
    undecided: int


FEATURES = {
    METADATA_FEATURE: Levels(OLDEST_METADATA_VERSION, METADATA_VERSION, undecided=0),
    GROUP_FEATURE: Levels(0, 1, undecided=1),  # the protocol of KIP-848
    # KIP-890; a cluster that began before has records that all can read
    TRANSACTION_FEATURE: Levels(0, 2, undecided=2),
    ELR_FEATURE: Levels(0, 1, undecided=1),  # KIP-966; it is never switched off
    # KIP-853; who votes is said at the start, at either level
    KRAFT_FEATURE: Levels(0, 1, undecided=0),
    SHARE_FEATURE: Levels(0, 1, undecided=1),  # share groups (KIP-932)
    STREAMS_FEATURE: Levels(0, 1, undecided=1),  # streams groups (KIP-1071)
}


def level(image: Image, feature: str) -> int:
    """The finalized level. 0: the feature is off, or the cluster has not begun."""
    return image.features.get(feature, FEATURES[feature].undecided)
