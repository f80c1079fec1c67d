"""A classic member, frame by frame: what it sends to its coordinator, and what the
answers make it do.
"""

import pytest

from minikafka.clients import classic_membership
from minikafka.clients.assigning import decode_assignment, encode_assignment
from minikafka.clients.connection import Disconnect, Send
from minikafka.clients.consumer import Consumer
from minikafka.clients.errors import FencedInstanceIdError, GroupMaxSizeReachedError
from minikafka.clients.structs import TopicPartition
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.errors import Error
from tests.clients_sim.test_connection import VERSIONS, Now

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
PARTITIONS = [
    {"partition_index": number, "leader_id": 1, "leader_epoch": 0} for number in (0, 1)
]
METADATA = {
    "brokers": [{"node_id": 1, "host": "broker-1", "port": 9092}],
    "topics": [{"name": "orders", "partitions": PARTITIONS}],
}
COORDINATOR = {
    "coordinators": [{"key": "billing", "node_id": 1, "host": "broker-1", "port": 9092}]
}
OFFSETS = [{"partition_index": number, "committed_offset": 5} for number in (0, 1)]
COMMITTED = {
    "groups": [
        {"group_id": "billing", "topics": [{"name": "orders", "partitions": OFFSETS}]}
    ]
}
SHARE = {"assignment": encode_assignment([P0, P1])}


class Desk:
    """Sits between a consumer and nobody: shows what it asks, and answers as the test
    says.

    Versions, metadata, the coordinator and offsets are answered by themselves.
    """

    def __init__(self, **config):
        self.at_ms = 0
        self.answered = {
            "ApiVersions": {"api_keys": VERSIONS},
            "Metadata": METADATA,
            "FindCoordinator": COORDINATOR,
            "OffsetFetch": COMMITTED,
        }
        self.events = []
        settings = {"group_id": "billing", "enable_auto_commit": False, **config}
        self.consumer = Consumer(
            "ours",
            [("broker-1", 9092)],
            Trace("ours", [self.events.append]),
            "orders",
            **settings,
        )
        self.member = self.consumer.membership
        self.waiting = []  # (connection, request), in order
        self.heard = []

    @property
    def now(self):
        return Now(self.at_ms)

    def polls(self):
        self.consumer.begin_poll(self.now)
        self.serve()
        return self

    def stops_polling(self):
        self.consumer.end_poll()
        return self

    def serve(self):
        """Answer what is routine, do the tasks; the rest waits for the test."""
        while True:
            outbox, self.consumer.outbox = self.consumer.outbox, []
            for item in outbox:
                if isinstance(item, Send):
                    self.waiting.append(
                        (
                            item.connection,
                            messages.decode_request(bytearray().join(item.frame)),
                        )
                    )
                elif isinstance(item, Disconnect):
                    self.waiting = [
                        each for each in self.waiting if each[0] != item.connection
                    ]
            routine = next(
                (each for each in self.waiting if each[1].api.name in self.answered),
                None,
            )
            if routine is not None:
                self.answer_to(routine, self.answered[routine[1].api.name])
            elif (
                self.consumer.subscription.in_poll
                and (task := self.consumer.begin_task(self.now)) is not None
            ):
                if task.run is not None:
                    task.run()
                else:
                    self.heard.append((task.kind, sorted(task.partitions)))
                self.consumer.end_task(task, None, self.now)
                # no fetches: this is not about records
                self.consumer.pause(self.consumer.subscription.assigned)
            elif not self.consumer.outbox:
                return

    def asked(self, api):
        """The body of the request of this API that waits for an answer."""
        [found] = [
            request.body for _, request in self.waiting if request.api.name == api
        ]
        return found

    def connection_of(self, api):
        [found] = [
            connection
            for connection, request in self.waiting
            if request.api.name == api
        ]
        return found

    def is_asked(self, api):
        return any(request.api.name == api for _, request in self.waiting)

    def answers(self, api, **body):
        [found] = [each for each in self.waiting if each[1].api.name == api]
        self.answer_to(found, body)
        self.serve()
        return self

    def answer_to(self, waiting, body):
        self.waiting.remove(waiting)
        connection, request = waiting
        frame = messages.encode_response(
            request.api.name, request.version, request.correlation_id, body
        )
        self.consumer.receive_reply(connection, bytearray().join(frame), self.now)

    def passes(self, ms):
        """Let time pass; every timer fires when it is due."""
        until = self.at_ms + ms
        while (due := self.consumer.next_deadline()) is not None and due <= until:
            self.at_ms = due
            self.consumer.tick(self.now)
            self.serve()
        self.at_ms = until
        return self

    def joined(self, leader="another", members=(), generation=1):
        return self.answers(
            "JoinGroup",
            generation_id=generation,
            protocol_type="consumer",
            protocol_name=self.asked("JoinGroup").protocols[0].name,
            leader=leader,
            member_id="ours-1",
            members=list(members),
        )

    def in_group(self, **answer):
        """Through both steps of joining, and the share."""
        self.polls()
        self.answers(
            "JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1"
        )
        return self.joined().answers("SyncGroup", **(answer or SHARE))


