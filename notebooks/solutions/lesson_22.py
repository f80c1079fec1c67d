"""Lesson 22, on call: one play an incident. Each part replaces the cell in the solved
edition; what is asked shows enough to know what to do.
"""

from minikafka import lesson
from minikafka.course.on_call import on_call

# %% exercise 1
incident = on_call("night-01")
incident.ask("kafka-consumer-groups --describe --group billing --state")
incident.ask("kubectl logs deployment/billing")  # no poll for 60 s
incident.ask("kubectl set env deployment/billing --list")  # 100 records of 2 s
incident.cause(2)
incident.act("kubectl set env deployment/billing max.poll.records=10")
incident.wait(minutes=12)
lesson("22").check(1, incident)

# %% exercise 2
incident = on_call("night-02")
incident.ask("kafka-consumer-groups --describe --group billing")
incident.ask("kubectl logs deployment/billing")  # orders-1 offset 27
incident.ask(
    "kafka-console-consumer --topic orders --partition 1 --offset 27 --max-messages 1"
)
incident.cause(3)
incident.act("kubectl set env deployment/billing on.error=dead-letter")
incident.wait(minutes=5)
lesson("22").check(2, incident)

# %% exercise 3
incident = on_call("night-03")
incident.ask("kafka-consumer-groups --describe --group billing")
incident.ask(
    "kafka-console-consumer --topic orders --partition 1 --offset 80 --max-messages 5"
    " --formatter-property print.key=true"
)
incident.ask("kubectl set env deployment/shop --list")  # key=customer
incident.cause(1)
incident.act("kubectl set env deployment/shop key=order")
incident.wait(minutes=22)
lesson("22").check(3, incident)

# %% exercise 4
incident = on_call("night-04")
incident.ask("kafka-consumer-groups --describe --group billing")  # no lag
incident.ask("kubectl get pods")
incident.ask("kubectl describe pod billing-a1")  # OOMKilled
incident.ask("kubectl set env deployment/billing --list")  # commit=before, once=true
incident.cause(4)
incident.act("kubectl set env deployment/billing commit=after")
incident.act("kubectl scale deployment/billing --replicas 0")
incident.act(
    "kafka-consumer-groups --reset-offsets --group billing --topic orders"
    " --by-duration PT20M --execute"
)
incident.act("kubectl scale deployment/billing --replicas 2")
incident.wait(minutes=8)
lesson("22").check(4, incident)

# %% exercise 5
incident = on_call("night-05")
incident.ask("kafka-topics --describe --topic orders")  # led, ISR of two
incident.ask("journalctl kafka-1")  # NOT_ENOUGH_REPLICAS
incident.cause(2)
incident.act(
    "kafka-configs --alter --entity-type topics --entity-name orders"
    " --add-config min.insync.replicas=2"
)
incident.wait(minutes=15)
lesson("22").check(5, incident)

# %% exercise 6
incident = on_call("night-06")
incident.ask("journalctl kafka-1")  # truncated
incident.ask("kafka-configs --describe --entity-type topics --entity-name orders")
incident.ask("kubectl set env deployment/shop --list")  # acks=1
incident.cause(1)
incident.act("kubectl set env deployment/shop acks=all")
incident.wait(minutes=11)
lesson("22").check(6, incident)

# %% exercise 7
incident = on_call("night-07")
incident.ask("kafka-topics --describe --topic orders")  # Elr: 2
incident.ask("systemctl status kafka-2")
incident.cause(3)
incident.wait(minutes=6)
incident.act("systemctl start kafka-2")
incident.wait(minutes=4)
lesson("22").check(7, incident)

# %% exercise 8
incident = on_call("night-08")
incident.ask("journalctl kafka-2")  # No space left on device
incident.ask("du kafka-1")
incident.ask("kafka-configs --describe --entity-type topics --entity-name clicks-debug")
incident.cause(2)
incident.act(
    "kafka-configs --alter --entity-type topics --entity-name clicks-debug"
    " --add-config retention.ms=60000"
)
incident.act("lvextend --resizefs --size +500K kafka-2")
incident.act("systemctl start kafka-2")
incident.wait(minutes=4)
lesson("22").check(8, incident)

# %% exercise 9
incident = on_call("night-09")
incident.ask("kafka-consumer-groups --describe --group ledger")
incident.ask("kubectl set env deployment/ledger --list")  # read_committed
incident.ask("kafka-transactions list")
incident.ask("kafka-transactions describe --transactional-id payouts")
incident.cause(3)
incident.act("kafka-transactions forceTerminateTransaction --transactionalId payouts")
incident.ask("kubectl logs deployment/payouts")  # nothing since 00:05
incident.act("kubectl rollout restart deployment/payouts")
incident.wait(minutes=4)
lesson("22").check(9, incident)

# %% exercise 10
incident = on_call("night-10")
incident.ask("kafka-configs --describe --entity-type topics --entity-name orders")
incident.ask("kafka-get-offsets --topic orders --time earliest")  # nothing is gone yet
incident.cause(2)
incident.act(
    "kafka-configs --alter --entity-type topics --entity-name orders"
    " --add-config retention.ms=7200000"
)
incident.wait(minutes=15)
lesson("22").check(10, incident)

# %% exercise 11
incident = on_call("night-11")
incident.ask("kafka-get-offsets --topic orders")  # small again
incident.ask("kubectl logs deployment/billing")  # reset to the end
incident.ask("journalctl kafka-1")
incident.cause(4)
incident.act("kubectl set env deployment/billing auto.offset.reset=earliest")
incident.act("kubectl scale deployment/billing --replicas 0")
incident.act(
    "kafka-consumer-groups --reset-offsets --group billing --topic orders"
    " --to-earliest --execute"
)
incident.act("kubectl scale deployment/billing --replicas 2")
incident.wait(minutes=4)
lesson("22").check(11, incident)

# %% exercise 12
incident = on_call("night-12")
incident.ask("kafka-metadata-quorum describe --status")  # no answer
incident.ask("kafka-topics --describe --topic orders")
incident.ask("systemctl status kafka-2")
incident.cause(1)
incident.act("systemctl start kafka-2")
incident.wait(minutes=5)
lesson("22").check(12, incident)

# %% exercise 13
incident = on_call("night-13")
incident.ask("kubectl logs deployment/shop")  # node 2, SSL handshake failed
incident.ask("openssl s_client -connect kafka-2:9094 -CAfile /etc/kafka/ssl/ca.pem")
incident.ask("kafka-configs --describe --entity-type brokers")  # 1 and 3, not 2
incident.ask(
    "ssh kafka-2 openssl x509 -noout -enddate -in /etc/kafka/ssl/broker-2026.pem"
)
incident.cause(3)
incident.act(
    "kafka-configs --alter --entity-type brokers --entity-name 2 --add-config"
    " listener.name.clients.ssl.keystore.location=/etc/kafka/ssl/broker-2026.pem"
)
incident.wait(minutes=4)
lesson("22").check(13, incident)

# %% exit ticket
lesson("22").exit_ticket(3, 1, 3, 2, 2)
