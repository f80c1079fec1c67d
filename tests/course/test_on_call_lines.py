"""The lines that somebody on call types in lesson 22: what is understood, what isn't and
how that is said, and what the tools print.
"""

import pytest

from minikafka.course.on_call import plans, screen
from minikafka.course.on_call.incident import Incident

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
        ("ls", "There are"),
        ("kafka-topics --describe --topics orders", "Did you mean --topic?"),
        ("kafka-topics --describe --topic", "--topic lacks its value"),
        ("kafka-topics", "kafka-topics goes so here"),
        ("kafka-configs --describe --entity-type topics", "--entity-name is missing"),
        (
            "kafka-configs --describe --entity-type users --entity-name a",
            "--entity-type",
        ),
        ("kubectl logs deployment/biling", "There is no deployment 'biling'"),
        ("kubectl logs billing", "There is no pod 'billing'"),
        ("journalctl kafka-9", "there are kafka-1, kafka-2, kafka-3"),
        ("kafka-topics --delete --topic orders", "incident.act(...) does it"),
        ("kafka-topics --list 'orders", "can't be read"),
        ("kafka-transactions describe-producers --topic orders --partition x", "whole"),
        ("metrics --minutes few", "whole number"),
        ("kubectl get pods billing-a1 now", "too much"),
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
        ("kubectl set env deployment/billing work.ms=1", "no setting"),
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


@pytest.mark.parametrize("given", [0, 5, "2", True, None])
def test_a_cause_is_a_number_of_the_list(night, given):
    night.cause(given)
    assert "numbers 1 to 2" in night.told[-1]


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
        ("kubectl get pods -o yaml", "-o takes wide here"),
        ("kubectl logs billing-a1 | grep commit", "One program a line"),
        ("journalctl", "--unit is missing"),
        (
            "kafka-consumer-groups --describe --group billing --state --members",
            "One table at a time",
        ),
    ],
)
def test_what_is_not_there_is_said_with_what_is(night, line, words):
    night.ask(line)
    assert words in night.told[-1]


@pytest.mark.parametrize("line", ["journalctl", "kubectl get pods -n shop"])
def test_a_line_that_can_not_be_meant_costs_no_time(night, line):
    before_ms = night.world.now_ms
    night.ask(line)
    assert night.world.now_ms == before_ms


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
def test_a_roll_out_is_undone_and_what_is_no_setting_stays():
    night = begun("quiet-night")
    undo = "kubectl rollout undo deployment/{}"
    night.act(undo.format("billing"))
    assert 'no rollout history found for deployment "billing"' in night.told[-1]
    night.act(ENV.format("billing", "max.poll.records=5"))
    night.act(undo.format("billing"))
    assert "deployment.apps/billing rolled back" in night.told[-1]
    assert "max.poll.records" not in night.world.apps["billing"].env
    night = begun("hot-key")
    night.act(undo.format("shop"))
    assert "What a customer orders is no setting" in night.told[-1]


@pytest.mark.nightly
def test_the_election_tool_waits_for_a_controller_in_apache_kafkas_words():
    night = begun("voters-lost")
    night.act(UNCLEAN)
    assert "Timeout waiting for election results" in night.told[-1]


def test_offsets_of_a_partition_without_a_leader_are_skipped_in_apache_kafkas_words():
    night = begun("unclean-election")
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
    night = begun("voters-lost")
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
    night = begun("commits-first")
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
    night = begun("unclean-election")
    night.ask("kafka-console-consumer --topic orders --partition 1 --from-beginning")
    assert "until somebody leads orders-1" in night.told[-1]


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
