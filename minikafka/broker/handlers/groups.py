"""What members of groups ask their coordinator (the classic protocol, KIP-848's), and
what tools ask about groups.
"""

from minikafka.broker.calls import Broker, Call, a_few_times, each_judged
from minikafka.clock import Now
from minikafka.cluster import features
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.consumer_group_messages import check_request
from minikafka.coordinators.server_assignors import assignor_names
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error, KafkaError

NO_GENERATION = -1
# AclOperation codes that a group knows: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS,
# ALTER_CONFIGS.
GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))


# -- of members


def join(broker: Broker, request: Call, now: Now) -> Wait:
    """JoinGroup (KIP-62, KIP-345, KIP-394, KIP-814): a member wants to be in the next
    generation.

    Parked until all members have joined or the rebalance timeout is over; the leader's
    answer lists everybody with their subscriptions. Version 1 brings the rebalance
    timeout (0 uses the session timeout), 4 makes a new member come twice, first to be
    given its id (KIP-394), 5 brings static members, 6 is flexible, 7 names the protocol
    type, 8 the client's reason, 9 tells a static leader that came back not to assign.
    """
    body = request.body
    if request.version == 0:
        body.rebalance_timeout_ms = body.session_timeout_ms
    told = (
        body,
        (request.client.client_id or "", f"/{request.client.host}"),
        request.version,
    )
    return broker.groups.ask(
        body.group_id, lambda groups, wait, now: groups.join(wait, *told, now), now
    )


def refuse_join(request: Call, error: KafkaError) -> Answer:
    unforeseen = error.error is Error.UNKNOWN_SERVER_ERROR
    return shape_join(
        request,
        {
            "error_code": error.error,
            "member_id": "" if unforeseen else request.body.member_id,
        },
    )


def shape_join(request: Call, answer: Answer) -> Answer:
    """The fields that a refusal has no news about; before version 7 the protocol's name
    can't be null.
    """
    whole: Answer = {
        "generation_id": NO_GENERATION,
        "protocol_name": None,
        "leader": "",
        "members": [],
    } | answer
    if request.version < 7:
        whole["protocol_name"] = whole["protocol_name"] or ""
    return whole


def sync(broker: Broker, request: Call, now: Now) -> Wait:
    """SyncGroup (KIP-62, KIP-559): a member asks for its share; the leader brings
    everybody's.

    Parked until the leader's assignment is committed. Version 3 brings static members,
    4 is flexible, 5 names protocol type and protocol, which must be the group's.
    """
    body = request.body
    if request.version >= 5 and None in (body.protocol_type, body.protocol_name):
        raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
    return broker.groups.ask(
        body.group_id, lambda groups, wait, now: groups.sync(wait, body, now), now
    )


def heartbeat(broker: Broker, request: Call, now: Now) -> Wait:
    """Heartbeat (KIP-62, KIP-345): a member of a classic group says that it is alive.

    REBALANCE_IN_PROGRESS while the group prepares a rebalance is how a member learns
    that it must join again. Version 3 adds GroupInstanceId for static members, 4 is
    flexible.
    """
    return broker.groups.ask(
        request.body.group_id, lambda groups, *_: groups.heartbeat(request.body), now
    )


def refuse_heartbeat(request: Call, error: KafkaError) -> Answer:
    """While the coordinator loads, a heartbeat is fine: nobody is thrown out
    meanwhile.
    """
    return {
        "error_code": (
            Error.NONE
            if error.error is Error.COORDINATOR_LOAD_IN_PROGRESS
            else error.error
        )
    }


def leave(broker: Broker, request: Call, now: Now) -> Wait:
    """LeaveGroup (KIP-345): members say goodbye, so that the others needn't wait for a
    session timeout.

    The group rebalances at once. An admin may remove members of others, static ones by
    instance id alone. Version 3 names many members and answers each, 4 is flexible, 5
    brings a reason (KIP-800).
    """
    body = request.body
    return broker.groups.ask(
        body.group_id, lambda groups, *_: groups.leave(body, request.version), now
    )


def refuse_leave(request: Call, error: KafkaError) -> Answer:
    if error.error is not Error.UNKNOWN_MEMBER_ID or request.version < 3:
        return {"error_code": error.error}
    unknown = [
        {
            "member_id": each.member_id,
            "group_instance_id": each.group_instance_id,
            "error_code": error.error,
        }
        for each in request.body.members
    ]
    return {"error_code": Error.NONE, "members": unknown}


