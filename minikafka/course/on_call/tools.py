"""The tools for asking and for acting: one table."""

import re
from collections.abc import Callable

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.course.on_call import (
    metrics,
    tools_configs,
    tools_console,
    tools_groups,
    tools_machines,
    tools_nodes,
    tools_pods,
    tools_topics,
    tools_transactions,
)
from minikafka.course.on_call.commands import Tool, found
from minikafka.course.on_call.mishaps import mishap
from minikafka.course.on_call.usage import Given, Refused, Usage
from minikafka.course.on_call.world import World
from minikafka.wire.errors import KafkaError

Run = Callable[[World, Given], str]

ASKED: dict[str, Run] = {
    "kafka-topics --list": tools_topics.topic_names,
    "kafka-topics --describe [--topic TOPIC] [--exclude-internal]"
    " [--under-replicated-partitions] [--unavailable-partitions]"
    " [--under-min-isr-partitions] [--at-min-isr-partitions]": (
        tools_topics.describe_topics
    ),
    "kafka-get-offsets --topic TOPIC [--partitions NUMBERS] [--time WHEN]": (
        tools_topics.get_offsets
    ),
    "kafka-console-consumer --topic TOPIC [--partition N] [--offset N]"
    " [--from-beginning] [--max-messages N] [--timeout-ms MS]"
    " [--isolation-level LEVEL] [--formatter-property PAIRS] [--property PAIRS]": (
        tools_console.consume
    ),
    "kafka-configs --describe --entity-type KIND --entity-name NAME [--all]": (
        tools_configs.describe_configs
    ),
    "kafka-consumer-groups --list [--state]": tools_groups.listed,
    "kafka-consumer-groups --describe [--group GROUP] [--all-groups] [--offsets]"
    " [--members] [--verbose] [--state]": tools_groups.describe,
    "kafka-log-dirs --describe [--topic-list TOPICS] [--broker-list BROKERS]": (
        tools_nodes.log_dirs
    ),
    "kafka-metadata-quorum describe --status": tools_nodes.quorum_status,
    "kafka-metadata-quorum describe --replication [--human-readable]": (
        tools_nodes.quorum_replication
    ),
    "kafka-transactions list": tools_transactions.list_transactions,
    "kafka-transactions describe --transactional-id ID": (
        tools_transactions.describe_transaction
    ),
    "kafka-transactions describe-producers --topic TOPIC --partition N": (
        tools_transactions.describe_producers
    ),
    "kafka-transactions find-hanging [--broker-id N] [--topic TOPIC] [--partition N]"
    " [--max-transaction-timeout MIN]": tools_transactions.find_hanging,
    "metrics [--minutes N] [--names]": metrics.metrics,
    "kubectl get pods [POD] [--output wide]": tools_pods.pods,
    "kubectl get deployments [APP]": tools_pods.deployments,
    "kubectl get events": tools_pods.events,
    "kubectl describe pod POD": tools_pods.describe_pod,
    "kubectl logs deployment/APP [--tail N]": tools_pods.app_logs,
    "kubectl logs POD [--previous] [--tail N]": tools_pods.pod_logs,
    "kubectl set env deployment/APP --list": tools_pods.env,
    "df [-h] [BROKER]": tools_machines.free_space,
    "du [-h] BROKER": tools_machines.used_space,
    "systemctl status BROKER": tools_machines.status,
    "journalctl --unit BROKER [--lines N]": tools_machines.journal,
    "journalctl BROKER [--lines N]": tools_machines.journal,
}

