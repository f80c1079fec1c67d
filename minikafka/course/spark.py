"""Spark for the lessons: a small local session with the real Kafka connector, and a Lab
for topics and checkpoints.

from minikafka.course.spark import Lab, session

spark = session()
lab = Lab("17", kafka)
orders = lab.topic("orders", partitions=3)
checkpoint = lab.checkpoint("copy")
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from minikafka.course.clusters import reachable
from minikafka.course.data import replayer

if TYPE_CHECKING:
    from minikafka.course.connect import Connection

# Spark's Kafka connector. Its line (4.2) is PySpark's in pyproject;
# MINIKAFKA_SPARK_PACKAGES replaces it, and an empty one says that the jars are in
# Spark's own folder already, as in the classroom image.
PACKAGES = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
VARIABLE = "MINIKAFKA_SPARK_PACKAGES"

# Delta tables, for a session that asks for them. Built for one line of Spark, which its
# name ends with; these settings let SQL know the format. A small table's log is read by
# two tasks instead of fifty.
DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": (
        "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    ),
    "spark.databricks.delta.snapshotPartitions": "2",
}

# Where the lessons' queries run: here, unless this variable names a cluster of Spark's
# own, spark://HOST:PORT.
MASTER = "local[2]"
MASTER_VARIABLE = "MINIKAFKA_SPARK_MASTER"

JAVA_VERSIONS = (17, 21)
DRIVER_MEMORY = "1g"

# A lab's session lives for a minute or two: to compile once, and quickly, halves what
# the processor has to do. The bench, which reads millions of rows, does without.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Jars that the connector or Delta asks for and that PySpark's own folder has, some of
# them newer: they are neither fetched nor copied at each start.
THERE_ALREADY = (
    "com.fasterxml.jackson.core:jackson-*",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "at.yawk.lz4:lz4-java",
    "commons-pool:commons-pool",
    "io.airlift:aircompressor",
    "org.apache.logging.log4j:log4j-*",
    "org.apache.parquet:parquet-*",
    "org.locationtech.jts:jts-core",
    "org.roaringbitmap:RoaringBitmap",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
)

_NO_PYSPARK = """minikafka: PySpark is not installed here. It takes 485 MB and one to five minutes to install:

  {command}

  Then restart the kernel (Kernel > Restart) and begin again."""

_NO_JAVA = """minikafka: Spark runs on Java, and {found}. It needs Java 17 or 21: about 200 MB, one to three minutes.

  conda:          conda install -c conda-forge openjdk=17
  Debian, WSL2:   sudo apt install openjdk-17-jre-headless
  macOS:          brew install openjdk@17

  Then start JupyterLab again from a new terminal, or set JAVA_HOME to where Java is.
  On Windows use WSL2 or Docker for the Spark lessons."""

_NOT_STARTED = """minikafka: Spark did not start. The last lines it wrote:

{lines}

{advice}"""

_NO_NETWORK = """  "unresolved dependency" or "download failed": it could not fetch {packages}.
  It needs the network once; later starts use what it has kept under ~/.ivy2.5.2."""

_HALF_FETCHED = """  The network may be fine: here is the description of a jar without the jar, and Spark looks
  nowhere else. Delete these folders, and run the cell again:

{folders}"""

_NO_CORES = """Spark waits for a free core at {master}: sessions of other notebooks have them all, one each.
Stop one, with spark.stop() there or Kernel > Shut Down Kernel, and this one goes on."""
NO_CORES_AFTER_S = 15  # an executor is there sooner than that, if it gets its cores


class SparkMissing(RuntimeError):
    """Java or PySpark is not there, or doesn't start; the message says what to do."""

    def _render_traceback_(self) -> list[str]:  # IPython shows this: the message alone
        return str(self).splitlines()


def session(
    name: str = "minikafka",
    own: Mapping[str, str] | None = None,
    delta: bool = False,
) -> Any:
    """The notebook's SparkSession, the same until it is stopped. Two threads, 1 GB,
    UTC, no UI, no log lines in cells. MINIKAFKA_SPARK_MASTER=spark://HOST:PORT takes
    one core of that cluster instead of two threads, and has Spark's UI. own: settings
    in the place of a lab's. delta: a session that knows Delta tables, too.

    Raises SparkMissing, with the exact fix, when Java or PySpark is missing.
    """
    require_pyspark()
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master() == MASTER:
        # a machine's own name is not always known: Spark would not start
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name).master(master())
    for key, value in {**settings(delta), **(own or {})}.items():
        builder = builder.config(key, value)
    sizes = {
        "its Kafka connector, 10 MB": _connector(),
        "Delta, 13 MB": _delta() if delta else "",
    }
    fetched = ", and ".join(size for size, coordinates in sizes.items() if coordinates)
    fetches = f" (the very first time it also fetches {fetched})" if fetched else ""
    print(f"Spark starts: 5 to 15 seconds{fetches}.")
    with tempfile.TemporaryFile() as log:
        try:
            with _output_into(log):
                spark = builder.getOrCreate()
        except Exception as error:
            said = _said(log)
            raise SparkMissing(
                _NOT_STARTED.format(
                    lines=_last_lines(said), advice=_advice(said, packages(delta))
                )
            ) from error
    if master() != MASTER:
        _wait_for_cores(spark)
    spark.sparkContext.setLogLevel("OFF")
    # PySpark would show each error twice, the first time as a screenful of JSON.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    atexit.register(spark.stop)
    return spark


