"""Apache Kafka's command line tools, many runs in one JVM: `with JavaTools() as java:
java.run(main_class, *args)`.

A JVM takes seconds to start, most of a tool's run; here it starts once. Nothing is
compiled: py4j calls `main`, or what a `main` calls that ends the JVM.
"""

from unittest import mock

from tests.jvm import Jvm


class JavaTools(Jvm):
    """A JVM that runs tools."""

    def __enter__(self):
        from py4j import java_gateway, protocol

        super().__enter__()
        # Where Spark ran before in this process, it asks its own JVM what an exception
        # of this one is.
        self._as_py4j_does = mock.patch.object(
            java_gateway, "get_return_value", protocol.get_return_value
        )
        self._as_py4j_does.start()
        return self

    def __exit__(self, *exc):
        self._as_py4j_does.stop()
        super().__exit__(*exc)

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
