"""How the events of a share partition are told: the sentences that depend on more than
the event's own details.
"""

from collections.abc import Iterable, Sequence

from minikafka.theatre.pictures.share_partition.records import (
    ARCHIVED,
    STATES,
    Batch,
    Member,
    seconds,
    span,
)
from minikafka.theatre.text import capital, counted, listed

TOO_LATE = "INVALID_RECORD_STATE"


def written(first: int, last: int) -> str:
    """The sentence for records that were written."""
    many = capital(counted(last - first + 1, "record", "a"))
    verb = "is" if first == last else "are"
    return f"{many} {verb} written. The log ends at offset {last + 1}."


def begins(leader: str, group: str, start: int, is_first: bool) -> str:
    """A broker has read the state of the share partition."""
    if is_first:
        return (
            f"{leader} leads the partition, so it manages the share-partition of group"
            f" {group}, which begins at offset {start}."
        )
    return (
        f"{leader} reads the stored state of the share-partition, and goes on from"
        f" offset {start}. What members had is available again."
    )


def gets(
    who: str, what: Sequence[str], lock_ms: int, times: int, most_deliveries: int
) -> str:
    """A member acquires records. times: how often one of them was delivered by now."""
    names = listed(what)
    if times > 1:
        return (
            f"{who} acquires {names}, with a new lock. This is delivery {times} of at"
            f" most {most_deliveries}."
        )
    is_one = len(what) == 1 and what[0].startswith("record ")
    it = "it" if is_one else "them"
    return (
        f"{who} acquires {names}, locked for {seconds(lock_ms)}: nobody else gets {it}."
    )


def became(member: Member, batch: Batch, most_deliveries: int) -> str:
    """A delivery is over: what the member said, and what follows."""
    who = member.name
    what = span(batch.first, batch.last)
    if batch.said == "accept":
        return f"{who} accepts {what}: done."
    if batch.said == "reject":
        return f"{who} rejects {what}: archived, so nobody gets it again."
    if batch.said == "gap":
        return f"There is no record for {who} at {what}."
    if STATES[batch.state] == ARCHIVED:
        return (
            f"{who} releases {what} after delivery {batch.times} of at most"
            f" {most_deliveries}: archived, so nobody gets it again."
        )
    if batch.said == "release":
        return f"{who} releases {what}: the next member that asks gets it."
    why = f"The share session of {who} is over"
    if member.life == "crashed":
        why = f"The share session of {who} is gone with its connection"
    comes = "comes" if batch.first == batch.last else "come"
    return f"{why}: {what} {comes} back at once, without waiting for the lock."


def renews(who: str, what: Iterable[str], lock_ms: int) -> str:
    """A member needs more time."""
    lock = seconds(lock_ms)
    return (
        f"{who} needs more time for {listed(what)}, and renews the lock: it lasts"
        f" {lock} from now on."
    )


def ran_out(who: str, batch: Batch, lock_ms: int, most_deliveries: int) -> str:
    """The sentence for locks that have expired."""
    what = span(batch.first, batch.last)
    then = "the next member that asks gets it"
    if STATES[batch.state] == ARCHIVED:
        then = (
            f"this was delivery {batch.times} of at most {most_deliveries}, so it is"
            " archived"
        )
    return (
        f"{who} has said nothing about {what} for {seconds(lock_ms)}. The lock has"
        f" expired: {then}."
    )


def catches_up(was: int, offset: int) -> str:
    """The start offset passes a record that it had waited for."""
    return (
        f"The start offset moves from {was} to {offset} at once. It had waited for"
        f" record {was}; the records behind that one had not."
    )


def refused(
    who: str, batches: Sequence[Sequence[int | str]], error: str, since: str
) -> str:
    """The sentence for an acknowledgement that doesn't count. since: the member that
    has had the record since.
    """
    what = listed(span(int(first), int(last)) for first, last, _ in batches)
    verbs = listed(sorted({f"{said}s" for _, _, said in batches}))
    if error != TOO_LATE:
        return f"{who} {verbs} {what}, but that doesn't count: {error}."
    why = "Its lock had expired"
    if since != who:
        why += f", and {since} has had it since"
    return f"{who} {verbs} {what} too late: {error}. {why}."


def took(group: str, ms: int, members: int) -> str:
    """How long a group was at work, and how many members had something to do."""
    return (
        f"Group {group} took {seconds(ms)}, with {counted(members, 'member')} at work."
    )
