"""The lines that somebody on call types in lesson 22: what is understood, what isn't and
how that is said, and what the tools print.
"""

import pytest

from minikafka.course.on_call import plans, screen, shell
from minikafka.course.on_call.incident import Incident
from minikafka.course.on_call.log_lines import clock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ENV = "kubectl set env deployment/{} {}"
UNCLEAN = "kafka-leader-election --election-type unclean --topic orders --partition 1"


def begun(name):
    return Incident(plans.read(name))


@pytest.fixture(scope="module")
def night():
    return begun("quiet-night")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kafka-topic --list", "Did you mean kafka-topics?"),
        ("kafkacat -L", "There are"),
        ("kafka-topics --describe --topics orders", "Did you mean --topic?"),
        ("kafka-topics --describe --topic", "--topic needs a value"),
        ("kafka-topics", "Here kafka-topics takes"),
        ("kafka-configs --describe --entity-type topic", "--entity-type is topics"),
        (
            "kafka-configs --describe --entity-type users --entity-name a",
            "There are no quotas, and no users",
        ),
        ("kubectl logs deployment/biling", "There is no deployment 'biling'"),
        ("kubectl logs billing", "There is no pod 'billing'"),
        ("journalctl kafka-9", "there are kafka-1, kafka-2, kafka-3"),
        ("kafka-topics --delete --topic orders", "incident.act(...) does it"),
        ("kafka-topics --list 'orders", "can't be read"),
        ("kafka-transactions describe-producers --topic orders --partition x", "whole"),
        ("metrics --minutes few", "whole number"),
        ("kubectl get events now", "doesn't belong there"),
    ],
)
def test_a_line_that_nobody_understands_is_told_in_plain_words(night, line, words):
    before_ms = night.world.now_ms
    night.ask(line)
    assert words in night.told[-1]
    assert night.world.now_ms - before_ms <= 40_000


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kafka-topics --list", "incident.ask(...) shows it"),
        ("kubectl set env deployment/billing max.pol.records=5", "does not know"),
        ("kubectl set env deployment/billing commit=never", "before or after"),
        ("kubectl set env deployment/billing session.timeout.ms=long", "whole number"),
        ("kubectl set env deployment/billing work.ms=1", "isn't a setting"),
        ("kubectl set env deployment/shop acks=7", "would not start"),
        ("kubectl set env deployment/shop", "needs NAME=VALUE"),
        ("kubectl scale deployment/billing --replicas 40", "12 pods at most"),
        (
            "kafka-leader-election --election-type best --topic orders --partition 0",
            "or",
        ),
        ("kafka-configs --alter --entity-type topics --entity-name orders", "needs"),
    ],
)
def test_what_can_not_be_done_is_told_in_plain_words(night, line, words):
    night.act(line)
    assert words in night.told[-1]


def test_without_a_line_it_says_what_there_is(night):
    night.ask()
    assert "kafka-metadata-quorum describe --status" in night.told[-1]
    night.act()
    assert "kafka-leader-election" in night.told[-1]
    assert "[--to-datetime YYYY-MM-DDThh:mm:ss.sss]" in night.told[-1]


@pytest.mark.parametrize("given", [0, 5, "2", True, None])
def test_a_cause_is_a_number_of_the_list(given):
    night = begun("night-01")
    night.cause(given)
    assert "numbers 1 to 4" in night.told[-1]


def test_a_quiet_night_has_no_cause_to_name(night):
    night.cause(1)
    assert night.told[-1] == "On this night there is no cause to name."
    assert night.opening() == night.plan.opens


@pytest.mark.parametrize("given", [0, -1, 1000, "5", True, None])
def test_a_wait_is_some_minutes(night, given):
    night.wait(given)
    assert "takes up to 60" in night.told[-1]


def test_a_line_that_nobody_understands_takes_no_time(night):
    before = night.world.now_ms
    for line in ("foo", "   ", "kubectl scale deployment/billing --replicas 3"):
        night.ask(line)
    assert night.world.now_ms == before


