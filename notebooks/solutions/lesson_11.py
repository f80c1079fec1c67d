"""Lesson 11, the control plane: one solution an exercise. Each part replaces the stub
in the solved edition.
"""

from minikafka import lesson


# %% exercise 2
def my_image(snapshot, log, high_watermark):
    """The cluster as the records say: all of the snapshot, then what is committed of
    the log.
    """
    brokers, names, partitions = {}, {}, {}
    committed = [
        (name, fields) for offset, name, fields in log if offset < high_watermark
    ]
    for name, fields in [*snapshot, *committed]:
        if name == "RegisterBrokerRecord":
            brokers[fields["broker_id"]] = "fenced" if fields["fenced"] else "unfenced"
        elif name == "BrokerRegistrationChangeRecord" and "fenced" in fields:
            brokers[fields["broker_id"]] = (
                "fenced" if fields["fenced"] == 1 else "unfenced"
            )
        elif name == "UnregisterBrokerRecord":
            del brokers[fields["broker_id"]]
        elif name == "TopicRecord":
            names[fields["topic_id"]] = fields["name"]
        elif name == "RemoveTopicRecord":
            del names[fields["topic_id"]]
        elif name == "PartitionRecord":
            state = {key: fields[key] for key in ("leader", "leader_epoch", "isr")}
            partitions[fields["topic_id"], fields["partition_id"]] = state
        elif name == "PartitionChangeRecord":
            state = partitions[fields["topic_id"], fields["partition_id"]]
            if "leader" in fields:  # a new leadership, even of the same broker
                state["leader"] = fields["leader"]
                state["leader_epoch"] += 1
            if "isr" in fields:
                state["isr"] = fields["isr"]
    # Partitions go by topic id: a topic of the same name may be another topic.
    there = {
        (names[topic], number): state
        for (topic, number), state in partitions.items()
        if topic in names
    }
    return {"brokers": brokers, "partitions": there}


# %% exit ticket
lesson("11").exit_ticket(1, 1, 3, 3, 2)


# %% exercise 1
def my_vote(me, request):
    """One vote an epoch, and only for a log that is at least as long."""
    if request["epoch"] < me["epoch"]:
        return False, me
    note = dict(me)
    if request["epoch"] > me["epoch"]:
        # a new epoch begins, whatever I answer, and I have not voted in it
        note |= {"epoch": request["epoch"], "voted_for": None}
    free = note["voted_for"] is None or note["voted_for"] == request["candidate"]
    # tuples: first the epoch of the last record, then the number of records
    if not free or request["log"] < note["log"]:
        return False, note
    return True, note | {"voted_for": request["candidate"]}
