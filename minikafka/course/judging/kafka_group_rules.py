"""What a Kafka may answer to the members of a group, and to whoever commits offsets."""

from minikafka.course.judging.conversation import Exchange
from minikafka.course.judging.kafka_answers import (
    Answer,
    Place,
    Wrong,
    found_of,
    partitions_in,
)
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message


class GroupSeen:
    """A group, as its members' requests and the answers to them show it."""

    def __init__(self) -> None:
        self.generation = 0
        self.leaders: dict[int, str] = {}  # generation -> member id
        self.protocols: dict[int, str] = {}  # generation -> the one that all have
        self.joined: dict[str, int] = {}  # member id -> its generation
        self.offers: dict[str, set[str]] = {}  # member id -> its protocols
        self.assigned: dict[int, dict[str, bytes]] = {}  # what the leader has sent
        self.committed: dict[Place, int] = {}


class GroupRules:
    """All groups."""

    def __init__(self) -> None:
        self.port = 0
        self._groups: dict[str, GroupSeen] = {}
        # of the group, when a request was sent
        self._generation_at: dict[tuple[int, int], int] = {}

    def _group(self, group_id: str) -> GroupSeen:
        """One that nobody has spoken of yet is new."""
        return self._groups.setdefault(group_id, GroupSeen())

    def _answered_find_coordinator(self, answer: Answer, request: Message) -> None:
        """There is one broker, and it coordinates all groups."""
        answer.expect(answer.body, "error_code", Error.NONE)
        answer.expect(answer.body, "port", self.port)

    def _answered_offset_commit(self, answer: Answer, request: Message) -> None:
        """What was committed without an error counts from now on. A commit that comes
        from no member always does, one of an old generation never.
        """
        group = self._group(request.group_id)
        generation = request.generation_id_or_member_epoch
        found = found_of(answer, "topics", "partitions", "partition_index")
        for place, asked in partitions_in(
            request.topics, "partitions", "partition_index"
        ):
            partition, where = answer.at(found, place)
            if generation < 0:  # no member
                answer.expect(partition, "error_code", Error.NONE, where)
            else:
                self._fence(answer, partition, request, generation, where)
            if not partition.error_code:
                group.committed[place] = asked.committed_offset

    def _answered_offset_fetch(self, answer: Answer, request: Message) -> None:
        """The last offset that was committed, or -1, with no error in either case."""
        committed = self._group(request.group_id).committed
        found = found_of(answer, "topics", "partitions", "partition_index")
        places = list(found)
        if request.topics is not None:
            places = [
                (topic.name, number)
                for topic in request.topics
                for number in topic.partition_indexes
            ]
        for place in places:
            partition, where = answer.at(found, place)
            answer.expect(partition, "error_code", Error.NONE, where)
            expected = committed.get(place, -1)
            answer.expect(partition, "committed_offset", expected, where)

    def _answered_join_group(self, answer: Answer, request: Message) -> None:
        """A member that joins again is in a newer generation, all members of one have
        the same leader, and nobody is sent back to an older one.
        """
        group, body = self._group(request.group_id), answer.body
        offered = {each.name for each in request.protocols}
        if not request.member_id:
            if not self._may_refuse(group, offered, body.error_code):
                answer.expect(body, "error_code", Error.NONE)
        elif request.member_id not in group.offers:
            because = f"nobody has ever been given the member id {request.member_id}"
            answer.expect(body, "error_code", Error.UNKNOWN_MEMBER_ID, because=because)
        if body.error_code:
            return
        group.offers[body.member_id] = offered
        before = group.joined.get(body.member_id)
        if before is not None and body.generation_id <= before:
            answer.expect(body, "generation_id", before + 1)
        if body.generation_id < group.generation:
            answer.expect(body, "generation_id", group.generation)
        group.generation = body.generation_id
        group.joined[body.member_id] = body.generation_id
        leader = group.leaders.setdefault(body.generation_id, body.leader)
        answer.expect(body, "leader", leader)
        if body.protocol_name not in offered:
            raise Wrong(
                f"JoinGroup, answer: protocol_name is {body.protocol_name!r}, and this"
                f" member has no other than {', '.join(sorted(offered))}"
            )
        protocol = group.protocols.setdefault(body.generation_id, body.protocol_name)
        answer.expect(body, "protocol_name", protocol)
        if body.member_id == leader:
            listed = [each.member_id for each in body.members]
            if leader not in listed:
                raise Wrong("JoinGroup, answer: the leader is not among the members")

    def _may_refuse(self, group: GroupSeen, offered: set[str], code: int) -> bool:
        """A newcomer whose protocols are not those of all who are there."""
        others = [group.offers[name] for name in group.joined]
        is_common = bool(offered.intersection(*others))
        return code == Error.INCONSISTENT_GROUP_PROTOCOL and not is_common

    def _asked_sync_group(self, exchange: Exchange, request: Message) -> None:
        """The leader's has all assignments."""
        self._note_generation(exchange, request)
        group = self._group(request.group_id)
        if group.leaders.get(request.generation_id) == request.member_id:
            group.assigned[request.generation_id] = {
                each.member_id: bytes(each.assignment) for each in request.assignments
            }

    def _answered_sync_group(self, answer: Answer, request: Message) -> None:
        """A member gets what the leader gave it, in the same generation, and not before
        the leader has.
        """
        group, body = self._group(request.group_id), answer.body
        self._fence(answer, body, request, request.generation_id)
        if body.error_code:
            return
        assigned = group.assigned.get(request.generation_id)
        if assigned is None:
            raise Wrong(
                "SyncGroup was answered before the leader had said who reads what"
            )
        theirs = bytes(body.assignment)
        if theirs != assigned.get(request.member_id, b""):
            others = [name for name, said in assigned.items() if said == theirs]
            of = "another member's" if others else "not what the leader has sent"
            answer.expect(
                body, "assignment", assigned.get(request.member_id, b""), why=of
            )

    def _note_generation(self, exchange: Exchange, request: Message) -> None:
        """What the broker could know when the request came."""
        self._generation_at[exchange.of] = self._group(request.group_id).generation

    _asked_heartbeat = _asked_offset_commit = _note_generation

    def _answered_heartbeat(self, answer: Answer, request: Message) -> None:
        """It has no fields but the error."""
        self._fence(answer, answer.body, request, request.generation_id)

    def _fence(
        self,
        answer: Answer,
        said: Message,
        request: Message,
        generation: int,
        where: str = "",
    ) -> None:
        """Who is no member is told so, and the larger number fences who is of an older
        generation. said: where the error stands.
        """
        newest = self._generation_at[answer.exchange.of]
        if request.member_id not in self._group(request.group_id).joined:
            because = f"{request.member_id} is no member"
            code = Error.UNKNOWN_MEMBER_ID
            answer.expect(said, "error_code", code, where, because=because)
        elif not said.error_code and generation < newest:
            because = f"generation {generation} is over: it is {newest}"
            code = Error.ILLEGAL_GENERATION
            answer.expect(said, "error_code", code, where, because=because)

    def _answered_leave_group(self, answer: Answer, request: Message) -> None:
        """Who has left is no member any more."""
        group = self._group(request.group_id)
        known = request.member_id in group.joined
        expected = Error.NONE if known else Error.UNKNOWN_MEMBER_ID
        answer.expect(answer.body, "error_code", expected)
        group.joined.pop(request.member_id, None)
