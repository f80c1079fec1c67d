"""What members of other clients say of their past in user data, and what ours say: byte
by byte.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData

from minikafka.clients.assigning import member_from_subscription, subscription_user_data
from minikafka.coordinators.assignors import Member

pytestmark = pytest.mark.slow

OWNED = (("orders", 0), ("orders", 2), ("zürich", 1))
STICKY = bytes.fromhex(
    "00000002"  # topics
    "0006"
    + b"orders".hex()
    + "00000002"
    + "00000000"
    + "000000020007"
    + "zürich".encode().hex()
    + "00000001"
    + "00000001"
    "00000005"  # generation
)


def sticky(user_data: bytes | None) -> Member:
    return member_from_subscription("sticky", ["orders"], user_data)


def test_sticky_carries_its_last_assignment_and_generation():
    assert subscription_user_data("sticky", OWNED, 5) == STICKY
    assert sticky(STICKY) == Member(("orders",), OWNED, 5)


def test_kafka_python_writes_the_same_behind_a_version():
    """Java then takes it for a new member's; we needn't."""
    theirs = StickyAssignorUserData([("orders", [0, 2]), ("zürich", [1])], 5).encode()
    assert theirs == b"\0\1" + STICKY
    assert sticky(theirs) == Member(("orders",), OWNED, 5)


def test_version_0_of_sticky_has_no_generation():
    assert sticky(STICKY[:-4]) == Member(("orders",), OWNED, -1)


def test_sticky_believes_its_user_data_alone():
    """It is eager: whatever owned_partitions says was revoked before the member
    joined.
    """
    assert member_from_subscription("sticky", ["orders"], None, OWNED, 5) == Member(
        ("orders",)
    )


def test_cooperative_sticky_carries_its_generation_alone():
    """-1 included, as Java's. What it owns is a field of its own."""
    assert subscription_user_data("cooperative-sticky", OWNED, 5) == b"\0\0\0\5"
    assert subscription_user_data("cooperative-sticky", (), -1) == b"\xff\xff\xff\xff"
    member = member_from_subscription(
        "cooperative-sticky", ["orders"], b"\0\0\0\5", OWNED
    )
    assert member == Member(("orders",), OWNED, 5)


def test_kip_792_the_field_of_the_subscription_goes_before_user_data():
    member = member_from_subscription(
        "cooperative-sticky", ["orders"], b"\0\0\0\5", OWNED, 6
    )
    assert member.generation == 6


def test_librdkafkas_cooperative_sticky_writes_the_user_data_of_sticky():
    member = member_from_subscription(
        "cooperative-sticky", ["orders"], STICKY, OWNED[:1]
    )
    assert member == Member(("orders",), OWNED[:1], 5)


@pytest.mark.parametrize("name", ["range", "roundrobin", "a function of the learner's"])
def test_other_assignors_need_none(name: str):
    assert subscription_user_data(name, OWNED, 5) is None
    assert member_from_subscription(
        name, ["orders"], b"whatever", OWNED, 5, "i"
    ) == Member(("orders",), OWNED, 5, "i")


def test_a_new_member_of_sticky_has_no_past_to_tell():
    assert subscription_user_data("sticky", (), -1) is None
    assert sticky(None) == sticky(b"") == Member(("orders",))


@given(cut=st.integers(0, len(STICKY) - 5), junk=st.binary(max_size=40))
def test_user_data_that_makes_no_sense_counts_as_none(cut: int, junk: bytes):
    assert sticky(STICKY[:cut]) == Member(("orders",))
    sticky(junk)
    member_from_subscription("cooperative-sticky", ["orders"], junk)