def test_kip_394_it_asks_twice_and_the_second_time_with_its_member_id():
    desk = Desk().polls()
    first = desk.asked("JoinGroup")
    assert (first.group_id, first.member_id, first.protocol_type) == (
        "billing",
        "",
        "consumer",
    )
    assert (first.session_timeout_ms, first.rebalance_timeout_ms) == (45_000, 300_000)
    assert [each.name for each in first.protocols] == ["range", "cooperative-sticky"]
    desk.answers("JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1")
    assert desk.asked("JoinGroup").member_id == "ours-1"


def test_it_speaks_to_the_coordinator_on_a_connection_of_its_own():
    desk = Desk().in_group()
    desk.passes(3000)
    desk.consumer.pause([P0, P1], paused=False)
    desk.stops_polling().polls()
    connections = {request.api.name: connection for connection, request in desk.waiting}
    assert connections["Fetch"] != connections["Heartbeat"]


def test_a_member_sends_nothing_and_gets_its_share():
    desk = Desk().polls()
    desk.answers(
        "JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1"
    ).joined()
    sync = desk.asked("SyncGroup")
    assert (sync.generation_id, sync.member_id, sync.assignments) == (1, "ours-1", [])
    desk.answers("SyncGroup", **SHARE)
    assert desk.heard == [("assigned", [P0, P1])] and list(
        desk.consumer.subscription.assigned
    ) == [
        P0,
        P1,
    ]
    assert desk.member.state == "stable"


def test_the_leader_sends_everyones_share():
    desk = Desk(partition_assignment_strategy="range").polls()
    subscription = desk.asked("JoinGroup").protocols[0].metadata
    desk.answers("JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1")
    members = [
        {"member_id": name, "metadata": bytes(subscription)}
        for name in ("ours-1", "theirs-1")
    ]
    desk.joined(leader="ours-1", members=members)
    shares = {
        each.member_id: decode_assignment(each.assignment)
        for each in desk.asked("SyncGroup").assignments
    }
    assert shares == {"ours-1": [P0], "theirs-1": [P1]}


def test_kip_814_a_leader_that_need_not_assign_sends_nothing():
    desk = Desk(group_instance_id="a").polls()
    subscription = bytes(desk.asked("JoinGroup").protocols[0].metadata)
    desk.answers(
        "JoinGroup",
        generation_id=3,
        protocol_name="range",
        leader="ours-1",
        member_id="ours-1",
        skip_assignment=True,
        members=[
            {"member_id": "ours-1", "group_instance_id": "a", "metadata": subscription}
        ],
    )
    sync = desk.asked("SyncGroup")
    assert (sync.generation_id, sync.group_instance_id, sync.assignments) == (
        3,
        "a",
        [],
    )


def test_heartbeats_go_out_every_heartbeat_interval_whether_it_is_polled_or_not():
    desk = Desk(heartbeat_interval_ms=1000).in_group().stops_polling()
    sent = []
    for _ in range(30):
        desk.passes(100)
        if desk.is_asked("Heartbeat"):
            sent.append(desk.at_ms)
            desk.answers("Heartbeat")
    assert sent == [1000, 2000, 3000]


