"""A notebook: a group of two members on six partitions, and two of its pictures with
levers; one whose bytes can be changed; a sentence with a dial; an answer to be dragged.
"""

import nbformat

RUN = """
from minikafka import Cluster
from minikafka.course import levers

cluster = Cluster(seed=7)
cluster.create_topic("orders", partitions=6)

def sell(cluster, shop):
    while True:
        shop.send("orders", value="order")
        cluster.sleep(0.5)

def bill(consumer):
    for _ in consumer:
        pass

cluster.start(sell, cluster, cluster.producer(client_id="shop"))
for letter in "AB":
    cluster.start(bill, cluster.consumer("orders", group_id="billing", client_id=f"consumer {letter}"))
cluster.run(seconds=30)
"""
SHOW = "levers.rebalance(cluster, since_ms=3000)"
SHOW_LOG = 'levers.hands(cluster, "log", partitions=[0])'
SHOW_BYTES = """
from minikafka.course.experiments.lesson_12_frames import levers as frames

frames()
"""
SHOW_DIALS = """
def run(seconds):
    cluster = Cluster(seed=1)
    cluster.create_topic("orders")
    for number in range(3):
        cluster.producer(client_id="shop").send("orders", value=f"order {number}")
        cluster.run(seconds=seconds)
    return cluster.play("log")

levers.dials("The shop sends an order every {seconds} s.", run, seconds=(2, range(1, 10)))
"""
ASK = """
from minikafka import predict
from minikafka.prediction import Dragged, Stretch

def sells(trace):
    sent = [event.at for event in trace if event.kind == "RecordSent"]
    return Stretch(sent[0], sent[-1]) if len(sent) == 60 else None

q = predict("For how long does it sell?", ["10 s", "30 s"])
cluster.play(q, "lag", surprise=lambda event: event.at > 10_000, answer=Dragged(sells, [10_000, 30_000]))
"""
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
}


CELLS = (RUN, SHOW, SHOW_LOG, SHOW_BYTES, SHOW_DIALS, ASK)


def a_group_with_levers(folder):
    """Write it; returns its name."""
    cells = [
        *map(nbformat.v4.new_code_cell, CELLS),
        nbformat.v4.new_markdown_cell("After."),
    ]
    nbformat.write(
        nbformat.v4.new_notebook(metadata=KERNEL, cells=cells), folder / "levers.ipynb"
    )
    return "levers.ipynb"
