"""The picture at the top of lesson 13: a transaction over two partitions is open, and
its producer asks to end it.
"""

from minikafka.course.experiments.lesson_13_runs import one_broker, paying, reader
from minikafka.theatre.drawing import WIDE


def nobody_knows_how_it_ends(width: int = WIDE) -> str:
    """SVG: the request that ends the transaction has left. The lesson says what it
    decides, and who reads what.
    """
    with one_broker() as cluster:
        readers = []
        for name in ("uncommitted", "committed"):
            readers.append(reader(cluster, name, f"read_{name}"))
        shop = paying(cluster)
        shop.begin_transaction()
        shop.send("payments", value="alice -20", partition=0)
        shop.send("payments", value="bob +20", partition=1)
        shop.commit_transaction()
        for each in readers:
            each.poll(timeout_ms=500)
        played = cluster.play("transaction")
        for scene in played.scenes:
            if "EndTxn" in scene["sentence"]:
                return played.svg(scene["step"], width)
    raise AssertionError("nobody asked to end the transaction")