def packages(delta: bool = False) -> str:
    """The Maven coordinates of the connector, and of Delta; empty where PySpark's own
    folder has their jars, or, for the connector, where the environment says so.
    """
    wanted = [_connector(), _delta() if delta else ""]
    return ",".join(filter(None, wanted))


def _connector() -> str:
    usual = "" if _is_there_already("spark-sql-kafka-0-10_") else PACKAGES
    return os.environ.get(VARIABLE, usual).strip()


def _delta() -> str:
    return "" if _is_there_already("delta-spark_") else DELTA


def _is_there_already(jar: str) -> bool:
    """Whether a jar whose name begins like this is beside Spark's own. Set-up from a
    folder of wheels puts the connector there.
    """
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return False
    jars = Path(found.origin).parent / "jars"
    return any(jars.glob(f"*{jar}*.jar"))


def master() -> str:
    """Spark's master: local, or the one that the environment names."""
    return os.environ.get(MASTER_VARIABLE, "").strip() or MASTER


def settings(delta: bool = False) -> dict[str, str]:
    """The settings of a lab's session, with Delta tables or without."""
    here = {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
    found = {
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # a page to look at where there is a cluster to look at, on port 4040
        "spark.ui.enabled": str(master() != MASTER).lower(),
        "spark.ui.showConsoleProgress": "false",
        # workers elsewhere must reach the driver
        **(here if master() == MASTER else {"spark.cores.max": "1"}),
        **(DELTA_SETTINGS if delta else {}),
    }
    fetched = {
        "spark.jars.packages": packages(delta),
        "spark.jars.excludes": ",".join(THERE_ALREADY),
    }
    return {**found, **fetched} if packages(delta) else found


def require_pyspark() -> None:
    """Raises SparkMissing when PySpark is not installed; the message has its size and
    the command.
    """
    if find_spec("pyspark") is None:
        ours = [
            line
            for line in requires("minikafka") or []
            if re.search(r"""extra == ['"]spark['"]""", line)
        ]
        wanted = " ".join(f'"{line.partition(";")[0].strip()}"' for line in ours)
        command = f'"{sys.executable}" -m pip install {wanted}'
        raise SparkMissing(_NO_PYSPARK.format(command=command))


def require_java() -> int:
    """Java's major version. Raises SparkMissing if there is none, or one on which this
    Spark doesn't run.
    """
    java, major = java_version()
    if java is None:
        raise SparkMissing(_NO_JAVA.format(found="there is none here"))
    if major not in JAVA_VERSIONS:
        raise SparkMissing(
            _NO_JAVA.format(found=f"this one is Java {major or '?'} ({java})")
        )
    return major


def java_version() -> tuple[str | None, int]:
    """(path, major version) of the Java that programs started here would find; (None,
    0) without one.
    """
    java = _java()
    if java is None:
        return None, 0
    said = subprocess.run(
        [java, "-version"], capture_output=True, text=True, check=False
    ).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return java, int(match[1]) if match else 0


def _java() -> str | None:
    """Where Spark would look: JAVA_HOME first, then the PATH."""
    home = os.environ.get("JAVA_HOME")
    return (
        shutil.which("java", path=os.path.join(home, "bin"))
        if home
        else shutil.which("java")
    )


@contextmanager
def _output_into(log: IO[bytes]) -> Iterator[None]:
    """Send the output of child processes started here, now and later, to a file: a
    notebook has no use for a JVM's log.
    """
    kept = {number: os.dup(number) for number in (1, 2)}
    try:
        for number in kept:
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, old in kept.items():
            os.dup2(old, number)
            os.close(old)


def _wait_for_cores(spark: Any) -> None:
    """Returns when a cluster has given the session a process to run in, and says so
    where it takes long.
    """
    context = spark.sparkContext._jsc.sc()
    began, is_told = time.monotonic(), False
    while context.getExecutorMemoryStatus().size() < 2:  # the driver is one
        if not is_told and time.monotonic() - began > NO_CORES_AFTER_S:
            is_told = True
            print(_NO_CORES.format(master=master()), flush=True)
        time.sleep(0.2)


def _said(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _last_lines(said: str, count: int = 15) -> str:
    return "\n".join(f"  {line}" for line in said.splitlines()[-count:])


def _advice(said: str, wanted: str) -> str:
    """Advice for the messages that Spark wrote when it didn't start. wanted: the
    coordinates of what it was to fetch.
    """
    folders = _half_fetched(said)
    if not folders:
        return _NO_NETWORK.format(packages=wanted.replace(",", ", "))
    return _HALF_FETCHED.format(folders="\n".join(f"    {each}" for each in folders))


def _half_fetched(said: str) -> list[Path]:
    """Where a jar's description is that Spark's resolver went by: Maven's folder, and
    the resolver's own cache, which has noted that it was there.
    """
    found = [Path(jar).parent for jar in re.findall(r"(?m)^\s+file:(\S+\.jar)$", said)]
    for cache in re.findall(r"Ivy Default Cache set to: (.+)", said):
        for group, name in re.findall(r"(?m)^\s+:: (\S+)#(\S+?);\S+\.jar$", said):
            found.append(Path(cache.strip(), group, name))
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


_TOO_LATE = "Python worker failed to connect back"
_LIVES = 6


def patiently(attempt: Callable[[], Any]) -> Any:
    """attempt starts or drives a query with a checkpoint. Spark gives a Python process
    of its driver ten seconds to start, which no setting changes; if a busy machine
    takes longer, the attempt is repeated: the query continues from its checkpoint.
    """
    from pyspark.errors import StreamingQueryException

    for life in range(1, _LIVES + 1):
        try:
            return attempt()
        except StreamingQueryException as error:
            if life == _LIVES or _TOO_LATE not in str(error):
                raise


def rows_read(query: Any) -> int:
    """How many rows a streaming query has read, by its reports."""
    return sum(progress["numInputRows"] for progress in query.recentProgress)


class Lab:
    """The topics and checkpoints of one notebook: made together, gone together.

    A checkpoint holds offsets of one particular topic. Used on another topic of the
    same name it reads the wrong records, or stops. So a lab has names of its own on the
    cluster and a folder of its own, and `topic()` and `checkpoint()` give new ones each
    time they are called: neither a second run of a cell nor a restart of the kernel can
    join an old checkpoint to a new topic.
    """

    def __init__(self, name: str, kafka: "Connection") -> None:
        self.name = name
        self._kafka = kafka
        self._prefix = f"lab{name}-{uuid.uuid4().hex[:8]}"
        self._folder = Path(tempfile.mkdtemp(prefix=f"minikafka-lab{name}-"))
        self._topics: list[str] = []
        self._checkpoints = 0
        atexit.register(self.close)

    def __repr__(self) -> str:
        return (
            f"Lab {self.name}: {len(self._topics)} topics, {self._checkpoints}"
            " checkpoints"
        )

    @property
    def bootstrap(self) -> str:
        """The cluster's address, host:port."""
        return self._kafka.bootstrap

    def topic(
        self, name: str, partitions: int = 3, configs: Mapping[str, str] | None = None
    ) -> str:
        """A new, empty topic that can be used; returns its name on the cluster.

        Its records never expire unless `configs` says so: the data sets carry virtual
        dates, and retention counts from a record's timestamp.
        """
        topic = f"{self._prefix}-{len(self._topics) + 1}-{name}"
        kept = {"retention.ms": "-1", **(configs or {})}
        admin = self._kafka.admin()
        try:
            admin.create_topics(
                {topic: {"num_partitions": partitions, "configs": kept}}
            )
            admin.wait_for_topics([topic], 120_000)
        finally:
            admin.close()
        self._topics.append(topic)
        return topic

    def pattern(self, name: str) -> str:
        """A regular expression for those of this lab's topics whose whole name, as it
        was given to `topic()`, matches `name`.
        """
        return f"^{self._prefix}-[0-9]+-{name}$"

    def send(self, topic: str, events: Iterable[Any]) -> None:
        """Sends events of a data set, with their times of ingest as timestamps. Errors:
        the first that a record met.
        """
        producer = self._kafka.producer()
        replayer().send(
            producer, events, topic, partitions=len(producer.partitions_for(topic))
        )
        producer.close()

    def ends(self, topic: str) -> dict[int, int]:
        """Partition -> end offset, as the broker says now."""
        from kafka import TopicPartition

        consumer = self._kafka.consumer()
        partitions = [
            TopicPartition(topic, number)
            for number in sorted(consumer.partitions_for_topic(topic))
        ]
        offsets = consumer.end_offsets(partitions)
        consumer.close()
        return {partition.partition: offsets[partition] for partition in partitions}

    def records(self, topic: str, **configs: Any) -> list[Any]:
        """All records of a topic, as kafka-python gives them. configs: of its consumer,
        isolation_level for one.
        """
        count = sum(self.ends(topic).values())
        consumer = self._kafka.consumer(
            topic, auto_offset_reset="earliest", consumer_timeout_ms=120_000, **configs
        )
        found = [next(consumer) for _ in range(count)]
        consumer.close()
        return found

    def checkpoint(self, name: str) -> str:
        """A new, empty folder for one query's checkpoint."""
        self._checkpoints += 1
        folder = self._folder / f"{self._checkpoints}-{name}"
        folder.mkdir()
        return str(folder)

    def close(self) -> None:
        """Removes the checkpoints, and the topics if the cluster still answers."""
        from kafka.errors import KafkaError

        shutil.rmtree(self._folder, ignore_errors=True)
        if self._topics and any(
            map(reachable.listens, self._kafka.bootstrap.split(","))
        ):
            try:
                admin = self._kafka.admin()
                admin.delete_topics(self._topics)
                admin.close()
            except KafkaError:  # the cluster is gone, and the topics with it
                pass
            self._topics.clear()
