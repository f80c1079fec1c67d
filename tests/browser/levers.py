"""A notebook of four cells: a group of two members on six partitions, and two of its
pictures with levers; and one whose bytes can be changed.
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
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
}


def a_group_with_levers(folder):
    """Write it; returns its name."""
    cells = [
        *map(nbformat.v4.new_code_cell, (RUN, SHOW, SHOW_LOG, SHOW_BYTES)),
        nbformat.v4.new_markdown_cell("After."),
    ]
    nbformat.write(
        nbformat.v4.new_notebook(metadata=KERNEL, cells=cells), folder / "levers.ipynb"
    )
    return "levers.ipynb"
