"""This run of a node, as the cluster knows it (KIP-631): its ids, and the epoch that it
got when it registered.
"""

from dataclasses import dataclass

from minikafka.cluster.metadata import BrokerRegistration, Image


@dataclass(eq=False, repr=False)
class Incarnation:
    """incarnation_id: of this run, 16 bytes. directory_id: of its log directory, 16
    bytes. broker_epoch: the offset of this node's registration, -1 before.
    """

    node_id: int
    _image: Image
    incarnation_id: bytes = bytes(16)
    directory_id: bytes = bytes(16)
    broker_epoch: int = -1

    @property
    def registration(self) -> BrokerRegistration | None:
        """This run's registration, once it is committed."""
        found = self._image.brokers.get(self.node_id)
        if found is None or found.incarnation_id != self.incarnation_id:
            return None
        return found
