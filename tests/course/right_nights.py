"""One natural right variant for each of lesson 22's nights, other than its solution:
the cause that is named, and lines as `act` takes them; a number is minutes of waiting.
"""

ENV = "kubectl set env deployment/{} {}"
SCALE = "kubectl scale deployment/{} --replicas={}"
RESET = "kafka-consumer-groups.sh --bootstrap-server kafka-1:9092 --reset-offsets"
CONFIG = "kafka-configs.sh --bootstrap-server kafka-1:9092 --alter"

RIGHT = {
    "night-01": (2, [ENV.format("billing", "max.poll.interval.ms=300000"), 12]),
    "night-02": (
        3,
        [
            SCALE.format("billing", 0),
            1,  # a pod that died is a member until its session ends
            f"{RESET} --group billing --topic orders:1 --to-offset 28 --execute",
            SCALE.format("billing", 3),
            5,
        ],
    ),
    "night-03": (1, [ENV.format("shop", "key=order"), SCALE.format("billing", 6), 22]),
    "night-04": (
        4,
        [
            SCALE.format("billing", 0),
            ENV.format("billing", "commit=after"),
            f"{RESET} --group billing --all-topics --to-earliest --execute",
            SCALE.format("billing", 2),
            8,
        ],
    ),
    "night-05": (
        2,
        [f"{CONFIG} --topic orders --add-config min.insync.replicas=2", 15],
    ),
    "night-06": (1, [ENV.format("shop", "acks=-1"), 11]),
    "night-07": (3, [7, "ssh kafka-2 sudo systemctl start kafka", 4]),
    "night-08": (
        2,
        [
            f"{CONFIG} --topic clicks-debug --add-config retention.ms=120000",
            "lvextend -r -L +400K /dev/data/kafka-2",
            "systemctl start kafka-2",
            5,
        ],
    ),
    "night-09": (3, ["kubectl rollout restart deployment/payouts", 4]),
    "night-10": (
        2,
        [f"{CONFIG} --topic orders --add-config retention.ms=86400000", 15],
    ),
    "night-11": (
        4,
        [
            SCALE.format("billing", 0),
            f"{RESET} --group billing --topic orders --to-datetime"
            " 2026-01-01T00:06:00.000 --execute",
            ENV.format("billing", "auto.offset.reset=earliest"),
            SCALE.format("billing", 2),
            4,
        ],
    ),
    "night-12": (1, ["ssh kafka-2 systemctl restart kafka", 5]),
    "night-13": (
        3,
        [
            "systemctl stop kafka-2",  # others lead its partitions, and let clients in
            "systemctl start kafka-2",
            f"{CONFIG} --broker 2 --add-config listener.name.clients.ssl.keystore"
            ".location=/etc/kafka/ssl/broker-2026.pem",
            8,
        ],
    ),
}
