"""`make bench`: minikafka beside a one-node Apache Kafka, the same clients, in one run,
taking turns in who goes first.

Each figure is the median of all rounds. A ratio above 1 means that minikafka does
better (more MB/s, less time, less memory); its spread is that of the rounds. Then what
has no counterpart: the rebalance of a large simulated group, and what a learner feels
of a picture. `--only start`: nothing but how soon they answer after they were started;
`--only nodes`: three brokers each, and three copies of each record;
`--only transactions`: transactions on such; `--only partitions`: with 2,000 partitions;
`--only tls`: what TLS costs; `--only testing`: what a test's own brokers cost;
`--only faults-off`: what it costs that they may be told to fail, while nobody does.
What Spark makes of minikafka and of the compose file's three Apache Kafkas is measured
with `--only pipeline` alone, and the course in a browser with `--only site`. With
--against, another version of minikafka takes the place of Apache Kafka: what a change
costs.
"""

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from minikafka.course.clusters.jvm_cluster import JvmCluster, NotStarted
from tests.bench import (
    fault_maps,
    faults_off,
    in_tests,
    measures,
    nodes,
    partitions,
    pictures,
    pipeline,
    rebalance,
    share,
    site,
    tls,
    transactions,
)
from tests.kafka import SERVE, ApacheKafka, answers, java_missing

MINIKAFKA, APACHE, THREE, OTHER = (
    "minikafka",
    "Apache Kafka",
    "Apache Kafka x3",
    "the other",
)


class MiniKafka:
    """`minikafka serve` on a data directory of its own. checkout: the folder that
    minikafka/ is in.
    """

    def __init__(self, checkout="."):
        self.checkout = checkout

    def start(self):
        self.data = tempfile.TemporaryDirectory(prefix="minikafka-bench-")
        command = [*SERVE, "--data", self.data.name]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=self.checkout
        )
        self.bootstrap = self.process.stdout.readline().removeprefix("ready ").strip()
        host, port = self.bootstrap.split(":")
        assert answers(host, int(port))
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.data.cleanup()


class Results:
    """(measure, unit, better) -> broker -> one figure a round. names: of the two
    brokers, minikafka first.
    """

    def __init__(self, names):
        self.names, self.figures = names, {}

    def add(self, measure, unit, more_is_better, broker, figure):
        self.figures.setdefault((measure, unit, more_is_better), {}).setdefault(
            broker, []
        ).append(figure)
        print(f"  {broker:13} {measure}: {figure:.4g} {unit}", flush=True)

    def table(self):
        lines = [f"{'':58}{self.names[0]:>12}{self.names[1]:>18}   ratio (spread)"]
        for (measure, unit, more_is_better), by_broker in self.figures.items():
            ours, theirs = (by_broker[name] for name in self.names)
            ratios = [
                (a / b if more_is_better else b / a)
                for a, b in zip(ours, theirs, strict=True)
            ]
            middle = [statistics.median(ours), statistics.median(theirs)]
            spread = (
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to"
                f" {max(ratios):.2f})"
            )
            lines.append(
                f"{measure + ', ' + unit:58}{middle[0]:>12.4g}{middle[1]:>18.4g}  "
                f" {spread}"
            )
        return "\n".join(lines)


def turns(round_number, names):
    """Who goes first alternates."""
    return names if round_number % 2 == 0 else names[::-1]


def measure_starts(results, start_again, rounds):
    """start_again: name -> a broker that is not started yet; Apache Kafka's has a
    formatted folder.
    """
    for number in range(rounds):
        print(f"start, round {number + 1} of {rounds}", flush=True)
        for name in turns(number, results.names):
            broker = start_again[name]()
            began = time.perf_counter()
            broker.start()
            results.add(
                "start to first answer", "s", False, name, time.perf_counter() - began
            )
            results.add(
                "memory after start",
                "MB",
                False,
                name,
                measures.resident_megabytes(broker.process.pid),
            )
            broker.stop()


def measure_work(results, brokers, rounds, scale):
    # the first one warms up: the virtual machine compiles as it runs
    for number in range(-1, rounds):
        kept = results if number >= 0 else Results(results.names)
        print(
            f"work, round {number + 1} of {rounds}" if number >= 0 else "warming up",
            flush=True,
        )
        for size, count in (
            (100, int(400 * scale) * 1000),
            (1000, int(160 * scale) * 1000),
        ):
            measure_one_size(kept, brokers, turns(number, results.names), size, count)
        for name in turns(number, results.names):
            bootstrap = brokers[name].bootstrap
            topic = measures.new_topic(bootstrap)
            median, slow = measures.end_to_end_latency(
                bootstrap, topic, int(1000 * scale)
            )
            kept.add("end-to-end latency, median", "ms", False, name, median)
            kept.add("end-to-end latency, 99 %", "ms", False, name, slow)
            kept.add(
                "memory after work",
                "MB",
                False,
                name,
                measures.resident_megabytes(brokers[name].process.pid),
            )
            measures.delete_topic(bootstrap, topic)


