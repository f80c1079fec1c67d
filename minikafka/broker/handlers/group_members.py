"""What members of groups ask their coordinator: the classic protocol's four requests, and KIP-848's one."""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers import features
from minikafka.clock import Now
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.consumer_group_messages import check_request
from minikafka.coordinators.server_assignors import assignor_names
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error, KafkaError

NO_GENERATION = -1


def join(broker: Broker, request: Call, now: Now) -> Wait:
    """JoinGroup (KIP-62, KIP-345, KIP-394, KIP-814): a member wants to be in the next generation.

    Parked until all members have joined or the rebalance timeout is over; the leader's answer lists everybody with
    their subscriptions. Version 1 brings the rebalance timeout (0 uses the session timeout), 4 makes a new member come
    twice, first to be given its id (KIP-394), 5 brings static members, 6 is flexible, 7 names the protocol type, 8 the
    client's reason, 9 tells a static leader that came back not to assign.
    """
    body = request.body
    if request.version == 0:
        body.rebalance_timeout_ms = body.session_timeout_ms
    told = body, (request.client.client_id or "", f"/{request.client.host}"), request.version
    return broker.groups.ask(body.group_id, lambda groups, wait, now: groups.join(wait, *told, now), now)


def refuse_join(request: Call, error: KafkaError) -> dict[str, Any]:
    unforeseen = error.error is Error.UNKNOWN_SERVER_ERROR
    return shape_join(request, {"error_code": error.error, "member_id": "" if unforeseen else request.body.member_id})


def shape_join(request: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """The fields that a refusal has no news about; before version 7 the protocol's name can't be null."""
    whole = {"generation_id": NO_GENERATION, "protocol_name": None, "leader": "", "members": []} | answer
    if request.version < 7:
        whole["protocol_name"] = whole["protocol_name"] or ""
    return whole


def sync(broker: Broker, request: Call, now: Now) -> Wait:
    """SyncGroup (KIP-62, KIP-559): a member asks for its share; the leader brings everybody's.

    Parked until the leader's assignment is committed. Version 3 brings static members, 4 is flexible, 5 names protocol
    type and protocol, which must be the group's.
    """
    body = request.body
    if request.version >= 5 and None in (body.protocol_type, body.protocol_name):
        raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
    return broker.groups.ask(body.group_id, lambda groups, wait, now: groups.sync(wait, body, now), now)


def heartbeat(broker: Broker, request: Call, now: Now) -> Wait:
    """Heartbeat (KIP-62, KIP-345): a member of a classic group says that it is alive.

    REBALANCE_IN_PROGRESS while the group prepares a rebalance is how a member learns that it must join again. Version 3
    adds GroupInstanceId for static members, 4 is flexible.
    """
    return broker.groups.ask(request.body.group_id, lambda groups, *_: groups.heartbeat(request.body), now)


def refuse_heartbeat(request: Call, error: KafkaError) -> dict[str, Any]:
    """While the coordinator loads, a heartbeat is fine: nobody is thrown out meanwhile."""
    return {"error_code": Error.NONE if error.error is Error.COORDINATOR_LOAD_IN_PROGRESS else error.error}


def leave(broker: Broker, request: Call, now: Now) -> Wait:
    """LeaveGroup (KIP-345): members say goodbye, so that the others needn't wait for a session timeout.

    The group rebalances at once. An admin may remove members of others, static ones by instance id alone. Version 3
    names many members and answers each, 4 is flexible, 5 brings a reason (KIP-800).
    """
    body = request.body
    return broker.groups.ask(body.group_id, lambda groups, *_: groups.leave(body, request.version), now)


def refuse_leave(request: Call, error: KafkaError) -> dict[str, Any]:
    if error.error is not Error.UNKNOWN_MEMBER_ID or request.version < 3:
        return {"error_code": error.error}
    unknown = [
        {"member_id": each.member_id, "group_instance_id": each.group_instance_id, "error_code": error.error}
        for each in request.body.members
    ]
    return {"error_code": Error.NONE, "members": unknown}


def consumer_heartbeat(broker: Broker, request: Call, now: Now) -> Wait:
    """ConsumerGroupHeartbeat (KIP-848): the one request of the consumer protocol. It joins, stays, reports and leaves.

    A member says what changed on its side, the answer says what changed on the coordinator's: a new epoch, a new share.
    Nothing is parked and nobody waits for anybody: a member that must give up partitions says with its next heartbeat
    that it has. Member epoch 0 joins, -1 leaves, -2 is a static member that will be back. Version 1 adds subscriptions
    by regular expression and has the client make its own member id (KIP-1082).
    """
    body, client = request.body, (request.client.client_id or "", f"/{request.client.host}")
    if not features.level(broker.image, features.GROUP_FEATURE):
        raise KafkaError(Error.UNSUPPORTED_VERSION)
    check_request(body, request.version, assignor_names(broker.config["group.consumer.assignors"]))
    if not body.member_id:  # version 0 only
        body.member_id = uuid_text(broker.random_uuid())
    return broker.groups.ask(body.group_id, lambda groups, _, now: groups.consumer_heartbeat(body, client, now), now)