def test_a_broker_says_where_its_logs_are(night, capsys):
    night.ask("kafka-log-dirs --describe --topic-list orders")
    said = capsys.readouterr().out
    assert '"logDir":"/var/lib/kafka/data"' in said
    assert '"offsetLag":0' in said and '"offsetLag":1' not in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("df -h", "/dev/data/kafka-3"),
        ("df", "1K-blocks"),
        ("du -h kafka-1", "orders-0"),
        ("journalctl -u kafka-1 -n 1", "kafka-1 "),
        ("kubectl logs billing-a1", "position in orders-"),
        ("kubectl logs deployment/billing --tail 1", "billing-a"),
        ("kubectl logs billing-a1 --previous", "previous terminated container"),
        ("kubectl describe pod billing-a1", "Restart Count:"),
        ("kafka-get-offsets --topic orders --time -2", "orders:0:0"),
        ("kafka-get-offsets --topic orders --time earliest", "orders:0:0"),
        ("kafka-get-offsets --topic orders --time -1", "orders:2:"),
        ("kafka-consumer-groups --describe --all-groups", "billing-a2"),
        (
            "kafka-console-consumer --topic orders --from-beginning --max-messages 2",
            "order 0 ",
        ),
        ("kafka-console-consumer --topic orders --partition 0", "would wait"),
        (
            "kafka-console-consumer --topic orders --partition 0 --timeout-ms 9000",
            "org.apache.kafka.common.errors.TimeoutException\nProcessed a total of",
        ),
        (
            "kafka-console-consumer --topic orders --partition 0 --offset 0"
            " --max-messages 1 --property print.key=true --property print.offset=true",
            "Option --property is deprecated and will be removed in a future version."
            " Use --formatter-property instead.\nOffset:0\t",
        ),
        ("kubectl logs deploy/billing", "billing-a1 starts"),
        ("kubectl logs pod/billing-a1", "billing-a1 starts"),
        ("kubectl get pods -n default -o wide", "worker-"),
        ("kubectl get pod billing-a2", "billing-a2"),
        ("kubectl get pod billing-a9", '(NotFound): pods "billing-a9" not found'),
        ("kubectl get deploy", "3/3     3            3"),
        ("kubectl get deployment billing", "billing"),
        ("kubectl get events", "Started container billing"),
        ("kubectl set env deployment billing --list", "once=false"),
        ("kafka-consumer-groups --describe --offsets --group billing", "LAG"),
        (
            "kafka-consumer-groups --list --state",
            "GROUP                     STATE\nbilling                   Stable",
        ),
        ("kafka-transactions find-hanging --topic orders", "StartOffset"),
        (
            "kafka-transactions find-hanging",
            "requires either --topic or --broker-id to limit the scope of the search",
        ),
        ("kafka-get-offsets --topic orders --partitions 1", "orders:1:"),
        ("kafka-get-offsets --topic nothing", "Could not match any topic-partitions"),
        ("kubectl logs -f billing-a1", "incident.wait(minutes=1)"),
        (
            "kafka-console-consumer --topic __consumer_offsets --from-beginning",
            "\\x00\\x03",
        ),
        (
            "kafka-console-consumer --topic orders --from-beginning --max-messages 1"
            " --formatter-property print.headers=true,print.key=true",
            "NO_HEADERS\t",
        ),
        (
            "kafka-configs --describe --entity-type brokers --entity-name 1 --all",
            "broker.rack=null sensitive=false",
        ),
        ("kafka-metadata-quorum describe --status", "kafka-1"),
        ("kafka-topics.sh --list --exclude-internal", "$ kafka-topics.sh"),
        ("kafka-topics --describe --topics-with-overrides", "Topic: orders\t"),
        ("kafka-topics --describe --topic orders,other | wc -l", "\n4\n"),
        ("kafka-get-offsets", "__consumer_offsets:0:"),
        ("kafka-get-offsets --topic-partitions orders:1", "\norders:1:"),
        ("kafka-configs --describe --topic orders", "configs for topic orders are:"),
        (
            "kafka-configs --describe --entity-type brokers --entity-default",
            "Default configs for brokers in the cluster are:",
        ),
        ("kafka-configs --describe --entity-type brokers", "configs for broker 3 are:"),
        ("kafka-consumer-groups --list --type", "Classic"),
        (
            "kafka-consumer-groups --describe --group billing --offsets --verbose",
            "PARTITION  LEADER-EPOCH    CURRENT-OFFSET",
        ),
        ("kafka-reassign-partitions --list", "No partition reassignments found."),
        ("kubectl get pods -A -l app=billing", "billing-a3"),
        ("kubectl get nodes -o wide", "worker-3"),
        ("kubectl get all", "UP-TO-DATE"),
        ("kubectl get events --sort-by=.lastTimestamp | tail -1", "Started container"),
        ("kubectl describe deployment billing", "3 desired | 3 total | 3 available"),
        ("kubectl describe pod -l app=billing | grep -c Name:", "\n3\n"),
        ("kubectl logs -l app=billing --tail=2 --prefix", "position in orders-"),
        ("kubectl logs deploy/billing --since=1h | grep -i -m1 STARTS", "a1 starts"),
        ("kubectl logs billing-a1 -c billing --timestamps --tail=-1", "starts"),
        ("kubectl rollout status deployment/billing", "successfully rolled out"),
        ("kubectl rollout history deploy billing", "REVISION  CHANGE-CAUSE\n1 "),
        ("ssh kafka-2 df -h /var/lib/kafka/data", "/dev/data/kafka-2  100G"),
        ('ssh ops@kafka-2 "du -sh /var/lib/kafka/data/* | sort -h"', "orders-0"),
        ("ssh kafka-1 journalctl -u kafka -n 1 --no-pager", "kafka-1 "),
        ("journalctl -xeu kafka-1.service --since 00:00 | head -1", "kafka-1 "),
        (
            "journalctl kafka-1 --since '2 hours ago' --until 00:01 -g posit",
            "-- No entr",
        ),
        ("sudo systemctl status kafka-1 --no-pager", "active (running)"),
        ("systemctl status", "kafka-3.service - Apache Kafka\n  Active: active"),
        ("k get po", "billing-a3"),
        ("kafka-log-dirs --describe | tail -1 | jq . | head -2", '"brokers": ['),
        ("metrics --minutes 3 2>&1 | tail -1 | awk '{print $NF}'", "\n0"),
    ],
)
def test_what_a_shift_types_is_understood(night, line, words):
    night.ask(line)
    assert words in night.told[-1] + "\n"
    assert "None" not in night.told[-1] and "broker-1" not in night.told[-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kubectl get pods -n shop", "nothing in the namespace 'shop'"),
        ("kubectl get pods --namespace=kafka", "the shop's programs are in default"),
        ("kubectl top pods", "Metrics API not available"),
        ("kubectl exec billing-a1 -- ls", "kubectl logs POD shows"),
        ("kubectl get pods -o yaml", "kubectl describe shows the rest"),
        ("kubectl apply -f shop.yaml", "kubectl set env and kubectl scale"),
        ("kubectl get svc", "knows pods, deployments, events and nodes"),
        ("kubectl get deploy,po", "kubectl get pods, then kubectl get deployments"),
        ("kubectl get po --watch", "incident.wait(minutes=1)"),
        ("kubectl get pods -l tier=backend", "app=billing"),
        (
            "kubectl get pods --field-selector=status.phase=Running",
            "| grep Running after",
        ),
        ("kubectl get events -A --field-selector type=Warning", "put | grep Warning"),
        (
            "kubectl get po --field-selector status.phase!=Running,spec.nodeName=worker-1",
            "put | grep -v Running -o wide | grep worker-1 after",
        ),
        (
            "kubectl get pods -o json | jq '.items[].metadata.name'",
            "-o takes wide here, not 'json'",
        ),
        ("kubectl get pods -o name | xyz", "| awk '{print $1}' after the line"),
        ("kafka-log-dirs --describe | jq .", "--describe | grep '^{' | jq ."),
        ("kafka-log-dirs --describe | jq '.brokers[0]'", "grep '^{' | jq ."),
        ("BS=kafka-1:9092", "no variables here: write kafka-1:9092"),
        ("export bs='kafka-1:9092 '", "no variables here: write kafka-1:9092"),
        ("echo $BS", "no variables here: write kafka-1:9092"),
        (
            "kafka-topics --bootstrap-server $BS --list",
            "write kafka-1:9092 for $BS",
        ),
        ("alias k=kubectl", "k is kubectl here"),
        ("man kafka-topics", "incident.ask() lists"),
        ("clear", "There is no need to"),
        ("oc get pods", "kubectl get pods instead"),
        ("terraform apply", "kubectl set env and kubectl scale"),
        ("kubectl get pods | awk '/a/ {c++} END {print c}'", "| grep -c commit counts"),
        (
            "kubectl get pods | awk 'NR>1 {s+=$6} END {print s}'",
            "metrics has the whole",
        ),
        ("kubectl get pods | tr -s ' '", "awk '{print $6}' picks a column"),
        ("kubectl get pods | tee pods.txt", "Leave it out"),
        ("kubectl get pods && kubectl get events", "events: Nothing was run. One"),
        ("kubectl logs billing-a1 --since yesterday", "such as 10m or 1h30m"),
        ("kubectl logs billing-a1 --since-time 2026", "--since 10m"),
        ("kubectl delete deployment billing", "--replicas 0 stops it"),
        ("journalctl", "Say which machine's"),
        ("journalctl kafka-1 -p err", "| grep -i error instead"),
        ("kubectl describe node worker-1", "knows pods and deployments here"),
        ("journalctl kafka-1 --since noon", "a time such as 00:05"),
        ("du -sh /var/lib/kafka/data/*", "Say which machine's"),
        ("ssh kafka-1", "ssh kafka-1 df -h"),
        ("rm -rf /var/lib/kafka/data/orders-0", "a broker that runs has them open"),
        ("lvextend -l +100%FREE kafka-1", "--size +100K"),
        ("kubectl logs billing-a1 | sed -n 1p", "There is no 'sed' behind |"),
        ("kubectl logs billing-a1 | grep", "grep needs a pattern"),
        ("kubectl logs billing-a1 | grep -Z x", "grep has no -Z here"),
        ("kubectl logs billing-a1 |", "Nothing follows the |"),
        ("kubectl get pods | awk '{sum += $1}'", "awk prints columns here"),
        ("kubectl get pods | head -x", "head wants a number of lines"),
        ("kubectl get pods; kubectl get events", "One command per line"),
        ("for p in 0 1; do kubectl get pods", "There are no loops here"),
        ("while true", "There are no loops here"),
        ("kubectl get pods > pods.txt", "Nothing can be written to a file"),
        ("watch -n 5 kubectl get pods", "incident.wait(minutes=1)"),
        ("jstack 1", "kubectl logs POD shows a program's log"),
        ("curl -s http://kafka-1:9404/metrics", "metrics --names"),
        ("ss -tlnp", "--members shows who is connected"),
        ("lsof -i :9092", "--members shows who is connected"),
        ("top -b -n 1", "pods how the programs are"),
        ("free -m", "metrics shows what the monitoring has measured"),
        ("ping kafka-2", "kafka-metadata-quorum describe --replication"),
        ("cat /var/log/kafka/server.log", "journalctl kafka-1 shows a broker's log"),
        ("tail -f /var/log/kafka/server.log", "journalctl kafka-1"),
        ("zookeeper-shell kafka-1:2181", "kafka-metadata-quorum describe"),
        ("kafka-acls --list", "no authorizer"),
        ("kafka-run-class kafka.tools.GetOffsetShell", "kafka-get-offsets"),
        (
            "kafka-reassign-partitions --reassignment-json-file plan.json --verify",
            "kafka-reassign-partitions --list says whether any move",
        ),
        (
            "kafka-console-consumer --topic orders --group billing",
            "a console consumer has a group of its own",
        ),
        (
            "kafka-consumer-groups --delete-offsets --group billing --topic orders",
            "--reset-offsets sets them",
        ),
        (
            "kafka-consumer-groups --describe --group billing --state --members",
            "One table at a time",
        ),
    ],
)
def test_what_is_not_there_is_said_with_what_is(night, line, words):
    night.ask(line)
    assert words in night.told[-1]


