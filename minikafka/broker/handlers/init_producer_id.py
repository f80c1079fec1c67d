"""InitProducerId (KIP-98): an identity for an idempotent producer, or for a transactional one.

Behaviour: without a transactional id every call gives a new producer id with epoch 0, also when the client names an
old one (KIP-360: that is for transactional producers). With one its coordinator says which id and epoch, and fences
whoever had them. Versions: 0 to 5; 2 is flexible, 3 brings the id and epoch that the producer has.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers import transactions
from minikafka.clock import Now
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.transaction_states import NO_PRODUCER_ID
from minikafka.wire.errors import Error, KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    if body.transactional_id == "" or (request.version >= 3 and (body.producer_id < 0) != (body.producer_epoch < 0)):
        return refusal(Error.INVALID_REQUEST)
    if body.transactional_id is not None:
        return transactional(broker, request, now)
    producer_id = broker.control.next_producer_id(now)
    if isinstance(producer_id, Wait):
        return producer_id
    if broker.trace:
        broker.trace.emit("ProducerIdAssigned", producer_id=producer_id, producer_epoch=0)
    return {"error_code": Error.NONE, "producer_id": producer_id, "producer_epoch": 0}


def transactional(broker: Broker, request: Call, now: Now) -> Wait:
    """A new producer id is asked for before its coordinator decides whether it takes one."""
    body = request.body
    if not 0 < body.transaction_timeout_ms <= broker.config["transaction.max.timeout.ms"]:
        raise KafkaError(Error.INVALID_TRANSACTION_TIMEOUT)
    producer_id: int | Wait = NO_PRODUCER_ID
    if broker.transactions.state(body.transactional_id).needs_producer_id(body.transactional_id):
        producer_id = broker.control.next_producer_id(now)
        if isinstance(producer_id, Wait):
            return producer_id
    expected = (body.producer_id, body.producer_epoch) if request.version >= 3 and body.producer_id >= 0 else None
    of = body.transactional_id, body.transaction_timeout_ms, expected, producer_id
    return broker.transactions.ask(of[0], lambda transactions, _, now: transactions.init(*of, now), now)


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    return refusal(transactions.said(request, error))


def refusal(error: Error) -> dict[str, Any]:
    return {"error_code": error, "producer_id": -1, "producer_epoch": -1}
