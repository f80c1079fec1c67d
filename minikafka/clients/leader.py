"""What the leader of a classic group does: choose everyone's share, and watch whether the choice still fits.

Any member may be the leader; in Kafka it is the first one that joined. It learns of all the group's topics, since the
others may read some that it doesn't read itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minikafka.clients import assigning
from minikafka.clients.assignors import problems
from minikafka.coordinators.assignors import NamedAssignor
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.clients.membership import Membership

Assignment = dict[str, list[tuple[str, int]]]


class Leader:
    """The leader's work in one generation. joined: the answer to JoinGroup, with what all members have said."""

    def __init__(self, member: Membership, assignor: NamedAssignor, joined: Message) -> None:
        self.assignor = assignor
        self._member = member
        self._metadata = member.consumer.metadata
        self._generation = joined.generation_id
        self._must_assign = not joined.skip_assignment  # KIP-814: a leader that came back finds it done
        self._members = assigning.decode_members(assignor, joined.members)
        self._topics = sorted({topic for each in self._members.values() for topic in each.topics})
        self._counted: dict[str, int] = {}  # each topic's partitions at the assignment

    def knows_the_topics(self) -> bool:
        """Whether the cluster was asked for all of them. The assignor goes without those that don't exist."""
        missing = [topic for topic in self._topics if not self._metadata.want(topic)]
        return all(self._metadata.errors.get(topic, Error.NONE) is not Error.NONE for topic in missing)

    def assign(self) -> Assignment:
        """Run the assignor. It may be anyone's function and raise anything."""
        self._counted = self._count()
        if not self._must_assign:
            return {}
        partitions = {topic: count for topic, count in self._counted.items() if count}
        assignment = assigning.run(self.assignor, self._members, partitions)
        wrong = problems(self.assignor, self._members, partitions, assignment)
        self._member.consumer.remarks += [f"{self.assignor.name}: {each}" for each in wrong]
        self._member.emit(
            "AssignorRan",
            generation=self._generation,
            assignor=self.assignor.name,
            assignment={member: [list(each) for each in share] for member, share in assignment.items()},
            problems=wrong,
        )
        return assignment

    def is_outdated(self) -> bool:
        """Whether there are other partitions now than at the assignment."""
        return self._count() != self._counted

    def _count(self) -> dict[str, int]:
        return {topic: len(self._metadata.partitions(topic) or ()) for topic in self._topics}
