"""Lesson 23, write a Kafka: the solved edition has the minimal Kafka judged in place of
the learner's file.
"""

from minikafka import lesson

# %% file
from minikafka.course.experiments.lesson_23_kafka import MINIMAL_KAFKA

mine = MINIMAL_KAFKA  # notebooks/solutions/minimal_kafka.py

# %% exercise 1
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Broker.answer, Broker.api_versions
lesson("23").check(1, mine)

# %% exercise 2
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Broker.metadata, Broker.init_producer_id
lesson("23").check(2, mine)

# %% exercise 3
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Log.append, Broker.produce, by_topic
lesson("23").check(3, mine)

# %% exercise 4
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Log.read, Broker.fetch, Broker.list_offsets
lesson("23").check(4, mine)

# %% exercise 5
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Log.load, Broker.__init__
lesson("23").check(5, mine)

# %% exercise 6
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Broker.__init__, Broker.offset_commit,
# Broker.offset_fetch
lesson("23").check(6, mine)

# %% exercise 7
# For my_kafka.py stands notebooks/solutions/minimal_kafka.py:
# Group, Broker.join_group, Broker.sync_group
lesson("23").check(7, mine)

# %% exit ticket
lesson("23").exit_ticket(2, 3, 1, 2, 3)