@pytest.mark.parametrize(
    "line",
    [
        "kubectl get pods -n shop",
        "kubectl get pods -o yaml",
        "kubectl get pods | jq .items",
        "top",
        "ls | wc -l",
    ],
)
def test_a_line_that_can_not_be_meant_costs_no_time(night, line):
    before_ms = night.world.now_ms
    night.ask(line)
    assert night.world.now_ms == before_ms


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kubectl get events | grep Normal", "Started container"),
        ("kubectl get pods | awk '{print $1}'", "\nNAME\nshop-a1\nbilling-a1\n"),
        ("kubectl get pods -o wide | grep -v Running", "NODE"),
        ("kafka-log-dirs --describe | grep '^{' | jq . | head -2", '"brokers": ['),
        ("kubectl get pods | tail -n +2 | awk '{print $3}' | sort | uniq -c", "4 Runn"),
        ("kafka-get-offsets --topic orders | cut -d: -f2 | wc -l", "\n3"),
        ("metrics | head -1", "lag(billing)"),
    ],
)
def test_what_a_refusal_names_instead_works(night, line, words):
    night.ask(line)
    assert words in night.told[-1]


def test_date_is_the_nights_and_costs_no_time(night):
    before_ms = night.world.now_ms
    night.ask("date -u")
    time = clock(before_ms)
    assert night.told[-1].splitlines()[-1] == f"Thu Jan  1 {time} UTC 2026"
    assert night.world.now_ms == before_ms


