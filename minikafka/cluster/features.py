"""The features that this code knows, and the level at which the cluster uses each of
them (KIP-584): what a node may write, and which protocols it serves.

A handler of a feature's protocol checks `level(image, SHARE_FEATURE)` with each
request, as ConsumerGroupHeartbeat does for GROUP_FEATURE: 0 means that the feature is
off, and the request is refused with UNSUPPORTED_VERSION. The level may change while a
node runs.
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
    """The levels of a feature that this code knows. undecided: the level in a cluster
    that never set one. highest_since: the metadata.version of the first release that
    knew the highest level; a cluster of an older one is a level below.
    """

    lowest: int
    highest: int
    undecided: int
    highest_since: int = 0


FEATURES = {
    METADATA_FEATURE: Levels(OLDEST_METADATA_VERSION, METADATA_VERSION, undecided=0),
    GROUP_FEATURE: Levels(0, 1, undecided=1),  # the protocol of KIP-848
    # KIP-890; a cluster that began before has records that every version can read
    TRANSACTION_FEATURE: Levels(0, 2, undecided=2),
    ELR_FEATURE: Levels(0, 1, undecided=1),  # KIP-966; it can't be switched off
    # KIP-853; the voters are named at the start, at either level
    KRAFT_FEATURE: Levels(0, 1, undecided=0),
    # share groups (KIP-932); 2: with dead letters (KIP-1191), since 4.4-IV0
    SHARE_FEATURE: Levels(0, 2, undecided=2, highest_since=31),
    STREAMS_FEATURE: Levels(0, 1, undecided=1),  # streams groups (KIP-1071)
}


def level(image: Image, feature: str) -> int:
    """The finalized level. 0 if the feature is off, or the cluster hasn't
    started yet.
    """
    finalized = image.features.get(feature)
    if finalized is not None:
        return finalized
    known = FEATURES[feature]
    began_before = image.features.get(METADATA_FEATURE, known.highest_since)
    return known.undecided - (began_before < known.highest_since)
