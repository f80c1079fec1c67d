"""Which answers a Kafka may give to the members of a group, and to clients that commit
offsets.
"""

from minikafka.course.judging.conversation import Exchange
from minikafka.course.judging.kafka_answers import (
    HERE,
    Answer,
    Fields,
    Place,
    Wrong,
    name_of,
)
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

PARTITIONS = Fields()  # OffsetCommit, its answer, and OffsetFetch's answer


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
    """The rules that all groups of a conversation must follow."""

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
        if answer.body.host not in HERE:
            answer.expect(answer.body, "host", HERE[0])

    def _answered_offset_commit(self, answer: Answer, request: Message) -> None:
        """Offsets committed without an error count from now on. A commit from a client
        that isn't a member always counts, one with an old generation never.
        """
        group = self._group(request.group_id)
        generation = request.generation_id_or_member_epoch
        is_from_member = generation >= 0
        pairs = answer.pairs(request, asked_in=PARTITIONS, said_in=PARTITIONS)
        for place, asked, said, where in pairs:
            if is_from_member:
                self._fence(answer, said, request, generation, where)
            else:
                answer.expect(said, "error_code", Error.NONE, where)
            if not said.error_code:
                group.committed[place] = asked.committed_offset

    def _answered_offset_fetch(self, answer: Answer, request: Message) -> None:
        """The last offset that was committed, or -1, with no error in either case."""
        committed = self._group(request.group_id).committed
        partitions = answer.partitions(PARTITIONS)
        wanted = list(partitions)  # all that the group has
        if request.topics is not None:
            wanted = _asked_for(request)
        for place in wanted:
            said = answer.said_of(place, partitions)
            where = name_of(place)
            answer.expect(said, "error_code", Error.NONE, where)
            offset = committed.get(place, -1)
            answer.expect(said, "committed_offset", offset, where)

    # -- JoinGroup

    def _answered_join_group(self, answer: Answer, request: Message) -> None:
        """A member that joins again is in a newer generation, all members of one have
        the same leader, and nobody is sent back to an older one.
        """
        group = self._group(request.group_id)
        body = answer.body
        offered = {each.name for each in request.protocols}
        if not request.member_id:
            self._expect_newcomer_joins(answer, group, offered)
        elif request.member_id not in group.offers:
            because = f"nobody has ever been given the member id {request.member_id}"
            answer.expect(body, "error_code", Error.UNKNOWN_MEMBER_ID, because=because)
        if body.error_code:
            return
        group.offers[body.member_id] = offered
        self._expect_newer_generation(answer, group)
        group.generation = body.generation_id
        group.joined[body.member_id] = body.generation_id
        self._expect_agreement(answer, group, offered)

    def _expect_newcomer_joins(
        self, answer: Answer, group: GroupSeen, offered: set[str]
    ) -> None:
        """It may be refused if its protocols are not those of all who are there."""
        others = [group.offers[name] for name in group.joined]
        is_common = bool(offered.intersection(*others))
        code = answer.body.error_code
        if code == Error.INCONSISTENT_GROUP_PROTOCOL and not is_common:
            return
        answer.expect(answer.body, "error_code", Error.NONE)

    def _expect_newer_generation(self, answer: Answer, group: GroupSeen) -> None:
        """Newer than the member's own, and not older than the group's."""
        body = answer.body
        generation = body.generation_id
        before = group.joined.get(body.member_id)
        if before is not None and generation <= before:
            answer.expect(body, "generation_id", before + 1)
        if generation < group.generation:
            answer.expect(body, "generation_id", group.generation)

    def _expect_agreement(
        self, answer: Answer, group: GroupSeen, offered: set[str]
    ) -> None:
        """All members of a generation have one leader, and one protocol that each of
        them has offered; and the leader is told about itself, too.
        """
        body = answer.body
        generation = body.generation_id
        leader = group.leaders.setdefault(generation, body.leader)
        answer.expect(body, "leader", leader)
        chosen = body.protocol_name
        if chosen not in offered:
            listed = ", ".join(sorted(offered))
            raise answer.wrong(
                f"protocol_name is {chosen!r}, and this member has no other than"
                f" {listed}"
            )
        protocol = group.protocols.setdefault(generation, chosen)
        answer.expect(body, "protocol_name", protocol)
        members = [each.member_id for each in body.members]
        if body.member_id == leader and leader not in members:
            raise answer.wrong("the leader is not among the members")

    # -- the other requests of members

    def _asked_sync_group(self, exchange: Exchange, request: Message) -> None:
        """The leader's has all assignments."""
        self._note_generation(exchange, request)
        group = self._group(request.group_id)
        generation = request.generation_id
        if group.leaders.get(generation) != request.member_id:
            return
        assigned = {}
        for each in request.assignments:
            assigned[each.member_id] = bytes(each.assignment)
        group.assigned[generation] = assigned

    def _answered_sync_group(self, answer: Answer, request: Message) -> None:
        """A member gets what the leader gave it, in the same generation, and not before
        the leader has.
        """
        group = self._group(request.group_id)
        body = answer.body
        self._fence(answer, body, request, request.generation_id)
        if body.error_code:
            return
        assigned = group.assigned.get(request.generation_id)
        if assigned is None:
            raise Wrong(
                "SyncGroup was answered before the leader had said who reads what"
            )
        why = "not what the leader has sent"
        if bytes(body.assignment) in assigned.values():
            why = "another member's"
        own = assigned.get(request.member_id, b"")
        answer.expect(body, "assignment", own, why=why)

    def _note_generation(self, exchange: Exchange, request: Message) -> None:
        """Note what the broker could know when the request came."""
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
        """Check that a client that isn't a member is told so, and that the larger
        number fences members of an older generation. said: where the error is in the
        answer.
        """
        members = self._group(request.group_id).joined
        newest = self._generation_at[answer.exchange.of]
        if request.member_id not in members:
            because = f"{request.member_id} is no member"
            code = Error.UNKNOWN_MEMBER_ID
        elif not said.error_code and generation < newest:
            because = f"generation {generation} is over: it is {newest}"
            code = Error.ILLEGAL_GENERATION
        else:
            return
        answer.expect(said, "error_code", code, where, because=because)

    def _answered_leave_group(self, answer: Answer, request: Message) -> None:
        """A client that has left isn't a member any more."""
        members = self._group(request.group_id).joined
        expected = Error.UNKNOWN_MEMBER_ID
        if request.member_id in members:
            expected = Error.NONE
        answer.expect(answer.body, "error_code", expected)
        members.pop(request.member_id, None)


def _asked_for(request: Message) -> list[Place]:
    """The partitions in a request of OffsetFetch."""
    places = []
    for topic in request.topics:
        for number in topic.partition_indexes:
            places.append((topic.name, number))
    return places