@pytest.mark.parametrize("which", ["deploy/billing -p", "-l app=billing --previous"])
def test_pods_that_never_restarted_have_no_earlier_log(night, which):
    night.ask(f"kubectl logs {which}")
    assert night.told[-1].splitlines()[1:] == [
        "Error from server (BadRequest): previous terminated container"
        ' "billing" in pod "billing-a1" not found'
    ]


def test_a_name_without_an_address_is_not_resolved(night):
    """A client gives up at once, unless another of its addresses is known."""
    line = "kafka-topics --bootstrap-server {} --list"
    before_ms = night.world.now_ms
    night.ask(line.format("kafka-9:9092"))
    assert "DNS resolution failed for kafka-9 (" in night.told[-1]
    assert "No resolvable bootstrap urls given" in night.told[-1]
    assert night.world.now_ms - before_ms < 60_000
    for known in ("kafka-9:9092,kafka-3:9092", "localhost:9092"):
        night.ask(line.format(known))
        assert night.told[-1].endswith("\norders")


def test_a_tool_waits_a_minute_for_a_broker_that_is_down():
    """default.api.timeout.ms: a broker that is down has a name and no open port."""
    night = begun("quiet-night")
    night.act("systemctl stop kafka-2")
    line = "kafka-topics --bootstrap-server {} --list"
    before_ms = night.world.now_ms
    night.ask(line.format("kafka-2:9092"))
    assert "node -1 (kafka-2:9092) could not be established" in night.told[-1]
    assert night.told[-1].endswith("Timed out waiting for a node assignment.")
    assert night.world.now_ms - before_ms > 60_000
    night.ask(f"ssh kafka-2 {line.format('localhost:9092')}")
    assert "node -1 (kafka-2:9092) could not be established" in night.told[-1]
    night.ask(line.format("kafka-2:9092,kafka-3:9092"))
    assert night.told[-1].endswith("\norders")


