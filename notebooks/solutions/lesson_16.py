"""Lesson 16, a real cluster: one solution an exercise. Each part replaces the stub in
the solved edition.
"""

import json

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
def into_table(records):
    """(table, counts): name -> row, and op -> how many changes."""
    table, counts, counted = {}, {}, set()
    for key, value in records:
        name, change = key.decode(), None if value is None else json.loads(value)
        if change is None or change["after"] is None:
            table.pop(name, None)
        else:
            table[name] = change["after"]
        if change is not None and change["lsn"] not in counted:
            counted.add(change["lsn"])
            counts[change["op"]] = counts.get(change["op"], 0) + 1
    return table, counts


# %% exit ticket
lesson("16").exit_ticket(2, 1, 3, 2, 1)
