"""ApiVersions (KIP-35, KIP-511, KIP-584): what this broker speaks.

Behaviour: the answer is computed from the handlers present. A version that the broker does not know is answered in
version 0 with error 35 and this API's own versions, so that the client can try again (Broker.receive does that). The
response header is version 0 always, even where the body is flexible. Versions: 3 lets the client name its software,
which must match Kafka's pattern, and adds features.
"""

from __future__ import annotations

import re
from typing import Any

from minikafka.broker.calls import CONTROLLER_LISTENER, Broker, Call
from minikafka.broker.handlers import features
from minikafka.clock import Now
from minikafka.wire.errors import Error

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# Produce 0 to 2 are refused, but librdkafka before 2.8 stops compressing where 0 is not advertised (KAFKA-18659).
ADVERTISED_FROM = {0: 0}


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    from minikafka.broker.handlers import HANDLERS

    body = request.body
    software = (body.client_software_name, body.client_software_version) if request.version >= 3 else ()
    if not all(SOFTWARE.fullmatch(each) for each in software):
        return {"error_code": Error.INVALID_REQUEST}
    of_nodes = request.client.listener == CONTROLLER_LISTENER
    served = sorted((key, handler.versions) for key, handler in HANDLERS.items() if of_nodes or not handler.of_nodes)
    return {
        "api_keys": [
            {"api_key": key, "min_version": ADVERTISED_FROM.get(key, lowest), "max_version": highest}
            for key, (lowest, highest) in served
        ],
        "finalized_features_epoch": broker.quorum.high_watermark - 1,
        **features.described(broker.image),
    }