@pytest.mark.nightly
def test_the_earlier_log_of_a_deployment_is_of_the_pods_that_were_restarted():
    night = begun("night-04")
    night.ask("kubectl logs deployment/billing --previous --tail -1")
    restarted = [pod for pod in night.world.apps["billing"].pods if pod.restarts]
    lines = night.told[-1].splitlines()[1:]
    assert lines and {line.split()[1] for line in lines} == {
        pod.name for pod in restarted
    }


NUMBERS = (
    "kafka-configs --alter --entity-type brokers --entity-name {} --add-config a=1",
    "kafka-console-consumer --topic orders --partition 0 --offset {}",
    "kafka-console-consumer --topic orders --partition {}",
    "kafka-console-consumer --topic orders --timeout-ms {}",
    "kafka-consumer-groups --reset-offsets --group none --topic orders --by-duration PT{}H",
    "kafka-consumer-groups --reset-offsets --group none --topic orders --shift-by {}",
    "kafka-consumer-groups --reset-offsets --group none --topic orders --to-offset {}",
    "kafka-get-offsets --topic orders --time {}",
    "kafka-leader-election --election-type preferred --topic orders --partition {}",
    "kafka-log-dirs --describe --broker-list {}",
    "kafka-topics --alter --topic orders --partitions {}",
    "kafka-topics --create --topic new --partitions {}",
    "kafka-topics --create --topic new --replication-factor {}",
    "kafka-transactions abort --topic orders --partition 0 --start-offset {}",
    "kubectl scale deployment/billing --replicas {}",
    "kubectl set env deployment/billing max.poll.records={}",
    "kubectl set env deployment/shop every.ms={}",
    "lvextend --resizefs --size +{}M kafka-1",
    "metrics --minutes {}",
)


