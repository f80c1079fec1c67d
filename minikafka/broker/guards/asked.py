"""A client's request before it comes to its handler, and what guards do with it: refuse
it as a whole, or take out what its client may not ask for and put the refusals into the
answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.access import REFUSED, Access
from minikafka.broker.calls import Answered, Call
from minikafka.cluster.acls import Operation, ResourceType
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError


@dataclass(slots=True, eq=False)
class Asked:
    """A request, and what its client may do."""

    call: Call
    access: Access
    image: Image

    @property
    def body(self) -> Any:
        return self.call.body

    @property
    def version(self) -> int:
        return self.call.version

    def check_cluster(self, *operations: Operation) -> None:
        """Whether the client may do one of these with the cluster. Errors:
        CLUSTER_AUTHORIZATION_FAILED.
        """
        if not any(map(self.access.allows_cluster, operations)):
            needed = operations[-1].name
            why = f"Request {self.call.api} needs {needed} permission."
            raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, why)

    def topic_of(self, topic: Any) -> str:
        """The name of a topic that the request names by name or by id; empty: nobody
        knows the id.
        """
        if topic.name:
            return str(topic.name)
        return self.image.topic_names.get(topic.topic_id, "")

    def then(self, whole: Callable[[Answer], Answer]) -> None:
        """Change the answer with this function before it is sent."""

        def answered(answer: Answered) -> Answered:
            return whole(answer) if isinstance(answer, dict) else answer

        self.call.amend(answered)

    def add(self, listed: str, refused: list[Answer]) -> None:
        """The refusals belong to a list in the answer, unless that says an error of the
        whole. listed: its field.
        """

        def whole(answer: Answer) -> Answer:
            if answer.get("error_code", Error.NONE) != Error.NONE:
                return answer
            return answer | {listed: [*(answer.get(listed) or ()), *refused]}

        if refused:
            self.then(whole)


# What a guard does with a request. Returns the answer if nothing is left to ask, but
# for the refusals that `then` adds. Errors: of a request that is refused as a whole.
Guard = Callable[[Asked], Answer | None]


class Cluster:
    """A request for which one needs one of these operations on the cluster."""

    def __init__(self, *operations: Operation) -> None:
        self.operations = operations

    def __call__(self, asked: Asked) -> None:
        asked.check_cluster(*self.operations)


@dataclass(frozen=True, slots=True)
class Group:
    """A request about one group."""

    operation: Operation

    def __call__(self, asked: Asked) -> None:
        asked.access.check(self.operation, ResourceType.GROUP, asked.body.group_id)


@dataclass(frozen=True, slots=True)
class Items:
    """A request whose items are allowed or refused one by one. asked: the field that
    lists them. answered: the answer's. refused(item, error): what is answered for one
    that is refused. name: the field with an item's name, None if it is the name.
    """

    operation: Operation
    kind: ResourceType
    asked: str
    answered: str
    refused: Callable[[Any, Error], Answer]
    name: str | None = "name"

    def __call__(self, asked: Asked) -> Answer | None:
        refused = []
        allowed = []
        for item in getattr(asked.body, self.asked):
            name = item if self.name is None else getattr(item, self.name)
            if asked.access.allows(self.operation, self.kind, name):
                allowed.append(item)
            else:
                refused.append(self.refused(item, REFUSED[self.kind]))
        setattr(asked.body, self.asked, allowed)
        asked.add(self.answered, refused)
        return {} if refused and not allowed else None


@dataclass(frozen=True, slots=True)
class Partitions:
    """What is answered for each partition of a topic that is refused. topic: the field
    with its name. asked: the request's list of partitions. number: the field with a
    partition's number in the request, None if it is the number. named: that in the
    answer. answered: the answer's list.
    """

    topic: str = "name"
    asked: str = "partitions"
    number: str | None = "partition_index"
    named: str = "partition_index"
    answered: str = "partitions"
    code: str = "error_code"
    more: Answer = field(default_factory=dict)

    def __call__(self, topic: Any, error: Error) -> Answer:
        rows = []
        for one in getattr(topic, self.asked):
            number = one if self.number is None else getattr(one, self.number)
            rows.append({self.named: number, self.code: error, **self.more})
        return {self.topic: getattr(topic, self.topic), self.answered: rows}


def by_name(named: str, says_why: bool = False) -> Callable[[Any, Error], Answer]:
    """The refusal of an item that is a name. named: the answer's field for it."""

    def refused(name: str, error: Error) -> Answer:
        said = {"error_message": error.message} if says_why else {}
        return {named: name, "error_code": error, **said}

    return refused
