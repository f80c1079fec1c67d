"""What can be asked, and what can be done: one table."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.course.on_call import (
    metrics,
    tools_apps,
    tools_groups,
    tools_nodes,
    tools_topics,
)
from minikafka.course.on_call.commands import Given, Refused, Tool, Usage, found
from minikafka.course.on_call.mishaps import mishap
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

Run = Callable[["World", Given], str]

ASKED: dict[str, Run] = {
    "kafka-topics --list": tools_topics.topic_names,
    "kafka-topics --describe [--topic TOPIC] [--exclude-internal]"
    " [--under-replicated-partitions] [--unavailable-partitions]"
    " [--under-min-isr-partitions] [--at-min-isr-partitions]": (
        tools_topics.describe_topics
    ),
    "kafka-get-offsets --topic TOPIC [--time WHEN]": tools_topics.get_offsets,
    "kafka-console-consumer --topic TOPIC --partition N [--offset N]"
    " [--max-messages N]": tools_topics.consume,
    "kafka-configs --describe --entity-type KIND --entity-name NAME [--all]": (
        tools_topics.describe_configs
    ),
    "kafka-consumer-groups --list": tools_groups.listed,
    "kafka-consumer-groups --describe --group GROUP [--members] [--verbose]"
    " [--state]": tools_groups.describe,
    "kafka-log-dirs --describe [--topic-list TOPICS] [--broker-list BROKERS]": (
        tools_nodes.log_dirs
    ),
    "kafka-metadata-quorum describe --status": tools_nodes.quorum_status,
    "kafka-metadata-quorum describe --replication [--human-readable]": (
        tools_nodes.quorum_replication
    ),
    "kafka-transactions list": tools_nodes.list_transactions,
    "kafka-transactions describe --transactional-id ID": (
        tools_nodes.describe_transaction
    ),
    "kafka-transactions describe-producers --topic TOPIC --partition N": (
        tools_nodes.describe_producers
    ),
    "kafka-transactions find-hanging --broker-id N [--max-transaction-timeout MIN]": (
        tools_nodes.find_hanging
    ),
    "metrics [--minutes N] [--names]": metrics.metrics,
    "kubectl get pods": tools_apps.pods,
    "kubectl logs deployment/APP": tools_apps.logs,
    "kubectl set env deployment/APP --list": tools_apps.env,
    "df BROKER": tools_apps.free_space,
    "du BROKER": tools_apps.used_space,
    "systemctl status BROKER": tools_apps.status,
    "journalctl BROKER": tools_apps.journal,
}

DONE: dict[str, Run] = {
    "kafka-topics --create --topic TOPIC [--partitions N] [--replication-factor N]"
    " [--config PAIRS]": tools_topics.create,
    "kafka-topics --alter --topic TOPIC --partitions N": tools_topics.grow,
    "kafka-topics --delete --topic TOPIC": tools_topics.delete,
    "kafka-configs --alter --entity-type KIND --entity-name NAME"
    " [--add-config PAIRS] [--delete-config NAMES]": tools_topics.alter_configs,
    "kafka-consumer-groups --reset-offsets --group GROUP --topic TOPIC"
    " [--to-earliest] [--to-latest] [--to-offset N] [--shift-by N]"
    " [--by-duration PT] [--dry-run] [--execute]": tools_groups.reset,
    "kafka-leader-election --election-type KIND --topic TOPIC --partition N": (
        tools_topics.elect
    ),
    "kafka-transactions forceTerminateTransaction --transactionalId ID": (
        tools_nodes.terminate
    ),
    "kafka-transactions abort --topic TOPIC --partition N --start-offset N": (
        tools_nodes.abort
    ),
    "kubectl scale deployment/APP --replicas N": tools_apps.scale,
    "kubectl rollout restart deployment/APP": tools_apps.roll_out,
    "kubectl set env deployment/APP NAME=VALUE...": tools_apps.set_env,
    "lvextend --resizefs --size SIZE BROKER": tools_apps.enlarge,
    "systemctl start BROKER": tools_apps.start,
    "systemctl stop BROKER": tools_apps.stop,
    "systemctl restart BROKER": tools_apps.restart,
}

TOOLS = (
    *(
        Tool(
            Usage(line),
            run,
            acts=False,
        )
        for line, run in ASKED.items()
    ),
    *(
        Tool(
            Usage(line),
            run,
            acts=True,
        )
        for line, run in DONE.items()
    ),
)
Call = tuple[Tool, Given]
OF_PLANS = (
    *TOOLS,
    Tool(
        Usage("mishap WHAT..."),
        mishap,
        acts=True,
    ),
)


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


def do(world: "World", line: str) -> str:
    """A line of a plan."""
    return printed(found(OF_PLANS, line), world)


def printed(call: Call, world: "World") -> str:
    """What the tool prints, also where the cluster refuses or doesn't answer. Raises
    Refused for a value that can't be meant.
    """
    tool, given = call
    try:
        return tool.run(world, given)
    except KafkaTimeoutError:
        return (
            f"{tool.usage.program}: org.apache.kafka.common.errors.TimeoutException:"
            " Timed out waiting for a node assignment."
        )
    except IllegalStateError as error:
        return f"{tool.usage.program}: no answer ({error})"
    except KafkaError as error:
        return f"{tool.usage.program}: {error}"


def help_of(acts: bool) -> str:
    """The lines that can be asked, or done."""
    return "\n".join(f"  {tool.usage.line}" for tool in TOOLS if tool.acts == acts)
