"""The words of the rebalance's picture that need nothing but the event, and Kafka's
numbers of errors.
"""

from minikafka.theatre.play import Says

ERRORS = {
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27,
    "MEMBER_ID_REQUIRED": 79,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "FENCED_MEMBER_EPOCH": 110,
    "UNRELEASED_INSTANCE_ID": 111,
    "STALE_MEMBER_EPOCH": 113,
}
SAYS = {
    "PartitionsLost": Says(
        "{who} has lost {gone}: it can't commit anything there any more.", trouble=True
    ),
    "PollOverdue": Says("{who} has not polled in time: {why}.", "poll overdue", True),
    "CommitFailed": Says(
        "{node}'s commit fails with {error}: others may read these records again.",
        "a commit fails",
        True,
    ),
    "ProcessingSlowed": Says(
        "{node} needs {needs} for each record from now on.", "{node} is slow"
    ),
    "ClientClosed": Says("{node} closes.", "{node} closes"),
    "NodeCrashed": Says(
        "{node} crashes without a goodbye, and its Heartbeats stop.",
        "{node} crashes",
        True,
    ),
    "NodeFrozen": Says(
        "{node} is frozen: it doesn't read and sends no Heartbeat, and the coordinator"
        " doesn't know yet.",
        "{node} freezes",
    ),
    "NodeThawed": Says("{node} goes on as if no time had passed.", "{node} goes on"),
    "NodeRestarted": Says(
        "{node} starts again, remembering nothing.", "{node} is back"
    ),
    "LinkCut": Says(
        "The network between {who} and the coordinator is cut: nothing passes, and"
        " neither knows yet.",
        "{who} is cut off",
    ),
    "LinkHealed": Says(
        "The network between {who} and the coordinator heals: what was held back"
        " arrives.",
        "{who} is connected again",
    ),
}


def with_number(error: str) -> str:
    """The error's name and its number in the protocol, where that is known here."""
    return f"{error} ({ERRORS[error]})" if error in ERRORS else error
