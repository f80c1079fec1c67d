"""Lesson 23, write a Kafka: in the solved edition the checks judge the minimal Kafka
instead of the learner's file.
"""

from minikafka import lesson

# %% file
from minikafka.course.experiments.lesson_23_kafka import MINIMAL_KAFKA

mine = MINIMAL_KAFKA  # notebooks/solutions/minimal_kafka.py

# %% exercise 1
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Broker.answer, Broker.api_versions
lesson("23").check(1, mine)

# %% exercise 2
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Broker.metadata, Broker.init_producer_id
lesson("23").check(2, mine)

# %% exercise 3
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Log.append, Broker.produce, by_topic
lesson("23").check(3, mine)

# %% exercise 4
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Log.read, Broker.fetch, Broker.list_offsets
lesson("23").check(4, mine)

# %% exercise 5
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Log.recover, Broker.__init__
lesson("23").check(5, mine)

# %% exercise 6
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# CommittedOffsets, Broker.find_coordinator,
# Broker.offset_commit, Broker.offset_fetch
lesson("23").check(6, mine)

# %% exercise 7
# Instead of my_kafka.py, notebooks/solutions/minimal_kafka.py:
# Group, Broker.join_group, Broker.sync_group,
# Broker.heartbeat, Broker.leave_group
lesson("23").check(7, mine)

# %% exit ticket
lesson("23").exit_ticket(3, 2, 1, 3, 2)
