"""What tools ask about groups: describe, list, delete."""

from __future__ import annotations

from minikafka.broker.calls import Broker, Call, judged
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.wire.errors import Error, KafkaError

# AclOperation codes that a group knows: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))


def describe_classic(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeGroups (KIP-43, KIP-345): classic groups, their state and members.

    Subscriptions are shown while the group is stable, shares always (the last ones). A group that is not there reads as
    Dead; from version 6 on with GROUP_ID_NOT_FOUND (KIP-1043). Version 3 adds authorized operations, 4 instance ids, 5
    is flexible.
    """

    def one(group_id: str) -> Answer:
        try:
            group: Answer = broker.groups.state(group_id).describe(group_id, ClassicGroup)
        except KafkaError as error:
            if error.error is not Error.GROUP_ID_NOT_FOUND:
                return {"group_id": group_id, "error_code": error.error}
            group = {"group_id": group_id, "group_state": "Dead"}
            if request.version >= 6:
                return group | {"error_code": error.error, "error_message": error.message}
        return group | operations(request)

    return {"groups": [one(group_id) for group_id in request.body.groups]}


def describe_consumer(broker: Broker, request: Call, now: Now) -> Answer:
    """ConsumerGroupDescribe (KIP-848): groups of the consumer protocol, with each member's share now and in the end.

    A classic group reads as GROUP_ID_NOT_FOUND; clients then try DescribeGroups. Version 1 adds the members' kinds.
    """

    def described(group_id: str) -> Answer:
        return broker.groups.state(group_id).describe(group_id, ConsumerGroup) | operations(request)

    def one(group_id: str) -> Answer:
        return judged({"group_id": group_id}, lambda: described(group_id), say_why=True)

    return {"groups": [one(group_id) for group_id in request.body.group_ids]}


def operations(request: Call) -> Answer:
    return {"authorized_operations": GROUP_OPERATIONS} if request.body.include_authorized_operations else {}


def list_groups(broker: Broker, request: Call, now: Now) -> Answer:
    """ListGroups (KIP-518, KIP-848): all groups that this node coordinates.

    Filters by state and by type ignore upper and lower case; a client asks every broker and puts the answers together.
    Version 3 is flexible, 4 filters by state, 5 by type.
    """
    states = {state.strip().lower() for state in (request.body.states_filter if request.version >= 4 else ())}
    types = {kind.strip().lower() for kind in (request.body.types_filter if request.version >= 5 else ())}
    found = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type or "",
            "group_state": group.state_name,
            "group_type": group.type,
        }
        for groups in broker.groups.loaded()
        for group in groups.groups.values()
        if (not states or group.state_name.lower() in states) and (not types or group.type in types)
    ]
    return {"groups": found}


def delete(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """DeleteGroups (KIP-229): groups and their committed offsets go.

    Only an empty group can be deleted (NON_EMPTY_GROUP). Each group has its own verdict. Version 2 is flexible.
    """
    deletions = {
        group_id: broker.groups.ask(group_id, lambda groups, *_, name=group_id: groups.delete(name), now)
        for group_id in dict.fromkeys(request.body.groups_names)
    }

    def answer() -> Answer:
        errors = {name: Error.NONE if each.error is None else each.error.error for name, each in deletions.items()}
        return {"results": [{"group_id": name, "error_code": error} for name, error in errors.items()]}

    return all_of([*deletions.values()], answer)
