"""Quotas, credentials, tokens, and who votes: what is asked of both brokers (see
same_answers.py).
"""

from tests.conformance.raw import batch
from tests.conformance.same_answers import plain

INFINITE = float("inf")


def entity(*parts):
    """A quota entity, from (type, name) pairs."""
    return [{"entity_type": kind, "entity_name": name} for kind, name in parts]


def quota(key, value):
    """value: None takes it back."""
    return {"key": key, "value": value or 0.0, "remove": value is None}


def entry(parts, *quotas):
    return {"entity": entity(*parts), "ops": [quota(*each) for each in quotas]}


def component(kind, match_type, match=None):
    return {"entity_type": kind, "match_type": match_type, "match": match}


def look_at_quotas(side, what):
    """All that is there of this scenario; of all entities of a type only those with
    its name, and the defaults.
    """
    ann = side.name + "-ann"
    for question, strict, components in (
        ("ann", True, [component("user", 0, ann)]),
        ("ann's clients", False, [component("user", 0, ann)]),
        (
            "ann's app",
            True,
            [component("client-id", 0, "app"), component("user", 0, ann)],
        ),
        ("the app", False, [component("client-id", 0, side.name)]),
        ("any of ann", True, [component("user", 0, ann), component("client-id", 2)]),
        ("the default", True, [component("user", 1)]),
        (
            "the default of hers",
            True,
            [component("client-id", 1), component("user", 0, ann)],
        ),
        ("an address", True, [component("ip", 0, "127.0.0.9")]),
        ("any address", False, [component("ip", 2)]),
        ("none", True, []),
    ):
        side.ask(
            f"{what}, {question}",
            "DescribeClientQuotas",
            components=components,
            strict=strict,
        )


def quotas(side):
    """KIP-546: set, described, taken back."""
    ann = ("user", side.name + "-ann")
    app, default_app = ("client-id", "app"), ("client-id", None)
    ours = ("client-id", side.name)
    produce, fetch = ("producer_byte_rate", 1e9), ("consumer_byte_rate", 2e9)
    share, changes = ("request_percentage", 150.5), ("controller_mutation_rate", 0.5)
    connections = ("connection_creation_rate", 1e5)
    address = ("ip", "127.0.0.9")
    look_at_quotas(side, "at first")
    for what, entries in {
        "only ann": [entry([ann], produce, fetch)],
        "her app": [entry([ann, app], share)],
        "her app, the other way": [entry([app, ann], changes)],
        "her other apps": [entry([ann, default_app], fetch)],
        "everybody": [entry([("user", None)], ("producer_byte_rate", 3e9))],
        "the app": [entry([ours], produce, share)],
        "an address": [entry([address], connections)],
        "all addresses": [entry([("ip", None)], connections)],
        "all that there is": [entry([ann], produce, fetch, share, changes)],
        "nothing": [],
        "an entity without changes": [entry([ann])],
    }.items():
        for only in (True, False):
            asked = {"entries": entries, "validate_only": only}
            side.ask(f"{what} {only}", "AlterClientQuotas", **asked)
    side.settle()
    look_at_quotas(side, "then")
    quotas_that_may_not_be(side, ann, address)
    side.settle()
    look_at_quotas(side, "still")
    gone = [
        entry([ann], *((key, None) for key, _ in (produce, fetch, share, changes))),
        entry([ann, app], ("request_percentage", None)),
        entry([app, ann], ("controller_mutation_rate", None)),
    ]
    side.ask("they go", "AlterClientQuotas", 1, entries=gone)
    gone = [
        entry([ann, app], ("controller_mutation_rate", None)),
        entry([ann, default_app], ("consumer_byte_rate", None)),
        entry([("user", None)], ("producer_byte_rate", None)),
        entry([ours], ("producer_byte_rate", None), ("request_percentage", None)),
        entry([address], ("connection_creation_rate", None)),
        entry([("ip", None)], ("connection_creation_rate", None)),
    ]
    side.ask("all of them", "AlterClientQuotas", 0, entries=gone)
    side.ask("twice", "AlterClientQuotas", 0, entries=gone)
    side.settle()
    look_at_quotas(side, "in the end")