def measure_one_size(kept, brokers, names, size, count, new_topic=measures.new_topic):
    """Beside the speed the processor time of broker and client: a busy client may limit
    it more than a broker. The brokers are measured one right after the other: a machine
    that is shared has its moods.
    """
    topics = {name: new_topic(brokers[name].bootstrap) for name in names}
    for what, measure in (
        ("produce, librdkafka", measures.produce_with_librdkafka),
        ("consume, librdkafka", measures.consume_with_librdkafka),
        ("produce, ProducerPerformance", measures.produce_with_java),
    ):
        for name in names:
            measures.until_quiet()
            broker, of_client = brokers[name], measures.client_seconds()
            of_broker = measures.processor_seconds(broker)
            figure = measure(broker.bootstrap, topics[name], size, count)
            of_broker = measures.processor_seconds(broker) - of_broker
            of_client = measures.client_seconds() - of_client
            kept.add(f"{what}, {size} B", "MB/s", True, name, figure)
            for who, seconds in (("broker", of_broker), ("client", of_client)):
                kept.add(
                    f"{what}, {size} B, {who}",
                    "ms/MB",
                    False,
                    name,
                    seconds * 1000 / (size * count / 1e6),
                )
    for name, topic in topics.items():
        measures.delete_topic(brokers[name].bootstrap, topic)


