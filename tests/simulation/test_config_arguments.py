"""A wrong config of a client, and a fault that makes no sense, get one plain line, before
anything has happened.
"""

import pytest

from minikafka import Cluster
from minikafka.faults import Crash, Cut, Delay, Freeze, Lose, Skew
from minikafka.simulation.arguments import (
    OF_CONSUMERS,
    OF_PRODUCERS,
    OF_SHARE_CONSUMERS,
)


@pytest.fixture(scope="module")
def cluster():
    with Cluster(seed=7) as cluster:
        yield cluster


CONFIGS = [
    (
        "producer",
        {"linger_ms": -1},
        ValueError,
        "linger_ms=-1: give a whole number of virtual ms from 0",
    ),
    ("producer", {"linger_ms": 0.5}, TypeError, "linger_ms=0.5: give a whole number"),
    (
        "producer",
        {"max_in_flight_requests_per_connection": 0},
        ValueError,
        "max_in_flight_requests_per_connection=0",
    ),
    (
        "producer",
        {"enable_idempotence": "false"},
        TypeError,
        "enable_idempotence='false': give True or False, or None",
    ),
    (
        "producer",
        {"key_serializer": "utf-8"},
        ValueError,
        "key_serializer='utf-8': give a function",
    ),
    ("producer", {"acks": ["all"]}, ValueError, "acks=['all']: give 0, 1 or \"all\""),
    (
        "producer",
        {"compression_type": 5},
        ValueError,
        "compression_type=5: give one of none, gzip",
    ),
    ("producer", {"partitioner": 5}, ValueError, 'partitioner=5: give "default"'),
    (
        "producer",
        {"lingerms": 5},
        TypeError,
        "a producer has no config 'lingerms'; did you mean linger_ms?",
    ),
    ("producer", {"client_id": "x" * 40_000}, ValueError, "client_id='xxx"),
    (
        "consumer",
        {"enable_auto_commit": "no"},
        TypeError,
        "enable_auto_commit='no': give True or False",
    ),
    (
        "consumer",
        {"auto_offset_reset": "smallest"},
        ValueError,
        "auto_offset_reset='smallest': give \"latest\"",
    ),
    (
        "consumer",
        {"max_poll_records": 0},
        ValueError,
        "max_poll_records=0: give a whole number from 1",
    ),
    (
        "consumer",
        {"consumer_timeout_ms": float("nan")},
        ValueError,
        "consumer_timeout_ms=nan: give a number of virtual ms",
    ),
    ("consumer", {"group_id": "g" * 40_000}, ValueError, "group_id='ggg"),
    (
        "consumer",
        {"group_id": b"billing"},
        TypeError,
        "group_id=b'billing': give a text",
    ),
    (
        "consumer",
        {"group_id": "g", "group_protocol": 5},
        ValueError,
        'group_protocol=5: give "classic"',
    ),
    (
        "consumer",
        {"group_id": "g", "session_timeout_ms": "45s"},
        TypeError,
        "session_timeout_ms='45s': give",
    ),
    (
        "consumer",
        {"group_id": "g", "partition_assignment_strategy": 5},
        TypeError,
        "5 is no assignor: give a name",
    ),
    ("share_consumer", {}, ValueError, "group_id=None: a share consumer is always"),
    (
        "share_consumer",
        {"group_id": "g", "share_acknowledgement_mode": "maybe"},
        ValueError,
        'share_acknowledgement_mode=\'maybe\': give "implicit" or "explicit"',
    ),
    (
        "share_consumer",
        {"group_id": "g", "share_acquire_mode": "all"},
        ValueError,
        'share_acquire_mode=\'all\': give "batch_optimized" or "record_limit"',
    ),
    (
        "share_consumer",
        {"group_id": "g", "auto_offset_reset": "earliest"},
        TypeError,
        "a share consumer has no config 'auto_offset_reset'; it is one of the group",
    ),
    (
        "share_consumer",
        {"group_id": "g", "max_poll_records": 0},
        ValueError,
        "max_poll_records=0: give a whole number from 1",
    ),
]


@pytest.mark.parametrize(("client", "config", "kind", "words"), CONFIGS, ids=str)
def test_a_wrong_config_of_a_client_gets_one_sentence(
    cluster, client, config, kind, words
):
    with pytest.raises(kind) as caught:
        getattr(cluster, client)(**config)
    assert str(caught.value).startswith(words) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("client", "names"),
    [
        ("producer", OF_PRODUCERS),
        ("consumer", OF_CONSUMERS),
        ("share_consumer", OF_SHARE_CONSUMERS),
    ],
)
def test_no_config_of_a_client_takes_just_anything(cluster, client, names):
    for name in names:
        with pytest.raises((TypeError, ValueError)) as caught:
            getattr(cluster, client)(**{name: object()})
        assert str(caught.value).startswith(f"{name}=<object")


FAULTS = [
    (Crash("shop", at_ms=-1), "at_ms=-1: give a whole number of virtual ms"),
    (Crash("shop", call=0), "call=0: give a whole number from 1"),
    (Crash("shop", at_ms=1, restart_after_ms="2"), "restart_after_ms='2': give"),
    (Freeze("shop", at_ms=0, for_ms=-5), "for_ms=-5: give"),
    (Freeze("shop", at_ms=None, for_ms=5), "at_ms=None: give"),
    (Cut("shop", 1, at_ms=0.5), "at_ms=0.5: give"),
    (Lose("shop", 1, "Prduce"), "api='Prduce': give the name of one of Kafka's APIs"),
    (Lose("shop", 1, "Produce", nth=0), "nth=0: give"),
    (Lose("shop", 1, "Produce", times=-1), "times=-1: give"),
    (Lose("shop", 1, "Produce", answer="yes"), "answer='yes': give True or False"),
    (
        Lose("shop", 1, "Produce", chance_percent=101),
        "chance_percent=101: give a whole number from 0 to 100",
    ),
    (Delay("shop", 1, extra_ms=-1), "extra_ms=-1: give"),
    (Skew("shop", by_ms=10**20), "by_ms=100000000000000000000: give"),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS, ids=str)
def test_a_fault_that_makes_no_sense_is_refused_when_the_cluster_is_made(fault, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        Cluster(faults=[fault])
    assert str(caught.value).startswith(words)
