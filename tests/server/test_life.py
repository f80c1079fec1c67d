"""Start, stop, kill and what the server says when it can't: as a person at a terminal
meets it.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.server.embedded import Served
from tests.clients.brokers import until
from tests.conformance.raw import Connection, batch
from tests.kafka import free_ports


def serve(*options, **popen):
    """`minikafka serve`, not started by Served: as from a shell."""
    command = [sys.executable, "-m", "minikafka", "serve", *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen
    )


def said(*options, **popen):
    """(exit code, standard error) of a server that does not start."""
    process = serve(*options, **popen)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


@pytest.fixture
def refused(capsys):
    """As said(), but in this process: there are many ways to be wrong."""

    def told(*options):
        try:
            code = main(["serve", *options])
        except SystemExit as ended:
            code = ended.code
        return code, capsys.readouterr().err

    return told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals to send")
def test_a_signal_stops_it_cleanly_with_exit_code_0_and_no_traceback(tmp_path, number):
    with serve("--port", "0", "--data", str(tmp_path)) as process:
        address = process.stdout.readline().removeprefix("ready ").strip()
        with Connection(address) as client:
            client.create_topic("orders")
            parked = client.send_fetch("orders", max_wait_ms=60_000, min_bytes=1)
            process.send_signal(number)
            answer = client.read("Fetch", 11)
            assert (parked, answer.error_code) == (
                client.correlation_id,
                0,
            ), "what is parked is answered"
            assert client.is_closed_by_the_broker()
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_without_data_it_uses_a_temporary_folder_and_removes_it():
    served = Served(options=("--verbose",))
    folder = Path(served.said().split("the data is in ")[1].split()[0])
    assert folder.is_dir()
    assert served.stop() == 0
    assert not folder.exists()


def test_a_second_server_on_the_same_data_is_refused(tmp_path):
    with Served(data=tmp_path):
        code, errors = said("--port", "0", "--data", str(tmp_path))
    assert code == 1
    assert (
        errors
        == f"minikafka: another server runs on {tmp_path}: stop it, or choose another"
        " folder with --data.\n"
    )


def test_a_port_that_is_taken_is_said_with_its_holder_and_the_way_out():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        code, errors = said("--port", str(port))
    assert code == 1
    assert f"minikafka: port {port} is taken by another program" in errors
    assert f"minikafka serve --port {port + 1}   (0 picks a free one)" in errors
    if Path("/proc/net/tcp").exists():
        assert f'(pid {os.getpid()}, "' in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--brokers", "10"], "from 1 to 9 on one machine"),
        (["--brokers", "3", "--port", "65534"], "end beyond 65535"),
        (["--brokers", "3", "--advertised-port", "65534"], "--advertised-port: 3"),
        (["--advertised-port", "-1", "--port", "0"], "'-1' is not a port"),
        (["--host", "0.0.0.0", "--port", "0"], "--advertised-host"),
        (["--host", "no.such.host.invalid", "--port", "0"], "is not known here"),
        (["--host", "192.0.2.1", "--port", "0"], "is not an address of this machine"),
        (["--port", "http"], "is not a port"),
        (["--port", "70000"], "is not a port"),
        (["--trace", "/no/such/folder/trace", "--port", "0"], "can't write the trace"),
        (["--data", __file__, "--port", "0"], "can't use"),
        (["--host", "", "--port", "0"], "--host: '' is not a host name"),
        (["--host", "a" * 100, "--port", "0"], "is not a host name"),
        (
            ["--advertised-host", "a" * 40_000, "--port", "0"],
            "--advertised-host: 'aaaa",
        ),
        (
            ["--advertised-host", "two words", "--port", "0"],
            "'two words' is not a host name",
        ),
        (
            ["--advertised-host", "0.0.0.0", "--port", "0"],
            "clients can't connect to 0.0.0.0",
        ),
        (["--port", "9" * 5000], "--port: '9999"),
        (
            ["--port", "\x1b[31m\nminikafka: forged"],
            r"'\x1b[31m\nminikafka: forged' is not a port",
        ),
        (["--brokers", "x"], "--brokers"),
        (
            ["--override", "num.partitions"],
            "--override: 'num.partitions' is not NAME=VALUE",
        ),
        (
            ["--override", "num.partitions=0", "--port", "0"],
            "--override: Invalid value 0 for configuration num.part",
        ),
        (
            ["--override", "group.consumer.assignors=", "--port", "0"],
            "group.consumer.assignors: must not be empty",
        ),
        (["--nonsense"], "--nonsense"),
        (["--brokers", "0"], "from 1 to 9 on one machine"),
        (["--brokers", "-5"], "from 1 to 9 on one machine"),
        (["--brokers", ""], "'' is not a number of brokers"),
        (["--brokers", "9" * 5000], "is not a number of brokers"),
        (
            ["--brokers", "3", "--processes", "--node", "1"],
            "--processes: one process for each",
        ),
        (["--no-restart"], "--no-restart: only processes are started again"),
        (["--port", "-1"], "'-1' is not a port"),
        (["--port", ""], "'' is not a port"),
        (["--port", "65536"], "'65536' is not a port"),
        (["--host", "0", "--port", "0"], "clients can't connect to 0"),
        (["--host", "::0", "--port", "0"], "clients can't connect to ::0"),
        (["--host", "a..b", "--port", "0"], "'a..b' is not a host name"),
        (["--advertised-host", "", "--port", "0"], "'' is not a host name"),
        (["--data", "", "--port", "0"], "--data: '' is not the name of anything"),
        (["--data", f"{__file__}/data", "--port", "0"], "can't use"),
        (
            ["--data", "/proc/data", "--port", "0"],
            "can't use /proc/data as data folder",
        ),
        (["--trace", "", "--port", "0"], "--trace: '' is not the name of anything"),
        (["--trace", "/", "--port", "0"], "--trace: can't write the trace to /"),
        (["--racks", "", "--port", "0"], "'' is not a list of racks"),
        (
            ["--racks", "a,,b", "--brokers", "3", "--port", "0"],
            "'a,,b' is not a list of racks",
        ),
        (["--racks", "a\nb", "--port", "0"], r"'a\nb' is not a list of racks"),
        (["--cluster-id", "", "--port", "0"], "'' is not a cluster id"),
        (["--cluster-id", "a" * 21, "--port", "0"], "is not a cluster id"),
        (["--cluster-id", "a" * 23, "--port", "0"], "is not a cluster id"),
        (
            ["--cluster-id", "MkU3OEVBNTcwNTJENDM2=\n", "--port", "0"],
            "is not a cluster id",
        ),
        (
            ["--cluster-secret", "", "--brokers", "3", "--port", "0"],
            "--cluster-secret: '' is not the name",
        ),
        (["--override", "=3", "--port", "0"], "--override: '' is not NAME=VALUE"),
        (
            ["--override", "broker.id=5", "--port", "0"],
            "--override: broker.id follows from how the broker is started",
        ),
        (["--override", "node.id=x"], "--override node.id: 'x' is not a number."),
        (["--override", "node.id=-1"], "--override node.id: '-1' is not a number."),
        (
            ["--override", f"node.id={2**31 - 1}", "--brokers", "2"],
            f"--override node.id: a node is numbered up to {2**31 - 1}.",
        ),
        (["--ready", "xml"], "--ready: invalid choice: 'xml'"),
    ],
)
def test_wrong_options_get_one_helpful_line_and_no_traceback(options, words, refused):
    code, errors = refused(*options)
    assert code in (1, 2)
    assert words in errors
    assert errors.endswith("\n") and errors[:-1].isprintable() and len(errors) < 400


THREE = "1@127.0.0.1:9093,2@127.0.0.1:9094,3@127.0.0.1:9095"


@pytest.mark.parametrize(
    ("node", "voters", "words"),
    [
        ("-1", THREE, "'-1' is not a node"),
        ("2147483648", THREE, "'2147483648' is not a node: they are numbered from 0"),
        ("9" * 5000, THREE, "is not a node"),
        ("one", THREE, "'one' is not a node"),
        ("1@", THREE, "'1@' is not a node"),
        ("1@:9093", THREE, "'1@:9093' is not a node"),
        ("1@127.0.0.1:65536", THREE, "'65536' is not a port"),
        (
            "1@no.such.host.invalid",
            THREE,
            "--node: the name 'no.such.host.invalid' is not known here",
        ),
        ("1@192.0.2.1", THREE, "--node: 192.0.2.1 is not an address of this machine"),
        ("1", "", "'' is not a voter"),
        ("1", "1", "'1' is not a voter"),
        ("1", "1@127.0.0.1", "'1@127.0.0.1' is not a voter"),
        ("1", "-1@127.0.0.1:9093", "'-1@127.0.0.1:9093' is not a voter"),
        ("1", "1@127.0.0.1:0", "is not a voter: the others must know its port"),
        ("1", "1@127.0.0.1:99999", "'99999' is not a port"),
        ("1", "1@127.0.0.1:-9093", "'1@127.0.0.1:-9093' is not a voter"),
        ("1", "1@127.0.0.1:9093,", "'' is not a voter"),
        (
            "1",
            "1@127.0.0.1:9093,1@127.0.0.1:9094,3@127.0.0.1:9095",
            "voter 1 is named twice",
        ),
        (
            "1",
            "1@127.0.0.1:9093,2@127.0.0.1:9093,3@127.0.0.1:9095",
            "two voters are to listen on 127.0.0.1:9093",
        ),
        (
            "1",
            "1@127.0.0.1:9093,2@127.0.0.1:9094",
            "--voters: name an odd number of them, for example 3",
        ),
        (
            "1",
            f"{THREE},4@127.0.0.1:9096",
            "--voters: name an odd number of them, for example 5",
        ),
        (
            "1",
            "1@no.such.host.invalid:9093",
            "--voters: the name 'no.such.host.invalid' is not known here",
        ),
        (
            "1",
            "1@192.0.2.1:9093",
            "--voters: 192.0.2.1 is not an address of this machine",
        ),
        ("1", f"1@{'a' * 64}:9093", "is not a host name"),
        ("1", "1@two words:9093", "'1@two words:9093' is not a voter"),
    ],
)
def test_a_wrong_node_or_wrong_voters_get_one_helpful_line(
    node, voters, words, refused
):
    """As process.roles, node.id and controller.quorum.voters say it to Apache Kafka.
    Nothing is bound to a port of THREE: each ends before.
    """
    wanted = (
        f"--node={node}",
        f"--voters={voters}",
        "--cluster-id",
        "MkU3OEVBNTcwNTJENDM2Qg",
        "--port",
        "0",
    )
    code, errors = refused(*wanted)
    assert code in (1, 2)
    assert words in errors
    assert errors.endswith("\n") and errors[:-1].isprintable() and len(errors) < 400


def test_a_node_whose_cluster_no_folder_and_no_option_names_is_told_so(tmp_path):
    """An empty folder names none: each node would make its own."""
    code, errors = said(
        "--node", "1", "--voters", THREE, "--port", "0", "--data", str(tmp_path)
    )
    assert code == 1
    assert errors.startswith(
        "minikafka: --cluster-id: all nodes name the same one, for example "
    )


def test_where_nodes_listen_to_each_other_may_be_taken_and_is_not_where_clients_come():
    cluster = ("--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg", "--node", "1", "--voters")
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        taken = said("--port", "0", *cluster, f"1@127.0.0.1:{port}")
        same = said("--port", str(port), *cluster, f"1@127.0.0.1:{port}")
    assert taken[0] == same[0] == 1
    assert f"minikafka: port {port} is taken by another program" in taken[1]
    assert taken[1].endswith("or choose another port in --voters.\n")
    assert same[1].startswith(
        f"minikafka: --port: on {port} this node listens to the other nodes"
    )


def test_whoever_opens_it_to_others_is_told_that_there_is_no_authentication():
    with Served(
        options=("--host", "0.0.0.0", "--advertised-host", "127.0.0.1")
    ) as served:
        port = served.bootstrap.partition(":")[2]
        assert (
            served.said()
            == "minikafka: there is no authentication: anybody who reaches"
            f" 0.0.0.0:{port} may read and write."
        )


SERVED = """
import sys
from minikafka.server.embedded import Served
server = Served(options=tuple(sys.argv[1:])).process
"""
WITHOUT_A_PIPE = """
import subprocess, sys
command = [sys.executable, "-m", "minikafka", "serve", "--port", "0"]
command += ["--exit-with-parent", *sys.argv[1:]]
server = subprocess.Popen(
    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
)
assert server.stdout.readline().startswith("ready ")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"),
    reason="this system can't wait for a process that is not a child",
)
@pytest.mark.parametrize(
    ("program", "options"),
    [
        (SERVED, ()),
        (SERVED, ("--control", "0")),
        (WITHOUT_A_PIPE, ()),
        (WITHOUT_A_PIPE, ("--brokers", "2", "--processes")),
    ],
    ids=["Served", "under control", "without a pipe", "a process for each broker"],
)
def test_it_dies_with_the_process_that_started_it(program, options):
    """By kill -9, which leaves that process no last word."""
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            program + "print(server.pid, flush=True)\ninput()",
            *options,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        handle = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    assert select.select([handle], [], [], 120)[0], "the server outlived its parent"
    os.close(handle)


