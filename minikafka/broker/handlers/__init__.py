"""One file an API: what it does, which versions, one function.

`handle(broker, request, now)` returns the answer's fields, None where the protocol knows no answer, or a Wait. A
KafkaError it raises becomes the answer's top-level error code. ApiVersions advertises what stands in this table.
"""

from __future__ import annotations

from types import ModuleType

from minikafka.broker.handlers import (
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)

HANDLERS: dict[int, ModuleType] = {
    handler.KEY: handler
    for handler in (
        produce,
        fetch,
        list_offsets,
        metadata,
        find_coordinator,
        api_versions,
        create_topics,
        delete_topics,
        delete_records,
        init_producer_id,
        describe_configs,
        create_partitions,
        incremental_alter_configs,
        describe_cluster,
        describe_topic_partitions,
    )
}