@pytest.mark.parametrize("cooperative", [False, True])
def test_kip_429_when_a_heartbeat_announces_a_rebalance_eager_gives_all_back_and_cooperative_keeps_it(
    cooperative,
):
    strategy = "cooperative-sticky" if cooperative else "range"
    desk = Desk(partition_assignment_strategy=strategy).in_group().passes(3000)
    desk.answers("Heartbeat", error_code=Error.REBALANCE_IN_PROGRESS)
    gone = [] if cooperative else [("revoked", [P0, P1])]
    assert desk.heard[1:] == gone and len(desk.consumer.subscription.assigned) == (
        2 if cooperative else 0
    )
    assert desk.asked("JoinGroup").member_id == "ours-1"


def test_between_polls_it_hears_of_a_rebalance_and_joins_at_the_next_poll():
    desk = Desk().in_group().stops_polling().passes(3000)
    desk.answers("Heartbeat", error_code=Error.REBALANCE_IN_PROGRESS).passes(2000)
    assert not desk.is_asked("JoinGroup") and desk.member.state == "stable"
    desk.polls()
    assert desk.is_asked("JoinGroup")


@pytest.mark.parametrize(
    "error, member_id",
    [(Error.UNKNOWN_MEMBER_ID, ""), (Error.ILLEGAL_GENERATION, "ours-1")],
    ids=lambda each: str(each),
)
def test_who_is_out_loses_its_partitions_and_joins_anew(error, member_id):
    desk = Desk().in_group().passes(3000).answers("Heartbeat", error_code=error)
    assert (
        desk.heard[1:] == [("lost", [P0, P1])]
        and not desk.consumer.subscription.assigned
    )
    assert desk.asked("JoinGroup").member_id == member_id


def test_kip_345_who_is_fenced_is_out_for_good():
    desk = Desk(group_instance_id="a").in_group().passes(3000)
    desk.answers("Heartbeat", error_code=Error.FENCED_INSTANCE_ID)
    assert desk.heard[1:] == [("lost", [P0, P1])]
    for _ in range(2):
        with pytest.raises(FencedInstanceIdError):
            desk.consumer.take(1, desk.now)
        desk.stops_polling().polls()
    assert not desk.is_asked("JoinGroup")


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat"])
@pytest.mark.parametrize(
    "error", [Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE]
)
def test_a_coordinator_that_moved_is_looked_for_again(api, error):
    desk = Desk().polls()
    if api != "JoinGroup":
        desk.answers(
            "JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1"
        ).joined()
    if api == "Heartbeat":
        desk.answers("SyncGroup", **SHARE).passes(3000)
    before = desk.connection_of(api)
    del desk.answered["FindCoordinator"]
    desk.answers(api, error_code=error).passes(100)
    assert desk.asked("FindCoordinator").coordinator_keys == ["billing"]
    desk.answers("FindCoordinator", **COORDINATOR)
    desk.passes(100)
    assert (
        desk.connection_of("Heartbeat" if api == "Heartbeat" else "JoinGroup") != before
    )


def test_a_coordinator_that_loads_is_asked_again_after_the_back_off():
    desk = Desk(retry_backoff_ms=200).polls()
    desk.answers("JoinGroup", error_code=Error.COORDINATOR_LOAD_IN_PROGRESS).passes(199)
    assert not desk.is_asked("JoinGroup")
    desk.passes(1)
    assert desk.is_asked("JoinGroup")


def test_a_refusal_that_asking_again_does_not_mend_is_raised_by_poll():
    desk = Desk().polls().answers("JoinGroup", error_code=Error.GROUP_MAX_SIZE_REACHED)
    with pytest.raises(GroupMaxSizeReachedError):
        desk.consumer.take(1, desk.now)


def test_a_lost_connection_means_joining_again():
    desk = (
        Desk()
        .polls()
        .answers("JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1")
    )
    [(connection, _)] = [
        each for each in desk.waiting if each[1].api.name == "JoinGroup"
    ]
    desk.waiting.clear()
    desk.consumer.connection_lost(connection, desk.now)
    desk.passes(200)
    assert desk.asked("JoinGroup").member_id == "ours-1"


