"""Settings of brokers that `serve` starts, where they differ from Kafka's: serve --help
says why.
"""

MOST_VOTERS = 3  # of the metadata quorum; other brokers only follow it
PROPERTIES = {"group.initial.rebalance.delay.ms": "0"}
# a broker that has gone is noticed within two seconds instead of nine
PROPERTIES_OF_MANY = {
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "50",
    "controller.quorum.fetch.timeout.ms": "900",
    "replica.fetch.backoff.ms": "100",
    "replica.lag.time.max.ms": "5000",
}