def quotas_that_may_not_be(side, ann, address):
    """Each is refused, and the good ones beside it are set."""
    good = entry([ann], ("request_percentage", 99.0))
    rate = ("producer_byte_rate", 1000.0)
    for what, bad in {
        "no entity": entry([], rate),
        "an unknown type": entry([("sort", "x")], rate),
        "an empty type": entry([("", "x")], rate),
        "an empty name": entry([("user", "")], rate),
        "an empty client": entry([("client-id", "")], rate),
        "an empty address": entry([("ip", "")], ("connection_creation_rate", 1.0)),
        "an address and a user": entry([address, ann], rate),
        "no address": entry(
            [("ip", "no such host!")], ("connection_creation_rate", 1.0)
        ),
        "a client's of an address": entry([address], rate),
        "an address's of a client": entry([ann], ("connection_creation_rate", 1.0)),
        "an unknown quota": entry([ann], ("speed", 1.0)),
        "taken back, an unknown one": entry([ann], ("speed", None)),
        "zero": entry([ann], ("producer_byte_rate", 0.0)),
        "negative": entry([ann], ("producer_byte_rate", -1.0)),
        "a fraction": entry([ann], ("producer_byte_rate", 1.5)),
        "less than nothing": entry([ann], ("request_percentage", -5e-324)),
        "no zero": entry([ann], ("controller_mutation_rate", 5e-324)),
        "the longest": entry([ann], ("producer_byte_rate", 2.0**63)),
        "the largest": entry([ann], ("consumer_byte_rate", 1e308)),
        "the largest share": entry([ann], ("controller_mutation_rate", 1e308)),
        "an infinite number of connections": entry(
            [address], ("connection_creation_rate", INFINITE)
        ),
        "hardly a fraction": entry([ann], ("producer_byte_rate", 5 + 1e-9)),
        "more than a long": entry([ann], ("producer_byte_rate", 1e19)),
        "more than an int": entry([address], ("connection_creation_rate", 1e10)),
        "infinite": entry([ann], ("producer_byte_rate", INFINITE)),
        "an infinite share": entry([ann], ("request_percentage", INFINITE)),
        "one twice": entry([ann], rate, ("producer_byte_rate", 2000.0)),
        "the type twice": entry([ann, ann], rate),
        "good and bad": entry([ann], rate, ("speed", 1.0)),
    }.items():
        if what == "zero":
            bad["ops"][0]["value"] = 0.0
        side.ask(what, "AlterClientQuotas", entries=[bad])
        side.ask(
            f"{what} beside a good one", "AlterClientQuotas", 1, entries=[bad, good]
        )
    side.ask("an entity twice", "AlterClientQuotas", entries=[good, good])


def filters_of_quotas(side):
    """What DescribeClientQuotas may not be asked."""
    for what, components in {
        "an empty type": [component("", 2)],
        "an unknown type": [component("sort", 2)],
        "a type twice": [component("user", 2), component("user", 1)],
        "an unknown match": [component("user", 3)],
        "a negative match": [component("user", -1)],
        "exactly null": [component("user", 0)],
        "a default with a name": [component("user", 1, "ann")],
        "any with a name": [component("user", 2, "ann")],
        "a user and an address": [component("user", 2), component("ip", 2)],
        "an address and a client": [component("ip", 1), component("client-id", 2)],
        "an unknown type twice": [component("sort", 7), component("sort", 7)],
    }.items():
        for strict in (False, True):
            asked = {"components": components, "strict": strict}
            side.ask(f"{what} {strict}", "DescribeClientQuotas", **asked)


def throttled(side, what, answer):
    """For how long: that is not in other answers, as it is a broker's own."""
    side.answers[what] = {"throttle_time_ms": answer.throttle_time_ms}


