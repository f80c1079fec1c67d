"""Requests of group members to their coordinator (the classic protocol and KIP-848's),
and tools' requests about groups.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.broker.access import every_operation
from minikafka.broker.calls import Call, limit_repeats, results_of
from minikafka.broker.config import BrokerConfig
from minikafka.broker.handlers.share_states import pass_on
from minikafka.clock import NodeClock, Now
from minikafka.cluster import features
from minikafka.cluster.acls import ResourceType
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.consumer_group_messages import check_request
from minikafka.coordinators.coordinator import GroupCoordinator
from minikafka.coordinators.modern_group import ModernGroup
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.server_assignors import assignor_names
from minikafka.coordinators.share_persister import Results, SharePersister, ask_for_all
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error, KafkaError

NO_GENERATION = -1
ALL_ANSWERED = 3  # the first version of LeaveGroup that names many members
PROTOCOL_NAMED = 5  # the first version of SyncGroup that names the protocol
NULL_PROTOCOL = 7  # the first version of JoinGroup whose protocol's name may be null
NOT_FOUND = 6  # the first version of DescribeGroups that knows GROUP_ID_NOT_FOUND
# what one may do without an authorizer
GROUP_OPERATIONS = every_operation(ResourceType.GROUP)


@dataclass(eq=False, repr=False)
class GroupHandlers:
    """Groups of the classic and of the consumer protocol."""

    image: Image
    config: BrokerConfig
    clock: NodeClock
    groups: GroupCoordinator
    persister: SharePersister
    random_uuid: Callable[[], bytes]

    def join_group(self, request: Call, now: Now) -> Answer | Wait:
        """JoinGroup (KIP-62, KIP-345, KIP-394, KIP-814): a member wants to be in the
        next generation.

        - Parked until all members have joined or the rebalance timeout is over; the
          leader's answer lists everybody with their subscriptions.

        Versions: 0 to 9.

        - 1 brings the rebalance timeout (0 uses the session timeout).
        - 4 makes a new member come twice, first to be given its id (KIP-394).
        - 5 brings static members.
        - 6 is flexible.
        - 7 names the protocol type.
        - 8 brings the client's reason.
        - 9 tells a static leader that came back not to assign.
        """
        body, version = request.body, request.version
        if version == 0:
            body.rebalance_timeout_ms = body.session_timeout_ms
        client = client_of(request)

        def decide(groups: Any, wait: Wait, now: Now) -> Decision:
            return groups.join(wait, body, client, version, now)

        wait = self.groups.ask(body.group_id, decide, now)
        return all_of([wait], partial(joined, request, wait))

    def sync_group(self, request: Call, now: Now) -> Wait:
        """SyncGroup (KIP-62, KIP-559): a member asks for its assignment; the leader
        brings everybody's.

        - Parked until the leader's assignment is committed.

        Versions: 0 to 5.

        - 3 brings static members.
        - 4 is flexible.
        - 5 names protocol type and protocol, which must be the group's.
        """
        body = request.body
        named = body.protocol_type, body.protocol_name
        if request.version >= PROTOCOL_NAMED and None in named:
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)

        def decide(groups: Any, wait: Wait, now: Now) -> Decision:
            return groups.sync(wait, body, now)

        return self.groups.ask(body.group_id, decide, now)

    def heartbeat(self, request: Call, now: Now) -> Wait:
        """Heartbeat (KIP-62, KIP-345): a member of a classic group says that it is
        alive.

        - REBALANCE_IN_PROGRESS while the group prepares a rebalance is how a member
          learns that it must join again.

        Versions: 0 to 4.

        - 3 adds GroupInstanceId for static members.
        - 4 is flexible.
        """
        body = request.body

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.heartbeat(body)

        return self.groups.ask(body.group_id, decide, now)

    def refuse_heartbeat(self, request: Call, error: KafkaError) -> Answer:
        """While the coordinator loads, a heartbeat is fine: nobody is thrown out
        meanwhile.
        """
        if error.error is Error.COORDINATOR_LOAD_IN_PROGRESS:
            return {"error_code": Error.NONE}
        return {"error_code": error.error}

    def leave_group(self, request: Call, now: Now) -> Wait:
        """LeaveGroup (KIP-345): members say goodbye, so that the others needn't wait
        for a session timeout.

        - The group rebalances at once.
        - An admin may remove members of others, static ones by instance id alone.

        Versions: 0 to 5.

        - 3 names many members and answers each.
        - 4 is flexible.
        - 5 brings a reason (KIP-800).
        """
        body, version = request.body, request.version

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.leave(body, version)

        return self.groups.ask(body.group_id, decide, now)

    def refuse_leave(self, request: Call, error: KafkaError) -> Answer:
        is_of_members = error.error is Error.UNKNOWN_MEMBER_ID
        if not is_of_members or request.version < ALL_ANSWERED:
            return {"error_code": error.error}
        unknown = []
        for each in request.body.members:
            member = {
                "member_id": each.member_id,
                "group_instance_id": each.group_instance_id,
                "error_code": error.error,
            }
            unknown.append(member)
        return {"error_code": Error.NONE, "members": unknown}

    def consumer_group_heartbeat(self, request: Call, now: Now) -> Wait:
        """ConsumerGroupHeartbeat (KIP-848): the one request of the consumer protocol.
        It joins, stays, reports and leaves.

        - A member says what changed on its side, the answer says what changed on the
          coordinator's: a new epoch, a new assignment.
        - Nothing is parked and nobody waits for anybody: a member that must give up
          partitions says with its next heartbeat that it has.
        - Member epoch 0 joins, -1 leaves, -2 is a static member that will be back.

        Versions: 0 to 1.

        - 1 adds subscriptions by regular expression and has the client make its own
          member id (KIP-1082).
        """
        body = request.body
        if not features.level(self.image, features.GROUP_FEATURE):
            raise KafkaError(Error.UNSUPPORTED_VERSION)
        assignors = assignor_names(self.config["group.consumer.assignors"])
        check_request(body, request.version, assignors)
        if not body.member_id:  # version 0 only
            body.member_id = uuid_text(self.random_uuid())
        client = client_of(request)

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.consumer_heartbeat(body, client, now)

        return self.groups.ask(body.group_id, decide, now)

    # -- of tools

    def describe_groups(self, request: Call, now: Now) -> Answer:
        """DescribeGroups (KIP-43, KIP-345): classic groups, their state and members.

        - Subscriptions are shown while the group is stable, assignments always (the
          last ones).
        - A group that isn't there is Dead, since 6 with GROUP_ID_NOT_FOUND (KIP-1043).

        Versions: 0 to 6.

        - 3 adds authorized operations.
        - 4 adds instance ids.
        - 5 is flexible.
        """
        names = limit_repeats(request.body.groups)
        return {"groups": [self.described(request, name) for name in names]}

    def described(self, request: Call, group_id: str) -> Answer:
        """The description of a classic group; "Dead" if there is none."""
        try:
            groups = self.groups.state(group_id)
            group: Answer = groups.describe(group_id, ClassicGroup)
        except KafkaError as error:
            if error.error is not Error.GROUP_ID_NOT_FOUND:
                return {"group_id": group_id, "error_code": error.error}
            group = {"group_id": group_id, "group_state": "Dead"}
            if request.version >= NOT_FOUND:
                group["error_code"] = error.error
                group["error_message"] = error.message
                return group
        return group | operations(request, group_id)

    def consumer_group_describe(self, request: Call, now: Now) -> Answer:
        """ConsumerGroupDescribe (KIP-848): groups of the consumer protocol, with each
        member's assignment now and in the end.

        - A classic group reads as GROUP_ID_NOT_FOUND; clients then try DescribeGroups.

        Versions: 0 to 1.

        - 1 adds the members' kinds.
        """
        return described(self.groups, request, ConsumerGroup)

    def list_groups(self, request: Call, now: Now) -> Answer:
        """ListGroups (KIP-518, KIP-848): all groups that this node coordinates.

        - Filters by state and by type ignore upper and lower case.
        - A client asks every broker and puts the answers together.

        Versions: 0 to 5.

        - 3 is flexible.
        - 4 filters by state.
        - 5 filters by type.
        """
        states = {state.strip().lower() for state in request.body.states_filter}
        types = {kind.strip().lower() for kind in request.body.types_filter}
        listed = []
        for groups in self.groups.loaded():
            for group in groups.groups.values():
                if states and group.state_name.lower() not in states:
                    continue
                if types and group.type not in types:
                    continue
                named = {
                    "group_id": group.group_id,
                    "protocol_type": group.protocol_type or "",
                    "group_state": group.state_name,
                    "group_type": group.type,
                }
                listed.append(named)
        return {"groups": listed}

    def delete_groups(self, request: Call, now: Now) -> Answer | Wait:
        """DeleteGroups (KIP-229): groups and their committed offsets go.

        - Only an empty group can be deleted (NON_EMPTY_GROUP).
        - Each group has its own verdict.

        Versions: 0 to 3.

        - 2 is flexible.
        - 3 has a message, with which a plugin of the broker may say why a streams
          group wasn't deleted: there is none here (KIP-1331).
        """
        deletions: dict[str, Wait] = {}
        for group_id in dict.fromkeys(request.body.groups_names):
            deletions[group_id] = self.deletion(group_id, now)

        def results() -> Answer:
            rows = []
            for group_id, wait in deletions.items():
                error = Error.NONE if wait.error is None else wait.error.error
                rows.append({"group_id": group_id, "error_code": error})
            return {"results": rows}

        return all_of(list(deletions.values()), results)

    def deletion(self, group_id: str, now: Now) -> Wait:
        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.delete(group_id)

        wait = self.groups.ask(group_id, decide, now)
        return self.after_its_states(group_id, wait)

    def after_its_states(self, group_id: str, wait: Wait) -> Wait:
        """DeleteGroups for one group: the state of a share group's partitions is
        deleted first, and then the group.
        """
        whole = Wait()

        def decide(groups: Any, *_: object) -> Decision:
            decision: Decision = groups.delete(group_id, state_has_gone=True)
            return decision

        def ended(results: Results, now: Now) -> None:
            for result in results.values():
                if isinstance(result, KafkaError):
                    whole.fail(result)
            if not whole.is_done:
                pass_on(self.groups.ask(group_id, decide, now), whole)

        def begun(_: Wait) -> None:
            if wait.error is None and wait.answer and "keys" in wait.answer:
                keys = wait.answer["keys"]
                ask_for_all(keys, self.persister.delete, ended, self.clock.now)
            else:
                pass_on(wait, whole)

        wait.then(begun)
        return whole


# -- of members


def client_of(request: Call) -> tuple[str, str]:
    """The member's client id and host, as descriptions of groups show them."""
    return request.client.client_id or "", f"/{request.client.host}"