def consumer_heartbeat(broker: Broker, request: Call, now: Now) -> Wait:
    """ConsumerGroupHeartbeat (KIP-848): the one request of the consumer protocol. It
    joins, stays, reports and leaves.

    A member says what changed on its side, the answer says what changed on the
    coordinator's: a new epoch, a new share. Nothing is parked and nobody waits for
    anybody: a member that must give up partitions says with its next heartbeat that it
    has. Member epoch 0 joins, -1 leaves, -2 is a static member that will be back.
    Version 1 adds subscriptions by regular expression and has the client make its own
    member id (KIP-1082).
    """
    body, client = (
        request.body,
        (
            request.client.client_id or "",
            f"/{request.client.host}",
        ),
    )
    if not features.level(broker.image, features.GROUP_FEATURE):
        raise KafkaError(Error.UNSUPPORTED_VERSION)
    check_request(
        body, request.version, assignor_names(broker.config["group.consumer.assignors"])
    )
    if not body.member_id:  # version 0 only
        body.member_id = uuid_text(broker.random_uuid())
    return broker.groups.ask(
        body.group_id,
        lambda groups, _, now: groups.consumer_heartbeat(body, client, now),
        now,
    )


# -- of tools


def describe_classic(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeGroups (KIP-43, KIP-345): classic groups, their state and members.

    Subscriptions are shown while the group is stable, shares always (the last ones). A
    group that isn't there is Dead, since 6 with GROUP_ID_NOT_FOUND (KIP-1043). Version
    3 adds authorized operations, 4 instance ids, 5 is flexible.
    """

    def one(group_id: str) -> Answer:
        try:
            group: Answer = broker.groups.state(group_id).describe(
                group_id, ClassicGroup
            )
        except KafkaError as error:
            if error.error is not Error.GROUP_ID_NOT_FOUND:
                return {"group_id": group_id, "error_code": error.error}
            group = {"group_id": group_id, "group_state": "Dead"}
            if request.version >= 6:
                return group | {
                    "error_code": error.error,
                    "error_message": error.message,
                }
        return group | operations(request)

    return {"groups": [one(group_id) for group_id in a_few_times(request.body.groups)]}


def describe_consumer(broker: Broker, request: Call, now: Now) -> Answer:
    """ConsumerGroupDescribe (KIP-848): groups of the consumer protocol, with each
    member's share now and in the end.

    A classic group reads as GROUP_ID_NOT_FOUND; clients then try DescribeGroups.
    Version 1 adds the members' kinds.
    """

    def shown(group_id: str) -> Answer:
        return broker.groups.state(group_id).describe(
            group_id, ConsumerGroup
        ) | operations(request)

    asked = a_few_times(request.body.group_ids)
    return {
        "groups": each_judged(
            asked, lambda name: {"group_id": name}, shown, say_why=True
        )
    }


def operations(request: Call) -> Answer:
    return (
        {"authorized_operations": GROUP_OPERATIONS}
        if request.body.include_authorized_operations
        else {}
    )


def list_groups(broker: Broker, request: Call, now: Now) -> Answer:
    """ListGroups (KIP-518, KIP-848): all groups that this node coordinates.

    Filters by state and by type ignore upper and lower case; a client asks every broker
    and puts the answers together. Version 3 is flexible, 4 filters by state, 5 by type.
    """
    states = {state.strip().lower() for state in request.body.states_filter}
    types = {kind.strip().lower() for kind in request.body.types_filter}
    found = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type or "",
            "group_state": group.state_name,
            "group_type": group.type,
        }
        for groups in broker.groups.loaded()
        for group in groups.groups.values()
        if (not states or group.state_name.lower() in states)
        and (not types or group.type in types)
    ]
    return {"groups": found}


def delete(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """DeleteGroups (KIP-229): groups and their committed offsets go.

    Only an empty group can be deleted (NON_EMPTY_GROUP). Each group has its own
    verdict. Version 2 is flexible.
    """
    deletions = {
        group_id: broker.groups.ask(
            group_id, lambda groups, *_, name=group_id: groups.delete(name), now
        )
        for group_id in dict.fromkeys(request.body.groups_names)
    }

    def answer() -> Answer:
        errors = {
            name: Error.NONE if each.error is None else each.error.error
            for name, each in deletions.items()
        }
        return {
            "results": [
                {"group_id": name, "error_code": error}
                for name, error in errors.items()
            ]
        }

    return all_of([*deletions.values()], answer)