@pytest.mark.parametrize(
    "number", ["\u00b2", "--5", "9" * 10, "9" * 20, "9" * 5000], ids=lambda it: it[:20]
)
def test_a_number_that_no_request_can_carry_raises_nothing_in_a_cell(night, number):
    acts = ("alter", "create", "reset", "election", "abort", "scale", "set env", "lv")
    for line in NUMBERS:
        do = night.act if any(word in line for word in acts) else night.ask
        do(line.format(number))
        assert "Traceback" not in night.told[-1]


def test_an_offset_that_no_record_has_is_left_out(night):
    night.ask("kafka-get-offsets --topic orders --time 4102444800000")
    assert "orders:" not in night.told[-1].partition("\n")[2]


def test_a_pod_that_is_deleted_is_replaced_and_every_pod_has_its_own_address():
    night = begun("quiet-night")
    night.act("kubectl delete pod billing-a2")
    assert 'pod "billing-a2" deleted from default namespace' in night.told[-1]
    night.wait(minutes=1)
    night.ask("kubectl get pods -o wide")
    rows = [row.split() for row in night.told[-1].splitlines()[2:]]
    names = [row[0] for row in rows]
    assert names == ["shop-a1", "billing-a1", "billing-a3", "billing-a4"]
    addresses = {row[0]: row[-2] for row in rows}
    assert len(set(addresses.values())) == 4
    night.ask("kafka-consumer-groups --describe --group billing --members")
    hosts = {row.split()[3]: row.split()[2] for row in night.told[-1].splitlines()[2:]}
    assert hosts == {
        name: f"/{address}" for name, address in addresses.items() if name != "shop-a1"
    }


@pytest.mark.nightly
def test_a_roll_out_is_undone():
    night = begun("quiet-night")
    undo = "kubectl rollout undo deployment/{}"
    night.act(undo.format("billing"))
    assert 'no rollout history found for deployment "billing"' in night.told[-1]
    night.act(ENV.format("billing", "max.poll.records=5"))
    night.act(undo.format("billing"))
    assert "deployment.apps/billing rolled back" in night.told[-1]
    assert "max.poll.records" not in night.world.apps["billing"].env
    night.act(undo.format("shop"))
    assert 'no rollout history found for deployment "shop"' in night.told[-1]


@pytest.mark.nightly
def test_the_election_tool_waits_for_a_controller_in_apache_kafkas_words():
    night = begun("night-12")
    night.act(UNCLEAN)
    assert "Timeout waiting for election results" in night.told[-1]


