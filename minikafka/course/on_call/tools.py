"""The tools for asking and for acting: one table."""

import re
from collections.abc import Callable
from typing import NamedTuple

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.course.on_call import (
    addresses,
    metrics,
    tools_configs,
    tools_console,
    tools_groups,
    tools_machines,
    tools_nodes,
    tools_pods,
    tools_tls,
    tools_topics,
    tools_transactions,
)
from minikafka.course.on_call.commands import Tool, found
from minikafka.course.on_call.mishaps import mishap
from minikafka.course.on_call.shell import Line, Said, read, split
from minikafka.course.on_call.usage import Given, Refused, Usage
from minikafka.course.on_call.world import World
from minikafka.wire.errors import KafkaError

Run = Callable[[World, Given], str | Said]

ASKED: dict[str, Run] = {
    "kafka-topics --list [--exclude-internal] [--topic TOPIC]": (
        tools_topics.topic_names
    ),
    "kafka-topics --describe [--topic TOPIC] [--exclude-internal]"
    " [--under-replicated-partitions] [--unavailable-partitions]"
    " [--under-min-isr-partitions] [--at-min-isr-partitions]"
    " [--topics-with-overrides]": (tools_topics.describe_topics),
    "kafka-get-offsets [--topic TOPIC] [--partitions NUMBERS]"
    " [--topic-partitions PARTITIONS] [--exclude-internal-topics] [--time WHEN]": (
        tools_topics.get_offsets
    ),
    "kafka-console-consumer --topic TOPIC [--partition N] [--offset N]"
    " [--from-beginning] [--max-messages N] [--timeout-ms MS]"
    " [--isolation-level LEVEL] [--formatter-property PAIRS] [--property PAIRS]": (
        tools_console.consume
    ),
    "kafka-configs --describe [--entity-type KIND] [--entity-name NAME]"
    " [--entity-default] [--topic TOPIC] [--broker ID] [--broker-defaults]"
    " [--group GROUP] [--all]": tools_configs.describe_configs,
    "kafka-consumer-groups --list [--state] [--type]": tools_groups.listed,
    "kafka-consumer-groups --describe [--group GROUPS] [--all-groups] [--offsets]"
    " [--members] [--verbose] [--state]": tools_groups.describe,
    "kafka-log-dirs --describe [--topic-list TOPICS] [--broker-list BROKERS]": (
        tools_nodes.log_dirs
    ),
    "kafka-reassign-partitions --list": tools_topics.moving,
    "kafka-metadata-quorum describe --status": tools_nodes.quorum_status,
    "kafka-metadata-quorum describe --replication [--human-readable]": (
        tools_nodes.quorum_replication
    ),
    "kafka-transactions list": tools_transactions.list_transactions,
    "kafka-transactions describe --transactional-id ID": (
        tools_transactions.describe_transaction
    ),
    "kafka-transactions describe-producers --topic TOPIC --partition N"
    " [--broker-id N]": (tools_transactions.describe_producers),
    "kafka-transactions find-hanging [--broker-id N] [--topic TOPIC] [--partition N]"
    " [--max-transaction-timeout MIN]": tools_transactions.find_hanging,
    "metrics [--minutes N] [--names]": metrics.metrics,
    "kubectl get pods [POD...] [--selector LABEL] [--output wide]": tools_pods.pods,
    "kubectl get deployments [APP] [--output wide]": tools_pods.deployments,
    "kubectl get events": tools_pods.events,
    "kubectl get nodes [--output wide]": tools_pods.nodes,
    "kubectl get all": tools_pods.everything,
    "kubectl describe pod [POD] [--selector LABEL]": tools_pods.describe_pod,
    "kubectl describe deployment/APP": tools_pods.describe_app,
    "kubectl logs deployment/APP [--previous] [--tail N] [--since TIME]": (
        tools_pods.app_logs
    ),
    "kubectl logs --selector LABEL [--previous] [--tail N] [--since TIME]": (
        tools_pods.selected_logs
    ),
    "kubectl logs POD [--previous] [--tail N] [--since TIME]": tools_pods.pod_logs,
    "kubectl rollout status deployment/APP": tools_pods.roll_out_status,
    "kubectl rollout history deployment/APP": tools_pods.history,
    "kubectl set env deployment/APP --list": tools_pods.env,
    "date": tools_machines.date,
    "df [-h] [BROKER]": tools_machines.free_space,
    "du [-h] [BROKER]": tools_machines.used_space,
    "ls [-l] FOLDER [BROKER]": tools_tls.listed,
    "nc [-z] [-v] HOST PORT [BROKER]": tools_tls.probe,
    "openssl s_client -connect ADDRESS [-CAfile FILE] [-brief] [BROKER]": (
        tools_tls.s_client
    ),
    "openssl verify -CAfile FILE PATH [BROKER]": tools_tls.verify,
    "openssl x509 -in FILE [-noout] [-subject] [-issuer] [-serial] [-dates]"
    " [-startdate] [-enddate] [-ext NAMES] [-fingerprint] [-text]"
    " [-checkend SECONDS] [BROKER]": tools_tls.x509,
    "systemctl status [BROKER]": tools_machines.status,
    "systemctl is-active BROKER": tools_machines.is_active,
    "journalctl [BROKER] [--unit BROKER] [--lines N] [--since TIME] [--until TIME]"
    " [--grep WORDS] [--reverse]": tools_machines.journal,
}

