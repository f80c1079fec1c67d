"""ConsumerGroupHeartbeat (KIP-848): the one request of the consumer protocol. It joins, stays, reports and leaves.

Behaviour: a member says what changed on its side, the answer says what changed on the coordinator's: a new epoch, a
new share. Nothing is parked and nobody waits for anybody: a member that must give up partitions says with its next
heartbeat that it has. Member epoch 0 joins, -1 leaves, -2 is a static member that will be back. Versions: 0 and 1; 1
adds subscriptions by regular expression (refused here) and has the client make its own member id (KIP-1082).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from minikafka.coordinators.consumer_group_messages import check_request
from minikafka.coordinators.target_assignment import assignor_names

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 68, (0, 1)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    client = request.client.client_id or "", f"/{request.client.host}"
    check_request(request.body, request.version, assignor_names(broker.config["group.consumer.assignors"]))
    if not request.body.member_id:  # version 0 only
        request.body.member_id = base64.urlsafe_b64encode(broker.random_uuid()).rstrip(b"=").decode()
    return broker.groups.ask(
        request.body.group_id, lambda groups, _, now: groups.consumer_heartbeat(request.body, client, now), now
    )
