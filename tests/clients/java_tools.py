"""Apache Kafka's command line tools, many runs in one JVM: `with JavaTools() as java:
java.run(main_class, *args)`.

A JVM takes seconds to start, most of a tool's run; here it starts once. Nothing is
compiled: py4j calls `main`, or what a `main` calls that ends the JVM.
"""

import subprocess
from unittest import mock

from tests.kafka import SMALL_JVM, kafka_jars


class JavaTools:
    """One JVM with Kafka's jars and py4j's server; it ends with its standard input."""

    def __enter__(self):
        from py4j import java_gateway, protocol
        from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path

        classpath = f"{kafka_jars() / '*'}:{find_jar_path()}"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        self.process = subprocess.Popen(
            [
                "java",
                *SMALL_JVM,
                quiet,
                "-cp",
                classpath,
                "py4j.GatewayServer",
                "--die-on-broken-pipe",
                "0",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(
                port=int(self.process.stdout.readline())
            )
        )
        # Where Spark ran before in this process, it asks its own JVM what an exception
        # of this one is.
        self._as_py4j_does = mock.patch.object(
            java_gateway, "get_return_value", protocol.get_return_value
        )
        self._as_py4j_does.start()
        return self

    def __exit__(self, *exc):
        self._as_py4j_does.stop()
        self.gateway.close()
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()

    def run(self, main_class, *args, method="main"):
        """What the tool writes on standard output. Wrong usage ends the JVM: a test
        shows that as a lost connection.
        """
        java = self.gateway.jvm.java
        words = self.gateway.new_array(java.lang.String, len(args))
        for number, arg in enumerate(args):
            words[number] = arg
        said = java.io.ByteArrayOutputStream()
        java.lang.System.setOut(java.io.PrintStream(said, True))
        tool = self.gateway.jvm
        for part in main_class.split("."):
            tool = getattr(tool, part)
        getattr(tool, method)(words)
        return said.toString()
