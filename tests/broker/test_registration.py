"""A broker that comes back is another run of it: when the controller lets it in, and
what it says of the old one.
"""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from minikafka.cluster import registration

SESSION_MS = 9000  # broker.session.timeout.ms


def test_kip_966_a_broker_that_comes_back_as_its_session_ends_is_fenced_like_any_other():
    """Its registration may be there before the controller has looked who is silent."""
    cluster = Cluster(brokers=3)
    active = next(
        process.broker
        for process in cluster.brokers.values()
        if process.broker.quorum.is_leader
    )
    gone = next(node for node in cluster.brokers if node != active.node_id)
    cluster.crash(gone)
    fields = active.image.brokers[gone].fields
    asked = registration.fields(
        gone, b"another run".ljust(16), fields["log_dirs"], active.config.advertised
    )
    asked |= {"cluster_id": active.cluster_id, "previous_broker_epoch": -1}
    with pytest.raises(KafkaError, match="DUPLICATE_BROKER_REGISTRATION"):
        active.active_controller.register(asked, active.now)
    active.active_controller.register(
        asked, active.now._replace(monotonic_ms=active.now.monotonic_ms + SESSION_MS)
    )
    assert [
        event.detail["broker"]
        for event in cluster.trace
        if event.kind == "BrokerFenced"
    ] == [gone]
