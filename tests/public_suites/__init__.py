"""Other people's Kafka tests on minikafka: python -m tests.public_suites --help"""
