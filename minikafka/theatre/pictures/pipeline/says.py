"""The words of the pipeline's picture: what it says of each kind of event, the parts of
sentences that depend on what happened before, and the names of its lanes.
"""

from minikafka.theatre.play import Says
from minikafka.theatre.text import capital

SEND, REQUESTS, LOG, ANSWERS = "send", "requests", "log", "answers"
SAYS = {
    "TopicCreated": Says("Topic {topic} is created. Its log is empty."),
    "TopicDeleted": Says(
        "Topic {topic} is deleted, with all its records.", "topic deleted"
    ),
    "BatchFilled": Says(
        "The batch with {batch} is full: {many}, {size_bytes} bytes. It doesn't have"
        " to linger.",
        first="a full batch",
        mark=(SEND, "full"),
    ),
    "DuplicateRecognized": Says(
        "The broker knows {batch}: this producer's sequence number"
        " {base_sequence} is at offset {base_offset}. It writes nothing and answers as"
        " it did before.",
        first="recognised",
        mark=(LOG, "known"),
    ),
    "BatchRefused": Says(
        "The broker refuses {batch} with {error}: {message}.",
        trouble=True,
        first="{error}",
        mark=(LOG, "refused", True),
    ),
    "RecordsAcknowledged": Says(
        "{node} hears that {batch} is written{where}.",
        first="acknowledged",
        mark=(ANSWERS, "ok"),
    ),
    "BatchRetried": Says(
        "{reason_why}{unsure} takes {batch} back{where} to try again in {backoff_ms} ms"
        " or later.{turned}",
        first="taken back",
        mark=(ANSWERS, "none", True),
    ),
    "SendFailed": Says(
        "{node} gives up on {batch}: {reason_why}. The program is told that it failed."
        "{but}",
        trouble=True,
        first="given up",
        mark=(ANSWERS, "failed", True),
    ),
    "RequestSent": Says(
        "{node} tries to open another connection. No answer comes: the network is"
        " still cut.",
        first="no connection",
        trouble=True,
        mark=(REQUESTS, "?", True),
    ),
    "NodeCrashed": Says("{node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeFrozen": Says(
        "{node} is frozen: it does nothing and hears nothing.", "{node} is frozen"
    ),
    "NodeThawed": Says("{node} goes on.", "{node} goes on"),
    "LinkCut": Says(
        "The network between {one} and {other} is cut: nothing gets through.",
        "the network is cut",
        True,
    ),
    "LinkHealed": Says(
        "The network between {one} and {other} heals: what was held back arrives.",
        "it heals",
    ),
}


def begins(linger_ms: int | None) -> str:
    if not linger_ms:
        return "starts a batch"
    return f"starts a batch, which lingers up to {linger_ms} ms for more"


def leaves(what: str, *, why: str, attempt: int, is_before_others: bool) -> str:
    """A batch leaves the buffer, at the first attempt or a later one."""
    who = f"The batch with {what}"
    if attempt == 1:
        return f"{who} leaves: {why}."
    if is_before_others:
        who += ", the first in the buffer,"
    return f"{who} leaves again: attempt {attempt}."


def unsure(producer: str, reason: str, *, is_in_front: bool) -> str:
    """What the producer can't know about a batch that it takes back. is_in_front:
    before other batches.
    """
    who = capital(producer)
    if reason == "refused":
        return f", which may pass. {who}"
    if is_in_front:
        return f". {who}"
    return f". Written or not? {who} can't tell. It"


def all_turned(count: int) -> str:
    if not count:
        return ""
    return f" All {count} are back, the last one in front."


def done_where(base_offset: int, many: int) -> str:
    """Where this many acknowledged records are; with acks=0 no answer says."""
    if base_offset < 0:
        return ""
    where = f", from offset {base_offset} on"
    if many == 1:
        where = f" at offset {base_offset}"
    return f"{where}, and tells the program: done"
