"""The words of the transaction's picture that need nothing but the event, and its
requests in plain words.
"""

from minikafka.theatre.play import Says

ASKS = {
    "InitProducerId": "asks the coordinator for a producer id and an epoch",
    "AddPartitionsToTxn": (
        "tells the coordinator which partitions the transaction will write to"
    ),
    "Produce": "sends records",
    "AddOffsetsToTxn": (
        "tells the coordinator that the transaction will commit offsets of a group"
    ),
    "TxnOffsetCommit": "sends the group's offsets to the group's coordinator",
    "EndTxn": "asks the coordinator to end the transaction",
}
WHY_ABORTED = {
    "producer_aborts": "its producer asked for it",
    "producer_came": "another producer came with its transactional id",
    "transaction_timeout": "its producer took longer than its timeout",
}
SAYS = {
    "OffsetPending": Says(
        "The group's coordinator has offset {offset} of {topic}-{partition} for group"
        " {group}. It is pending: it counts only if the transaction commits.",
        mark=("coordinator", "offset pending"),
    ),
    "PendingOffsetCommitted": Says(
        "Offset {offset} of {topic}-{partition} now counts for group {group}: the"
        " transaction brought it.",
        mark=("coordinator", "offset counts"),
    ),
    "ProducerFenced": Says(
        "{who} is refused: its epoch is {producer_epoch}, and {newest_epoch} is the"
        " newest. It is a zombie, so it is fenced.",
        "a zombie is fenced",
        True,
        mark=("producer {who}", "fenced", True),
    ),
    "BatchRefused": Says(
        "The leader of {topic}-{partition} refuses a batch: {error}.",
        "a batch is refused",
        True,
    ),
    "NodeCrashed": Says(
        "{Node} crashes. What it had open stays open.", "{node} crashes", True
    ),
    "NodeFrozen": Says(
        "{Node} is frozen. What it has open stays open.", "{node} is frozen", True
    ),
    "NodeThawed": Says(
        "{Node} goes on, and doesn't know what has happened meanwhile.",
        "{node} goes on",
    ),
    "NodeRestarted": Says("{Node} is back.", "{node} is back"),
    "ClientClosed": Says("{Node} closes."),
}
