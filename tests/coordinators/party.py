"""Members of classic groups, each on a connection of its own, speaking real frames to
one node.
"""

from dataclasses import replace

from minikafka.broker.effects import Reply
from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.wire import messages
from minikafka.wire.errors import Error
from minikafka.wire.messages import encode_versioned
from tests.broker.node import Node

SUBSCRIPTION = encode_versioned(
    "ConsumerProtocolSubscription", 1, {"topics": ["orders"]}
)


class Party:
    """ids: each member's id, generations: the last generation it heard of. Both are
    kept from the answers.
    """

    def __init__(self, group="billing", events=None, **properties):
        properties = {
            "group_initial_rebalance_delay_ms": 0,
            "offsets_topic_num_partitions": 1,
            **properties,
        }
        self.node = Node(
            listeners=None if events is None else [events.append], **properties
        )
        self.group = group
        self.ids = {}
        self.generations = {}
        self.asked = {}
        self.answers = {}
        self.node.create_topic("orders", partitions=6)
        self.node.call("FindCoordinator", 4, key_type=0, coordinator_keys=[group])
        self.pass_time(1)

    # -- requests; None: the request waits

    def join(
        self,
        name,
        protocols=("range",),
        instance=None,
        version=9,
        session_ms=10_000,
        rebalance_ms=60_000,
        **more,
    ):
        """JoinGroup, the second one too where the first only brought an id
        (KIP-394).
        """
        body = {
            "group_id": self.group,
            "member_id": self.ids.get(name, ""),
            "group_instance_id": instance,
            "protocol_type": "consumer",
            "protocols": [
                {"name": each, "metadata": SUBSCRIPTION} for each in protocols
            ],
            "session_timeout_ms": session_ms,
            "rebalance_timeout_ms": rebalance_ms,
            **more,
        }
        if version < 5:
            del body["group_instance_id"]
        answer = self.ask(name, "JoinGroup", version, **body)
        if answer is not None and answer.error_code == Error.MEMBER_ID_REQUIRED:
            self.ids[name] = answer.member_id
            answer = self.ask(
                name, "JoinGroup", version, **body | {"member_id": answer.member_id}
            )
        return answer

    def sync(self, name, shares=None, generation=None, version=4, **more):
        """SyncGroup. shares: {member name: bytes}, which only the leader brings."""
        given = [
            {"member_id": self.ids[each], "assignment": share}
            for each, share in (shares or {}).items()
        ]
        return self.ask(
            name,
            "SyncGroup",
            version,
            **self._me(name, generation),
            assignments=given,
            **more,
        )

    def heartbeat(self, name, generation=None, **more):
        return Error(
            self.ask(
                name, "Heartbeat", 4, **self._me(name, generation), **more
            ).error_code
        )

    def leave(self, *names):
        members = [{"member_id": self.ids[name]} for name in names]
        answer = self.ask(
            names[0], "LeaveGroup", 5, group_id=self.group, members=members
        )
        return [Error(each.error_code) for each in answer.members]

    def commit(self, *args, **more):
        answer = self.ask_to_commit(*args, **more)
        return Error(answer.topics[0].partitions[0].error_code)

    def ask_to_commit(self, name, offset, generation=None, partition=0, **more):
        me = {
            "group_id": self.group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
        }
        if name is not None:
            me = self._me(name, generation)
            me["generation_id_or_member_epoch"] = me.pop("generation_id")
        where = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_metadata": "",
        }
        topics = [{"name": "orders", "partitions": [where]}]
        return self.ask(name or "admin", "OffsetCommit", 8, **me, topics=topics, **more)

    def committed(self, partition=0, topic="orders"):
        topics = [{"name": topic, "partition_indexes": [partition]}]
        answer = self.ask(
            "admin",
            "OffsetFetch",
            8,
            groups=[{"group_id": self.group, "topics": topics}],
        )
        assert answer.groups[0].error_code == Error.NONE
        return answer.groups[0].topics[0].partitions[0].committed_offset

    def describe(self):
        return self.ask("admin", "DescribeGroups", 5, groups=[self.group]).groups[0]

    @property
    def state(self):
        return self.describe().group_state

    # -- what came

    def answer(self, name):
        """The answer to what a member waited for, once it has come."""
        self._collect()
        return self.answers.pop(name, None)

    def stable(self, *names, **more):
        """Join all of them and let the leader assign; returns the leader's name."""
        answers = {name: self.join(name, **more) for name in names}
        self.pass_time(1)
        for name in names:
            answers[name] = answers[name] or self.answer(name)
        [leader] = [
            name for name in names if answers[name].leader == answers[name].member_id
        ]
        followers = [name for name in names if name != leader]
        for name in followers:
            assert self.sync(name) is None
        share = self.sync(leader, {name: name.encode() for name in names})
        assert share.assignment == leader.encode()
        assert [self.answer(name).assignment for name in followers] == [
            name.encode() for name in followers
        ]
        return leader

    def ask(self, name, api, version, **body):
        if name not in self.node.broker.requests.clients:
            self.node.connect(name)
        self.asked[name] = api, version
        self.node.send(api, version, connection=name, **body)
        return self.answer(name)

    def hang_up(self, name):
        self.node.broker.disconnected(name)
        self.asked.pop(name, None)

    def pass_time(self, ms):
        self.node.pass_time(ms)
        self._collect()

    def restart(self, clean=True):
        """The coordinator goes and comes back; everybody connects again."""
        self.node.restart(clean)
        self.asked, self.answers = {}, {}
        self.node.out()
        self.pass_time(1)

    def hold_back(self):
        """From now on nothing that the coordinator writes is committed: another replica
        is in sync, and fetches nothing. Returns the coordinator's replica.
        """
        replica = self.node.broker.replicas.leader(OFFSETS_TOPIC, 0)
        replica.partition = replace(replica.partition, replicas=(1, 2), isr=(1, 2))
        return replica

    def let_through(self):
        """The other replica fetches all that is there."""
        replica = self.node.broker.replicas.leader(OFFSETS_TOPIC, 0)
        replica.follower_fetched(2, replica.log.log_end_offset, self.node.now)
        self.pass_time(1)

    def _me(self, name, generation):
        known = self.generations.get(name, -1) if generation is None else generation
        return {
            "group_id": self.group,
            "member_id": self.ids[name],
            "generation_id": known,
        }

    def _collect(self):
        for item in self.node.out():
            assert isinstance(item, Reply), item
            _, body = messages.decode_response(
                *self.asked[item.connection], b"".join(item.frame)
            )
            self.answers[item.connection] = body
            if (
                self.asked[item.connection][0] == "JoinGroup"
                and body.error_code == Error.NONE
            ):
                self.ids[item.connection] = body.member_id
                self.generations[item.connection] = body.generation_id
