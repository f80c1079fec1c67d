"""What this broker speaks; and which features the cluster may use, and at which level
(KIP-584, KIP-778).
"""

import re

from minikafka.broker.calls import CONTROLLER_LISTENER, Broker, Call
from minikafka.clock import Now
from minikafka.cluster.features import FEATURES, METADATA_FEATURE, level
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# Produce 0 to 2 are refused, but librdkafka before 2.8 stops compressing where 0 is not
# advertised (KAFKA-18659).
ADVERTISED_FROM = {0: 0}


def api_versions(broker: Broker, request: Call, now: Now) -> Answer:
    """ApiVersions (KIP-35, KIP-511, KIP-584): what this broker speaks.

    The answer is computed from the handlers present. A version that the broker does not
    know is answered in version 0 with error 35 and this API's own versions, so that the
    client can try again (Broker.receive does that). The response header is version 0
    always, even where the body is flexible. Versions: 3 lets the client name its
    software, which must match Kafka's pattern, and adds features.
    """
    from minikafka.broker.handlers import HANDLERS

    body = request.body
    software = (
        (body.client_software_name, body.client_software_version)
        if request.version >= 3
        else ()
    )
    if not all(SOFTWARE.fullmatch(each) for each in software):
        return {"error_code": Error.INVALID_REQUEST}
    of_nodes = request.client.listener == CONTROLLER_LISTENER
    served = sorted(
        (key, handler.versions)
        for key, handler in HANDLERS.items()
        if of_nodes or not handler.of_nodes
    )
    return {
        "api_keys": [
            {
                "api_key": key,
                "min_version": ADVERTISED_FROM.get(key, lowest),
                "max_version": highest,
            }
            for key, (lowest, highest) in served
        ],
        "finalized_features_epoch": broker.quorum.high_watermark - 1,
        **described(broker.image),
    }


def described(image: Image) -> Answer:
    """The features as ApiVersions tells them."""
    supported = [
        {"name": name, "min_version": lowest, "max_version": highest}
        for name, (lowest, highest, _) in FEATURES.items()
    ]
    levels = {name: level(image, name) for name in FEATURES} if image.features else {}
    finalized = [
        {"name": name, "max_version_level": at, "min_version_level": at}
        for name, at in levels.items()
        if at
    ]
    return {"supported_features": supported, "finalized_features": finalized}


def update(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """UpdateFeatures (KIP-584, KIP-778): finalize features at other levels, all or
    none.

    group.version 0 turns the consumer protocol off; metadata.version stays: all records
    are written at its newest level. Versions: 0 says only whether it may be a
    downgrade, 1 of which kind, and can validate; 2 lists no results.
    """
    records = []
    for asked in request.body.feature_updates:
        kind = asked.upgrade_type
        if request.version == 0:
            kind = SAFE_DOWNGRADE if asked.allow_downgrade else UPGRADE
        try:
            check(broker, asked.feature, asked.max_version_level, kind)
        except KafkaError as error:
            why = (
                "The update failed for all features since the following feature had an"
                " error"
            )
            raise KafkaError(error.error, f"{why}: {error.message}") from None
        fields = {"name": asked.feature, "feature_level": asked.max_version_level}
        records.append(MetadataRecord("FeatureLevelRecord", 0, fields))
    results = [
        {"feature": asked.feature, "error_message": None}
        for asked in request.body.feature_updates
    ]
    answer = {"error_code": Error.NONE, "error_message": None, "results": results}
    return (
        answer
        if request.body.validate_only
        else broker.active_controller.decide(records, now, lambda: answer)
    )


def check(broker: Broker, name: str, wanted: int, kind: int) -> None:
    """INVALID_UPDATE_VERSION, in Kafka's words."""
    lowest, highest, _ = FEATURES.get(name, (0, 0, 0))
    current, why = level(broker.image, name) if name in FEATURES else 0, ""
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        why = "The controller does not support the given upgrade type."
    elif wanted < 0:
        why = "A feature version cannot be less than 0."
    elif name not in FEATURES:
        why = f"Local controller {broker.node_id} does not support this feature."
        why = why if wanted else f"Feature {name} not found."
    elif not lowest <= wanted <= highest:
        why = (
            f"Local controller {broker.node_id} only supports versions"
            f" {lowest}-{highest}"
        )
    elif wanted < current and kind == UPGRADE:
        why = (
            "Can't downgrade the version of this feature without setting the upgrade"
            " type to either safe or unsafe"
        )
        why += " downgrade."
    elif wanted > current and kind != UPGRADE:
        why = "Can't downgrade to a newer version."
    if why:
        raise KafkaError(
            Error.INVALID_UPDATE_VERSION,
            f"Invalid update version {wanted} for feature {name}. {why}",
        )
    if wanted < current and name == METADATA_FEATURE:
        why = (
            "Refusing to perform the requested downgrade because it might delete"
            " metadata information."
        )
        why = (
            "Unsafe metadata downgrade is not supported in this version."
            if kind == UNSAFE_DOWNGRADE
            else why
        )
        unsupported = (
            f"Unsupported metadata.version downgrade from {current} to {wanted}. {why}"
        )
        raise KafkaError(Error.INVALID_UPDATE_VERSION, unsupported)
