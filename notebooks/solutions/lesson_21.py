"""Lesson 21, around Kafka: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson


# %% exercise 1
def my_join(task):
    """One life of a task."""
    cities = {}
    for record in task.changelog():  # a table is a log read to its end
        cities[record.key] = record.value
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
            task.send("changelog", record.key, record.value)
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()  # what was sent and the offset: both, or neither


# %% exit ticket
lesson("21").exit_ticket(1, 3, 3, 2, 2)
