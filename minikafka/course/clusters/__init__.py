"""Real Kafka clusters, as the lessons meet them.

docker/compose.yaml describes three brokers of Apache Kafka. compose.py reads that
file; jvm_cluster.py starts the same brokers without Docker, with the same settings.
reachable.py asks one address which brokers are there, and gives up soon.
"""
