"""One file an API: what it does, which versions, one function.

`handle(broker, request, now)` returns the answer's fields, None where the protocol knows no answer, or a Wait. A
KafkaError it raises becomes the answer's top-level error code. ApiVersions advertises what stands in this table.
"""

from __future__ import annotations

from types import ModuleType

from minikafka.broker.handlers import (
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
)

HANDLERS: dict[int, ModuleType] = {
    handler.KEY: handler
    for handler in (
        produce,
        fetch,
        list_offsets,
        metadata,
        offset_commit,
        offset_fetch,
        find_coordinator,
        join_group,
        heartbeat,
        leave_group,
        sync_group,
        describe_groups,
        list_groups,
        api_versions,
        create_topics,
        delete_topics,
        delete_records,
        init_producer_id,
        offset_for_leader_epoch,
        describe_configs,
        create_partitions,
        delete_groups,
        incremental_alter_configs,
        offset_delete,
        describe_cluster,
        consumer_group_heartbeat,
        consumer_group_describe,
        describe_topic_partitions,
    )
}
