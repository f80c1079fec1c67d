"""ApiVersions (KIP-35, KIP-511, KIP-584): what this broker speaks.

Behaviour: the answer is computed from the handlers present. A version that the broker does not know is answered in
version 0 with error 35 and this API's own versions, so that the client can try again (Broker.receive does that). The
response header is version 0 always, even where the body is flexible. Versions: 3 lets the client name its software,
which must match Kafka's pattern, and adds features.
"""

from __future__ import annotations

import re
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.controller import METADATA_VERSION, OLDEST_METADATA_VERSION
from minikafka.wire.errors import Error

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# Produce 0 to 2 are refused, but librdkafka before 2.8 stops compressing where 0 is not advertised (KAFKA-18659).
ADVERTISED_FROM = {0: 0}


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    body = request.body
    if request.version >= 3:
        if not (SOFTWARE.fullmatch(body.client_software_name) and SOFTWARE.fullmatch(body.client_software_version)):
            return {"error_code": Error.INVALID_REQUEST}
        request.client.software = f"{body.client_software_name} {body.client_software_version}"
    supported = {
        "name": "metadata.version",
        "min_version": OLDEST_METADATA_VERSION,
        "max_version": METADATA_VERSION,
    }
    level = broker.image.features["metadata.version"]
    finalized = {"name": "metadata.version", "max_version_level": level, "min_version_level": level}
    return {
        "api_keys": served_versions(),
        "supported_features": [supported],
        "finalized_features_epoch": broker.quorum.high_watermark - 1,
        "finalized_features": [finalized],
    }


def served_versions() -> list[dict[str, int]]:
    """Every API with its versions, by key."""
    from minikafka.broker.handlers import HANDLERS

    return [
        {
            "api_key": key,
            "min_version": ADVERTISED_FROM.get(key, HANDLERS[key].versions[0]),
            "max_version": HANDLERS[key].versions[1],
        }
        for key in sorted(HANDLERS)
    ]