def joined(request: Call, wait: Wait) -> Answer:
    """The answer to a JoinGroup, with the fields that a refusal has no news about;
    before version 7 the protocol's name can't be null.
    """
    answer: Answer = wait.answer or {}
    if wait.error is not None:
        member_id = request.body.member_id
        if wait.error.error is Error.UNKNOWN_SERVER_ERROR:
            member_id = ""
        answer = {"error_code": wait.error.error, "member_id": member_id}
    whole: Answer = {
        "generation_id": NO_GENERATION,
        "protocol_name": None,
        "leader": "",
        "members": [],
    }
    whole |= answer
    if request.version < NULL_PROTOCOL and whole["protocol_name"] is None:
        whole["protocol_name"] = ""
    return whole


def described(
    coordinator: GroupCoordinator, request: Call, kind: type[ModernGroup[Any]]
) -> Answer:
    """The groups that ConsumerGroupDescribe, StreamsGroupDescribe or ShareGroupDescribe
    asks for, each of them once.
    """

    def named(group_id: str) -> Answer:
        return {"group_id": group_id}

    def shown(group_id: str) -> Answer:
        group: Answer = coordinator.state(group_id).describe(group_id, kind)
        return group | operations(request, group_id)

    names = limit_repeats(request.body.group_ids)
    return {"groups": results_of(names, named, shown, say_why=True)}


def operations(request: Call, group_id: str) -> Answer:
    """All that a client may do with a group, if it asks for that."""
    if not request.body.include_authorized_operations:
        return {}
    allowed = GROUP_OPERATIONS
    if request.access is not None:
        allowed = request.access.operations(ResourceType.GROUP, group_id)
    return {"authorized_operations": allowed}