def throttled_producers(side):
    """KIP-13, KIP-219: who writes more than its quota is told for how long it is not
    heard. Ten seconds' worth may come at once.
    """
    side.create_topic()
    raw, rate = ("client-id", "raw"), "producer_byte_rate"
    data = {"name": side.name, "partition_data": [{"index": 0}]}
    asked = {"acks": 1, "timeout_ms": 5000, "topic_data": [data]}
    data["partition_data"][0]["records"] = batch(*[b"x" * 1000] * 900)
    throttled(side, "without a quota", side.client.ask("Produce", 8, **asked))
    for quota in (90_000, 91_000, 900_000):
        only = entry([raw], (rate, float(quota)))
        side.ask(f"a quota of {quota}", "AlterClientQuotas", 1, entries=[only])
        side.settle()
        answer = side.client.ask("Produce", 8, **asked)
        told = answer.throttle_time_ms > 0
        side.answers[f"with {quota}"] = {"throttled": told}
        if quota == 90_000:
            throttled(side, "the first time", answer)
    side.ask("it goes", "AlterClientQuotas", 1, entries=[entry([raw], (rate, None))])
    side.settle()
    throttled(side, "without one again", side.client.ask("Produce", 8, **asked))


def throttled_consumers(side):
    """Who reads more than its quota has nothing, and is told for how long it is not
    heard.
    """
    side.create_topic()
    raw, rate = ("client-id", "raw"), "consumer_byte_rate"
    side.client.produce(side.name, batch(*[b"x" * 1000] * 900))
    side.fetch("without a quota")
    only = entry([raw], (rate, 80_000.0))
    side.ask("a quota", "AlterClientQuotas", 1, entries=[only])
    side.settle()
    for epoch in (-1, 0):
        answer = side.fetch(
            f"too much {epoch}", versions=(4, 11, 13, 17), session_epoch=epoch
        )
        told = answer.throttle_time_ms > 0
        side.answers[f"with one {epoch}"] = {"throttled": told}
    side.fetch("nothing", offset=900, versions=(11,))
    side.ask("it goes", "AlterClientQuotas", 1, entries=[entry([raw], (rate, None))])
    side.settle()
    throttled(side, "without one", side.fetch("all of it again"))


def credential(user, mechanism=1, iterations=4096):
    salted = {"salt": b"salt", "salted_password": b"p" * 32}
    named = {"name": user, "mechanism": mechanism, "iterations": iterations}
    return named | salted


def credentials(side):
    """KIP-554."""
    ann, bob = side.name + "-ann", side.name + "-bob"
    for what, fields in {
        "ann's": {"upsertions": [credential(ann)]},
        "ann's other": {"upsertions": [credential(ann, 2, 8192)]},
        "bob's": {"upsertions": [credential(bob, 2, 16384)]},
        "ann's again": {"upsertions": [credential(ann, 1, 5000)]},
        "nothing": {},
        "few iterations": {"upsertions": [credential(ann, 1, 4095)]},
        "many iterations": {"upsertions": [credential(ann, 2, 16385)]},
        "an unknown mechanism": {"upsertions": [credential(ann, 3)]},
        "mechanism 0": {"upsertions": [credential(ann, 0)]},
        "nobody": {"upsertions": [credential("")]},
        "one twice": {"upsertions": [credential(ann), credential(ann, 2)]},
        "a bad one twice": {"upsertions": [credential(ann, 3), credential(ann)]},
        "a good one and a bad one": {
            "upsertions": [credential(ann), credential(ann, 3)]
        },
        "one bad, one good": {"upsertions": [credential(ann, 3), credential(bob, 2)]},
        "without nobody's": {"deletions": [{"name": "", "mechanism": 1}]},
        "without an unknown mechanism": {"deletions": [{"name": ann, "mechanism": 9}]},
        "without none": {"deletions": [{"name": bob, "mechanism": 1}]},
        "without and with": {
            "deletions": [{"name": ann, "mechanism": 2}],
            "upsertions": [credential(ann)],
        },
        "without one twice": {"deletions": [{"name": ann, "mechanism": 2}] * 2},
        "without ann's": {"deletions": [{"name": ann, "mechanism": 2}]},
        "without bob's": {"deletions": [{"name": bob, "mechanism": 2}]},
    }.items():
        side.ask(what, "AlterUserScramCredentials", 0, **fields)
        side.settle()
        for question, users in {"ann": [ann], "both": [ann, bob, "x"]}.items():
            asked = [{"name": user} for user in users]
            side.ask(
                f"{question} after {what}", "DescribeUserScramCredentials", users=asked
            )
    twice = [{"name": ann}, {"name": ann}]
    side.ask("ann twice", "DescribeUserScramCredentials", users=twice)
    for what, users in {"all": None, "all of none": []}.items():
        found = side.client.ask("DescribeUserScramCredentials", 0, users=users).results
        users = []
        for one in found:
            if one.user.startswith(side.name):
                users.append(one.to_dict() | {"error_message": None})
        side.answers[what] = {"users": plain(users, side.name)}
    last = [{"name": ann, "mechanism": 1}]
    side.ask("the last one", "AlterUserScramCredentials", deletions=last)