def test_offsets_of_a_partition_without_a_leader_are_skipped_in_apache_kafkas_words():
    night = begun("night-07")
    night.ask("kafka-get-offsets --topic orders")
    _, skipped, *others = night.told[-1].splitlines()
    assert skipped.startswith(
        "Skip getting offsets for topic-partition orders-1 due to error:"
        " org.apache.kafka.common.errors.TimeoutException:"
        " Call(callName=listOffsets(api=METADATA), "
    )
    assert [row.rpartition(":")[0] for row in others] == ["orders:0", "orders:2"]


@pytest.mark.nightly
def test_a_voter_that_hears_no_other_asks_for_votes_again_and_again():
    night = begun("night-12")
    night.ask("journalctl kafka-1")
    assert "kafka-1 asks for votes in epoch 1 (" in night.told[-1].splitlines()[-1]


def test_what_is_wrong_with_a_group_stands_before_its_table():
    night = begun("quiet-night")
    night.act("kubectl scale deployment/billing --replicas 0")
    night.wait(minutes=2)
    for table in ("--offsets", "--members", "--state"):
        night.ask(f"kafka-consumer-groups --describe --group billing {table}")
        _, first, head, *_ = night.told[-1].splitlines()
        assert first == "Consumer group 'billing' has no active members."
        assert head.startswith("GROUP ")


@pytest.mark.nightly
def test_a_container_does_not_log_that_it_was_killed():
    night = begun("night-04")
    night.ask("kubectl logs deployment/billing --tail 100")
    assert "OOMKilled" not in night.told[-1]
    dead = [pod for pod in night.world.apps["billing"].pods if pod.restarts]
    night.ask(f"kubectl describe pod {dead[0].name}")
    assert "OOMKilled" in night.told[-1]


def test_a_reset_without_execute_says_that_it_does_nothing(night):
    group = "kafka-consumer-groups --reset-offsets --group billing --topic orders"
    night.act(f"{group} --to-earliest")
    assert "WARN: No action will be performed" in night.told[-1]
    night.act(f"{group} --to-earliest --dry-run")
    assert "WARN" not in night.told[-1]


@pytest.mark.nightly
def test_nobody_reads_a_partition_without_a_leader():
    """KIP-392: a follower is read by those only whom the leader has sent to it."""
    night = begun("night-07")
    night.ask("kafka-console-consumer --topic orders --partition 1 --from-beginning")
    assert "until orders-1 has a leader" in night.told[-1]


def test_a_tool_learns_of_a_broker_that_it_did_not_know(night):
    """A client that wants no topics reads its metadata again when it lacks a broker."""
    client = night.world.cluster.admin._core
    client.nodes.pop(3, None)
    told = night.world.brokers.ask("DescribeLogDirs", {"topics": None}, 3)
    assert told.results


def test_a_notebook_shows_a_wide_table_without_breaking_its_rows(night):
    night.ask("kafka-consumer-groups --describe --group billing")
    page = screen.page(night.told[-1])
    assert "white-space:pre;" in page and "overflow-x:auto" in page
    assert max(map(len, page.splitlines())) > 120


@pytest.mark.nightly
def test_a_disk_is_given_kilobytes_and_megabytes(night):
    disk = night.world.brokers.disk(3)
    disk.capacity_bytes = disk.used_bytes + 1000
    night.world.spare_bytes = 3_000_000
    for size, given in (("+100K", 102_400), ("+1M", 1_048_576)):
        before = disk.capacity_bytes
        night.act(f"lvextend -r -L {size} /dev/data/kafka-3")
        assert disk.capacity_bytes == before + given
    night.act("lvextend -r -L +9M kafka-3")
    assert "Insufficient free space" in night.told[-1]
    night.act("lvextend -r -L 1M kafka-3")
    assert "such as +500K or +1M" in night.told[-1]
    disk.capacity_bytes = None