def test_a_program_that_lives_keeps_it_though_it_gives_no_pipe():
    with serve("--port", "0", "--exit-with-parent", stdin=subprocess.DEVNULL) as server:
        address = server.stdout.readline().removeprefix("ready ").strip()
        with Connection(address) as client:
            client.create_topic("orders")
        assert server.poll() is None
        server.terminate()
        server.communicate()
    assert server.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--processes",)])
def test_more_brokers_than_one_advertise_one_port_after_another(options):
    """As --port does: advertised.listeners of each of them."""
    told = ("--brokers", "2", "--advertised-port", "20001", *options)
    [port] = free_ports(1)
    with Served(port=port, options=told) as served:
        assert served.bootstrap == "127.0.0.1:20001,127.0.0.1:20002"
        with Connection(f"127.0.0.1:{port}") as client:
            brokers = client.ask("DescribeCluster", 0).brokers
        assert {each.broker_id: each.port for each in brokers} == {1: 20001, 2: 20002}


@pytest.mark.parametrize("options", [(), ("--brokers", "2", "--processes")])
def test_the_ready_line_may_be_an_object_in_json(options):
    with serve("--port", "0", "--ready", "json", *options) as server:
        told = json.loads(server.stdout.readline())
        [address, *_] = told["bootstrap_servers"].split(",")
        with Connection(address) as client:
            cluster_id = client.ask("DescribeCluster", 0).cluster_id
        assert (told["cluster_id"], told["pid"]) == (cluster_id, server.pid)
        server.terminate()
        server.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "racks"),
    [
        ((), ["a"]),
        (("--brokers", "3"), ["a", "b", "c"]),
        (("--brokers", "3", "--processes"), ["a", "b", "c"]),
    ],
)
def test_the_first_broker_may_be_node_0(tmp_path, options, racks):
    first = ("--override", "node.id=0", "--racks", "a,b,c")
    for _ in range(2):  # the second time on its data
        with Served(data=tmp_path, options=(*first, *options)) as served:
            [address, *_] = served.bootstrap.split(",")
            with Connection(address) as client:

                def known():
                    brokers = client.ask("DescribeCluster", 0).brokers
                    return {each.broker_id: each.rack for each in brokers}

                # a broker hears of the others by the metadata log
                until(lambda: known() == dict(enumerate(racks)), "it knows them all")
                resource = {"resource_type": 4, "resource_name": "0"}
                body = {"resources": [resource | {"configuration_keys": ["node.id"]}]}
                [described] = client.ask("DescribeConfigs", 1, **body).results
                assert [each.value for each in described.configs] == ["0"]


