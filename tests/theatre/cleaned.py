"""Compacted topics: moves of an address book, a tombstone that goes in two passes, and
transactions with their markers.
"""

from functools import cache

from minikafka.course.experiments.lesson_08_runs import (
    DAY_S,
    HOUR_MS,
    HOUR_S,
    MOVERS,
    TOPIC,
    Search,
    address_book,
    search_that_was_away,
    write,
)


@cache
def moves():
    """Twelve moves of four customers, and a reader that is away for most of them."""
    pairs = [(name, f"house {number}") for number, name in enumerate(MOVERS)]
    cluster = address_book(segment_ms=HOUR_MS)
    write(cluster, *pairs[:3], every_s=HOUR_S / 3)
    search = Search(cluster)
    search.read()
    write(cluster, *pairs[3:], every_s=HOUR_S / 3)
    search.read()
    return list(cluster.trace)


@cache
def tombstone():
    """Alice is deleted, and the tombstone goes after a day."""
    search, _ = search_that_was_away(days=3)
    return list(search.cluster.trace)


@cache
def transactions():
    """One is committed, one aborted; all their records are written again, so that the
    markers go, too.
    """
    cluster = address_book(segment_ms=HOUR_MS, min_cleanable_dirty_ratio=0.1)
    shop = cluster.producer(client_id="shop", transactional_id="shop")
    shop.init_transactions()
    for address, ends in (("1 Oak Road", "commit"), ("2 Oak Road", "abort")):
        shop.begin_transaction()
        shop.send(TOPIC, key="alice", value=address).get()
        getattr(shop, f"{ends}_transaction")()
    for number in range(3, 6):
        cluster.run(seconds=DAY_S + HOUR_S)
        write(cluster, ("alice", f"{number} Oak Road"))
    cluster.run(seconds=DAY_S)
    return list(cluster.trace)
