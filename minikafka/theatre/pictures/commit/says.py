"""The commit point's story in words: a table of what is said of each kind of event, and
how records are told.
"""

from collections.abc import Sequence

from minikafka.theatre.pictures.log.story import LogStory
from minikafka.theatre.play import Says
from minikafka.theatre.text import capital, listed

HOW = {
    "auto": "Auto-commit: ",
    "close": "On closing, ",
    "revoke": "Before it gives the partition up, ",
}
OF_THE_LOG = {
    kind: says
    for kind, says in LogStory.says.items()
    if kind != "SegmentRolled"  # no story of this picture
}
SAYS = {
    **OF_THE_LOG,
    "EffectWritten": Says(
        "{writer} writes record {record} to {table}{twice}.", first="first effect"
    ),
    "CommitSent": Says(
        "{by}{node} asks the coordinator to store offset {asked} for the group."
    ),
    "CommitFailed": Says(
        "{node} could not commit: {error}.",
        "{error}",
        True,
        mark=("{lane}", "refused", True),
    ),
    "OffsetsExpired": Says(
        "The committed offset of group {group} has expired, so it is deleted.",
        "the commit expires",
        True,
        mark=("commits", "expired", True),
    ),
    "GroupDeleted": Says(
        "Group {group} is deleted, with its commits.",
        "the group is deleted",
        mark=("commits", "deleted"),
    ),
    "PartitionsAssigned": Says(
        "{node} is given partition {mine}, in generation {generation} of the group."
    ),
    "PartitionsRevoked": Says("{node} gives up partition {mine}."),
    "PartitionsLost": Says("{node} gives up partition {mine}."),
    "MemberLeft": Says("{who} is out of the group ({why})."),
}


def records(offsets: Sequence[int]) -> str:
    """record 4 · records 4 and 6 · records 4 to 6"""
    first = offsets[0]
    last = offsets[-1]
    count = len(offsets)
    if 2 < count == last - first + 1:
        return f"records {first} to {last}"
    if count > 6:
        return f"{count} records"
    return f"record{'s' if count > 1 else ''} {listed(offsets)}"


def once_more(times: int) -> str:
    """How often an effect is there, where it is more than once."""
    if times <= 1:
        return ""
    if times == 2:
        return " again: it is there twice"
    return f" yet again: it is there {times} times"


def these_are(offsets: Sequence[int]) -> str:
    """The beginning of a sentence about records."""
    verb = "is" if len(offsets) == 1 else "are"
    return f"{capital(records(offsets))} {verb}"
