"""DescribeCluster (KIP-700, KIP-919): the cluster's id, its controller and its brokers.

Behaviour: the controller shown is a broker that clients can reach, as in KRaft. Versions: 0 to 2; 1 tells brokers
from controllers (this listener knows brokers), 2 shows fenced brokers on demand.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers.metadata import CLUSTER_OPERATIONS, NOT_ASKED
from minikafka.clock import Now
from minikafka.wire.errors import Error, KafkaError

BROKERS, CONTROLLERS = 1, 2


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    body, listener = request.body, request.client.listener
    if request.version >= 1 and body.endpoint_type != BROKERS:
        if body.endpoint_type == CONTROLLERS:
            raise KafkaError(
                Error.MISMATCHED_ENDPOINT_TYPE,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            )
        raise KafkaError(Error.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {body.endpoint_type}")
    with_fenced = request.version >= 2 and body.include_fenced_brokers
    brokers = [
        {
            "broker_id": one.broker_id,
            "host": endpoint[0],
            "port": endpoint[1],
            "rack": one.rack,
            "is_fenced": one.fenced,
        }
        for one in sorted(broker.image.brokers.values(), key=lambda one: one.broker_id)
        if (endpoint := one.endpoints.get(listener)) and (with_fenced or not one.fenced)
    ]
    operations = CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
    return {
        "endpoint_type": BROKERS,
        "cluster_id": broker.cluster_id,
        "controller_id": broker.quorum.leader_id,
        "brokers": brokers,
        "cluster_authorized_operations": operations,
    }
