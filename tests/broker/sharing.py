"""A broker with a topic and members of a share group, spoken to in real frames, for tests
that read as statements.
"""

from minikafka.wire.errors import Error
from tests.broker.node import Node

GROUP = "workers"


class SharingNode(Node):
    """A node on which share groups read the topic "orders" from its beginning."""

    def __init__(self, partitions=1, **more):
        super().__init__(
            share_coordinator_state_topic_num_partitions=5,
            offsets_topic_num_partitions=5,
            **more,
        )
        self.create_topic("orders", partitions)
        self.patiently("FindCoordinator", 6, key_type=0, coordinator_keys=[GROUP])
        self.pass_time(500)
        self.configure(share_auto_offset_reset="earliest")

    @property
    def topic_id(self):
        return self.broker.image.topics["orders"].topic_id

    def configure(self, **configs):
        changes = [
            {"name": name.replace("_", "."), "config_operation": 0, "value": str(value)}
            for name, value in configs.items()
        ]
        resource = {
            "resource_type": 32,
            "resource_name": GROUP,
            "configs": changes,
        }
        [done] = self.patiently(
            "IncrementalAlterConfigs", 1, resources=[resource]
        ).responses
        assert done.error_code == 0, done

    def patiently(self, api, version, connection="client", **body):
        """The answer, however long it takes."""
        self.send(api, version, connection, **body)
        for _ in range(600):
            answer = self.answer(api, version)
            if answer is not None:
                return answer
            self.pass_time(100)
        raise AssertionError(f"{api} is not answered")

    def member(self, name):
        self.connect(name)
        return Member(self, name)

    def events(self, *kinds):
        return [event for event in self.seen if event.kind in kinds]


class Member:
    """One member, on a connection of its own."""

    def __init__(self, node, name):
        self.node, self.name = node, name
        self.epoch, self.session_epoch = 0, 0
        self.assigned = []

    def beat(self, epoch=None, topics=None):
        """One heartbeat; the error, or "NONE"."""
        epoch = self.epoch if epoch is None else epoch
        if epoch == 0:
            topics = topics or ["orders"]
        answer = self.node.patiently(
            "ShareGroupHeartbeat",
            1,
            group_id=GROUP,
            member_id=self.name,
            member_epoch=epoch,
            subscribed_topic_names=topics,
        )
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = [
                    number
                    for topic in answer.assignment.topic_partitions
                    for number in topic.partitions
                ]
        return Error(answer.error_code).name

    def join(self):
        """Until it has its partitions."""
        for _ in range(10):
            assert self.beat() == "NONE"
            if self.assigned:
                return self
            self.node.pass_time(1100)
        raise AssertionError("it gets no partitions")

    def fetch(self, *said, wait_ms=500, most=500, epoch=None, **more):
        """What it acquires of partition 0, as (first, last, deliveries); the whole
        answer is in `answered`. said: [(first, last, types)].
        """
        body = self._fetch_body(said, wait_ms, most, epoch)
        self.answered = self.node.patiently("ShareFetch", 2, self.name, **body | more)
        self._goes_on(epoch)
        if self.answered.error_code:
            return Error(self.answered.error_code).name
        acquired = []
        for topic in self.answered.responses:
            for partition in topic.partitions:
                if partition.error_code:
                    return Error(partition.error_code).name
                for one in partition.acquired_records:
                    acquired.append(tuple(one.to_dict().values()))
        return acquired

    def begins_to_fetch(self, **more):
        """Without waiting for the answer."""
        body = self._fetch_body(said=(), wait_ms=500, most=500, epoch=None)
        self.node.send("ShareFetch", 2, self.name, **body | more)
        self._goes_on(None)

    def _fetch_body(self, said, wait_ms, most, epoch):
        return self._body(said, epoch) | {
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": most,
            "batch_size": most,
        }

    def says(self, *said, epoch=None, version=2, **more):
        """The error of partition 0, or of the whole."""
        body = self._body(said, epoch) | more
        answer = self.node.patiently("ShareAcknowledge", version, self.name, **body)
        self._goes_on(epoch)
        if answer.error_code:
            return Error(answer.error_code).name
        [topic] = answer.responses
        return Error(topic.partitions[0].error_code).name

    def begins_to_say(self, *said):
        """Without waiting for the answer."""
        body = self._body(said, None)
        self.node.send("ShareAcknowledge", 2, self.name, **body)
        self._goes_on(None)

    def _body(self, said, epoch):
        batches = [
            {"first_offset": first, "last_offset": last, "acknowledge_types": types}
            for first, last, types in said
        ]
        partition = {"partition_index": 0, "acknowledgement_batches": batches}
        topic = {"topic_id": self.node.topic_id, "partitions": [partition]}
        return {
            "group_id": GROUP,
            "member_id": self.name,
            "share_session_epoch": self.session_epoch if epoch is None else epoch,
            "topics": [topic],
        }

    def _goes_on(self, epoch):
        if epoch is None:
            self.session_epoch += 1

    def close(self):
        """Its connection is gone."""
        self.node.broker.disconnected(self.name)
        self.node.pass_time(10)
