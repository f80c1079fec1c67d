"""The API versions that this broker speaks; and the features that the cluster may use,
with their levels (KIP-584, KIP-778).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, Handler, narrowed
from minikafka.broker.kafka_versions import KafkaVersion
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import Now
from minikafka.cluster.features import (
    ELR_FEATURE,
    FEATURES,
    KRAFT_FEATURE,
    METADATA_FEATURE,
    level,
)
from minikafka.cluster.metadata import Image, feature_records
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError

# the levels of metadata.version that changed records: nobody goes back over one
METADATA_CHANGES = {8, 11, 13, 14, 15, 17, 23, 30, 32, 33}
# upgrade types of UpdateFeatures
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# Produce 0 to 2 are refused, but librdkafka before 2.8 stops compressing where 0 is not
# advertised (KAFKA-18659).
ADVERTISED_FROM = {0: 0}
# the first versions of ApiVersions in which a client names its software, and the node
# that it means
NAMES_SOFTWARE, NAMES_NODE = 3, 5
TELLS_ALL = 4  # the first one that tells features with a level 0


@dataclass(eq=False, repr=False)
class FeatureHandlers:
    """Handles requests about API versions and features. served: the table of APIs.
    older: the Kafka that clients are to see; None: the newest.
    """

    node_id: int
    image: Image
    quorum: Quorum
    active_controller: ActiveController
    served: Mapping[int, Handler[Any]]
    older: KafkaVersion | None

    def api_versions(self, request: Call, now: Now) -> Answer:
        """ApiVersions (KIP-35, KIP-511, KIP-584): what this broker speaks.

        - The answer is computed from the handlers present.
        - A version that the broker does not know is answered in version 0 with error 35
          and this API's own versions, so that the client can try again (Broker.receive
          does that).
        - The response header is version 0 always, even where the body is flexible.

        Versions: 0 to 5.

        - 3 lets the client name its software, which must match Kafka's pattern, and
          adds features.
        - 5 lets it name the node that it means: another one has taken over the address
          if that is wrong, and REBOOTSTRAP_REQUIRED says so (KIP-1242).
        """
        if request.version >= NAMES_SOFTWARE:
            name = request.body.client_software_name
            version = request.body.client_software_version
            if not SOFTWARE.fullmatch(name) or not SOFTWARE.fullmatch(version):
                return {"error_code": Error.INVALID_REQUEST}
            is_whole = (request.body.cluster_id is None) == (request.body.node_id == -1)
            if not is_whole:
                return {"error_code": Error.INVALID_REQUEST}
        among_nodes = request.client.listener == CONTROLLER_LISTENER
        if request.version >= NAMES_NODE and not among_nodes:
            cluster_id, node_id = request.body.cluster_id, request.body.node_id
            here = (self.quorum.cluster_id, self.node_id)
            if cluster_id is not None and (cluster_id, node_id) != here:
                return {"error_code": Error.REBOOTSTRAP_REQUIRED}
        older = None if among_nodes else self.older
        served = self.served if older is None else narrowed(self.served, older)
        api_keys = []
        for key in sorted(served):
            handler = served[key]
            if handler.inter_broker and not among_nodes:
                continue
            lowest, highest = handler.versions
            api = {
                "api_key": key,
                "min_version": ADVERTISED_FROM.get(key, lowest),
                "max_version": highest,
            }
            api_keys.append(api)
        answer = described(self.image, request.version, older)
        answer["api_keys"] = api_keys
        answer["finalized_features_epoch"] = self.quorum.high_watermark - 1
        return answer

    def update_features(self, request: Call, now: Now) -> Answer | Wait:
        """UpdateFeatures (KIP-584, KIP-778): finalize features at other levels, all or
        none.

        - group.version 0 turns the consumer protocol off.
        - eligible.leader.replicas.version stays 1: without it nothing here would lead
          safely.
        - metadata.version goes down only over levels that changed no record. Here
          records are written as at the newest level.
        - share.version 0 turns share groups off, 1 their dead letters (KIP-1191);
          streams.version 0 turns streams groups off.
        - kraft.version 1 is kept and told, and there is no way back. It changes nothing
          here: the voters are fixed when a node starts, and nobody joins later.

        Versions: 0 to 2.

        - 0 says only whether it may be a downgrade, 1 of which kind, and can validate.
        - 2 lists no results.
        """
        changed: dict[str, int] = {}
        results = []
        for asked in request.body.feature_updates:
            name, wanted = asked.feature, asked.max_version_level
            kind = asked.upgrade_type
            if request.version == 0:
                kind = SAFE_DOWNGRADE if asked.allow_downgrade else UPGRADE
            try:
                self.check(name, wanted, kind)
            except KafkaError as error:
                why = (
                    "The update failed for all features since the following feature had"
                    f" an error: {error.message}"
                )
                raise KafkaError(error.error, why) from None
            if name == METADATA_FEATURE and wanted != level(self.image, name):
                # what a new cluster begins with doesn't come with an upgrade
                changed = undecided_levels(self.image) | changed
            changed[name] = wanted
            results.append({"feature": name, "error_message": None})
        answer = {"error_code": Error.NONE, "error_message": None, "results": results}
        if request.body.validate_only:
            return answer
        records = feature_records(changed)
        return self.active_controller.commit(records, now, lambda: answer)

    def check(self, name: str, wanted: int, kind: int) -> None:
        """INVALID_UPDATE_VERSION, in Kafka's words."""
        why = self.what_is_wrong(name, wanted, kind)
        if why is not None:
            what = f"Invalid update version {wanted} for feature {name}. {why}"
            raise KafkaError(Error.INVALID_UPDATE_VERSION, what)
        current = level(self.image, name)
        crossed = METADATA_CHANGES & set(range(wanted + 1, current + 1))
        if name == METADATA_FEATURE and crossed:
            why = (
                "Refusing to perform the requested downgrade because it might delete"
                " metadata information."
            )
            if kind == UNSAFE_DOWNGRADE:
                why = "Unsafe metadata downgrade is not supported in this version."
            what = f"Unsupported metadata.version downgrade from {current} to {wanted}."
            raise KafkaError(Error.INVALID_UPDATE_VERSION, f"{what} {why}")

    def what_is_wrong(self, name: str, wanted: int, kind: int) -> str | None:
        """With another level of a feature; None: nothing."""
        here = f"Local controller {self.node_id}"
        if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "The controller does not support the given upgrade type."
        if wanted < 0:
            return "A feature version cannot be less than 0."
        if name not in FEATURES:
            if wanted == 0:
                return f"Feature {name} not found."
            return f"{here} does not support this feature."
        levels = FEATURES[name]
        if not levels.lowest <= wanted <= levels.highest:
            return f"{here} only supports versions {levels.lowest}-{levels.highest}"
        current = level(self.image, name)
        if wanted < current and name in (KRAFT_FEATURE, ELR_FEATURE):
            return "Can't downgrade the version of this feature."
        if wanted < current and kind == UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the"
                " upgrade type to either safe or unsafe downgrade."
            )
        if wanted > current and kind != UPGRADE:
            return "Can't downgrade to a newer version."
        return None


def undecided_levels(image: Image) -> dict[str, int]:
    """The levels of the features that depend on metadata.version, where the cluster
    never set one.
    """
    found = {}
    for name, levels in FEATURES.items():
        if levels.highest_since and name not in image.features:
            found[name] = level(image, name)
    return found


def described(image: Image, version: int, older: KafkaVersion | None) -> Answer:
    """The features as this version of ApiVersions tells them: clients of versions before
    TELLS_ALL can't read a level 0 (KIP-1022).
    """
    supported = []
    finalized = []
    for name, levels in FEATURES.items():
        lowest, highest = levels.lowest, levels.highest
        if older is not None:
            if name not in older.features:
                continue
            lowest, highest, _ = older.features[name]
        if lowest or version >= TELLS_ALL:
            versions = {"min_version": lowest, "max_version": highest}
            supported.append({"name": name, **versions})
        at = min(level(image, name), highest) if image.features else 0
        if at:
            feature = {"name": name, "max_version_level": at, "min_version_level": at}
            finalized.append(feature)
    return {"supported_features": supported, "finalized_features": finalized}
