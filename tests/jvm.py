"""A JVM with Kafka's jars and py4j's server, so that tests can call Apache Kafka's own
classes. Nothing is compiled.
"""

import subprocess
from typing import Any, Self

from tests.kafka import SMALL_JVM, kafka_jars


class Jvm:
    """One process: `with Jvm() as java: java.gateway.jvm`. It ends with its standard
    input. parameters: more of py4j's GatewayParameters.
    """

    parameters: dict[str, Any] = {}

    def __enter__(self) -> Self:
        from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path

        classpath = f"{kafka_jars() / '*'}:{find_jar_path()}"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        server = ["py4j.GatewayServer", "--die-on-broken-pipe", "0"]
        self.process = subprocess.Popen(
            ["java", *SMALL_JVM, quiet, "-cp", classpath, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        port = int(self.process.stdout.readline())
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, **self.parameters)
        )
        return self

    def __exit__(self, *exc: object) -> None:
        self.gateway.close()
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()
