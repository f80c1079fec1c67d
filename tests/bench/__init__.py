"""The same clients against minikafka and a one-node Apache Kafka: `make bench`."""
