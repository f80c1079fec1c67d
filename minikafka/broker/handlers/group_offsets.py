"""Where groups go on reading: committed offsets are written down, looked up,
forgotten.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.broker.calls import Call, limit_repeats
from minikafka.clock import Now
from minikafka.cluster.metadata import OFFSETS_TOPIC, Image
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.coordinator import GroupCoordinator
from minikafka.coordinators.offsets import NOTHING, fetched
from minikafka.coordinators.runtime import AS_A_COORDINATOR_SAYS, Decision
from minikafka.coordinators.transaction_requests import Identity, TransactionVerifier
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

# the versions of TxnOffsetCommit
ABORTABLE, IMPLICIT_JOIN, OWN_ERRORS = 4, 5, 6
# the first versions of OffsetFetch with an error of the whole, that ask for many
# groups, and that name the member which asks
TOP_LEVEL_ERROR, MANY_GROUPS, MEMBER_EPOCHS = 2, 8, 9
Results = dict[Hashable, Answer]  # by name or id of the topic
# the first versions that name topics by id, also of OffsetFetch
TOPIC_IDS, TOPIC_IDS_IN_TRANSACTION = 10, 6


@dataclass(eq=False, repr=False)
class GroupOffsetHandlers:
    """The committed offsets of groups."""

    image: Image
    groups: GroupCoordinator
    verifier: TransactionVerifier

    def offset_commit(self, request: Call, now: Now) -> Answer | Wait:
        """OffsetCommit (KIP-98, KIP-211): a group writes down where it goes on reading.

        - The commit of a member is taken if the member is one and its generation
          (KIP-848: member epoch) is the group's.
        - A request with generation -1 and no member id is of a consumer that assigns
          partitions by hand, or of a tool; it is taken while the group is empty.
        - It is answered when the records are committed.
        - That a partition exists is not checked by Apache Kafka's coordinator, but
          before it: so here.

        Versions: 2 to 10.

        - 2 to 4 carry a retention time.
        - 6 brings the leader epoch.
        - 7 brings static members.
        - 8 is flexible.
        - 9 brings the consumer protocol's epochs.
        - 10 names topics by id, so that nobody commits to a namesake made later.
        """
        results = self.set_unknown_aside(request, request.version >= TOPIC_IDS)
        refuse = partial(refused_commit, request, results)
        return self.written(request, results, refuse, now)

    def written(
        self,
        request: Call,
        results: Results,
        refuse: Callable[[KafkaError], Answer],
        now: Now,
        producer: Identity | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Answer | Wait:
        """Let the group's coordinator write a commit down. results: of partitions that
        don't exist. producer: whose transaction it is part of, if it is. check():
        refuses if what the commit needs has gone meanwhile.
        """
        body, version = request.body, request.version
        if not body.topics:
            return {"topics": merged(results, ())}

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            check()
            return groups.commit(body, version, now, producer)

        def answer() -> Answer:
            if wait.error is not None:
                return refuse(wait.error)
            assert wait.answer is not None, "it has ended well"
            return {"topics": merged(results, wait.answer["topics"])}

        wait = self.groups.ask(body.group_id, decide, now)
        return all_of([wait], answer)

    def txn_offset_commit(self, request: Call, now: Now) -> Answer | Wait:
        """TxnOffsetCommit (KIP-98): a producer's transaction says where a group goes on
        reading, if it is committed.

        - Nobody reads the offsets until the transaction's marker is in the group's
          partition of the offsets topic.

        Versions: 0 to 6.

        - 2 carries leader epochs.
        - 3 says which member read the input, so that an evicted one can't commit
          (KIP-447).
        - 4 may be answered with TRANSACTION_ABORTABLE.
        - 5 adds the partition to the transaction (KIP-890).
        - 6 names topics by id, and may be answered with GROUP_ID_NOT_FOUND or
          STALE_MEMBER_EPOCH, which was ILLEGAL_GENERATION before (KIP-1319).
        """
        body = request.body
        producer = Identity(body.producer_id, body.producer_epoch)
        by_id = request.version >= TOPIC_IDS_IN_TRANSACTION
        results = self.set_unknown_aside(request, by_id)
        refuse = partial(refused_in_transaction, request, results)
        body.retention_time_ms = NOTHING
        try:
            number = self.groups.partition(body.group_id)
            state = self.groups.shard(number).replica.log.producers
        except KafkaError as error:
            return refuse(error)
        place = (OFFSETS_TOPIC, number)
        verification = self.verifier.begin(
            body.transactional_id,
            producer,
            logs={place: state},
            adds=request.version >= IMPLICIT_JOIN,
            knows_abortable=request.version >= ABORTABLE,
            now=now,
        )

        def check() -> None:
            if verification is not None:
                state = self.groups.shard(number).replica.log.producers
                verification.check(place, producer, state)

        def write(now: Now) -> Answer | Wait:
            return self.written(request, results, refuse, now, producer, check)

        if verification is None or verification.wait is None:
            return write(now)
        return verification.wait.go_on_with(write)

    def set_unknown_aside(self, request: Call, by_id: bool = False) -> Results:
        """Takes the partitions that don't exist out of a request; the results by topic,
        with those. by_id: it names topics by id.
        """
        body = request.body
        results: Results = {}
        if by_id:
            self.find_names(body.topics)
        for topic in body.topics:
            key, error = topic.name, Error.UNKNOWN_TOPIC_OR_PARTITION
            if by_id and not topic.name:
                key, error = topic.topic_id, Error.UNKNOWN_TOPIC_ID
            named = {"topic_id": topic.topic_id} if by_id else {"name": topic.name}
            result = results.setdefault(key, named | {"partitions": []})
            known = []
            for each in topic.partitions:
                if self.is_there(topic.name, each.partition_index):
                    known.append(each)
                    continue
                unknown = {"partition_index": each.partition_index, "error_code": error}
                result["partitions"].append(unknown)
            topic.partitions = known
        body.topics = [topic for topic in body.topics if topic.partitions]
        return results

    def find_names(self, topics: Iterable[Message]) -> None:
        """Give topics that a request names by id their names, an unknown one an empty
        one.
        """
        for topic in topics:
            topic.name = self.image.topic_names.get(topic.topic_id, "")

    def is_there(self, topic: str, number: int) -> bool:
        known = self.image.topics.get(topic)
        return known is not None and number in known.partitions

    def offset_fetch(self, request: Call, now: Now) -> Answer:
        """OffsetFetch (KIP-88, KIP-447, KIP-709): where groups go on reading.

        - A partition without a committed offset reads as -1, not as an error, and so
          does every partition of a group that doesn't exist. Null topics mean all.
        - RequireStable: UNSTABLE_OFFSET_COMMIT where an open transaction has committed
          one, and the consumer asks again (KIP-447).

        Versions: 1 to 10.

        - 2 brings an error of its own.
        - 5 brings leader epochs.
        - 6 is flexible.
        - 7 brings RequireStable.
        - 8 asks for many groups at once.
        - 9 checks a member's epoch (KIP-848).
        - 10 names topics by id: UNKNOWN_TOPIC_ID for one that has gone.
        """
        if request.version >= MANY_GROUPS:
            groups = limit_repeats(request.body.groups, lambda group: group.group_id)
            return {"groups": [self.of_group(group, request) for group in groups]}
        answer = self.of_group(request.body, request)
        del answer["group_id"]
        if request.version < TOP_LEVEL_ERROR:
            del answer["error_code"]
        return answer

    def of_group(self, asked: Message, request: Call) -> Answer:
        """One group's offsets, or its error."""
        member_id, epoch = None, NOTHING
        if request.version >= MEMBER_EPOCHS:
            member_id, epoch = asked.member_id, asked.member_epoch
        unknown: list[Answer] = []
        if request.version >= TOPIC_IDS:
            unknown = self.set_unknown_ids_aside(asked)
        answer: Answer = {"group_id": asked.group_id, "error_code": Error.NONE}
        try:
            groups = self.groups.state(asked.group_id)
            stable = request.body.require_stable
            topics = groups.fetch(asked, member_id, epoch, stable)["topics"]
        except KafkaError as error:
            answer["error_code"] = error.error
            topics = []
            if request.version < TOP_LEVEL_ERROR:
                topics = each_says(asked, error)
        else:
            if request.version >= TOPIC_IDS:
                topics = [*self.with_ids(topics), *unknown]
        return answer | {"topics": topics}

    def set_unknown_ids_aside(self, asked: Message) -> list[Answer]:
        """Takes the topics that don't exist out of a request that names them by id;
        their results.
        """
        if asked.topics is None:
            return []
        self.find_names(asked.topics)
        results = []
        for topic in asked.topics:
            if not topic.name:
                numbers = topic.partition_indexes
                refused = [
                    fetched(each, None, Error.UNKNOWN_TOPIC_ID) for each in numbers
                ]
                results.append({"topic_id": topic.topic_id, "partitions": refused})
        asked.topics = [topic for topic in asked.topics if topic.name]
        return results

    def with_ids(self, topics: Iterable[Answer]) -> list[Answer]:
        """Topics by id, those that exist."""
        found = []
        for topic in topics:
            known = self.image.topics.get(topic["name"])
            if known is not None:
                found.append(topic | {"topic_id": known.topic_id})
        return found

    def offset_delete(self, request: Call, now: Now) -> Answer | Wait:
        """OffsetDelete (KIP-496): forget committed offsets of topics that a group no
        longer reads.

        - Refused per topic with GROUP_SUBSCRIBED_TO_TOPIC while members read it.

        Version: 0.
        """
        body = request.body
        results = self.set_unknown_aside(request)

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.delete_offsets(body)

        def answer() -> Answer:
            whole: Answer = wait.answer or {}
            if wait.error is not None:
                whole = {"error_code": wait.error.error}
            return whole | {"topics": merged(results, whole.get("topics", ()))}

        wait = self.groups.ask(body.group_id, decide, now)
        return all_of([wait], answer)


