"""Requests about users' SCRAM credentials: how they are stored, changed and described.
How a client logs in by them is in mechanisms.py.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call
from minikafka.broker.mechanisms import (
    FEWEST_ITERATIONS,
    SCRAM,
    credential_from,
)
from minikafka.clock import Now
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.users import (
    Named,
    UserMechanism,
    credential_record,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

# org.apache.kafka.clients.admin.ScramMechanism
MECHANISMS = {number: name for name, number in SCRAM.items()}
MOST_ITERATIONS = 16_384


@dataclass(eq=False, repr=False)
class UserHandlers:
    """Handles requests about users' credentials."""

    image: Image
    active_controller: ActiveController

    def alter_user_scram_credentials(self, request: Call, now: Now) -> Answer | Wait:
        """AlterUserScramCredentials (KIP-554): each user has one verdict, and one
        change a request.

        - The stored keys verify a password, but nobody can log in with them alone (RFC
          5802).

        Version: 0.
        """
        body = request.body
        known = self.image.users.credentials
        alterations = [*body.deletions, *body.upsertions]
        times_named = Counter(asked.name for asked in alterations)
        verdicts: dict[str, Answer] = {}
        records = []

        def judge(asked: Any, decide: Callable[[Any], Named]) -> None:
            verdict: Answer = {"error_code": Error.NONE, "error_message": None}
            try:
                check_user(asked)
                name, fields = decide(asked)
                if times_named[asked.name] > 1:
                    what = (
                        "A user credential cannot be altered twice in the same request"
                    )
                    raise KafkaError(Error.DUPLICATE_RESOURCE, what)
                records.append(MetadataRecord(name, 0, fields))
            except KafkaError as error:
                verdict = {"error_code": error.error, "error_message": error.message}
            verdict["user"] = asked.name
            verdicts.setdefault(asked.name, verdict)

        def without_credential(asked: Any) -> Named:
            user = UserMechanism(asked.name, asked.mechanism)
            if user not in known:
                what = "Attempt to delete a user credential that does not exist"
                raise KafkaError(Error.RESOURCE_NOT_FOUND, what)
            return credential_record(user, None)

        for deletion in body.deletions:
            judge(deletion, without_credential)
        for upsertion in body.upsertions:
            judge(upsertion, with_credential)
        answer = {"results": list(verdicts.values())}
        return self.active_controller.commit(records, now, lambda: answer)

    def refuse_credentials(self, call: Call, error: KafkaError) -> Answer:
        """AlterUserScramCredentials has no error for the whole: each user says it."""
        alterations = [*call.body.deletions, *call.body.upsertions]
        results = []
        for user in dict.fromkeys(asked.name for asked in alterations):
            refused = {
                "user": user,
                "error_code": error.error,
                "error_message": error.message,
            }
            results.append(refused)
        return {"results": results}

    def describe_user_scram_credentials(self, request: Call, now: Now) -> Answer:
        """DescribeUserScramCredentials (KIP-554): which mechanisms a user has
        credentials of, and with how many iterations; where no user is named, of all
        users.

        Version: 0.
        """
        by_user: dict[str, list[Answer]] = {}
        for key, credential in self.image.users.credentials.items():
            info = {"mechanism": key.mechanism, "iterations": credential.iterations}
            by_user.setdefault(key.user, []).append(info)
        asked = list(by_user)
        if request.body.users:
            asked = [user.name for user in request.body.users]
        results = []
        for name, times_named in Counter(asked).items():
            result: Answer = {
                "user": name,
                "error_code": Error.NONE,
                "error_message": None,
            }
            if times_named > 1:
                result["error_code"] = Error.DUPLICATE_RESOURCE
                result["error_message"] = (
                    "Cannot describe SCRAM credentials for the same user twice in a"
                    f" single request: {printable(name)}"
                )
            elif name in by_user:
                result["credential_infos"] = by_user[name]
            else:
                result["error_code"] = Error.RESOURCE_NOT_FOUND
                result["error_message"] = (
                    "Attempt to describe a user credential that does not exist:"
                    f" {printable(name)}"
                )
            results.append(result)
        return {"error_code": Error.NONE, "error_message": None, "results": results}


def check_user(asked: Any) -> None:
    """Errors: UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM."""
    if not asked.name:
        what = "Username must not be empty"
        raise KafkaError(Error.UNACCEPTABLE_CREDENTIAL, what)
    if asked.mechanism not in MECHANISMS:
        what = "Unknown SCRAM mechanism"
        raise KafkaError(Error.UNSUPPORTED_SASL_MECHANISM, what)


def with_credential(asked: Any) -> Named:
    """The stored form of a salted password. Errors: UNACCEPTABLE_CREDENTIAL."""
    if asked.iterations < FEWEST_ITERATIONS:
        raise KafkaError(Error.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if asked.iterations > MOST_ITERATIONS:
        raise KafkaError(Error.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    credential = credential_from(
        MECHANISMS[asked.mechanism],
        bytes(asked.salted_password),
        bytes(asked.salt),
        asked.iterations,
    )
    return credential_record(UserMechanism(asked.name, asked.mechanism), credential)
