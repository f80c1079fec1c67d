"""The features that this code knows, and at which level the cluster uses them (KIP-584):
what a node may write, and which protocols it serves.
"""

from minikafka.cluster.controller import METADATA_VERSION, OLDEST_METADATA_VERSION
from minikafka.cluster.metadata import Image

METADATA_FEATURE, GROUP_FEATURE, TRANSACTION_FEATURE = (
    "metadata.version",
    "group.version",
    "transaction.version",
)

# Feature -> the lowest and the highest level that this code knows, and that of a
# cluster that never decided otherwise.
FEATURES = {
    METADATA_FEATURE: (OLDEST_METADATA_VERSION, METADATA_VERSION, 0),
    GROUP_FEATURE: (0, 1, 1),  # the protocol of KIP-848
    # KIP-890; a cluster that began before has records that all can read
    TRANSACTION_FEATURE: (0, 2, 2),
    # KIP-966; without it nothing here would lead safely
    "eligible.leader.replicas.version": (1, 1, 1),
}


def level(image: Image, feature: str) -> int:
    """The finalized level. 0: the feature is off, or the cluster has not begun."""
    return image.features.get(feature, FEATURES[feature][2])