def refused_in_transaction(
    request: Call, results: Results, error: KafkaError
) -> Answer:
    """Before version 6 producers know generations only; and no
    COORDINATOR_LOAD_IN_PROGRESS before version 2.
    """
    code = error.error
    knows_generations = request.version < OWN_ERRORS
    if code in (Error.STALE_MEMBER_EPOCH, Error.GROUP_ID_NOT_FOUND) and (
        knows_generations
    ):
        error = KafkaError(Error.ILLEGAL_GENERATION)
    elif code is Error.COORDINATOR_LOAD_IN_PROGRESS and request.version < 2:
        error = KafkaError(Error.COORDINATOR_NOT_AVAILABLE)
    elif code in AS_A_COORDINATOR_SAYS:
        error = KafkaError(AS_A_COORDINATOR_SAYS[code])
    return refused_commit(request, results, error)


def refused_commit(request: Call, results: Results, error: KafkaError) -> Answer:
    """The API has no error for the whole: every partition says it."""
    refused = []
    for topic in request.body.topics:
        for each in topic.partitions:
            answer = {
                "partition_index": each.partition_index,
                "error_code": error.error,
            }
            refused.append((topic.name, answer))
    return {"topics": merged(results, nested(refused))}


def merged(results: Results, answered: Iterable[Answer]) -> list[Answer]:
    """The coordinator's results beside those that it wasn't asked for."""
    for topic in answered:
        results[topic["name"]]["partitions"] += topic["partitions"]
    return [result for result in results.values() if result["partitions"]]


def each_says(asked: Message, error: KafkaError) -> list[Answer]:
    """The error of a group where a version has no field for it."""
    topics = []
    for topic in asked.topics or ():
        partitions = []
        for number in topic.partition_indexes:
            partition = {
                "partition_index": number,
                "committed_offset": NOTHING,
                "metadata": "",
                "error_code": error.error,
            }
            partitions.append(partition)
        topics.append({"name": topic.name, "partitions": partitions})
    return topics
