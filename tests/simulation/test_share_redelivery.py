"""Why three brokers deliver records of a share group again more often than one does
(KIP-932).

A member asks every broker that leads partitions of its, at the same time. Each of them
knows of its own answer only, so each gives it up to max.poll.records, or the whole
batch that they lie in. The lock of all these records runs from when they were acquired,
also while they wait in the member behind another broker's. So a member that is in time
with one broker's records is late with the third's: their locks end, and their
deliveries count. One broker gives such a member one batch and waits until it asks again.

KIP-1206's record_limit asks one broker at a time: three brokers are then like one.
"""

import pytest

from tests.clients_sim.share_groups import LOCK_MS, events, member, sharing

PARTITIONS, BATCH = 3, 10
WORK_MS = 300  # for one record: one batch takes 3 s, two take longer than a lock


def deliveries(brokers, acquire_mode="batch_optimized", latency_ms=(1, 3)):
    """{partition: [how often each record was delivered]}, as the brokers count."""
    cluster = sharing(PARTITIONS, brokers=brokers, latency_ms=latency_ms)
    with cluster:
        producer = cluster.producer()
        for number in range(PARTITIONS * BATCH):
            producer.send("orders", value=str(number), partition=number % PARTITIONS)
        producer.close()
        worker = member(
            cluster, max_poll_records=BATCH // 2, share_acquire_mode=acquire_mode
        )
        for _ in range(3 * PARTITIONS):
            for records in worker.poll(timeout_ms=2000).values():
                cluster.sleep(len(records) * WORK_MS / 1000)
        worker.close()
    counts = {number: [0] * BATCH for number in range(PARTITIONS)}
    for event in events(cluster, "ShareRecordsAcquired"):
        for first, last, count in event.detail["batches"]:
            of_partition = counts[event.detail["partition"]]
            of_partition[first : last + 1] = [count] * (last - first + 1)
    return counts


ONCE = {number: [1] * BATCH for number in range(PARTITIONS)}


@pytest.mark.parametrize("latency_ms", [(1, 3), (40, 60)])
def test_kip_932_a_member_has_an_answer_of_each_broker_and_all_locks_run(latency_ms):
    """Slow links change nothing: no lock ends because a state is written slowly."""
    assert WORK_MS * BATCH < LOCK_MS < 2 * WORK_MS * BATCH
    assert deliveries(1, latency_ms=latency_ms) == ONCE
    again = deliveries(3, latency_ms=latency_ms)
    assert max(max(counts) for counts in again.values()) == 2


def test_kip_1206_with_a_record_limit_a_member_asks_one_broker_at_a_time():
    assert deliveries(3, "record_limit") == ONCE
