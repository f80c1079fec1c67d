"""Lesson 16, operating a cluster: one solution an exercise. Each part replaces the stub in
the solved edition.
"""

from minikafka import lesson


# %% exercise 1
def health(lines, min_isr):
    """Partition -> its word, from the lines of kafka-topics.sh --describe."""
    found = {}
    for line in lines:
        columns = {}
        for column in line.strip().split("\t"):
            name, _, value = column.partition(":")
            columns[name] = value.strip()
        if "Partition" not in columns:
            continue  # the line about the topic
        replicas = columns["Replicas"].split(",")
        in_sync = [broker for broker in columns["Isr"].split(",") if broker]
        if columns["Leader"] == "none":
            word = "no leader"
        elif len(in_sync) < min_isr:
            word = "refuses acks=all"
        elif len(in_sync) < len(replicas):
            word = "copies missing"
        else:
            word = "fine"
        found[int(columns["Partition"])] = word
    return found


# %% exercise 2
def retire(replicas, broker, brokers):
    """Partition -> its new replicas, so that the broker can go."""
    count = dict.fromkeys(brokers, 0)
    for there in replicas.values():
        for each in there:
            count[each] += 1
    plan = {}
    for partition in sorted(replicas):
        there = replicas[partition]
        if broker not in there:
            continue
        able = [each for each in brokers if each not in there]
        if not able:
            raise ValueError(f"partition {partition}: no broker is left for it")
        new = min(able, key=lambda each: (count[each], each))
        count[new] += 1
        plan[partition] = [new if each == broker else each for each in there]
    return plan


# %% exit ticket
lesson("16").exit_ticket(2, 2, 1, 3, 2)