@pytest.mark.slow
def test_node_0_may_vote():
    [voting, another] = free_ports(2)
    voters = f"0@127.0.0.1:{voting}"
    options = ("--voters", voters, "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg")
    with (
        Served(options=("--node", "0", *options)) as zero,
        Served(options=("--node", f"7@127.0.0.1:{another}", *options)),
        Connection(zero.bootstrap) as client,
    ):
        known = client.ask("DescribeCluster", 0).brokers
        assert {each.broker_id for each in known} == {0, 7}
        place = {"topic_name": "__cluster_metadata", "partitions": [{}]}
        [told] = client.ask("DescribeQuorum", 0, topics=[place]).topics
        assert told.partitions[0].leader_id == 0


def test_what_happens_is_written_to_the_trace_file(tmp_path):
    trace = tmp_path / "trace.jsonl"
    with Served(trace=trace) as served, Connection(served.bootstrap) as client:
        client.create_topic("orders")
        client.produce("orders", batch(b"paid"))
        events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert "TopicCreated" in {event["kind"] for event in events}
    [appended] = [event for event in events if event["kind"] == "RecordsAppended"]
    assert appended["detail"]["records"][0][2] == "paid"


def test_verbose_says_who_came_and_what_was_spoken():
    with Served(options=("--verbose",)) as served:
        with Connection(served.bootstrap) as client:
            client.ask(
                "ApiVersions",
                3,
                client_software_name="librdkafka",
                client_software_version="2.16",
            )
            client.ask("Metadata", 5, topics=[])
        # the line about the first is written by now
        with Connection(served.bootstrap) as client:
            client.ask("ApiVersions", 0)
        lines = served.said()
    assert (
        "is librdkafka 2.16 (client id 'raw'), which speaks ApiVersions 3. It may"
        " choose from Produce 0-" in lines
    )
    assert "It spoke ApiVersions 3 (1 x), Metadata 5 (1 x)." in lines


def test_a_server_that_does_not_start_says_why_in_the_error():
    with pytest.raises(RuntimeError, match="from 1 to 9 on one machine"):
        Served(options=("--brokers", "0"))


def test_a_bootstrap_address_can_be_kept_over_a_restart(tmp_path):
    [port] = free_ports(1)
    with (
        Served(data=tmp_path, port=port) as first,
        Connection(first.bootstrap) as client,
    ):
        client.create_topic("orders")
        client.produce("orders", batch(b"a"))
        first.kill()
    with (
        Served(data=tmp_path, port=port) as second,
        Connection(second.bootstrap) as client,
    ):
        assert second.bootstrap == first.bootstrap
        assert client.offset("orders", -1).offset == 1
