"""`python -m tests.class_archive`: the classes of Apache Kafka as a JVM reads them
fastest, for all JVMs of the tests (class data sharing, JEP 310).

A JVM that starts spends most of its first seconds on reading, checking and linking
thousands of classes. A broker and tools run once and write down which they load; the
JVM then dumps these. `make test` calls this before its tests; where the archive is
there already it does nothing.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kafka import ApacheKafka, class_archive, java_tool, kafka_jars

TOOLS = "org.apache.kafka.tools"
PLAIN = ("-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def make() -> None:
    """Nothing to do without Java or the jars: the tests that need them are skipped."""
    archive = class_archive()
    if archive is None or archive.exists():
        return
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        lists = Path(folder)
        run_programs(lists)
        loaded = {
            line: None
            for each in sorted(lists.iterdir())
            for line in each.read_text().splitlines()
        }
        everything = lists / "all"
        everything.write_text("\n".join(loaded) + "\n")
        dump(everything, lists / "archive").replace(archive)


def run_programs(lists: Path) -> None:
    """Each writes the names of its classes into a file in this folder."""

    def listed(name: str) -> tuple[str, ...]:
        return (*PLAIN, f"-XX:DumpLoadedClassList={lists / name}")

    with ApacheKafka(jvm=listed("broker")) as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        topic = ("--topic", "archived")
        group = ("--group-id", "archived", "--reset-policy", "earliest")
        newer = ("--group-protocol", "consumer")
        for name, *options in (
            ("TopicCommand", "--create", *topic),
            ("ConsoleProducer", *topic),
            ("VerifiableProducer", *topic, "--max-messages", "3"),
            ("VerifiableConsumer", *topic, *group, "--max-messages", "1"),
            ("VerifiableConsumer", *topic, *group, *newer, "--max-messages", "1"),
            ("consumer.ConsoleConsumer", *topic, "--timeout-ms", "2000"),
            ("consumer.group.ConsumerGroupCommand", "--describe", "--all-groups"),
        ):
            java_tool(
                f"{TOOLS}.{name}",
                *server,
                *options,
                input="one\n",
                jvm=listed(f"{name}{len(options)}"),
            )


def dump(class_list: Path, archive: Path) -> Path:
    """Strings and the like are in archives that G1 writes; any collector reads them."""
    done = subprocess.run(
        [
            *("java", "-Xshare:dump", "-XX:+UseG1GC", "-Xlog:disable"),
            *(f"-XX:SharedClassListFile={class_list}", "-cp", str(kafka_jars() / "*")),
            f"-XX:SharedArchiveFile={archive}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not archive.exists():
        # not every JVM can; the tests do without
        said = f"{done.stdout}{done.stderr}".strip()
        sys.exit(f"This JVM makes no archive of classes, and starts slower: {said}")
    return archive


if __name__ == "__main__":
    make()