DONE: dict[str, Run] = {
    "kafka-topics --create --topic TOPIC [--partitions N] [--replication-factor N]"
    " [--config PAIRS] [--if-not-exists]": tools_topics.create,
    "kafka-topics --alter --topic TOPIC --partitions N [--if-exists]": (
        tools_topics.grow
    ),
    "kafka-topics --delete --topic TOPIC [--if-exists]": tools_topics.delete,
    "kafka-configs --alter [--entity-type KIND] [--entity-name NAME]"
    " [--entity-default] [--topic TOPIC] [--broker ID] [--broker-defaults]"
    " [--group GROUP] [--add-config PAIRS] [--delete-config NAMES]": (
        tools_configs.alter_configs
    ),
    "kafka-consumer-groups --delete --group GROUPS": tools_groups.delete,
    "kafka-consumer-groups --reset-offsets --group GROUP [--topic TOPIC]"
    " [--all-topics] [--to-earliest] [--to-latest] [--to-current] [--to-offset N]"
    " [--shift-by N] [--by-duration PT] [--to-datetime YYYY-MM-DDThh:mm:ss.sss]"
    " [--dry-run] [--execute]": tools_groups.reset,
    "kafka-leader-election --election-type KIND [--topic TOPIC] [--partition N]"
    " [--all-topic-partitions]": tools_topics.elect,
    "kafka-transactions forceTerminateTransaction --transactionalId ID": (
        tools_transactions.terminate
    ),
    "kafka-transactions abort --topic TOPIC --partition N --start-offset N": (
        tools_transactions.abort
    ),
    "kubectl scale deployment/APP --replicas N": tools_pods.scale,
    "kubectl rollout restart deployment/APP": tools_pods.roll_out,
    "kubectl rollout undo deployment/APP [--to-revision N]": tools_pods.undo,
    "kubectl delete pod POD...": tools_pods.delete_pods,
    "kubectl delete pod --selector LABEL": tools_pods.delete_pods,
    "kubectl set env deployment/APP NAME=VALUE...": tools_pods.set_env,
    "lvextend --resizefs --size SIZE BROKER": tools_machines.enlarge,
    "systemctl start BROKER": tools_machines.start,
    "systemctl stop BROKER": tools_machines.stop,
    "systemctl restart BROKER": tools_machines.restart,
}

LOOKING = [Tool(Usage(line), run, acts=False) for line, run in ASKED.items()]
ACTING = [Tool(Usage(line), run, acts=True) for line, run in DONE.items()]
TOOLS = (*LOOKING, *ACTING)
AT_ONCE = ("date",)  # programs that cost no time: there is a clock on the wall
OF_PLANS = (*TOOLS, Tool(Usage("mishap WHAT..."), mishap, acts=True))
OF_SIMULATION = re.compile(r"\bbroker-([123])\b")  # its hosts' names: here kafka-1


class Call(NamedTuple):
    """A line that is understood: its tool, what it gives, and the rest of the line."""

    tool: Tool
    given: Given
    line: Line


def understood(text: str, acts: bool) -> Call:
    """The tool that a line means, and what it gives. Raises Refused for a line that
    nobody understands, and for one of the other kind.
    """
    line = read(text)
    tool, given = found(TOOLS, line.words, line.host)
    line.filters()
    addresses.asked(line.words, line.host)
    if tool.acts and not acts:
        raise Refused("That changes something: incident.act(...) does it.")
    if acts and not tool.acts:
        raise Refused("That only looks: incident.ask(...) shows it.")
    return Call(tool, given, line)


def do(world: World, text: str) -> Said:
    """Carry out a line of a plan with the tools that only plans have."""
    tool, given = found(OF_PLANS, split(text))
    return said(tool, world, given)


def printed(call: Call, world: World) -> str:
    """What is on the screen after a line. Raises Refused for a value that makes no
    sense.
    """
    named = addresses.asked(call.line.words, call.line.host)
    errors = addresses.unreachable(world.brokers, named)
    turned_away = tools_tls.handshake(world, call.line.words, named)
    if turned_away:
        return call.line.shown(Said("", turned_away))
    if errors:
        *warnings, error = errors
        if error == addresses.NO_NODE:
            world.run(addresses.GIVES_UP_S)
        told = "\n".join([*warnings, f"{call.tool.usage.program}: {error}"])
        return call.line.shown(Said("", told))
    return call.line.shown(said(call.tool, world, call.given))


def said(tool: Tool, world: World, given: Given) -> Said:
    """The tool's output, also if the cluster refuses or doesn't answer. Raises Refused
    for a value that makes no sense.
    """
    program = tool.usage.program
    try:
        found = tool.run(world, given)
    except KafkaTimeoutError:
        return Said("", f"{program}: {addresses.NO_NODE}")
    except IllegalStateError as error:
        return Said("", f"{program}: no answer ({error})")
    except KafkaError as error:
        return Said("", f"{program}: {error}")
    told = found if isinstance(found, Said) else Said(found)
    return told._replace(out=OF_SIMULATION.sub(r"kafka-\1", told.out))


VARIABLES = """
What a program's own variables say (kubectl set env ... --list shows their values; all
others are configs of its Kafka client):
  commit      before, after: when a reader commits an order, before its work or after
  on.error    exit, dead-letter: what a reader does with a record that it can't read;
              a dead letter goes into a table of its database
  once        true: a reader keeps a list of the orders that it has handled, and skips
              them when it reads them again; false: it handles them again
  work.ms     how long one order takes a reader
  key         customer, order: which key the shop gives an order
  every.ms    how long the shop waits between two orders
  open.ms     how long payouts keeps a transaction open"""


def help_of(acts: bool) -> str:
    """The lines that can be asked, or done, and what the programs' variables are."""
    lines = [f"  {tool.usage.line}" for tool in TOOLS if tool.acts == acts]
    return "\n".join([*lines, VARIABLES])