def test_grep_and_its_like_leave_what_a_shells_do(night):
    def shown(pipe):
        return shell.read(f"kubectl get pods | {pipe}").shown(
            shell.Said("b 2 x\nA 10 y\nb 2 x\nc 1 y")
        )

    assert shown("grep -v b") == "A 10 y\nc 1 y"
    assert shown("grep -i a") == "A 10 y"
    assert shown(r"grep 'A\|c'") == shown("egrep 'A|c'") == "A 10 y\nc 1 y"
    assert shown("grep 'A|c'") == ""
    assert shown("grep -n -A1 A") == "2:A 10 y\n3:b 2 x"
    assert shown("grep -o '[0-9]*' | grep -w 1") == "1"
    assert shown("sort -k2 -n -r | head -1") == "A 10 y"
    assert shown("sort | uniq -c | sort -rn | head -n 1") == "      2 b 2 x"
    assert shown("awk '/y/ {print $1,$3}'") == "A y\nc y"
    assert shown("cut -d' ' -f2 | sort -un") == "1\n2\n10"
    assert shown("tail -n +3 | wc -l") == "2"
    assert shown("cut -c3- | head -1") == "2 x"


def test_errors_go_past_a_pipe_as_in_a_shell():
    said = shell.Said("orders\npayments", err="WARN: orders", end="2 in all")
    for line, left in {
        "x | grep pay": "WARN: orders\npayments\n2 in all",
        "x 2>&1 | grep orders": "WARN: orders\norders",
        "x 2>/dev/null": "orders\npayments",
    }.items():
        assert shell.read(line).shown(said) == left


def test_a_group_is_deleted_when_it_has_no_members_left():
    night = begun("quiet-night")
    line = "kafka-consumer-groups --delete --group billing"
    night.act(line)
    assert night.told[-1].endswith(
        "Error: Deletion of some consumer groups failed:\n* Group 'billing' could not be"
        " deleted due to: org.apache.kafka.common.errors.GroupNotEmptyException: The"
        " group is not empty."
    )
    night.act("kubectl scale --replicas=0 deployment billing")
    night.act(line)
    assert night.told[-1].endswith("('billing') was successful.")


def test_more_that_a_shift_does_is_understood():
    night = begun("quiet-night")
    for line, words in {
        "kafka-leader-election --election-type preferred --all-topic-partitions": "",
        "kafka-leader-election --election-type preferred --topic orders": "or",
        "kafka-leader-election --election-type preferred --topic nothing --partition"
        " 0": "UnknownTopicOrPartitionException: No such topic as nothing",
        "kafka-configs --alter --entity-type brokers --entity-default --add-config"
        " log.cleaner.threads=2": "default config for brokers in the cluster.",
        "kafka-configs --alter --topic orders --add-config retention.mss=1": (
            "InvalidConfigurationException: Unknown topic config name: retention.mss"
        ),
        "kafka-topics --delete --topic nothing": "does not exist as expected",
        "kubectl set env deployment/billing max.poll.records=7": "env updated",
        "kubectl set env deployment/billing max.poll.records-": "env updated",
        "kubectl rollout undo deployment/billing --to-revision=2": "rolled back",
        "kubectl delete pods -l app=billing": 'pod "billing-d3" deleted',
        "kubectl scale --replicas=0 deploy/billing": "scaled",
        "kafka-consumer-groups --reset-offsets --group billing --topic orders"
        " --to-datetime 2026-01-01T00:00:30.000 --execute": "billing         orders",
        "kafka-consumer-groups --reset-offsets --group billing --topic orders"
        " --to-datetime 2026-11-29T00:00:30.000 --execute": "still to come on this",
        "kafka-consumer-groups --reset-offsets --group billing --topic orders:0"
        " --shift-by -900 --execute": "is lower than earliest offset for topic",
        "kafka-consumer-groups --reset-offsets --group billing --all-topics"
        " --to-datetime midnight": "is a time such as 2026-01-01T00:05:00.000",
    }.items():
        night.act(line)
        assert words in night.told[-1]
    assert night.world.apps["billing"].env["max.poll.records"] == "7"
