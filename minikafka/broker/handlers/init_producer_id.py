"""InitProducerId (KIP-98): an identity for an idempotent producer.

Behaviour: without a transactional id every call gives a new producer id with epoch 0, also when the client names an
old one (KIP-360: that is for transactional producers). A transactional id is refused: transactions are not served
yet. Versions: 0 to 4; 2 is flexible.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    if body.transactional_id == "" or (request.version >= 3 and (body.producer_id < 0) != (body.producer_epoch < 0)):
        return refusal(Error.INVALID_REQUEST)
    if body.transactional_id is not None:
        return refusal(Error.UNSUPPORTED_VERSION)
    producer_id = broker.control.next_producer_id(now)
    if isinstance(producer_id, Wait):
        return producer_id
    if broker.trace:
        broker.trace.emit("ProducerIdAssigned", producer_id=producer_id, producer_epoch=0)
    return {"error_code": Error.NONE, "producer_id": producer_id, "producer_epoch": 0}


def refusal(error: Error) -> dict[str, Any]:
    return {"error_code": error, "producer_id": -1, "producer_epoch": -1}