DONE: dict[str, Run] = {
    "kafka-topics --create --topic TOPIC [--partitions N] [--replication-factor N]"
    " [--config PAIRS]": tools_topics.create,
    "kafka-topics --alter --topic TOPIC --partitions N": tools_topics.grow,
    "kafka-topics --delete --topic TOPIC": tools_topics.delete,
    "kafka-configs --alter --entity-type KIND --entity-name NAME"
    " [--add-config PAIRS] [--delete-config NAMES]": tools_configs.alter_configs,
    "kafka-consumer-groups --reset-offsets --group GROUP [--topic TOPIC]"
    " [--all-topics] [--to-earliest] [--to-latest] [--to-current] [--to-offset N]"
    " [--shift-by N] [--by-duration PT] [--dry-run] [--execute]": tools_groups.reset,
    "kafka-leader-election --election-type KIND --topic TOPIC --partition N": (
        tools_topics.elect
    ),
    "kafka-transactions forceTerminateTransaction --transactionalId ID": (
        tools_transactions.terminate
    ),
    "kafka-transactions abort --topic TOPIC --partition N --start-offset N": (
        tools_transactions.abort
    ),
    "kubectl scale deployment/APP --replicas N": tools_pods.scale,
    "kubectl rollout restart deployment/APP": tools_pods.roll_out,
    "kubectl rollout undo deployment/APP": tools_pods.undo,
    "kubectl delete pod POD": tools_pods.delete_pod,
    "kubectl set env deployment/APP NAME=VALUE...": tools_pods.set_env,
    "lvextend --resizefs --size SIZE BROKER": tools_machines.enlarge,
    "systemctl start BROKER": tools_machines.start,
    "systemctl stop BROKER": tools_machines.stop,
    "systemctl restart BROKER": tools_machines.restart,
}

LOOKING = [Tool(Usage(line), run, acts=False) for line, run in ASKED.items()]
ACTING = [Tool(Usage(line), run, acts=True) for line, run in DONE.items()]
TOOLS = (*LOOKING, *ACTING)
OF_PLANS = (*TOOLS, Tool(Usage("mishap WHAT..."), mishap, acts=True))
Call = tuple[Tool, Given]
OF_SIMULATION = re.compile(r"\bbroker-([123])\b")  # its hosts' names: here kafka-1


def understood(line: str, acts: bool) -> Call:
    """The tool that a line means, and what it gives. Raises Refused for a line that
    nobody understands, and for one of the other kind.
    """
    tool, given = found(TOOLS, line)
    if tool.acts and not acts:
        raise Refused("That changes something: incident.act(...) does it.")
    if acts and not tool.acts:
        raise Refused("That only looks: incident.ask(...) shows it.")
    return tool, given


def do(world: World, line: str) -> str:
    """Carry out a line of a plan with the tools that only plans have."""
    return printed(found(OF_PLANS, line), world)


def printed(call: Call, world: World) -> str:
    """The tool's output, also if the cluster refuses or doesn't answer. Raises Refused
    for a value that makes no sense.
    """
    tool, given = call
    try:
        return OF_SIMULATION.sub(r"kafka-\1", tool.run(world, given))
    except KafkaTimeoutError:
        return (
            f"{tool.usage.program}: org.apache.kafka.common.errors.TimeoutException:"
            " Timed out waiting for a node assignment."
        )
    except IllegalStateError as error:
        return f"{tool.usage.program}: no answer ({error})"
    except KafkaError as error:
        return f"{tool.usage.program}: {error}"


VARIABLES = """
What a program's own variables say (kubectl set env ... --list shows their values; all
others are configs of its Kafka client):
  commit      before, after: when a reader commits an order, before its work or after
  on.error    exit, dead-letter: what a reader does with a record that it can't read
  once        true: a reader keeps a list of the orders that it has handled, and skips
              them when it reads them again; false: it handles them again
  work.ms     how long one order takes a reader
  key         customer, order: by which key the shop writes an order
  every.ms    how long the shop waits between two orders
  open.ms     how long payouts has a transaction open"""


def help_of(acts: bool) -> str:
    """The lines that can be asked, or done, and what the programs' variables are."""
    lines = [f"  {tool.usage.line}" for tool in TOOLS if tool.acts == acts]
    return "\n".join([*lines, VARIABLES])
