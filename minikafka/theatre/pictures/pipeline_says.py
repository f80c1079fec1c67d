"""The words of the pipeline's picture that need nothing but the event, and the names of
its lanes.
"""

from minikafka.theatre.play import Says

SEND, REQUESTS, LOG, ANSWERS = "send", "requests", "log", "answers"
SAYS = {
    "TopicCreated": Says("Topic {topic} is created. Its log is empty."),
    "TopicDeleted": Says(
        "Topic {topic} is deleted, with all its records.", "topic deleted"
    ),
    "BatchFilled": Says(
        "The batch with {batch} is full: {many}, {size_bytes} bytes. It need not"
        " linger.",
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
        "{node} gives {batch} up: {reason_why}. The program is told that it failed."
        "{but}",
        trouble=True,
        first="given up",
        mark=(ANSWERS, "failed", True),
    ),
    "NodeCrashed": Says("{node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeFrozen": Says(
        "{node} stands still: it does nothing and hears nothing.", "{node} stands still"
    ),
    "NodeThawed": Says("{node} goes on.", "{node} goes on"),
    "LinkCut": Says(
        "The network between {one} and {other} is cut: nothing passes.",
        "the network is cut",
        True,
    ),
    "LinkHealed": Says(
        "The network between {one} and {other} heals: what was held back arrives.",
        "it heals",
    ),
}