def arguments():
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="how often everything is measured (default 5)",
    )
    quick = (
        "two rounds with a quarter of the records; of the pipeline its smallest size"
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parts = (
        "start",
        "brokers",
        "nodes",
        "transactions",
        "partitions",
        "share",
        "tls",
        "testing",
        "rebalance",
        "pictures",
        "faults",
        "faults-off",
        "pipeline",
        "site",
    )
    parser.add_argument("--only", choices=parts, help="one part of it")
    default = " ".join(map(str, pipeline.MILLIONS))
    parser.add_argument(
        "--rows",
        metavar="MILLIONS",
        nargs="+",
        type=float,
        default=pipeline.MILLIONS,
        help=f"of the pipeline: how many million rows a topic has (default {default})",
    )
    parser.add_argument(
        "--against",
        metavar="CHECKOUT",
        help="a folder with another version of minikafka, or a revision of Git's",
    )
    return parser.parse_args()


def main():
    args = arguments()
    # an installed program starts from bytecode
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as folder:
        if args.against:
            args.against = version(args.against, Path(folder))
        run(args)


def version(name, folder):
    """Where minikafka is in that version. folder: for a revision's files."""
    if (Path(name) / "minikafka" / "__main__.py").exists():
        return Path(name)
    packed = subprocess.run(
        ["git", "archive", name, "minikafka"], capture_output=True, check=False
    )
    if packed.returncode:
        sys.exit(
            f"bench: --against: {name} is neither a folder with minikafka nor a"
            " revision of this repository"
        )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def run(args):
    if args.only == "start":
        compare_starts(args)
    if args.only in (None, "brokers"):
        compare_brokers(args)
    if args.only == "nodes":
        compare_nodes(args)
    if args.only == "transactions":
        compare_transactions(args)
    if args.only == "partitions":
        compare_partitions()
    if args.only == "share":
        compare_shares(args)
    if args.only == "tls":
        compare_tls(args)
    if args.only == "testing":
        need_java()
        print("\n" + in_tests.table())
    if args.only == "faults-off":
        compare_faults_off(args)
    if args.only == "pipeline":
        compare_pipelines(args)
    if args.only in (None, "rebalance"):
        print("rebalance", flush=True)
        print("\n" + rebalance.table(rebalance.measure()))
    if args.only in (None, "pictures"):
        print("pictures", flush=True)
        print("\n" + pictures.table())
    if args.only in (None, "faults"):
        print("faults", flush=True)
        print("\n" + fault_maps.table())
    if args.only == "site":
        print("site", flush=True)
        print("\n" + site.table())


def compare_starts(args):
    with one_each(args) as (results, brokers, _):
        measure_starts(results, brokers, args.rounds)


def compare_brokers(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    with one_each(args) as (results, brokers, started):
        measure_starts(results, brokers, rounds)
        for name, broker in brokers.items():
            started[name] = broker().start()
        measure_work(results, started, rounds, scale)


def compare_shares(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    with one_each(args) as (results, brokers, started):
        for name, broker in brokers.items():
            started[name] = broker().start()
        share.measure(results, started, rounds, scale, turns)


def compare_tls(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    need_java()
    results = Results([MINIKAFKA, APACHE])
    with tls.brokers(results.names) as at:
        tls.measure(results, at, rounds, scale, turns)
    print("\n" + results.table())


def compare_faults_off(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    with sides(faults_off.BROKERS) as (results, brokers, started):
        for name, broker in brokers.items():
            started[name] = broker().start()
        faults_off.measure(results, started, rounds, scale, turns)


@contextmanager
def one_each(args):
    """`sides` with one broker each."""
    need_java()
    with tempfile.TemporaryDirectory(prefix="apache-bench-") as data:
        brokers = {MINIKAFKA: MiniKafka}
        if args.against:
            brokers[OTHER] = lambda: MiniKafka(args.against)
        else:
            brokers[APACHE] = lambda: ApacheKafka(data=Path(data), jvm=measures.JVM)
            with ApacheKafka(data=Path(data)):
                pass  # formats the folder: that is not counted as a start
        with sides(brokers) as begun:
            yield begun


@contextmanager
def three_each(args):
    """`sides` with three brokers each."""
    need_java()
    clusters = {MINIKAFKA: nodes.MiniNodes}
    if args.against:
        clusters[OTHER] = lambda: nodes.MiniNodes(checkout=args.against)
    else:
        clusters[THREE] = nodes.Jvm
    with sides(clusters) as begun:
        yield begun


@contextmanager
def sides(new):
    """(results, how to make each side, those that run); new: how. What runs is stopped
    in the end, and the table is printed.
    """
    results, started = Results(list(new)), {}
    try:
        yield results, new, started
    except NotStarted as error:
        sys.exit(f"bench: {error}")
    finally:
        for side in started.values():
            side.stop()
    print("\n" + results.table())


def need_java():
    missing = java_missing()
    if missing:
        sys.exit(f"bench: the comparison needs Apache Kafka: {missing}")


def compare_nodes(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    with three_each(args) as (results, clusters, started):
        nodes.measure_starts(results, clusters, min(rounds, 3))
        for name, cluster in clusters.items():
            started[name] = cluster().start()
        for number in range(-1, rounds):
            kept = results if number >= 0 else Results(results.names)
            print(
                (
                    f"work, round {number + 1} of {rounds}"
                    if number >= 0
                    else "warming up"
                ),
                flush=True,
            )
            for size, count in (
                (100, int(900 * scale) * 1000),
                (1000, int(160 * scale) * 1000),
            ):
                measure_one_size(
                    kept,
                    started,
                    turns(number, results.names),
                    size,
                    count,
                    nodes.new_topic,
                )
            for name in results.names:
                kept.add(
                    "memory after work, all three",
                    "MB",
                    False,
                    name,
                    nodes.megabytes(started[name]),
                )


def compare_transactions(args):
    rounds, scale = (2, 0.25) if args.quick else (args.rounds, 1.0)
    with three_each(args) as (results, clusters, started):
        for name, cluster in clusters.items():
            started[name] = cluster().start()
        transactions.measure(results, started, rounds, scale, turns)


def compare_partitions():
    need_java()
    clusters = {MINIKAFKA: lambda: nodes.MiniNodes("--no-restart"), THREE: nodes.Jvm}
    results = Results(list(clusters))
    for name, new in clusters.items():
        cluster = new().start()
        try:
            partitions.measure(results, name, cluster)
        except NotStarted as error:
            sys.exit(f"bench: {error}")
        finally:
            cluster.stop()
    print("\n" + results.table())


def compare_pipelines(args):
    need_java()
    rounds = 2 if args.quick else args.rounds
    brokers = {MINIKAFKA: MiniKafka}
    if args.against:
        brokers[OTHER] = lambda: MiniKafka(args.against)
    else:
        brokers[THREE] = JvmCluster
    with sides(brokers) as (results, brokers, started):
        for name, broker in brokers.items():
            started[name] = broker().start()
        pipeline.measure(results, started, args.rows, rounds, args.quick)


if __name__ == "__main__":
    main()