def test_a_rebalance_that_begins_before_the_share_came_means_joining_again():
    desk = Desk().polls()
    desk.answers(
        "JoinGroup", error_code=Error.MEMBER_ID_REQUIRED, member_id="ours-1"
    ).joined()
    desk.answers("SyncGroup", error_code=Error.REBALANCE_IN_PROGRESS)
    assert desk.is_asked("JoinGroup") and desk.heard == []


def test_join_group_may_take_as_long_as_the_rebalance_and_five_seconds_more():
    desk = Desk(max_poll_interval_ms=60_000).polls().passes(64_999)
    assert desk.is_asked("JoinGroup")
    before = desk.connection_of("JoinGroup")
    desk.passes(500)
    assert desk.connection_of("JoinGroup") != before


def test_a_coordinator_that_is_silent_for_a_session_is_given_up():
    desk = (
        Desk(session_timeout_ms=10_000, request_timeout_ms=60_000)
        .in_group()
        .stops_polling()
    )
    desk.passes(9_999)
    before = desk.connection_of("Heartbeat")
    desk.passes(500)
    assert desk.connection_of("Heartbeat") != before


def test_who_does_not_poll_in_time_says_goodbye_and_comes_back_with_the_next_poll():
    desk = Desk(max_poll_interval_ms=2500).in_group().stops_polling().passes(2500)
    [leaves] = desk.asked("LeaveGroup").members
    assert leaves.member_id == "ours-1" and "max_poll_interval_ms" in leaves.reason
    assert (desk.member.state, desk.member.member_id, desk.member.generation) == (
        "unjoined",
        "",
        -1,
    )
    desk.answers("LeaveGroup").passes(5000).polls()
    assert (
        desk.heard[1:] == [("lost", [P0, P1])]
        and desk.asked("JoinGroup").member_id == ""
    )


@pytest.mark.parametrize("instance", [None, "a"])
def test_kip_345_on_leaving_a_dynamic_member_says_goodbye_and_a_static_one_does_not(
    instance,
):
    desk = Desk(group_instance_id=instance).in_group().stops_polling()
    desk.consumer.leave("it closes", desk.now)
    task = desk.consumer.begin_task(desk.now)
    desk.consumer.end_task(task, None, desk.now, in_poll=False)
    desk.serve()
    assert task.kind == "revoked" and not desk.consumer.subscription.assigned
    assert desk.is_asked("LeaveGroup") == desk.member.leaving == (instance is None)


def test_cooperative_members_give_back_what_another_is_to_have_and_join_once_more():
    desk = (
        Desk(partition_assignment_strategy="cooperative-sticky").in_group().passes(3000)
    )
    desk.answers("Heartbeat", error_code=Error.REBALANCE_IN_PROGRESS).joined(
        generation=2
    )
    desk.answers("SyncGroup", assignment=encode_assignment([P0]))
    assert desk.heard[1:] == [("revoked", [P1]), ("assigned", [])] and list(
        desk.consumer.subscription.assigned
    ) == [P0]
    again = desk.asked("JoinGroup")
    said = messages.decode_versioned(
        "ConsumerProtocolSubscription", again.protocols[0].metadata
    )
    owned = [(each.topic, list(each.partitions)) for each in said.owned_partitions]
    assert owned == [("orders", [0])] and said.generation_id == 2


def test_the_table_of_moves_leads_to_every_state_and_says_what_happened():
    reached = {"unjoined"}
    for _ in classic_membership.MOVES:
        reached |= {
            after
            for (before, _), after in classic_membership.MOVES.items()
            if before in reached
        }
    assert reached == {
        "unjoined",
        "preparing_rebalance",
        "completing_rebalance",
        "stable",
    }
    desk = Desk().in_group()
    changes = [
        event.detail for event in desk.events if event.kind == "MemberStateChanged"
    ]
    assert [(each["was"], each["state"]) for each in changes] == [
        ("unjoined", "preparing_rebalance"),
        ("preparing_rebalance", "unjoined"),
        ("unjoined", "preparing_rebalance"),
        ("preparing_rebalance", "completing_rebalance"),
        ("completing_rebalance", "stable"),
    ]
    assert [each["reason"] for each in changes] == [
        "join_sent",
        "member_id_given",
        "join_sent",
        "all_joined",
        "share_received",
    ]