def nobody_is_asked(side):
    """SASL and delegation tokens, over plaintext (KIP-43, KIP-48, KIP-152)."""
    for mechanism in ("", "PLAIN", "SCRAM-SHA-256"):
        side.ask(f"shake {mechanism}", "SaslHandshake", mechanism=mechanism)
    side.ask("who", "SaslAuthenticate", 0, 1, 2, auth_bytes=b"\0me\0secret")
    owner = {"owner_principal_type": "User", "owner_principal_name": "ann"}
    none = {"owner_principal_type": None, "owner_principal_name": None}
    renewers = [{"principal_type": "User", "principal_name": "bob"}]
    for what, who in {"ann's": owner, "one's own": none}.items():
        for version in (1, 2, 3):
            named = who if version >= 3 else {}
            asked = {"renewers": renewers, "max_lifetime_ms": -1} | named
            side.ask(f"{what} token", "CreateDelegationToken", version, **asked)
    for version in (1, 2):
        fields = {"hmac": b"x", "renew_period_ms": 1}
        side.ask("longer", "RenewDelegationToken", version, **fields)
        fields = {"hmac": b"x", "expiry_time_period_ms": 1}
        side.ask("no longer", "ExpireDelegationToken", version, **fields)
    ann = [{"principal_type": "User", "principal_name": "ann"}]
    for what, owners in {"all": None, "none": [], "ann's": ann}.items():
        side.ask(f"{what} tokens", "DescribeDelegationToken", 1, 2, 3, owners=owners)


def who_votes(side):
    """KIP-853, of a static quorum."""
    cluster_id = side.client.ask("Metadata", 12, topics=[]).cluster_id
    there = {"name": "CONTROLLER", "host": "localhost", "port": 9}
    one = {"voter_id": 7, "voter_directory_id": b"directory of one"}
    for what, changed in {
        "one": {},
        "one of this cluster": {"cluster_id": cluster_id},
        "of another": {"cluster_id": "another"},
        "a negative one": {"voter_id": -1},
        "without a directory": {"voter_directory_id": bytes(16)},
        "itself": {"voter_id": 1},
        "one that listens elsewhere": {"listeners": [there | {"name": "OTHER"}]},
        "one that doesn't listen": {"listeners": []},
    }.items():
        asked = {"cluster_id": None} | one | changed
        if "listeners" not in changed:
            side.ask(f"{what} goes", "RemoveRaftVoter", **asked)
        asked = {"listeners": [there], "timeout_ms": 1000} | asked
        side.ask(f"{what} comes", "AddRaftVoter", **asked)


SCENARIOS = (
    quotas,
    filters_of_quotas,
    throttled_producers,
    throttled_consumers,
    credentials,
    nobody_is_asked,
    who_votes,
)
